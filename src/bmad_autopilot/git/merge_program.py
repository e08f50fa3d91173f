"""The program that git runs for each semantically merged file (merge_driver.py has its command line).

It starts once per file and merge, so it avoids importing click, PyYAML (for most boards) and our git module
(unless both sides set the same row). Exit code 0: merged, written where git expects it. 1: nothing was touched,
and git's line merge follows.
"""

import os
import sys
from typing import NoReturn

from ..board.merge import MergeResult
from ..board.merge_files import MergeKind, merge_file
from ..core.errors import AutopilotError
from ..io.files import read_bytes, write_atomic

MERGED = 0
UNMERGED = 1


def main() -> NoReturn:
    """Arguments: the meaning, then git's %O %A %B %P."""
    code = _merge(*sys.argv[-5:])
    sys.stderr.flush()
    os._exit(code)  # interpreter shutdown would take a tenth of the run time


def _merge(meaning: str, base: str, ours: str, theirs: str, path: str) -> int:
    try:
        merged = _merged(MergeKind(meaning), path, *map(read_bytes, (base, ours, theirs)))
        if merged is not None:
            write_atomic(ours, merged.data, durable=False)
    except (AutopilotError, OSError) as error:
        return _report(path, str(error).partition("\n")[0], UNMERGED)
    except Exception as error:  # git would use the unmerged file: report every failure
        return _report(path, f"internal error: {type(error).__name__}: {error}", UNMERGED)
    if merged is None:
        return _report(path, f"cannot be merged as a {_WORDS[MergeKind(meaning)]}", UNMERGED)
    for note in merged.notes:
        _report(path, note, MERGED)
    return MERGED


def _merged(meaning: MergeKind, path: str, *versions: bytes) -> MergeResult | None:
    base, ours, theirs = versions
    merged = merge_file(meaning, base, ours, theirs)
    if merged is None or not merged.contested:
        return merged
    from .git import Git
    from .merge import merge_semantically

    return merge_semantically(Git("."), path, meaning, base, ours, theirs)


_WORDS = {MergeKind.BOARD: "board", MergeKind.DEFERRED: "list of deferred work"}


def _report(path: str, text: str, code: int) -> int:
    shown = "".join(char if char.isprintable() else "?" for char in f"bmad: {path}: {text}")
    sys.stderr.write(shown.encode("utf-8", "replace").decode() + "\n")
    return code
