"""Three-way merges of files in memory, line by line, as git makes them where nothing was renamed."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from ..memory_git import Files

Lines = Sequence[bytes]


def merge_files(base: Files, ours: Files, theirs: Files) -> tuple[Files, tuple[str, ...]]:
    """What comes out, and the paths that conflict."""
    merged: dict[str, bytes] = dict(ours)
    conflicts = []
    for path in sorted({path for path, _ in base.items() ^ theirs.items()}):
        was, here, there = base.get(path), ours.get(path), theirs.get(path)
        if here == there:
            continue
        if here == was:
            _put(merged, path, there)
            continue
        both = None if was is None or here is None or there is None else merge_text(was, here, there)
        if both is None:
            conflicts.append(path)
        else:
            merged[path] = both
    return merged, tuple(conflicts)


def _put(files: dict[str, bytes], path: str, data: bytes | None) -> None:
    if data is None:
        files.pop(path, None)
    else:
        files[path] = data


def merge_text(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """None: they conflict."""
    lines, one, other = (text.splitlines(keepends=True) for text in (base, ours, theirs))
    merged: list[bytes] = []
    at = at_one = at_other = 0
    for start, start_one, start_other, length in _agreed(lines, one, other):
        part = _chosen(lines[at:start], one[at_one:start_one], other[at_other:start_other])
        if part is None:
            return None
        merged += part
        merged += lines[start : start + length]
        at, at_one, at_other = start + length, start_one + length, start_other + length
    return b"".join(merged)


def _chosen(was: Lines, here: Lines, there: Lines) -> Lines | None:
    if here in (there, was):
        return there
    return here if there == was else None


def _agreed(base: Lines, one: Lines, other: Lines) -> Iterator[tuple[int, int, int, int]]:
    """The stretches that all three share, in order; the last is empty, at the end."""
    others = SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks()
    for block in SequenceMatcher(None, base, one, autojunk=False).get_matching_blocks():
        for their in others:
            start, end = max(block.a, their.a), min(block.a + block.size, their.a + their.size)
            if start < end:
                yield start, block.b + start - block.a, their.b + start - their.a, end - start
    yield len(base), len(one), len(other), 0


def moved_line(before: bytes, after: bytes, line: int) -> int | None:
    """Where a line (from 1) stands now; None: it was changed or removed."""
    old, new = before.splitlines(), after.splitlines()
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        if block.a < line <= block.a + block.size:
            return block.b + line - block.a
    return None
