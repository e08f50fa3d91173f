"""Secrets that only their name gives away: `DB_PASSWORD=…`, `"apiKey": "…"`, `Authorization: Basic …`.

Code and prose are full of such names, so a value has to look like one: `password: string`, `token: Token`,
`tokens: 1234` and `secret = os.environ["SECRET"]` stay as they are. Standard library only, as the shim's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

MIN_VALUE = 6
LONG_VALUE = 512

_KEYS = "(?:api|access|private|secret|account|encryption|signing|master|shared|service|subscription)[_-]?key"
_NAME = rf"token|{_KEYS}|secret|passw(?:or)?d|passphrase|credentials?"
_SHORT = "[_-](?:pwd|pass|auth|pat|key)"  # these must be the end of a longer name
_HEADERS = "authorization|bearer|cookie"

# Searched for in the text's lower-case form, which is much faster than a search that ignores case.
_WORDS = re.compile(rf"(?:{_NAME}|{_SHORT}(?=[\\\"'`\] \t:=])|{_HEADERS})")
_ENDS = re.compile(rf"(?:{_NAME}|(?:^|[_-])(?:pwd|pass|auth|pat)|authorization|cookie)(?:[_-]?\d{{1,3}})?")
_KEY_ENDS = re.compile(r".*_KEY(?:_?\d{1,3})?")

_VALUE = (
    r"""(?:\\{0,4}"(?P<double>(?:[^"\\\r\n]|\\[^"\r\n]){4,4096}+)"""
    r"""|\\{0,4}'(?P<single>[^'\\\r\n]{4,4096}+)|`(?P<back>[^`\\\r\n]{4,4096}+)"""
    r"""|(?P<bare>[^\s"'`\\,;&|<>(){}\[\]]{4,4096}+)(?![(\[{]))"""
)
_ASSIGNED = re.compile(
    r"""(?:_?\d{1,3})?(?:\\{0,4}["'`])?\]?(?P<gap>[ \t]{0,8})"""
    r"""(?P<sign>:[ \t]{0,2}[A-Za-z_][\w.]{0,40}[ \t]{0,2}=|={1,3}>?|:=?)[ \t]{0,8}""" + _VALUE,
    re.ASCII,
)
_FLAGGED = re.compile(r"[ \t]{1,4}(?!-)" + _VALUE, re.ASCII)  # `--password …`
_ELEMENT = re.compile(r">([^<>\s]{4,512}+)</")  # `<password>…</password>`
_AUTHORIZED = re.compile(
    r"""(?:\\{0,4}["'])?[ \t]{0,4}[:=][ \t]{0,4}(?:\\{0,4}["'])?"""
    r"""(?P<scheme>(?i:basic|bearer|token|digest|apikey|negotiate)[ \t]+)?(?P<value>[\w.~+/=:-]{8,8192}+)""",
    re.ASCII,
)
_BORNE = re.compile(r"[ \t]+(?P<value>[\w.~+/=-]{16,8192}+)", re.ASCII)
_BAKED = re.compile(
    r"""(?:\\{0,4}["'])?[ \t]{0,4}:[ \t]{0,4}(?:\\{0,4}["'])?"""
    r"""(?P<value>[\w.$-]{1,64}=[^\s;,"'\\]{6,4096}+(?:;[ \t]?[\w.$-]{1,64}=[^\s;,"'\\]{0,4096}+){0,50})""",
    re.ASCII,
)

# Types, words and references that stand where a secret would.
_PLAIN = re.compile(
    r"string|number|boolean|object|unknown|undefined|optional|required|nullable|hidden|include|same-origin|"
    r"default|public|private|bearer|basic|enabled|disabled|localhost|changeme|redacted|placeholder|example|"
    r"secretstr|varchar|integer|function|request|response|https?://.*|\[redacted.*|"
    r"[x*.#_-]+|[<$%{(\[@!].*|your[-_ ].*|.*\.\.\.|(?:process|os|env|self|this|config|settings|secrets)\..*",
    re.IGNORECASE | re.DOTALL,
)
_MENTION = re.compile(rf"[A-Za-z_.:/ -]*(?:{_NAME}|pass|key|auth)[A-Za-z_.:/ -]*", re.IGNORECASE)
_CHAIN = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+", re.ASCII)
_PATH = re.compile(r"(?:~|\.{0,2})/[\w.@-]+(?:/[\w.@-]*)+|(?:~|\.{0,2})/[\w@-]+\.\w{1,8}|[A-Za-z]:\\.*", re.ASCII)
_DIGIT = re.compile(r"\d", re.ASCII)
_LETTER = re.compile("[A-Za-z]")


