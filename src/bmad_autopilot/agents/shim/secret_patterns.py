"""The shapes of secrets as data. Standard library only: the shim imports this too, in a bare interpreter.

A substring search is a hundred times faster than a regular expression, and one expression is faster than many. So
most shapes are found by their prefix near a long run of letters; the others have hints, substrings that every such
secret contains. If a pattern has a group, only the group is the secret.

No pattern may scan far and then fail: a run that can be long either ends the pattern, or starts where no run of
the same letters precedes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

SecretShape = tuple[str, tuple[str, ...], str]  # label, prefixes or hints, pattern

MIN_RUN = 16  # consecutive base64 letters, `-` and `_` that every prefixed token contains,
MAX_PREFIX_GAP = 12  # beginning at most this many characters after the start of its prefix

_ANY = r"[\w-]"
_ALNUM = "[A-Za-z0-9]"
_HEX = "[0-9a-fA-F]"
_BASE64 = "[A-Za-z0-9+/]"


def _tokens(label: str, prefixes: str, body: str) -> SecretShape:
    """A prefix that occurs nowhere else."""
    names = tuple(prefixes.split())
    return label, names, f"(?:{'|'.join(map(_escape_dots, names))}){body}"


def _words(label: str, prefixes: str, body: str) -> SecretShape:
    """A short prefix: it counts only at the start of a word, or after the `\\n` of a JSON text. In the pattern the
    letters precede the lookbehind, which keeps the search fast."""
    names = tuple(prefixes.split())
    starts = (rf"{name}(?:(?<![\w-]{name})|(?<=\\[nrt]{name}))" for name in map(_escape_dots, names))
    return label, names, f"(?:{'|'.join(starts)}){body}"


def _escape_dots(text: str) -> str:
    return text.replace(".", r"\.")


PREFIXED: tuple[SecretShape, ...] = (
    _tokens("github token", "ghp_ gho_ ghu_ ghr_", f"{_ALNUM}{{20,}}+"),
    _tokens("github token", "ghs_", r"[A-Za-z0-9][\w.-]{19,}+"),  # an app's token may contain a JWT
    _tokens("github token", "github_pat_", r"\w{20,}+"),
    _tokens(
        "gitlab token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-",
        r"[\w-]{16,}+(?:\.[\w-]{2,64}){0,2}",
    ),
    _words("gitlab token", "GR1348941", f"{_ANY}{{16,}}+"),
    _tokens("anthropic key", "sk-ant-", f"{_ANY}{{16,}}+"),
    _tokens("openrouter key", "sk-or-", f"{_ANY}{{16,}}+"),
    _tokens("openai key", "sk-proj- sk-svcacct- sk-admin-", f"{_ANY}{{16,}}+"),
    _words("api key", "sk-", rf"(?=[\w-]{{0,80}}\d){_ANY}{{20,}}+"),
    _words("google api key", "AIza", f"{_ANY}{{30,}}+"),
    _tokens("google client secret", "GOCSPX-", f"{_ANY}{{20,}}+"),
    _words("google token", "ya29.", r"[\w-]{20,}+"),
    _words("google token", "1//0", f"{_ANY}{{30,}}+"),
    _words("aws key", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _words("alibaba key", "LTAI", f"{_ALNUM}{{16,}}+"),
    _words("slack token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[\w.-]{12,}+"),
    _words("slack token", "xoxe.", r"[\w.-]{20,}+"),
    _words("stripe key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_", f"{_ALNUM}{{16,}}+"),
    _words("twilio key", "SK", f"{_HEX}{{32}}(?!{_ALNUM})"),
    _words("sendgrid key", "SG.", r"[\w-]{16,64}\.[\w-]{16,}+"),
    _words("mailgun key", "key-", f"{_HEX}{{32}}(?!{_ALNUM})"),
    _words("npm token", "npm_", f"{_ALNUM}{{30,}}+"),
    _words("pypi token", "pypi-", f"AgE{_ANY}{{30,}}+"),
    _tokens("docker token", "dckr_pat_ dckr_oat_", f"{_ANY}{{20,}}+"),
    _words("hugging face token", "hf_ api_org_", f"{_ALNUM}{{30,}}+"),
    _words("databricks token", "dapi", rf"{_HEX}{{32}}(?:-\d)?(?!{_ALNUM})"),
    _tokens("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", f"{_HEX}{{40,}}+"),
    _tokens("heroku key", "HRKU-", f"{_ANY}{{30,}}+"),
    _tokens("linear key", "lin_api_ lin_oauth_", f"{_ALNUM}{{30,}}+"),
    _words("notion token", "ntn_ secret_", f"{_ALNUM}{{40,}}+"),
    _tokens("shopify token", "shpat_ shpca_ shppa_ shpss_", f"{_HEX}{{32}}"),
    _tokens("square token", "sq0atp- sq0csp- sq0idp-", f"{_ANY}{{20,}}+"),
    _words("vault token", "hvs. hvb. hvr.", f"{_ANY}{{20,}}+"),
    _tokens("terraform token", ".atlasv1.", r"([\w-]{40,}+=*)"),
    _tokens("age key", "AGE-SECRET-KEY-1", "[A-Z0-9]{30,}+"),
    _tokens("atlassian token", "ATATT3 ATCTT3 ATBB", r"[\w-]{16,}+[\w=-]*+"),
    _tokens("postman key", "PMAK-", r"[0-9a-f-]{30,}+"),
    _words("new relic key", "NRAK- NRJS- NRII-", f"{_ANY}{{19,}}+"),
    _words("pulumi token", "pul-", f"{_HEX}{{40}}"),
    _tokens("planetscale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w-]{20,}+[\w=.-]*+"),
    _words("supabase key", "sbp_ sb_secret_", r"[\w-]{20,}+"),
    _words("groq key", "gsk_", f"{_ALNUM}{{30,}}+"),
    _words("xai key", "xai-", f"{_ALNUM}{{30,}}+"),
    _words("perplexity key", "pplx-", f"{_ALNUM}{{30,}}+"),
    _words("replicate token", "r8_", f"{_ALNUM}{{30,}}+"),
    _words("netlify token", "nfp_ nfc_ nfo_ nfu_", f"{_ALNUM}{{30,}}+"),
    _words("vercel token", "vcp_ vci_ vca_ vcr_ vck_", f"{_ALNUM}{{20,}}+"),
    _tokens("rubygems key", "rubygems_", f"{_HEX}{{40,}}+"),
    _words("crates.io token", "cio", f"{_ALNUM}{{32}}(?!{_ALNUM})"),
    _words("nuget key", "oy2", "[a-z0-9]{43}(?![a-z0-9])"),
    _words("figma token", "figd_", f"{_ANY}{{30,}}+"),
    _words("tailscale key", "tskey-", f"{_ANY}{{20,}}+"),
    _words("circleci token", "CCIPAT_", r"[\w-]{20,}+"),
    _words("buildkite token", "bkua_", f"{_HEX}{{40}}"),
    _words("langsmith key", "lsv2_pt_ lsv2_sk_", r"\w{30,}+"),
    _tokens("1password token", "ops_eyJ", r"[\w-]{30,}+=*"),
    _words("aws key", "ABSK", f"{_BASE64}{{80,}}+={{0,2}}"),
    _words("aws session token", "IQoJb3JpZ2lu FwoGZXIvYXdz", f"{_BASE64}{{40,}}+={{0,2}}"),
    _tokens("webhook secret", "whsec_", f"{_BASE64}{{20,}}+={{0,2}}"),
    _tokens("sentry token", "sntrys_ sntryu_", r"[\w+/=-]{30,}+"),
    _words("grafana token", "glsa_ glc_", r"[\w+/=-]{30,}+"),
    _words("fly.io token", "fm1r_ fm1a_ fm2_ fo1_", r"[\w+/=,-]{30,}+"),
    _words("jwt", "eyJ", r"[\w-]{13,}+\.[\w-]{4,}+(?:\.[\w-]*+){0,4}"),
)

HINTED: tuple[SecretShape, ...] = (
    ("azure key", ("Key=",), r"(?:Account|SharedAccess)Key=([A-Za-z0-9+/%]{20,}+={0,2})"),
    ("azure signature", ("sig=",), r"sig=(?<![\w-]sig=)([A-Za-z0-9+/%]{20,}+={0,2})"),
    ("azure signature", ("u0026sig=",), r"u0026sig=([A-Za-z0-9+/%]{20,}+={0,2})"),
    ("azure client secret", ("Q~",), r"Q~(?<=[\w~.-]{3}\dQ~)([\w~.-]{31,34})(?![\w~.-])"),
    ("slack webhook", ("hooks.slack.com/",), r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{20,}+)"),
    ("discord webhook", ("/api/webhooks/",), r"/api/webhooks/\d{10,20}/([\w-]{20,}+)"),
    # The first part of a bot's token is its public id.
    ("discord token", (".",), r"\.(?:(?<=[MNO][\w-]{23}\.)|(?<=[MNO][\w-]{25}\.))[\w-]{6}\.([\w-]{27,}+)"),
    ("telegram token", (":AA",), r":AA(?<=\d{8}:AA)([\w-]{30,}+)"),
    ("mailchimp key", ("-us",), rf"(?:(?<!{_ALNUM})|(?<=\\[nrt])){_HEX}{{32}}-us\d{{1,2}}"),
    (
        "doppler token",
        ("dp.",),
        r"dp\.(?:(?<![\w-]dp\.)|(?<=\\[nrt]dp\.))(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{1,40}\.)?\w{20,}+",
    ),
    (
        "password",
        ("://",),
        r"""://[^\s/?#@:"'<>\\]{0,256}:([^\s/?#@"'<>\\$*{\[%][^\s/?#@"'<>\\]{0,511})@""",
    ),
    ("token", ("://",), r"://(?=[\w.~-]{0,64}\d)([\w.~-]{20,255}+)@"),
    (
        "password",
        ("machine ",),  # of a .netrc
        r"machine\s+[^\s\\]{1,255}(?:(?:\s|\\[nrt])+(?:login|account)\s+[^\s\\]{1,255})?(?:\s|\\[nrt])+"
        r"password\s+(?!\[redacted)([^\s\\\"]{1,255})",
    ),
)


