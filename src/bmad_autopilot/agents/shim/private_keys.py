"""Private keys in PEM, in one text or over many lines. Standard library only, as the shim's."""

from __future__ import annotations

from .named_secrets import compiled

MARK = "[redacted: private key]"
MAX_LINES = 200  # the largest private keys in use have about 100
MIN_BODY = 16

_BEGIN = "-----BEGIN "
_BEGIN_KEY = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_END_KEY = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash):[^\n\\]{0,120}"
# What follows a BEGIN without an END, as it stands in a file, a JSON text or a listing with line numbers.
_BODY = rf"(?:\s|\\[nrt]|\d{{1,6}}(?:→|\t)|[A-Za-z0-9+/=]{{{MIN_BODY},}}|{_HEADER})*+"
# A line of it: after a line number, the `+` of a diff or a file's name, or the short last one.
_LINE = (
    rf"(?:.{{0,200}}[\s:|→+-])?(?:[A-Za-z0-9+/=]{{{MIN_BODY},}}|{_HEADER})\s*"
    r"|(?:\S{0,200}[:|])?\W{0,20}(?:\d{1,6}\W{1,20})?[A-Za-z0-9+/=]{0,80}\s*"
)


def without_keys(text: str) -> str:
    if _BEGIN not in text:
        return text
    parts: list[str] = []
    at = 0
    ends = [match.end() for match in compiled(_END_KEY).finditer(text)]
    ends.reverse()
    for begin in compiled(_BEGIN_KEY).finditer(text):
        if begin.start() < at:
            continue
        while ends and ends[-1] < begin.end():
            ends.pop()
        body = compiled(_BODY).match(text, begin.end())
        assert body is not None  # it may be empty
        end = ends[-1] if ends else body.end()
        if end - begin.end() >= MIN_BODY:
            parts += [text[at : begin.start()], MARK]
            at = end
    return "".join([*parts, text[at:]]) if parts else text


def last_key(text: str) -> str:
    """The text from the last BEGIN on; empty where there is none."""
    start = text.rfind(_BEGIN)
    return text[start:] if start >= 0 else ""


def after_key_end(text: str) -> str:
    """The text after the END of a key whose BEGIN was cut off; the text as it is where there is no such key."""
    end = compiled(_END_KEY).search(text)
    lines = text[: end.start()].splitlines() if end is not None and _BEGIN not in text[: end.start()] else []
    if end is None or not lines or len(lines) > MAX_LINES:
        return text
    is_body = compiled(r"[A-Za-z0-9+/=]*\s*").fullmatch(lines[0]) is not None  # it may be a part of a line
    is_key = is_body and all(compiled(_LINE).fullmatch(line[:4096]) for line in lines[1:])
    return text[end.end() :] if is_key else text


class KeyLines:
    """Follows a private key from line to line. It ends at END, or at the first line no key can have: code that
    only mentions BEGIN does not hide what comes after it."""

    def __init__(self) -> None:
        self._seen = 0  # lines of the key so far; 0: outside

    @property
    def is_open(self) -> bool:
        """A key has begun and not ended yet."""
        return self._seen > 0

    def hides(self, line: str) -> bool:
        """Whether the line is part of a key that began on an earlier one."""
        inside = self._seen > 0 and self._goes_on(line)
        if not inside:
            self._seen = 1 if _BEGIN in line and _opens(line) else 0
        return inside

    def _goes_on(self, line: str) -> bool:
        if compiled(_END_KEY).search(line):
            self._seen = 0
            return True
        self._seen += 1
        return self._seen <= MAX_LINES and compiled(_LINE).fullmatch(line[:4096]) is not None


def _opens(line: str) -> bool:
    start = max((begin.end() for begin in compiled(_BEGIN_KEY).finditer(line)), default=None)
    return start is not None and compiled(_END_KEY).search(line, start) is None
