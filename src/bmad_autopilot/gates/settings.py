"""Settings of test runners: whether they leave out tests, or demand less, than they did."""

import re
from functools import lru_cache

from .globs import matches
from .suites import TEST_FOLDERS, is_test_path

MAX_LINES = 20_000

_FILES = (
    *("pyproject.toml", "pytest.ini", ".pytest.ini", "setup.cfg", "tox.ini", "noxfile.py", "conftest.py"),
    *(".coveragerc", "jest.config.*", "jest.setup.*", "vitest.config.*", "vite.config.*", "vitest.workspace.*"),
    *(".mocharc*", "karma.conf.*", "playwright.config.*", "cypress.config.*", ".nycrc*", "c8.config.*"),
    *("phpunit.xml", "phpunit.xml.dist", ".rspec", "build.gradle", "build.gradle.kts", "pom.xml", "Cargo.toml"),
    *(".c8rc*", "bunfig.toml", "deno.json", "deno.jsonc", "angular.json", "project.json", "Taskfile.y*ml"),
)
_LEAVES_OUT = re.compile(
    r"--ignore(?:-glob)?\b|--deselect\b|testPathIgnorePatterns|testIgnore"
    r"|\bcollect_ignore(?:_glob)?\b|norecursedirs"
    r"|pytest_ignore_collect|--testPathIgnorePatterns|--exclude\b|\bexcludes?\b|exclude\s*\("
    r"|<exclude>|\bignores?\b|-k\b"
)
_ALWAYS = re.compile(
    r"passWithNoTests|--pass-with-no-tests|\bskipTests\b[^f\n]*\btrue|maven\.test\.skip|ignoreFailures\s*=?\s*true"
    r"|testFailureIgnore>\s*true|\bitems\.clear\(|\bitems\[:\]\s*=|\bdel items\b"
    r"|pytest_ignore_collect|\bcollect_ignore"
    r"|exitstatus\s*=\s*0|\bos\._exit\(\s*0|\bsys\.exit\(\s*0|\.outcome\s*=\s*[\"']passed|\|\|\s*true\b"
    r"|ignore_errors\s*=\s*true|ignore_outcome\s*=\s*true|addopts[^\n]*\s-k\b|--deselect\b"
    r"|--exitfirst-zero|allow_failure"
)
# What no unit test runner should walk into; end-to-end tests have a runner of their own.
_NO_TESTS = re.compile(
    r"node_modules|\bdist\b|\bbuild\b|\.next|\bcoverage\b|\bout\b|\btarget\b|\.venv|\bvenv\b|\.git\b"
    r"|\.cache|\.tox|e2e"
    r"|playwright|cypress|fixtures|__mocks__|\.turbo|\.worktrees|vendor|generated|\.nx\b|\.vercel"
    r"|storybook|migrations",
    re.IGNORECASE,
)
_MEASURED = re.compile(r"\bcoverage[\"']?\s*:\s*\{[^{}]*\}")
_MEASURING = re.compile(r"\bcoverage[\"']?\s*:\s*\{")
_PLACES = re.compile(
    r"[\"']?\b(testpaths|python_files|python_classes|python_functions|testMatch|testRegex|testDir"
    r"|roots|include|spec)\b"
    r"[\"']?\s*[:=]\s*([^\n]*)"
)
_ENTRY = re.compile(r"[\"']([^\"'\n]{1,300})[\"']|([\w./*\[\]{}-]*[./*][\w./*\[\]{}-]*)")
_DEMANDS = re.compile(
    r"[\"']?\b(branches|functions|lines|statements|fail_under|cov-fail-under|check-coverage|minimum"
    r"|global)\b[\"']?"
    r"\s*[:=> ]\s*(\d{1,3}(?:\.\d{1,3})?)\b"
)
_COVERAGE = re.compile(r"coverage|threshold|fail_under|cov-fail-under|jacoco", re.IGNORECASE)


@lru_cache(maxsize=4096)
def is_settings(path: str) -> bool:
    return matches(path.rpartition("/")[2], _FILES)


def weakened_settings(name: str, before: str, after: str) -> str | None:
    """In words what was weakened, or None. A new file is looked at too: a runner may prefer it to the old one."""
    known = {line.strip() for line in before.splitlines()[:MAX_LINES]}
    added = [line.strip() for line in after.splitlines()[:MAX_LINES] if line.strip() not in known]
    for line in added:
        if _ALWAYS.search(line) and not line.startswith(("#", "//", "*", ";")):
            return f"it lets tests be left out or failures pass (`{line[:100]}`)"
    left_out = _left_out(after, added)
    if left_out:
        return f"it leaves out tests (`{left_out[:100]}`)"
    return _fewer_places(before, after) or _demands_less(before, after)


def _left_out(after: str, added: list[str]) -> str | None:
    """An added entry that names tests, in a line that leaves out or in the lines of a list that does."""
    open_list = False
    depth = 0  # of brackets, in a block about coverage: which files are measured is another matter
    for line in map(str.strip, after.splitlines()[:MAX_LINES]):
        text = _MEASURED.sub("", line)
        if depth or _MEASURING.search(text):
            depth = max(0, depth + sum(map(text.count, "{[")) - sum(map(text.count, "}]")))
            continue
        says = _LEAVES_OUT.search(text) is not None
        if (says or open_list) and line in added and _names_tests(text) and not line.startswith(("#", "//")):
            return line
        if says:
            open_list = ("[" in text and "]" not in text) or text.endswith(("=", "("))
        elif "]" in text or not text:
            open_list = False
    return None


def _names_tests(line: str) -> bool:
    entries = [first or second for first, second in _ENTRY.findall(line)]
    return any(_is_tests(entry) for entry in entries if not _NO_TESTS.search(entry))


def _is_tests(entry: str) -> bool:
    plain = entry.strip().removeprefix("<rootDir>/").replace("**/", "").replace("*", "x").strip("^$")
    parts = plain.lower().rstrip("/").split("/")
    return is_test_path(plain) or "test" in parts[-1] or any(part in TEST_FOLDERS for part in parts)


def _fewer_places(before: str, after: str) -> str | None:
    now = dict(_PLACES.findall(after))
    for key, was in _PLACES.findall(before):
        if key in ("include", "spec") and "test" not in was:
            continue
        if key in now and now[key] != was:
            gone = [entry for entry in _entries(was) if entry not in _entries(now[key])]
            if gone and not any(_is_wider(entry, now[key]) for entry in gone):
                return f"tests are no longer looked for where they were (`{key}`)"
    return None


def _entries(value: str) -> list[str]:
    return [first or second for first, second in _ENTRY.findall(value)] or value.replace(",", " ").split()


def _is_wider(entry: str, value: str) -> bool:
    return any(matches(entry.replace("*", "x"), [one]) for one in _entries(value))


def _demands_less(before: str, after: str) -> str | None:
    if not _COVERAGE.search(before):
        return None
    was, now = _demands(before), _demands(after)
    for name, least in was.items():
        if now.get(name, -1.0) < least:
            return f"less coverage is demanded (`{name}`)"
    return None


def _demands(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, number in _DEMANDS.findall(text):
        found[name] = max(found.get(name, 0.0), float(number))
    return found
