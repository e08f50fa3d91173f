"""Command lines, as far as it can be seen whether one still does what another did."""

import re

MAX_COMMAND = 4000

_SPLIT = re.compile(r"[\s;&|()\"'`$]+")
_LOOSE = re.compile(
    r"\|\|\s*(?:true\b|:|exit 0|echo\b|printf\b)|;\s*(?:true|:|exit 0)\s*(?:$|[;&|\"'])|\bexit 0\b|\bset \+e\b"
    r"|\bexit\(0\)"
    r"|--(?:passWithNoTests|pass-with-no-tests|allow-no-tests|no-fail|exit-zero|force-exit-0|continue-on-error)\b"
    r"|--suppress-no-test-exit-code|--max-warnings[= ](?:[1-9]\d{2,}|-1)|--quiet-errors|--keep-going-anyway"
)
# Which tests are run: only so many, or all but some.
_NARROWING = re.compile(
    r"(?:^|\s)(?:-k|-m|-t|--ignore(?:-glob|-path)?|--deselect|--testNamePattern|--testPathIgnorePatterns|--grep|-g|--fgrep"
    r"|--exclude|--skip|--filter|-run|-skip|--testPathPattern|--invert|--only|--shard|--bail=0|--lf|--last-failed"
    r"|-DskipTests|-Dmaven\.test\.skip|-x\s+test|--no-tests|--collect-only|--co|--listTests|--dry-run|--help|--version)"
    r"(?:[=\s]|$)"
)

_RUNNERS = frozenset("cross-env npx uv run poetry pnpm exec yarn bunx bundle env dotenv".split())


def words_of(command: str) -> list[str]:
    return [word for word in _SPLIT.split(command[:MAX_COMMAND]) if word]


def lets_failures_pass(line: str) -> bool:
    return _LOOSE.search(line) is not None


def keeps_running(old: str, new: str) -> bool:
    """Whether `new` still runs all of `old` and fails with it: the same, or with more options or steps."""
    old, new = " ".join(old.split()), " ".join(new.split())
    if old == new:
        return True
    if len(lets_failures_found(new)) > len(lets_failures_found(old)):
        return False
    at = new.find(old)
    if at < 0 or new.startswith("-") != old.startswith("-"):
        return False
    ahead, behind = new[:at].rstrip(), new[at + len(old) :]
    if ahead and not ahead.endswith("&&") and not _is_setting(ahead):
        return False
    return _only_adds(behind)


def lets_failures_found(line: str) -> list[str]:
    return [match[0] for match in _LOOSE.finditer(line)]


def _is_setting(ahead: str) -> bool:
    """`CI=1 jest`, `cross-env NODE_ENV=test jest`, `uv run pytest`."""
    words = ahead.rpartition("&&")[2].split()
    return all("=" in word or word in _RUNNERS for word in words)


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
            return False  # a further word narrows most runners to what it names
        previous = word
    return True
