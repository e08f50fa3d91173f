"""What secrets look like, as data. Standard library only: the shim reads this too, in a bare interpreter.

Looking for a plain text is a hundred times faster than looking for a pattern, and one pattern faster than
many. So most shapes are found by their prefix, near a long run of letters; the others each have hints, texts
without which there is no such secret. Where a pattern has a group, the group alone is the secret.

No pattern may scan far and then fail: a run that can be long either ends the pattern, or starts where no run
of the same letters stands before it."""

from __future__ import annotations

Shape = tuple[str, tuple[str, ...], str]  # label, prefixes or hints, pattern

RUN = 16  # letters of base64, `-` and `_` in a row: every prefixed token has so many,
NEAR = 12  # beginning at most so many after the start of its prefix

_ANY = r"[\w-]"
_ALNUM = "[A-Za-z0-9]"
_HEX = "[0-9a-fA-F]"
_BASE64 = "[A-Za-z0-9+/]"


def _tokens(label: str, prefixes: str, body: str) -> Shape:
    """A prefix that nothing else has."""
    names = tuple(prefixes.split())
    return label, names, f"(?:{'|'.join(map(_quoted, names))}){body}"


def _words(label: str, prefixes: str, body: str) -> Shape:
    """A short prefix: it counts only at the start of a word, or behind the `\\n` of a JSON text. The letters
    come first in the pattern and the look behind them after, so that the search is a fast one."""
    names = tuple(prefixes.split())
    starts = (rf"{name}(?:(?<![\w-]{name})|(?<=\\[nrt]{name}))" for name in map(_quoted, names))
    return label, names, f"(?:{'|'.join(starts)}){body}"


def _quoted(text: str) -> str:
    return text.replace(".", r"\.")


PREFIXED: tuple[Shape, ...] = (
    _tokens("github token", "ghp_ gho_ ghu_ ghr_", f"{_ALNUM}{{20,}}+"),
    _tokens("github token", "ghs_", r"[A-Za-z0-9][\w.-]{19,}+"),  # an app's may hold a JWT
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

HINTED: tuple[Shape, ...] = (
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