@lru_cache(2048)
def is_named_secret(name: str) -> bool:
    """Whether a variable, key or header of that name holds a secret."""
    if len(name) > 200:
        return False
    low = name.lower()
    found = _ENDS.search(low, max(0, len(low) - 24))
    while found and found.end() < len(low):
        found = _ENDS.search(low, found.start() + 1)
    return found is not None or _KEY_ENDS.fullmatch(name) is not None


def plausible(name: str, value: str, *, quoted: bool, sure: bool | None = None) -> bool:
    """Whether this is a value, and no type, placeholder or reference. `sure`: the name is a setting's, so that
    any word may be its value; names in capitals are."""
    sure = name.isupper() if sure is None else sure
    low = name.lower()
    if len(value) < MIN_VALUE or _PLAIN.fullmatch(value) or (len(value) < 80 and _MENTION.fullmatch(value)):
        return False
    if low.endswith(("authorization", "cookie")):
        return _DIGIT.search(value) is not None
    if any(letter.isspace() for letter in value):
        return "passphrase" in low
    if _PATH.fullmatch(value) or (not sure and _CHAIN.fullmatch(value)):
        return False
    password = "pass" in low or "pwd" in low
    if value.isdigit():
        return password
    if sure or (password and quoted):
        return True
    mixed = _DIGIT.search(value) and _LETTER.search(value)
    return len(value) >= 8 and bool(mixed or (len(value) >= 20 and value.lower() != value != value.upper()))


def named_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the values are, from left to right."""
    done = 0
    for found in _WORDS.finditer(_lowered(text)):
        if found.start() < done:
            continue
        span = _after(text, found.start(), found.end())
        if span is None:
            continue
        start, end, secret = span
        if secret:
            yield start, end
        if secret or end - start > LONG_VALUE:  # a long run is looked at once
            done = end


def _lowered(text: str) -> str:
    """In lower case, letter for letter: `str.lower` may change the length of other alphabets."""
    if text.isascii():
        return text.lower()
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _after(text: str, start: int, end: int) -> tuple[int, int, bool] | None:
    """The value after a name, and whether it is a secret."""
    name = text[start:end]
    low = name.lower()
    if low in ("authorization", "bearer", "cookie"):
        return _header(text, low, end)
    if found := _ASSIGNED.match(text, end):
        setting = name.isupper() and not (found["gap"] and "=" in found["sign"])
        if low.endswith("key") and low[0] in "_-" and not setting:
            return None
        return _judged(found, name, setting)
    if found := _ELEMENT.match(text, end):
        return (*found.span(1), plausible(name, found[1], quoted=True))
    if (found := _FLAGGED.match(text, end)) and _is_flag(text, start):
        return _judged(found, name, "pass" in low)
    return None


def _judged(found: re.Match[str], name: str, sure: bool) -> tuple[int, int, bool]:
    group = found.lastgroup or "bare"
    return (*found.span(group), plausible(name, found[group], quoted=group != "bare", sure=sure))


def _is_flag(text: str, start: int) -> bool:
    word = re.split(r"[\s\"'`\\=]", text[max(0, start - 40) : start])[-1]
    return word.startswith("--")


def _header(text: str, low: str, end: int) -> tuple[int, int, bool] | None:
    pattern = {"authorization": _AUTHORIZED, "bearer": _BORNE, "cookie": _BAKED}[low]
    found = pattern.match(text, end)
    if found is None:
        return None
    known = low == "cookie" or (low == "authorization" and found["scheme"] is not None)
    return (*found.span("value"), known or _DIGIT.search(found["value"]) is not None)
