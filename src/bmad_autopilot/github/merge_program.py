"""The program that git runs for each file it merges by its meaning (merge_driver.py has its command line).

It starts once per file and merge, so it needs neither click nor, for most boards, PyYAML; nor our door to git,
unless both sides set the same row. 0: merged, and written where git looks for it. 1: nothing was touched, and
git's own line by line merge is to follow.
"""

import os
import sys
from typing import NoReturn

from ..board.meanings import Meaning, merge
from ..board.merging import Merged
from ..core.errors import AutopilotError
from ..files import read_bytes, write_atomic

MERGED = 0
LEFT = 1


def main() -> NoReturn:
    """Arguments: the meaning, then git's %O %A %B %P."""
    code = _merge(*sys.argv[-5:])
    sys.stderr.flush()
    os._exit(code)  # taking the interpreter apart would be a tenth of its time


def _merge(meaning: str, base: str, ours: str, theirs: str, path: str) -> int:
    try:
        merged = _merged(Meaning(meaning), path, *map(read_bytes, (base, ours, theirs)))
        if merged is not None:
            write_atomic(ours, merged.data, durable=False)
    except (AutopilotError, OSError) as error:
        return _say(path, str(error).partition("\n")[0], LEFT)
    except Exception as error:  # git goes on with what stands in its file: it must hear of this, whatever it is
        return _say(path, f"internal error: {type(error).__name__}: {error}", LEFT)
    if merged is None:
        return _say(path, f"cannot be merged as a {_WORDS[Meaning(meaning)]}", LEFT)
    for note in merged.notes:
        _say(path, note, MERGED)
    return MERGED


def _merged(meaning: Meaning, path: str, *versions: bytes) -> Merged | None:
    base, ours, theirs = versions
    merged = merge(meaning, base, ours, theirs)
    if merged is None or not merged.contested:
        return merged
    from .git import Git
    from .hands import merge_as_meant

    return merge_as_meant(Git("."), path, meaning, base, ours, theirs)


_WORDS = {Meaning.BOARD: "board", Meaning.DEFERRED: "list of deferred work"}


def _say(path: str, text: str, code: int) -> int:
    shown = "".join(char if char.isprintable() else "?" for char in f"bmad: {path}: {text}")
    sys.stderr.write(shown.encode("utf-8", "replace").decode() + "\n")
    return code
