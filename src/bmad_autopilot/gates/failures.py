"""Why a check failed: the code, which a developer mends, or the environment, which only a person can.

Output is trusted for nothing but this choice: taken wrongly it costs a call or a question, never a pass.

| sign | kind |
|---|---|
| 126, 127, `command not found`, a tool's own module missing, disk full, no docker, no memory | environment |
| an assertion, a compiler's, type checker's or linter's complaint | code |
| no network, no database, a credential or a variable missing, a port taken | environment |
| the time limit | code: what is new hangs more often than a machine; the same twice is asked about |
| anything else | code |
"""

import re
from enum import StrEnum
from typing import NamedTuple

MAX_LOOKED_AT = 128 * 1024


class FailureKind(StrEnum):
    CODE = "code"
    ENVIRONMENT = "environment"


class Failure(NamedTuple):
    command: str
    exit: int | None  # None: killed at the time limit
    kind: FailureKind
    excerpt: str


_NOT_RUN = (126, 127)
_KILLED = 137  # 128 + SIGKILL, and not by us: the kernel, for memory
_LINE = r"[^\n]{0,300}"

# Nothing an agent writes into the project mends these.
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


def kind_of(exit: int | None, output: str) -> FailureKind:
    if exit is None:
        return FailureKind.CODE
    text = output if len(output) <= MAX_LOOKED_AT else output[: MAX_LOOKED_AT // 2] + output[-MAX_LOOKED_AT // 2 :]
    if exit < 0 or exit in _NOT_RUN or exit == _KILLED or _CERTAIN.search(text):  # below 0: its keeper was killed
        return FailureKind.ENVIRONMENT
    if _CODE.search(text):
        return FailureKind.CODE
    return FailureKind.ENVIRONMENT if _LIKELY.search(text) else FailureKind.CODE
