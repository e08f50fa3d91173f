"""check-weakened: what the project's checks run must not become less.

| file | what may not happen |
|---|---|
| package.json | a script that a check uses no longer runs all it ran |
| Makefile, justfile | the same for a target that a check uses, and for what that one needs |
| a script a check runs | a line that lets failures pass |
| settings of test runners | tests left out that were run, fewer places looked at, less coverage demanded |

New scripts, targets and settings are fine, and so is what only adds to what was run."""

import json
import re
from collections.abc import Iterator

from ..core.changes import Change, Kind
from .asked import names_path
from .globs import matches
from .look import WorkLook
from .objections import Objection, foul, listed
from .recipes import needed, read_recipes
from .settings import is_settings, weakened_settings
from .shell import keeps_running, lets_failures_pass, words_of

MAX_FILE = 1024 * 1024
MAX_FILES = 1000

_MAKEFILES = ("makefile", "gnumakefile", "justfile", ".justfile")
_RUNNERS = set("npm npx yarn pnpm bun bunx run run-s run-p npm-run-all concurrently turbo nx lerna".split())
_PLACEHOLDER = "no test specified"  # what `npm init` leaves behind


def weakened_checks(look: WorkLook) -> Iterator[Objection]:
    for change in look.changes[:MAX_FILES]:
        if change.kind is Kind.DELETED and not is_settings(change.path):
            continue
        if matches(change.path, look.allowed):
            continue
        problem = _problem(look, change)
        if problem is not None and not names_path(look.asked, change.path):
            yield foul("check-weakened", f"{listed([change.path])}: {problem}. The checks must stay as they were.")


def _problem(look: WorkLook, change: Change) -> str | None:
    name = change.path.rpartition("/")[2].lower()
    is_run = _is_run(change.path, look.commands)
    if not is_run and name not in ("package.json", *_MAKEFILES) and not is_settings(change.path):
        return None
    before, after = _text(look, change.old_path, False), _text(look, change.path, True)
    if change.kind is Kind.ADDED:
        before = ""
    if before is None or (after is None and change.kind is not Kind.DELETED):
        return None  # no text, or too large to look at: then it is no settings of anybody's
    after = after or ""
    if name == "package.json":
        return _package(before, after, look.commands)
    if name in _MAKEFILES:
        return _makefile(before, after, look.commands)
    if is_run:
        return _script(before, after)
    return weakened_settings(name, before, after)


def _text(look: WorkLook, path: str, after: bool) -> str | None:
    raw = look.contents(path, after)
    if raw is None or len(raw) > MAX_FILE:
        return None
    return raw.decode("utf-8", "replace").replace("\r\n", "\n")


def _is_run(path: str, commands: tuple[str, ...]) -> bool:
    """A script of the project that a check names: `./scripts/test.sh`, `python tools/check.py`."""
    return any(word.removeprefix("./") == path for command in commands for word in words_of(command))


def _script(before: str, after: str) -> str | None:
    old = set(map(str.strip, before.splitlines()))
    new = [line.strip() for line in after.splitlines() if line.strip() and line.strip() not in old]
    loose = [line for line in new if lets_failures_pass(line)]
    if before.strip() and loose:
        return f"it lets failures pass ({listed(loose)})"
    if before.strip() and len(after.strip()) * 2 < len(before.strip()):
        return "most of what it did is gone"
    return None


def _package(before: str, after: str, commands: tuple[str, ...]) -> str | None:
    old, new = _scripts(before), _scripts(after)
    for name in sorted(_used_scripts(old, commands)):
        was, now = old[name], new.get(name)
        if now == was or _PLACEHOLDER in was:
            continue
        if now is None or not keeps_running(was, now):
            return f"the script {listed([name])}, which the checks run, no longer runs what it ran"
    return weakened_settings("package.json", before, after)


def _scripts(text: str) -> dict[str, str]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    scripts = data.get("scripts") if isinstance(data, dict) else None
    return {k: v for k, v in scripts.items() if isinstance(v, str)} if isinstance(scripts, dict) else {}


def _used_scripts(scripts: dict[str, str], commands: tuple[str, ...]) -> set[str]:
    """Those a check names, and those they name in turn, with what npm runs before and after them."""
    used: set[str] = set()
    todo = list(commands)
    while todo:
        words = set(words_of(todo.pop()))
        words = words - _RUNNERS if words & _RUNNERS else set()
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
    for target in needed(old, commands):
        was, now = old[target], new.get(target)
        if now is None:
            return f"the target {listed([target])}, which the checks run, is gone"
        if not set(was.needs) <= set(now.needs):
            return f"the target {listed([target])} no longer needs what it needed"
        lost = [line for line in was.lines if not any(keeps_running(line, one) for one in now.lines)]
        loose = [line for line in now.lines if line not in was.lines and lets_failures_pass(line)]
        if lost or loose:
            return f"the target {listed([target])}, which the checks run, no longer runs {listed(lost or loose)}"
    return weakened_settings("makefile", before, after)
