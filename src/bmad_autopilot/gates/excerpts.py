"""The telling part of a check's output, and what of it is the same each time."""

import re

MAX_EXCERPT = 6000
TAIL_LINES = 60
AROUND = 8
MAX_LINES = 200_000
MAX_LINE = 400
MAX_TELLING = 200

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_TELLING = re.compile(
    r"\b(?:fail(?:ed|ure|ing)?|error|panic(?:ked)?|exception|assert\w*|not ok|FAIL|ERR!|fatal"
    r"|undefined|traceback)\b|[✕✗✘×●]",
    re.IGNORECASE,
)
_NO_FAILURE = re.compile(
    r"\b(?:0|no) (?:failed|failures?|errors?|problems?|warnings?)\b|--?error|passed", re.IGNORECASE
)

# What differs between two runs that fail alike, and what stands for it.
_CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?\b(?: ?[AP]M)?"), "<time>"),
    (re.compile(r"\b\d+(?:[.,]\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds?|m|min|minutes?)\b"), "<span>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"0x[0-9a-f]{4,}", re.IGNORECASE), "<address>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,64}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s:'\",)\]]*"), "<temporary>"),
    (re.compile(r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[?::1?\]?):\d{4,5}\b"), "<port>"),
    (re.compile(r"\b(?:pid|process|thread|worker|seed|port)(?:[ =:#-]+)\d+", re.IGNORECASE), "<number>"),
    (re.compile(r"\[gw\d+\]|\[\s*\d+%\]|\b\d{1,3}%"), "<progress>"),
    (re.compile(r"={3,}|-{3,}|_{3,}|\.{3,}"), "<rule>"),
)


def plain(output: bytes) -> str:
    """Text without colours; a line that overwrote itself is shown as it was left."""
    text = _ESCAPE.sub("", output.decode("utf-8", "replace")).replace("\r\n", "\n")
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return "\n".join("".join(c if c.isprintable() or c == "\t" else " " for c in line) for line in lines)


def excerpt(text: str) -> str:
    """The lines around the first failure and the last lines; each line, and all of it, bounded."""
    lines = [line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 1]}…" for line in text.rstrip().splitlines()]
    tail = max(0, len(lines) - TAIL_LINES)
    first = next((index for index, line in enumerate(lines[:tail]) if _is_telling(line)), None)
    end = "\n".join(lines[tail:])
    if first is None:
        return _bounded_tail(end, MAX_EXCERPT)
    head = "\n".join(lines[max(0, first - AROUND // 2) : min(tail, first + AROUND)])[: MAX_EXCERPT // 3]
    return f"{head}\n[…]\n{_bounded_tail(end, MAX_EXCERPT - len(head) - 10)}"


def _bounded_tail(text: str, most: int) -> str:
    return text if len(text) <= most else f"…{text[len(text) - most + 1 :]}"


def _is_telling(line: str) -> bool:
    return _TELLING.search(line) is not None and _NO_FAILURE.search(line) is None


def stable(text: str) -> str:
    """The same for two runs that fail alike: the telling lines, whatever their order, without what always differs.
    Where no line tells anything, the last ones."""
    lines = [settle(line) for line in text.splitlines()[-MAX_LINES:] if line.strip()]
    telling = sorted({line for line in lines if _is_telling(line)})[:MAX_TELLING]
    return "\n".join(telling or lines[-TAIL_LINES:])


def settle(line: str) -> str:
    line = line[:MAX_LINE]
    for pattern, word in _CHANGING:
        line = pattern.sub(word, line)
    return " ".join(line.split())