# Secrets recognised by their name: `DB_PASSWORD=…`, `"apiKey": "…"`, `Authorization: Basic …`.
#
# Code and prose are full of such names, so the value must look like a secret as well: `password: string`,
# `token: Token`, `tokens: 1234` and `secret = os.environ["SECRET"]` are left unchanged.

MIN_VALUE = 6
LONG_VALUE = 512

# Searched one by one in the lower-case text: many times faster than one pattern for all.
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

# Types, words, placeholders and references that occur in place of a secret.
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

# Parts of a secret variable's name, and last parts that mean it only describes a secret.
_PARTS = frozenset("TOKEN SECRET PASSWORD PASSWD PASSPHRASE APIKEY CREDENTIALS".split())
_METADATA_PARTS = frozenset(
    "FILE PATH DIR URL URI HOST NAME USER TYPE ID COUNT LIMIT TTL EXPIRES SOCK HELPER".split()
)
# Values that are not secret: redacting them would damage every log.
_DEFAULTS = frozenset(
    "postgres rabbitmq minioadmin sqlserver mariadb mongodb administrator password changeme localhost default "
    "enabled disabled production development staging testing".split()
)


@lru_cache(512)
def compile_cached(pattern: str) -> re.Pattern[str]:
    """Compiled on first use: compiling all patterns would take as long as the shim's whole start."""
    return re.compile(pattern, re.ASCII)


