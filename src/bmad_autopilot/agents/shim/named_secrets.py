"""Secrets that only their name gives away: `DB_PASSWORD=…`, `"apiKey": "…"`, `Authorization: Basic …`.

Code and prose are full of such names, so a value has to look like one: `password: string`, `token: Token`,
`tokens: 1234` and `secret = os.environ["SECRET"]` stay as they are. Standard library only, as the shim's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

MIN_VALUE = 6
LONG_VALUE = 512

# Looked for one by one in the text's lower-case form: many times faster than one pattern for all.
_STEMS = (
    *(
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "credential",
        "key",
        "_pwd",
        "_pass",
        "_auth",
        "_pat",
    ),
    *("authorization", "bearer", "cookie"),
)
_KEYS = "api access private secret account encryption signing master shared service subscription".split()
_BEFORE_KEY = tuple(f"{word}{sign}" for word in _KEYS for sign in ("", "_", "-"))
_NAME = rf"token|(?:{'|'.join(_KEYS)})[_-]?key|secret|passw(?:or)?d|passphrase|credentials?"
_ENDS = rf"(?:{_NAME}|(?:^|[_-])(?:pwd|pass|auth|pat)|authorization|cookie)(?:[_-]?\d{{1,3}})?\Z"

_VALUE = (
    r"""(?:\\{0,4}"(?P<double>(?:[^"\\\r\n]|\\[^"\r\n]){4,4096}+)"""
    r"""|\\{0,4}'(?P<single>[^'\\\r\n]{4,4096}+)|`(?P<back>[^`\\\r\n]{4,4096}+)"""
    r"""|(?P<bare>[^\s"'`\\,;&|<>(){}\[\]]{4,4096}+)(?![(\[{]))"""
)
_ASSIGNED = (
    r"""(?:_?\d{1,3})?(?:\\{0,4}["'`])?\]?(?P<gap>[ \t]{0,8})"""
    r"""(?P<sign>:[ \t]{0,2}[A-Za-z_][\w.]{0,40}[ \t]{0,2}=|={1,3}>?|:=?)[ \t]{0,8}""" + _VALUE
)
_FLAGGED = r"[ \t]{1,4}(?!-)" + _VALUE  # `--password …`
_ELEMENT = r">(?P<single>[^<>\s]{4,512}+)</"  # `<password>…</password>`
_HEADERS = {
    "authorization": r"""(?:\\{0,4}["'])?[ \t]{0,4}[:=][ \t]{0,4}(?:\\{0,4}["'])?"""
    r"""(?P<scheme>(?i:basic|bearer|token|digest|apikey|negotiate)[ \t]+)?(?P<value>[\w.~+/=:-]{8,8192}+)""",
    "bearer": r"(?P<scheme>[ \t]+)(?P<value>[\w.~+/=-]{16,8192}+)",
    "cookie": r"""(?:\\{0,4}["'])?[ \t]{0,4}:[ \t]{0,4}(?:\\{0,4}["'])?(?P<scheme>)"""
    r"""(?P<value>[\w.$-]{1,64}=[^\s;,"'\\]{6,4096}+(?:;[ \t]?[\w.$-]{1,64}=[^\s;,"'\\]{0,4096}+){0,50})""",
}

# Types, words, placeholders and references that stand where a secret would.
_PLAIN = (
    r"(?is)string|number|boolean|object|unknown|undefined|optional|required|nullable|hidden|include|same-origin|"
    r"default|public|private|bearer|basic|enabled|disabled|localhost|changeme|redacted|placeholder|example|"
    r"secretstr|varchar|integer|function|request|response|https?://.*|\[redacted.*|"
    r"[x*.#_-]+|<.*>|[{(\[,].*|\$[a-z_{(].*|%\w+%|![a-z]+[ :].*|your[-_ ].*|.*\.\.\.|"
    r"(?:process|os|env|self|this|config|settings|secrets)\..*"
)
_MENTION = rf"(?i)[A-Za-z_.:/ -]*?(?:{_NAME}|pass|key|auth)[A-Za-z_.:/ -]*"
_CHAIN = r"[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+"
_PATH = r"(?:~|\.{0,2})/[\w.@-]+(?:/[\w.@-]*)+|(?:~|\.{0,2})/[\w@-]+\.\w{1,8}|[A-Za-z]:\\.*"

# In a variable's name, and what makes it a remark about a secret.
_PARTS = frozenset("TOKEN SECRET PASSWORD PASSWD PASSPHRASE APIKEY CREDENTIALS".split())
_ABOUT = frozenset("FILE PATH DIR URL URI HOST NAME USER TYPE ID COUNT LIMIT TTL EXPIRES SOCK HELPER".split())
# Values that are no secret: hiding them would leave holes in every log.
_DEFAULTS = frozenset(
    "postgres rabbitmq minioadmin sqlserver mariadb mongodb administrator password changeme localhost default "
    "enabled disabled production development staging testing".split()
)


