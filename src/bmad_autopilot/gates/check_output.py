"""Analyses the output of a failed check: an excerpt, a normalised form for comparison, and the failure kind."""

import re
from enum import StrEnum
from typing import NamedTuple

from ..core.text import clip, without_escapes

MAX_EXCERPT = 6000
TAIL_LINES = 60
CONTEXT_LINES = 8
MAX_LINES = 200_000
MAX_LINE = 400
MAX_FAILURE_LINES = 200

_FAILURE_LINE = re.compile(
    r"\b(?:fail(?:ed|ure|ing)?|error|panic(?:ked)?|exception|assert\w*|not ok|FAIL|ERR!|fatal"
    r"|undefined|traceback)\b|[✕✗✘×●]",
    re.IGNORECASE,
)
_NO_FAILURE = re.compile(
    r"\b(?:0|no) (?:failed|failures?|errors?|problems?|warnings?)\b|--?error|passed", re.IGNORECASE
)

# Text that differs between two runs with the same failure, and its replacement.
_VOLATILE = (
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


def clean_output(output: bytes) -> str:
    """Text without escape sequences; a line that overwrote itself (\\r) shows its last state."""
    text = without_escapes(output.decode("utf-8", "replace")).replace("\r\n", "\n")
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return "\n".join("".join(c if c.isprintable() or c == "\t" else " " for c in line) for line in lines)


def failure_excerpt(text: str) -> str:
    """The lines around the first failure and the last lines; bounded per line and in total."""
    lines = [clip(line, MAX_LINE) for line in text.rstrip().splitlines()]
    tail = max(0, len(lines) - TAIL_LINES)
    first = next((index for index, line in enumerate(lines[:tail]) if _is_failure_line(line)), None)
    end = "\n".join(lines[tail:])
    if first is None:
        return _bounded_tail(end, MAX_EXCERPT)
    head = "\n".join(lines[max(0, first - CONTEXT_LINES // 2) : min(tail, first + CONTEXT_LINES)])[
        : MAX_EXCERPT // 3
    ]
    return f"{head}\n[…]\n{_bounded_tail(end, MAX_EXCERPT - len(head) - 10)}"


def _bounded_tail(text: str, most: int) -> str:
    return text if len(text) <= most else f"…{text[len(text) - most + 1 :]}"


def _is_failure_line(line: str) -> bool:
    return _FAILURE_LINE.search(line) is not None and _NO_FAILURE.search(line) is None


def normalize_failure(text: str) -> str:
    """Equal for two runs with the same failure: the sorted failure lines without volatile text; if there are none,
    the last lines."""
    lines = [normalize_line(line) for line in text.splitlines()[-MAX_LINES:] if line.strip()]
    telling = sorted({line for line in lines if _is_failure_line(line)})[:MAX_FAILURE_LINES]
    return "\n".join(telling or lines[-TAIL_LINES:])


def normalize_line(line: str) -> str:
    line = line[:MAX_LINE]
    for pattern, word in _VOLATILE:
        line = pattern.sub(word, line)
    return " ".join(line.split())


# Why a check failed: the code, which an agent can fix, or the environment, which only a person can.
#
# The output decides nothing else: a wrong guess costs a call or a question, never a pass.
#
# | sign, in this order | kind |
# |---|---|
# | time limit | code: new code hangs more often than a machine; the same failure twice becomes a question |
# | 126, 127, `command not found`, a tool's own module missing, disk full, no docker, no memory | environment |
# | an assertion, an error of a compiler, type checker or linter | code |
# | no network, no database, a credential or variable missing, a port in use | environment |
# | anything else | code |

MAX_CLASSIFIED = 128 * 1024


class FailureKind(StrEnum):
    CODE = "code"
    ENVIRONMENT = "environment"


class CheckFailure(NamedTuple):
    command: str
    exit: int | None  # None: killed at the time limit
    kind: FailureKind
    excerpt: str


_NOT_RUN = (126, 127)
_KILLED = 137  # 128 + SIGKILL, not sent by us: the kernel ran out of memory
_LINE = r"[^\n]{0,300}"

# No change to the project fixes these.
_CERTAIN = re.compile(
    rf"^{_LINE}: (?:command )?not found$|is not recognized as an internal or external command"
    rf"|^{_LINE}python{_LINE}: No module named [\w.]+$|^{_LINE}: Permission denied$"
    r"|No space left on device|\bENOSPC\b|Disk quota exceeded|Read-only file system|Too many open files|\bEMFILE\b"
    r"|Cannot connect to the Docker daemon|docker daemon (?:is not )?running|Is the docker daemon running"
    r"|JavaScript heap out of memory|Cannot allocate memory|\bMemoryError\b"
    r"|java\.lang\.OutOfMemoryError|Out of memory"
    r"|JAVA_HOME is not set|Unable to locate a Java Runtime|SDK location not found|No Java runtime present"
    r"|Executable doesn't exist at|Please run the following command to download new browsers"
    r"|Failed to launch (?:the )?browser|cannot find (?:Chrome|chromium)|error while loading shared libraries"
    r"|node_modules missing|Run `?(?:npm|pnpm|yarn|bundle|composer|poetry|mix)(?: deps\.get| install"
    r"| ci)`?|npm ERR! enoent"
    r"|The engine \"node\" is incompatible|Unsupported engine|requires a different Python",
    re.MULTILINE | re.IGNORECASE,
)
_CODE = re.compile(
    r"\bAssertionError\b|\bassert(?:ion)? failed\b|^E[ \t]+assert\b"
    r"|^[ \t]{0,40}(?:Expected|Received)\b[^\n]{0,300}[:=]"
    r"|panicked at|--- FAIL:"
    r"|\berror TS\d+|^error(?:\[E\d+\])?:|\bSyntaxError\b|\bTypeError\b|\bNameError\b|\bReferenceError\b"
    r"|\b\d+ problems? \(|\bFound \d+ errors?\b|\bcompilation (?:failed|error)|\bundefined: \w"
    r"|\bcannot find symbol\b"
    r"|\berror CS\d+|^\S+:\d+:\d+: (?:error|[EFWC]\d+)|\bImportError: cannot import name"
    r"|\b\d{1,9} examples?, [1-9]\d{0,8} failures?"
    r"|\bexpected\b[^\n]{1,200}\b(?:to|but|got|received)\b|\bwould be reformatted\b|Code style issues",
    re.MULTILINE,
)
_LIKELY = re.compile(
    r"\bENOTFOUND\b|\bEAI_AGAIN\b|\bECONNREFUSED\b|\bECONNRESET\b|\bETIMEDOUT\b|\bENETUNREACH\b|Connection refused"
    r"|Could not resolve (?:host|proxy)|Temporary failure in name resolution"
    r"|Name or service not known|no such host"
    r"|Network is unreachable|network timeout|could not connect to server|Can't connect to (?:local )?MySQL"
    r"|TLS handshake|certificate verify failed|SELF_SIGNED_CERT|unable to get local issuer"
    r"|\bEADDRINUSE\b|[Aa]ddress already in use|port \d+ is (?:already )?(?:in use|allocated)"
    r"|(?:missing|required|undefined|set the|must be set|not set)[^\n]{0,40}\benvironment variable"
    r"|environment variable[^\n]{0,60}(?:is not set|not set|is missing|is required|must be set"
    r"|not found|undefined)"
    r"|\b[A-Z][A-Z0-9_]{2,}_(?:KEY|TOKEN|SECRET|PASSWORD|URL|DSN)\b[^\n]{0,30}(?:is not set|not set"
    r"|missing|required)"
    r"|[Ii]nvalid (?:credentials|API key|access key)|[Cc]ould not load credentials|[Nn]o credentials"
    r"|\b401 Unauthorized"
    r"|password authentication failed|[Aa]uthentication (?:failed|required)|\b403 Forbidden\b|rate limit exceeded"
    r"|[Pp]ermission denied",
)


def classify_failure(exit: int | None, output: str) -> FailureKind:
    if exit is None:
        return FailureKind.CODE
    text = (
        output if len(output) <= MAX_CLASSIFIED else output[: MAX_CLASSIFIED // 2] + output[-MAX_CLASSIFIED // 2 :]
    )
    if exit < 0 or exit in _NOT_RUN or exit == _KILLED or _CERTAIN.search(text):  # below 0: supervisor killed
        return FailureKind.ENVIRONMENT
    if _CODE.search(text):
        return FailureKind.CODE
    return FailureKind.ENVIRONMENT if _LIKELY.search(text) else FailureKind.CODE
