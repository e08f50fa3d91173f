"""What `gh api -i` prints: the status line, the headers, the body. Also for an error."""

import json
import re
from typing import Any, NamedTuple

from .forge import ForgeError, Trouble

_STATUS = re.compile(rb"HTTP/[0-9.]+ ([1-5][0-9]{2})\b[^\n]*\n")
_BREAK = re.compile(rb"\r?\n")
MAX_HEADERS = 256


class HttpAnswer(NamedTuple):
    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes
    is_whole: bool = True  # False: gh ended with an error of its own; the body may be torn

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def number(self, header: str) -> float | None:
        """A header that holds a number. None where it does not."""
        value = self.headers.get(header, "").strip()
        return float(value) if value.isascii() and value.isdigit() and len(value) < 16 else None

    def json(self) -> Any:
        """What the body holds; None where it is empty."""
        if not self.body.strip():
            return None
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            pass
        if not self.is_whole:
            raise ForgeError(Trouble.AWAY, "GitHub's answer broke off", status=self.status)
        kind = self.headers.get("content-type", "no content type").partition(";")[0]
        raise ForgeError(
            Trouble.ODD,
            f"GitHub answered with something that is no JSON ({kind}): {shortened(self.text)}",
            status=self.status,
            hint="a proxy may have answered instead; look: gh api user",
        )


def split_answer(out: bytes, code: int) -> HttpAnswer | None:
    """None: gh never came to an answer."""
    status = _STATUS.match(out)
    if status is None:
        return None
    headers: dict[str, str] = {}
    start = status.end()
    for _ in range(MAX_HEADERS):
        end = _BREAK.search(out, start)
        if end is None:
            return HttpAnswer(int(status[1]), headers, b"", is_whole=False)
        line, start = out[start : end.start()], end.end()
        if not line:
            break
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return HttpAnswer(int(status[1]), headers, out[start:], is_whole=code == 0)


def shortened(text: str, most: int = 200) -> str:
    """One line of somebody else's words, fit for a message of ours."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 4 * most]).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