@lru_cache(512)
def compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when first needed: all of them together would cost as much as the shim's whole start."""
    return re.compile(pattern, re.ASCII)


@lru_cache(2048)
def is_named_secret(name: str) -> bool:
    """Whether a variable, key or header of that name holds a secret."""
    if len(name) > 200:
        return False
    if compiled(_ENDS).search(name.lower()):
        return True
    return compiled(r".*_KEY(?:_?\d{1,3})?").fullmatch(name) is not None


def plausible(name: str, value: str, *, quoted: bool, sure: bool | None = None) -> bool:
    """Whether this is a value, and no type, placeholder or reference. `sure`: the name is a setting's, so that
    any word may be its value; names in capitals are."""
    sure = name.isupper() if sure is None else sure
    low = name.lower()
    if len(value) < MIN_VALUE or compiled(_PLAIN).fullmatch(value) or value.lower() == low:
        return False
    if low.endswith(("authorization", "cookie")):
        return _has_digit(value)
    if any(letter.isspace() for letter in value):
        return "passphrase" in low
    if compiled(_PATH).fullmatch(value) or (not sure and (_mentions(value) or compiled(_CHAIN).fullmatch(value))):
        return False
    password = "pass" in low or "pwd" in low
    if value.isdigit():
        return password
    return sure or (password and quoted) or _is_mixed(value)


def is_secret_variable(name: str, value: str) -> bool:
    """Whether a variable of the environment is a secret by its name: `NPM_TOKEN`, `TOKEN_FOR_NPM`. Its value is
    one for certain, so hardly anything is taken for something else."""
    parts = name.upper().split("_")
    if not is_named_secret(name) and (_PARTS.isdisjoint(parts) or parts[-1] in _ABOUT):
        return False
    low = value.lower()
    if low in _DEFAULTS or low.startswith(("http://", "https://")) or compiled(_PATH).fullmatch(value):
        return False
    return not value.isdigit() or (len(value) >= 8 and "PASS" in name.upper())


def _mentions(value: str) -> bool:
    """`access_token`, `user.password`: a name of such a thing, not the thing."""
    return len(value) < 80 and compiled(_MENTION).fullmatch(value) is not None


def _is_mixed(value: str) -> bool:
    if len(value) < 8:
        return False
    letters = compiled("[A-Za-z]").search(value) is not None
    return (letters and _has_digit(value)) or (len(value) >= 20 and value.lower() != value != value.upper())


def _has_digit(value: str) -> bool:
    return compiled(r"\d").search(value) is not None


def named_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the values are, from left to right."""
    done = 0
    for start, end in _names(_lowered(text)):
        span = _after(text, start, end) if start >= done else None
        if span is None:
            continue
        if span[2]:
            yield span[:2]
        if span[2] or span[1] - span[0] > LONG_VALUE:  # a long run is looked at once
            done = span[1]


def _lowered(text: str) -> str:
    """In lower case, letter for letter: `str.lower` may change the length of other alphabets."""
    if text.isascii():
        return text.lower()
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _names(low: str) -> list[tuple[int, int]]:
    found = []
    for stem in _STEMS:
        at = low.find(stem)
        while at >= 0:
            end = at + len(stem)
            if stem == "credential" and low.startswith("s", end):
                end += 1
            if stem != "key" or low.endswith("_", 0, at) or low.endswith(_BEFORE_KEY, 0, at):
                found.append((at, end))
            at = low.find(stem, end)
    found.sort()
    return found


def _after(text: str, start: int, end: int) -> tuple[int, int, bool] | None:
    """The value after a name, and whether it is a secret."""
    name = text[start:end]
    low = name.lower()
    if low in _HEADERS:
        found = compiled(_HEADERS[low]).match(text, end)
        if found is None:
            return None
        known = low != "bearer" and found["scheme"] is not None
        return (*found.span("value"), known or _has_digit(found["value"]))
    if found := compiled(_ASSIGNED).match(text, end):
        typed = len(found["sign"]) > 3  # `TOKEN: TokenType = …` is code
        setting = name.isupper() and not typed and not (found["gap"] and "=" in found["sign"])
        if low == "key" and not setting and not text[max(0, start - 13) : start].lower().endswith(_BEFORE_KEY):
            return None
        start, end, secret = _judged(found, name, setting)
        return start, end, secret and not (found["sign"] == ":" and _mentions(text[start:end]))
    if found := compiled(_ELEMENT).match(text, end):
        return _judged(found, name, False)
    if (found := compiled(_FLAGGED).match(text, end)) and _is_flag(text, start):
        return _judged(found, name, "pass" in low)
    return None


def _judged(found: re.Match[str], name: str, sure: bool) -> tuple[int, int, bool]:
    group = next(group for group in ("double", "single", "back", "bare") if found.groupdict().get(group))
    return (*found.span(group), plausible(name, found[group], quoted=group != "bare", sure=sure))


def _is_flag(text: str, start: int) -> bool:
    word = re.split(r"[\s\"'`\\=]", text[max(0, start - 40) : start])[-1]
    return word.startswith("--")
