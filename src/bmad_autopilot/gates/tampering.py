"""test-deleted and test-gutted: tests that were there must still be there, run, and be able to fail.

A case is known again by its name, or under another name by its words, in whichever test file it stands now: tests
may be moved, renamed, split up and put into tables."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..core.changes import Change, Kind
from .asked import wants_tests_gone
from .look import WorkLook
from .objections import Objection, foul, listed
from .suites import EMPTY, Case, Suite, holds_tests, is_test_path, read_suite

MAX_FILES = 1000
_ALIKE = 0.4
_MOST_PAIRS = 40_000


class _File(NamedTuple):
    change: Change
    before: Suite
    after: Suite
    is_gone: bool  # as a test: deleted, or now under a name no test runner looks for


def tests_tampered_with(look: WorkLook) -> Iterator[Objection]:
    gone = [c.old_path for c in look.changes if c.kind in (Kind.DELETED, Kind.RENAMED)]
    sources = [path for path in gone if not is_test_path(path)]
    files, unread = _test_files(look)
    spare = _gained(files)
    for file in files:
        path = file.change.old_path
        if _is_unchanged(file) or wants_tests_gone(look.asked, path, sources):
            continue
        lost = _lost(file, spare)
        if file.is_gone:
            if len(lost) * 5 > len(file.before.cases):  # a few of many: tidied up on the way
                yield foul("test-deleted", _deleted(path, lost))
        elif problem := _gutted(file, lost):
            yield foul("test-gutted", f"{listed([path])}: {problem}. Put it back, and make the code pass it.")
    for change, code in unread:
        if not wants_tests_gone(look.asked, change.old_path, sources):
            yield foul(code, f"{listed([change.old_path])} was a test and cannot be found or read as one now.")


def _deleted(path: str, lost: list[str]) -> str:
    cases = f" with {listed(lost)}" if any(lost) else ""
    return f"The test file {listed([path])}{cases} is gone, and the story does not ask for that. Put it back."


def _test_files(look: WorkLook) -> tuple[list[_File], list[tuple[Change, str]]]:
    """Every changed test file, and those that were tests but cannot be counted."""
    files: list[_File] = []
    unread: list[tuple[Change, str]] = []
    named = [change for change in look.changes if is_test_path(change.path) or is_test_path(change.old_path)]
    others = [change for change in look.changes if change not in named][:MAX_FILES]
    for change in (*named, *others):
        old = look.contents(change.old_path, False) if change.kind is not Kind.ADDED else None
        was_test = change.kind is not Kind.ADDED and holds_tests(change.old_path, old)
        new = look.contents(change.path, True) if change.kind is not Kind.DELETED else None
        is_test = change.kind is not Kind.DELETED and holds_tests(change.path, new)
        if not was_test and not is_test:
            continue
        before, after = read_suite(change.old_path, old), read_suite(change.path, new)
        is_gone = not is_test and was_test and not change.old_path.endswith(".rs")
        is_gone = is_gone or change.kind is Kind.DELETED
        if was_test and (code := _unread(old, new, before, after, is_gone)):
            unread.append((change, code))
        else:
            files.append(_File(change, before or EMPTY, EMPTY if is_gone else after or EMPTY, is_gone))
    return files, unread


def _unread(
    old: bytes | None, new: bytes | None, before: Suite | None, after: Suite | None, is_gone: bool
) -> str | None:
    """A test in a language we cannot count is judged by being there at all."""
    if before is None:
        return (
            "test-deleted" if is_gone else "test-gutted" if old and new is not None and not new.strip() else None
        )
    if before.cases and after is None and not is_gone:  # grown too large to look at, or in an unknown language
        return "test-gutted"
    return None


def _is_unchanged(file: _File) -> bool:
    return not file.before.cases and not file.before.checks and file.after.only <= file.before.only


def _gained(files: list[_File]) -> list[Case]:
    """Cases that are new under their name, in all files."""
    gained: list[Case] = []
    for file in files:
        known = Counter(case.name for case in file.before.cases)
        for case in file.after.cases:
            if known[case.name] > 0:
                known[case.name] -= 1
            else:
                gained.append(case)
    return gained


def _lost(file: _File, spare: list[Case]) -> list[str]:
    """Cases that were here and are nowhere now. Each new case makes up for one, and is used up."""
    kept = Counter(case.name for case in file.after.cases)
    lost: list[str] = []
    budget = _MOST_PAIRS
    for case in file.before.cases:
        if kept[case.name] > 0:
            kept[case.name] -= 1
            continue
        budget -= len(spare)
        match = next((one for one in spare if _is_same(case, one)), None) if budget > 0 else None
        if match is None:
            lost.append(case.name)
        else:
            spare.remove(match)
    rows = max(0, file.after.rows - file.before.rows)
    return lost[rows:]


def _is_same(case: Case, other: Case) -> bool:
    if (other.skipped and not case.skipped) or (case.checks and not other.checks):
        return False
    if case.name and case.name == other.name:
        return True
    every = len(case.words | other.words)
    return every > 0 and len(case.words & other.words) / every >= _ALIKE


def _gutted(file: _File, lost: list[str]) -> str | None:
    before, after = file.before, file.after
    if lost:
        return f"{len(lost)} of {len(before.cases)} test cases are gone ({listed(lost)})"
    if after.only > before.only:
        return "a mark was added that runs only some of the tests"
    if after.silenced > before.silenced:
        return "tests were switched off"
    skipped = _newly(file, lambda case: case.skipped)
    if skipped:
        return f"{listed(skipped)} is skipped or expected to fail now"
    if after.helper_checks <= before.helper_checks:
        hollow = [name for name in _newly(file, lambda case: not case.checks) if name in _checking(before)]
        if hollow:
            return f"{listed(hollow)} checks nothing any more"
        if before.checks > 2 * after.checks and after.rows <= before.rows:
            return f"of {before.checks} checks {after.checks} are left"
    return None


def _checking(suite: Suite) -> set[str]:
    return {case.name for case in suite.cases if case.checks}


def _newly(file: _File, condition: Callable[[Case], bool]) -> list[str]:
    """Names of cases that were there before, of which more meet a condition now."""
    names = {case.name for case in file.before.cases}
    then = Counter(case.name for case in file.before.cases if condition(case))
    now = Counter(case.name for case in file.after.cases if case.name in names and condition(case))
    return list((now - then).keys())
