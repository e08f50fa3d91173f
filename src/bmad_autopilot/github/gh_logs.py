"""The end of a job's log, where the reason stands."""

import re

MAX_LINES = 200
MAX_LETTERS = 64 * 1024
AFTER = 5  # lines below the last error: what follows is the runner's tidying up

# The runner puts the time before each line, and a mark before an error.
_TIME = re.compile(r"\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ?")
_ERROR = "##[error]"


def tail(log: bytes, *, is_whole: bool = True) -> str:
    """`is_whole` False: it was too long to be read to its end, and says so."""
    lines = [_TIME.sub("", line, count=1) for line in log.decode("utf-8", "replace").splitlines()]
    errors = [i for i, line in enumerate(lines) if _ERROR in line]
    if errors:
        del lines[errors[-1] + 1 + AFTER :]
    if not is_whole:
        lines.append("(the log is too long; its end was not read)")
    return "\n".join(lines[-MAX_LINES:])[-MAX_LETTERS:]
