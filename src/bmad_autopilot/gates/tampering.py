"""test-deleted and test-gutted: existing tests must still exist, run, and be able to fail.

A case is matched by name, or by the words of its body, in any test file: tests may be moved, renamed, split and
turned into tables."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..core.changes import ChangeKind, FileChange
from .evidence import Evidence, GateObjection, permits_test_removal, quote, violation
from .test_suites import EMPTY, Case, Suite, holds_tests, is_test_path, read_suite

MAX_FILES = 1000
_SIMILARITY = 0.4
_MAX_COMPARISONS = 40_000


class _TestFile(NamedTuple):
    change: FileChange
    before: Suite
    after: Suite
    is_gone: bool  # deleted, or renamed so that no test runner finds it


def find_test_tampering(evidence: Evidence) -> Iterator[GateObjection]:
    gone = [c.old_path for c in evidence.changes if c.kind in (ChangeKind.DELETED, ChangeKind.RENAMED)]
    sources = [path for path in gone if not is_test_path(path)]
    files, unread = _test_files(evidence)
    unmatched = _new_cases(files)
    for file in files:
        path = file.change.old_path
        if _is_unchanged(file) or permits_test_removal(evidence.story_text, path, sources):
            continue
        lost = _lost_cases(file, unmatched)
        if file.is_gone:
            if len(lost) * 5 > len(file.before.cases):  # a few of many: a clean-up
                yield violation("test-deleted", _describe_deletion(path, lost))
        elif problem := _describe_weakening(file, lost):
            yield violation("test-gutted", f"{quote([path])}: {problem}. Put it back, and make the code pass it.")
    for change, code in unread:
        if not permits_test_removal(evidence.story_text, change.old_path, sources):
            yield violation(code, f"{quote([change.old_path])} was a test and cannot be found or read as one now.")


def _describe_deletion(path: str, lost: list[str]) -> str:
    cases = f" with {quote(lost)}" if any(lost) else ""
    return f"The test file {quote([path])}{cases} is gone, and the story does not ask for that. Put it back."


def _test_files(evidence: Evidence) -> tuple[list[_TestFile], list[tuple[FileChange, str]]]:
    """Every changed test file, and former tests whose cases cannot be counted."""
    files: list[_TestFile] = []
    unread: list[tuple[FileChange, str]] = []
    named = [change for change in evidence.changes if is_test_path(change.path) or is_test_path(change.old_path)]
    others = [change for change in evidence.changes if change not in named][:MAX_FILES]
    for change in (*named, *others):
        old = evidence.contents(change.old_path, False) if change.kind is not ChangeKind.ADDED else None
        was_test = change.kind is not ChangeKind.ADDED and holds_tests(change.old_path, old)
        new = evidence.contents(change.path, True) if change.kind is not ChangeKind.DELETED else None
        is_test = change.kind is not ChangeKind.DELETED and holds_tests(change.path, new)
        if not was_test and not is_test:
            continue
        before, after = read_suite(change.old_path, old), read_suite(change.path, new)
        is_gone = not is_test and was_test and not change.old_path.endswith(".rs")
        is_gone = is_gone or change.kind is ChangeKind.DELETED
        if was_test and (code := _uncountable_problem(old, new, before, after, is_gone)):
            unread.append((change, code))
        else:
            files.append(_TestFile(change, before or EMPTY, EMPTY if is_gone else after or EMPTY, is_gone))
    return files, unread


def _uncountable_problem(
    old: bytes | None, new: bytes | None, before: Suite | None, after: Suite | None, is_gone: bool
) -> str | None:
    """Test files in an unknown language must only exist and not be empty."""
    if before is None:
        return (
            "test-deleted" if is_gone else "test-gutted" if old and new is not None and not new.strip() else None
        )
    if before.cases and after is None and not is_gone:  # now too large, or in an unknown language
        return "test-gutted"
    return None


def _is_unchanged(file: _TestFile) -> bool:
    return not file.before.cases and not file.before.checks and file.after.only <= file.before.only


def _new_cases(files: list[_TestFile]) -> list[Case]:
    """Cases with a new name, in all files."""
    gained: list[Case] = []
    for file in files:
        known = Counter(case.name for case in file.before.cases)
        for case in file.after.cases:
            if known[case.name] > 0:
                known[case.name] -= 1
            else:
                gained.append(case)
    return gained


def _lost_cases(file: _TestFile, unmatched: list[Case]) -> list[str]:
    """Cases of this file that no longer exist anywhere. Each new case can replace one and is then consumed."""
    kept = Counter(case.name for case in file.after.cases)
    lost: list[str] = []
    budget = _MAX_COMPARISONS
    for case in file.before.cases:
        if kept[case.name] > 0:
            kept[case.name] -= 1
            continue
        budget -= len(unmatched)
        match = next((one for one in unmatched if _is_same(case, one)), None) if budget > 0 else None
        if match is None:
            lost.append(case.name)
        else:
            unmatched.remove(match)
    rows = max(0, file.after.rows - file.before.rows)
    return lost[rows:]


def _is_same(case: Case, other: Case) -> bool:
    if (other.skipped and not case.skipped) or (case.checks and not other.checks):
        return False
    if case.name and case.name == other.name:
        return True
    every = len(case.words | other.words)
    return every > 0 and len(case.words & other.words) / every >= _SIMILARITY


def _describe_weakening(file: _TestFile, lost: list[str]) -> str | None:
    before, after = file.before, file.after
    if lost:
        return f"{len(lost)} of {len(before.cases)} test cases are gone ({quote(lost)})"
    if after.only > before.only:
        return "a mark was added that runs only some of the tests"
    if after.silenced > before.silenced:
        return "tests were switched off"
    skipped = _newly_matching(file, lambda case: case.skipped)
    if skipped:
        return f"{quote(skipped)} is skipped or expected to fail now"
    if after.helper_checks <= before.helper_checks:
        hollow = [
            name
            for name in _newly_matching(file, lambda case: not case.checks)
            if name in _names_with_checks(before)
        ]
        if hollow:
            return f"{quote(hollow)} checks nothing any more"
        if before.checks > 2 * after.checks and after.rows <= before.rows:
            return f"of {before.checks} checks {after.checks} are left"
    return None


def _names_with_checks(suite: Suite) -> set[str]:
    return {case.name for case in suite.cases if case.checks}


def _newly_matching(file: _TestFile, condition: Callable[[Case], bool]) -> list[str]:
    """Names of existing cases that meet a condition more often than before."""
    names = {case.name for case in file.before.cases}
    then = Counter(case.name for case in file.before.cases if condition(case))
    now = Counter(case.name for case in file.after.cases if case.name in names and condition(case))
    return list((now - then).keys())
