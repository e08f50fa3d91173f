"""check-weakened: an attempt must not reduce what the project's checks run.

| file | forbidden change |
|---|---|
| package.json | a script used by a check no longer runs everything it ran |
| Makefile, justfile | the same for a target used by a check, and for its prerequisites |
| a script run by a check | a line that ignores failures |
| settings of test runners | excluded tests, fewer test paths, lower coverage thresholds |

New scripts, targets and settings are allowed, and so are additions to existing ones."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from ..core.changes import ChangeKind, FileChange
from ..io.patterns import matches_glob
from .evidence import Evidence, GateObjection, quote, story_names_path, violation
from .test_suites import TEST_FOLDERS, is_test_path

# Settings of test runners: excluded tests, lower thresholds.

MAX_SETTINGS_LINES = 20_000

_FILES = (
    *("pyproject.toml", "pytest.ini", ".pytest.ini", "setup.cfg", "tox.ini", "noxfile.py", "conftest.py"),
    *(".coveragerc", "jest.config.*", "jest.setup.*", "vitest.config.*", "vite.config.*", "vitest.workspace.*"),
    *(".mocharc*", "karma.conf.*", "playwright.config.*", "cypress.config.*", ".nycrc*", "c8.config.*"),
    *("phpunit.xml", "phpunit.xml.dist", ".rspec", "build.gradle", "build.gradle.kts", "pom.xml", "Cargo.toml"),
    *(".c8rc*", "bunfig.toml", "deno.json", "deno.jsonc", "angular.json", "project.json", "Taskfile.y*ml"),
)
_EXCLUSION = re.compile(
    r"--ignore(?:-glob)?\b|--deselect\b|testPathIgnorePatterns|testIgnore"
    r"|\bcollect_ignore(?:_glob)?\b|norecursedirs"
    r"|pytest_ignore_collect|--testPathIgnorePatterns|--exclude\b|\bexcludes?\b|exclude\s*\("
    r"|<exclude>|\bignores?\b|-k\b"
)
_WEAKENING = re.compile(
    r"passWithNoTests|--pass-with-no-tests|\bskipTests\b[^f\n]*\btrue|maven\.test\.skip|ignoreFailures\s*=?\s*true"
    r"|testFailureIgnore>\s*true|\bitems\.clear\(|\bitems\[:\]\s*=|\bdel items\b"
    r"|pytest_ignore_collect|\bcollect_ignore"
    r"|exitstatus\s*=\s*0|\bos\._exit\(\s*0|\bsys\.exit\(\s*0|\.outcome\s*=\s*[\"']passed|\|\|\s*true\b"
    r"|ignore_errors\s*=\s*true|ignore_outcome\s*=\s*true|addopts[^\n]*\s-k\b|--deselect\b"
    r"|--exitfirst-zero|allow_failure"
)
# Folders a unit test runner should skip; end-to-end tests have their own runner.
_NON_TEST_PATH = re.compile(
    r"node_modules|\bdist\b|\bbuild\b|\.next|\bcoverage\b|\bout\b|\btarget\b|\.venv|\bvenv\b|\.git\b"
    r"|\.cache|\.tox|e2e"
    r"|playwright|cypress|fixtures|__mocks__|\.turbo|\.worktrees|vendor|generated|\.nx\b|\.vercel"
    r"|storybook|migrations",
    re.IGNORECASE,
)
_COVERAGE_LINE = re.compile(r"\bcoverage[\"']?\s*:\s*\{[^{}]*\}")
_COVERAGE_START = re.compile(r"\bcoverage[\"']?\s*:\s*\{")
_TEST_PATHS = re.compile(
    r"[\"']?\b(testpaths|python_files|python_classes|python_functions|testMatch|testRegex|testDir"
    r"|roots|include|spec)\b"
    r"[\"']?\s*[:=]\s*([^\n]*)"
)
_ENTRY = re.compile(r"[\"']([^\"'\n]{1,300})[\"']|([\w./*\[\]{}-]*[./*][\w./*\[\]{}-]*)")
_THRESHOLD = re.compile(
    r"[\"']?\b(branches|functions|lines|statements|fail_under|cov-fail-under|check-coverage|minimum"
    r"|global)\b[\"']?"
    r"\s*[:=> ]\s*(\d{1,3}(?:\.\d{1,3})?)\b"
)
_COVERAGE = re.compile(r"coverage|threshold|fail_under|cov-fail-under|jacoco", re.IGNORECASE)


@lru_cache(maxsize=4096)
def is_runner_settings(path: str) -> bool:
    return matches_glob(path.rpartition("/")[2], _FILES)


def describe_weakened_settings(name: str, before: str, after: str) -> str | None:
    """A description of the weakening, or None. New files count too: a runner may prefer one to the old file."""
    known = {line.strip() for line in before.splitlines()[:MAX_SETTINGS_LINES]}
    added = [line.strip() for line in after.splitlines()[:MAX_SETTINGS_LINES] if line.strip() not in known]
    for line in added:
        if _WEAKENING.search(line) and not line.startswith(("#", "//", "*", ";")):
            return f"it lets tests be left out or failures pass (`{line[:100]}`)"
    left_out = _find_exclusion(after, added)
    if left_out:
        return f"it leaves out tests (`{left_out[:100]}`)"
    return _narrowed_paths(before, after) or _lowered_threshold(before, after)


def _find_exclusion(after: str, added: list[str]) -> str | None:
    """An added line that excludes tests, directly or as an item of an exclusion list."""
    open_list = False
    depth = 0  # bracket depth in a coverage block: measured files do not matter here
    for line in map(str.strip, after.splitlines()[:MAX_SETTINGS_LINES]):
        text = _COVERAGE_LINE.sub("", line)
        if depth or _COVERAGE_START.search(text):
            depth = max(0, depth + sum(map(text.count, "{[")) - sum(map(text.count, "}]")))
            continue
        says = _EXCLUSION.search(text) is not None
        if (says or open_list) and line in added and _names_tests(text) and not line.startswith(("#", "//")):
            return line
        if says:
            open_list = ("[" in text and "]" not in text) or text.endswith(("=", "("))
        elif "]" in text or not text:
            open_list = False
    return None


def _names_tests(line: str) -> bool:
    entries = [first or second for first, second in _ENTRY.findall(line)]
    return any(_is_tests(entry) for entry in entries if not _NON_TEST_PATH.search(entry))


def _is_tests(entry: str) -> bool:
    plain = entry.strip().removeprefix("<rootDir>/").replace("**/", "").replace("*", "x").strip("^$")
    parts = plain.lower().rstrip("/").split("/")
    return is_test_path(plain) or "test" in parts[-1] or any(part in TEST_FOLDERS for part in parts)


def _narrowed_paths(before: str, after: str) -> str | None:
    now = dict(_TEST_PATHS.findall(after))
    for key, was in _TEST_PATHS.findall(before):
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
    return any(matches_glob(entry.replace("*", "x"), [one]) for one in _entries(value))


def _lowered_threshold(before: str, after: str) -> str | None:
    if not _COVERAGE.search(before):
        return None
    was, now = _thresholds(before), _thresholds(after)
    for name, least in was.items():
        if now.get(name, -1.0) < least:
            return f"less coverage is demanded (`{name}`)"
    return None


def _thresholds(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, number in _THRESHOLD.findall(text):
        found[name] = max(found.get(name, 0.0), float(number))
    return found


# Command lines: whether one still does what another did.

MAX_COMMAND = 4000

_SPLIT = re.compile(r"[\s;&|()\"'`$]+")
_FAILURE_BYPASS = re.compile(
    r"\|\|\s*(?:true\b|:|exit 0|echo\b|printf\b)|;\s*(?:true|:|exit 0)\s*(?:$|[;&|\"'])|\bexit 0\b|\bset \+e\b"
    r"|\bexit\(0\)"
    r"|--(?:passWithNoTests|pass-with-no-tests|allow-no-tests|no-fail|exit-zero|force-exit-0|continue-on-error)\b"
    r"|--suppress-no-test-exit-code|--max-warnings[= ](?:[1-9]\d{2,}|-1)|--quiet-errors|--keep-going-anyway"
)
# Options that restrict which tests run.
_NARROWING = re.compile(
    r"(?:^|\s)(?:-k|-m|-t|--ignore(?:-glob|-path)?|--deselect|--testNamePattern|--testPathIgnorePatterns|--grep|-g|--fgrep"
    r"|--exclude|--skip|--filter|-run|-skip|--testPathPattern|--invert|--only|--shard|--bail=0|--lf|--last-failed"
    r"|-DskipTests|-Dmaven\.test\.skip|-x\s+test|--no-tests|--collect-only|--co|--listTests|--dry-run|--help|--version)"
    r"(?:[=\s]|$)"
)

_COMMAND_PREFIXES = frozenset("cross-env npx uv run poetry pnpm exec yarn bunx bundle env dotenv".split())


def command_words(command: str) -> list[str]:
    return [word for word in _SPLIT.split(command[:MAX_COMMAND]) if word]


def lets_failures_pass(line: str) -> bool:
    return _FAILURE_BYPASS.search(line) is not None


def still_runs(old: str, new: str) -> bool:
    """Whether `new` still runs all of `old` and fails when it fails: equal, or with more options or steps."""
    old, new = " ".join(old.split()), " ".join(new.split())
    if old == new:
        return True
    if len(failure_bypasses(new)) > len(failure_bypasses(old)):
        return False
    at = new.find(old)
    if at < 0 or new.startswith("-") != old.startswith("-"):
        return False
    ahead, behind = new[:at].rstrip(), new[at + len(old) :]
    if ahead and not ahead.endswith("&&") and not _is_setting(ahead):
        return False
    return _only_adds(behind)


def failure_bypasses(line: str) -> list[str]:
    return [match[0] for match in _FAILURE_BYPASS.finditer(line)]


def _is_setting(ahead: str) -> bool:
    """`CI=1 jest`, `cross-env NODE_ENV=test jest`, `uv run pytest`."""
    words = ahead.rpartition("&&")[2].split()
    return all("=" in word or word in _COMMAND_PREFIXES for word in words)


def _only_adds(behind: str) -> bool:
    if behind and not behind[0].isspace() and not behind.startswith((";", "&&")):
        return False
    options = behind.partition("&&")[0]
    if re.search(r"[|;&]", options) or _NARROWING.search(options):
        return False
    previous = ""
    for word in options.split():
        is_value = previous.startswith("-") and "=" not in previous and not re.search(r"[./]", word)
        if not word.startswith("-") and not is_value:
            return False  # an extra word restricts most runners to what it names
        previous = word
    return True


# Targets of a Makefile or justfile that a check depends on.

MAX_RECIPE_LINES = 5000

_MAKE_PROGRAMS = {"make", "gmake", "just", "MAKE"}

_TARGET = re.compile(r"^([A-Za-z0-9_.][\w.%/-]*(?:[ \t]+[\w.%/-]+)*)[^:=\n]{0,100}?::?(?![=:])[ \t]*([^\n]*)$")


class Recipe(NamedTuple):
    prerequisites: tuple[str, ...]
    lines: tuple[str, ...]


def read_recipes(text: str) -> dict[str, Recipe]:
    found: dict[str, Recipe] = {}
    current: list[str] = []
    for line in text.replace("\\\n", " ").splitlines()[:MAX_RECIPE_LINES]:
        if line[:1] in (" ", "\t"):
            _add(found, current, line)
        elif match := _TARGET.match(line):
            current = match[1].split()
            needs, _, recipe = match[2].partition("#")[0].partition(";")
            for target in current:
                known = found.get(target, Recipe((), ()))
                found[target] = known._replace(prerequisites=(*known.prerequisites, *needs.split()))
            _add(found, current, recipe)
        elif line.strip() and not line.startswith("#"):
            current = []
    return found


def _add(found: dict[str, Recipe], targets: list[str], line: str) -> None:
    line = line.strip().removeprefix("@").strip()
    if not line or line.startswith("#"):
        return
    for target in targets:
        found[target] = found[target]._replace(lines=(*found[target].lines, line))


def required_targets(recipes: dict[str, Recipe], commands: tuple[str, ...]) -> list[str]:
    """The targets the checks name, with their prerequisites and the targets they call, recursively."""
    used: dict[str, None] = {}
    todo = list(_called_targets(commands))
    while todo:
        word = todo.pop()
        if word in recipes and word not in used:
            used[word] = None
            recipe = recipes[word]
            todo += recipe.prerequisites
            todo += _called_targets(recipe.lines)
    return list(used)


def _called_targets(lines: Iterable[str]) -> Iterator[str]:
    """The arguments of `make` or `just` in these lines; `npm run lint` does not call a target `run`."""
    for line in lines:
        words = command_words(line)
        if _MAKE_PROGRAMS & set(words):
            yield from words


MAX_FILE = 1024 * 1024
MAX_FILES = 1000

_MAKEFILES = ("makefile", "gnumakefile", "justfile", ".justfile")
_SCRIPT_RUNNERS = set("npm npx yarn pnpm bun bunx run run-s run-p npm-run-all concurrently turbo nx lerna".split())
_PLACEHOLDER = "no test specified"  # the default of `npm init`


def find_weakened_checks(evidence: Evidence) -> Iterator[GateObjection]:
    for change in evidence.changes[:MAX_FILES]:
        if change.kind is ChangeKind.DELETED and not is_runner_settings(change.path):
            continue
        if matches_glob(change.path, evidence.allowed_globs):
            continue
        problem = _problem(evidence, change)
        if problem is not None and not story_names_path(evidence.story_text, change.path):
            yield violation(
                "check-weakened", f"{quote([change.path])}: {problem}. The checks must stay as they were."
            )


def _problem(evidence: Evidence, change: FileChange) -> str | None:
    name = change.path.rpartition("/")[2].lower()
    is_run = _is_check_script(change.path, evidence.check_commands)
    if not is_run and name not in ("package.json", *_MAKEFILES) and not is_runner_settings(change.path):
        return None
    before, after = _text(evidence, change.old_path, False), _text(evidence, change.path, True)
    if change.kind is ChangeKind.ADDED:
        before = ""
    if before is None or (after is None and change.kind is not ChangeKind.DELETED):
        return None  # not text, or too large to be a settings file
    after = after or ""
    if name == "package.json":
        return _package(before, after, evidence.check_commands)
    if name in _MAKEFILES:
        return _makefile(before, after, evidence.check_commands)
    if is_run:
        return _script(before, after)
    return describe_weakened_settings(name, before, after)


def _text(evidence: Evidence, path: str, after: bool) -> str | None:
    raw = evidence.contents(path, after)
    if raw is None or len(raw) > MAX_FILE:
        return None
    return raw.decode("utf-8", "replace").replace("\r\n", "\n")


def _is_check_script(path: str, commands: tuple[str, ...]) -> bool:
    """Whether a check names this script of the project: `./scripts/test.sh`, `python tools/check.py`."""
    return any(word.removeprefix("./") == path for command in commands for word in command_words(command))


def _script(before: str, after: str) -> str | None:
    old = set(map(str.strip, before.splitlines()))
    new = [line.strip() for line in after.splitlines() if line.strip() and line.strip() not in old]
    loose = [line for line in new if lets_failures_pass(line)]
    if before.strip() and loose:
        return f"it lets failures pass ({quote(loose)})"
    if before.strip() and len(after.strip()) * 2 < len(before.strip()):
        return "most of what it did is gone"
    return None


def _package(before: str, after: str, commands: tuple[str, ...]) -> str | None:
    old, new = _scripts(before), _scripts(after)
    for name in sorted(_used_scripts(old, commands)):
        was, now = old[name], new.get(name)
        if now == was or _PLACEHOLDER in was:
            continue
        if now is None or not still_runs(was, now):
            return f"the script {quote([name])}, which the checks run, no longer runs what it ran"
    return describe_weakened_settings("package.json", before, after)


def _scripts(text: str) -> dict[str, str]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    scripts = data.get("scripts") if isinstance(data, dict) else None
    return {k: v for k, v in scripts.items() if isinstance(v, str)} if isinstance(scripts, dict) else {}


def _used_scripts(scripts: dict[str, str], commands: tuple[str, ...]) -> set[str]:
    """The scripts a check names, the scripts they name in turn, and npm's pre and post scripts of them."""
    used: set[str] = set()
    todo = list(commands)
    while todo:
        words = set(command_words(todo.pop()))
        words = words - _SCRIPT_RUNNERS if words & _SCRIPT_RUNNERS else set()
        for name in scripts.keys() - used:
            bare = re.sub(r"^(?:pre|post)", "", name)
            if name in words or (bare in used and bare != name):
                used.add(name)
                todo.append(scripts[name])
    return used


def _makefile(before: str, after: str, commands: tuple[str, ...]) -> str | None:
    old, new = read_recipes(before), read_recipes(after)
    if ".IGNORE" in new and ".IGNORE" not in old:
        return "failures are ignored by `.IGNORE`"
    for target in required_targets(old, commands):
        was, now = old[target], new.get(target)
        if now is None:
            return f"the target {quote([target])}, which the checks run, is gone"
        if not set(was.prerequisites) <= set(now.prerequisites):
            return f"the target {quote([target])} no longer needs what it needed"
        lost = [line for line in was.lines if not any(still_runs(line, one) for one in now.lines)]
        loose = [line for line in now.lines if line not in was.lines and lets_failures_pass(line)]
        if lost or loose:
            return f"the target {quote([target])}, which the checks run, no longer runs {quote(lost or loose)}"
    return describe_weakened_settings("makefile", before, after)
