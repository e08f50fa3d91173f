"""Compares git's merge of boards with ours on generated cases: `python -m scripts.merge_triples [COUNT]` prints
the table of docs/board.md."""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from bmad_autopilot.board.merge import merge_boards
from scripts.board_triples import Triple, make_triple

COUNT = 1_000

Merge = Callable[[bytes, bytes, bytes], bytes | None]  # None: left to a person

ROWS = (
    ("clean", "merged, and right"),
    ("conflict", "conflict, left to a person"),
    ("wrong", "merged without a word, and wrong"),
    ("broken", "… no board any more"),
    ("lost", "… a row lost"),
    ("back", "… a row with the status that should not stand"),
    ("twice", "… a row there twice"),
    ("notes", "… a comment lost"),
)


def merge_ours(base: bytes, here: bytes, there: bytes) -> bytes | None:
    merged = merge_boards(base, here, there)
    return merged.data if merged is not None else None


def git_merge_file(folder: Path) -> Merge:
    def merge(*versions: bytes) -> bytes | None:
        names = [folder / name for name in ("base", "ours", "theirs")]
        for name, raw in zip(names, versions, strict=True):
            name.write_bytes(raw)
        base, here, there = map(str, names)
        done = subprocess.run(
            ["git", "merge-file", "-p", "-q", here, base, there], capture_output=True, check=False
        )
        return done.stdout if done.returncode == 0 else None

    return merge


def count_results(triples: Iterable[Triple], merge: Merge) -> Counter[str]:
    found: Counter[str] = Counter()
    for triple in triples:
        merged = merge(*triple.raws)
        if merged is None:
            found["conflict"] += 1
            continue
        faults = triple.faults(merged)
        found["wrong" if faults else "clean"] += 1
        found.update(name for name, value in faults._asdict().items() if value)
    return found


def table(number: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        columns = [
            count_results(map(make_triple, range(number)), merge)
            for merge in (git_merge_file(Path(folder)), merge_ours)
        ]
    lines = [f"| of {number:,} | `git merge-file` | by what they mean |", "|---|---|---|"]
    lines += [f"| {words} | {columns[0][name]:,} | {columns[1][name]:,} |" for name, words in ROWS]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT))