@lru_cache(2048)
def is_named_secret(name: str) -> bool:
    """Whether a variable, key or header of that name holds a secret."""
    if len(name) > 200:
        return False
    if compile_cached(_ENDS).search(name.lower()):
        return True
    return compile_cached(r".*_KEY(?:_?\d{1,3})?").fullmatch(name) is not None


def is_plausible_value(name: str, value: str, *, quoted: bool, sure: bool | None = None) -> bool:
    """Whether this is a value and not a type, placeholder or reference. `sure`: the name is a setting, so any word
    may be its value; by default, names in capitals are settings."""
    sure = name.isupper() if sure is None else sure
    low = name.lower()
    if len(value) < MIN_VALUE or compile_cached(_PLAIN).fullmatch(value) or value.lower() == low:
        return False
    if low.endswith(("authorization", "cookie")):
        return _has_digit(value)
    if any(letter.isspace() for letter in value):
        return "passphrase" in low
    if compile_cached(_PATH).fullmatch(value) or (
        not sure and (_mentions(value) or compile_cached(_CHAIN).fullmatch(value))
    ):
        return False
    password = "pass" in low or "pwd" in low
    if value.isdigit():
        return password
    return sure or (password and quoted) or _is_mixed(value)


def is_secret_variable(name: str, value: str) -> bool:
    """Whether an environment variable is secret by its name: `NPM_TOKEN`, `TOKEN_FOR_NPM`. It surely has a value,
    so few exceptions apply."""
    parts = name.upper().split("_")
    if not is_named_secret(name) and (_PARTS.isdisjoint(parts) or parts[-1] in _METADATA_PARTS):
        return False
    low = value.lower()
    if low in _DEFAULTS or low.startswith(("http://", "https://")) or compile_cached(_PATH).fullmatch(value):
        return False
    return not value.isdigit() or (len(value) >= 8 and "PASS" in name.upper())


def _mentions(value: str) -> bool:
    """`access_token`, `user.password`: the name of a secret, not a secret."""
    return len(value) < 80 and compile_cached(_MENTION).fullmatch(value) is not None


def _is_mixed(value: str) -> bool:
    if len(value) < 8:
        return False
    letters = compile_cached("[A-Za-z]").search(value) is not None
    return (letters and _has_digit(value)) or (len(value) >= 20 and value.lower() != value != value.upper())


def _has_digit(value: str) -> bool:
    return compile_cached(r"\d").search(value) is not None


def named_spans(text: str) -> Iterator[tuple[int, int]]:
    """The positions of the secret values, from left to right."""
    done = 0
    for start, end in _name_spans(_to_lower(text)):
        span = _value_after(text, start, end) if start >= done else None
        if span is None:
            continue
        if span[2]:
            yield span[:2]
        if span[2] or span[1] - span[0] > LONG_VALUE:  # a long run is examined only once
            done = span[1]


def _to_lower(text: str) -> str:
    """Lower-case the ASCII letters: `str.lower` may change the length of text in other alphabets."""
    if text.isascii():
        return text.lower()
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _name_spans(low: str) -> list[tuple[int, int]]:
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


def _value_after(text: str, start: int, end: int) -> tuple[int, int, bool] | None:
    """The value after a name, and whether it is a secret."""
    name = text[start:end]
    low = name.lower()
    if low in _HEADERS:
        found = compile_cached(_HEADERS[low]).match(text, end)
        if found is None:
            return None
        known = low != "bearer" and found["scheme"] is not None
        return (*found.span("value"), known or _has_digit(found["value"]))
    if found := compile_cached(_ASSIGNED).match(text, end):
        typed = len(found["sign"]) > 3  # `TOKEN: TokenType = …` is code
        setting = name.isupper() and not typed and not (found["gap"] and "=" in found["sign"])
        if low == "key" and not setting and not text[max(0, start - 13) : start].lower().endswith(_BEFORE_KEY):
            return None
        start, end, secret = _matched_value(found, name, setting)
        return start, end, secret and not (found["sign"] == ":" and _mentions(text[start:end]))
    if found := compile_cached(_ELEMENT).match(text, end):
        return _matched_value(found, name, False)
    if (found := compile_cached(_FLAGGED).match(text, end)) and _is_flag(text, start):
        return _matched_value(found, name, "pass" in low)
    return None


def _matched_value(found: re.Match[str], name: str, sure: bool) -> tuple[int, int, bool]:
    group = next(group for group in ("double", "single", "back", "bare") if found.groupdict().get(group))
    return (*found.span(group), is_plausible_value(name, found[group], quoted=group != "bare", sure=sure))


def _is_flag(text: str, start: int) -> bool:
    word = re.split(r"[\s\"'`\\=]", text[max(0, start - 40) : start])[-1]
    return word.startswith("--")
