"""Secrets go, everything else stays. The secrets here are made up; each is split so that no scanner takes this
file for a leak."""

import base64
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmad_autopilot.agents.shim.redact import (
    CUT,
    MAX_DEPTH,
    MAX_PENDING,
    REDACTED,
    RedactedStream,
    Redactor,
    environment_secrets,
    looks_secret,
    redact,
    redact_value,
)
from bmad_autopilot.agents.shim.secret_patterns import HINTED, PREFIXED

AGENTS = Path(__file__).resolve().parents[3] / "src" / "bmad_autopilot" / "agents"

A = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2dF4hJ6kL8nP0rS2uV4xY6zA8cE1gI3kM5o"
H = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
U = A.upper()
B = "aB3+/E5gH7jK9mN1pQ3sT5vW7yZ9bC2dF4hJ6kL8nP0rS2uV4xY6zA8cE1gI3kM5oaB3dE5gH7jK9mN1pQ3sT5vW7yZ"

# What stands before, the secret, what stands after.
SHAPES = {
    "github classic": ("", "ghp" + f"_{A[:36]}", ""),
    "github oauth": ("", "gho" + f"_{A[:36]}", ""),
    "github user": ("", "ghu" + f"_{A[:36]}", ""),
    "github app": ("", "ghs" + f"_{A[:36]}", ""),
    "github refresh": ("", "ghr" + f"_{A[:36]}", ""),
    "github fine": ("", "github" + f"_pat_{A[:22]}_{A[:59]}", ""),
    "gitlab": ("", "glpat" + f"-{A[:20]}", ""),
    "gitlab routable": ("", "glpat" + f"-{A[:27]}.01.0w1a2b3c4", ""),
    "gitlab deploy": ("", "gldt" + f"-{A[:20]}", ""),
    "gitlab runner": ("", "GR13" + f"48941{A[:20]}", ""),
    "anthropic": ("", "sk-ant" + f"-api03-{A[:40]}-{A[:20]}AA", ""),
    "openai old": ("", "sk" + f"-{A[:48]}", ""),
    "openai project": ("", "sk-proj" + f"-{A[:40]}_{A[:20]}", ""),
    "openrouter": ("", "sk-or" + f"-v1-{H}", ""),
    "google api": ("", "AIza" + f"{A[:35]}", ""),
    "google client": ("", "GOCSPX" + f"-{A[:28]}", ""),
    "google access": ("", "ya29" + f".{A}", ""),
    "google refresh": ("", "1//0" + f"{A[:40]}", ""),
    "aws id": ("", "AKIA" + "IOSFODNN7EXAMPLQ", ""),
    "aws temporary": ("", "ASIA" + "IOSFODNN7EXAMPLQ", ""),
    "aws bedrock": ("", "ABSK" + f"{B[:92]}", ""),
    "aws session": ("", "IQoJ" + f"b3JpZ2lu{B}", ""),
    "azure storage": ("AccountName=x;AccountKey=", f"{B[:86]}==", ";EndpointSuffix=y"),
    "azure signature": ("https://x.blob.core.windows.net/c?sv=1&sig=", f"{A[:43]}%3D", "&se=2"),
    "azure client": ("abc8Q~", f"{A[:34]}", ""),
    "alibaba": ("", "LTAI" + f"{A[:20]}", ""),
    "slack bot": ("", "xoxb" + f"-123456789012-1234567890123-{A[:24]}", ""),
    "slack app": ("", "xapp" + f"-1-A0123456789-1234567890123-{H}", ""),
    "slack webhook": ("https://hooks.slack.com/services/", f"T00000000/B00000000/{A[:24]}", ""),
    "discord": ("MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.", f"{A[:38]}", ""),
    "discord webhook": ("https://discord.com/api/webhooks/123456789012345678/", f"{A}", ""),
    "telegram": ("123456789:AA", f"{A[:33]}", ""),
    "stripe": ("", "sk_live" + f"_{A[:24]}", ""),
    "stripe restricted": ("", "rk_live" + f"_{A[:24]}", ""),
    "stripe webhook": ("", "whsec" + f"_{B[:32]}", ""),
    "twilio": ("", "SK" + f"{H[:32]}", ""),
    "sendgrid": ("", "SG" + f".{A[:22]}.{A[:43]}", ""),
    "mailgun": ("", "key" + f"-{H[:32]}", ""),
    "mailchimp": ("", f"{H[:32]}" + "-us12", ""),
    "npm": ("", "npm" + f"_{A[:36]}", ""),
    "pypi": ("", "pypi" + f"-AgEIcHlwaS5vcmc{A}", ""),
    "docker": ("", "dckr_pat" + f"_{A[:27]}", ""),
    "hugging face": ("", "hf" + f"_{A[:34]}", ""),
    "databricks": ("", "dapi" + f"{H[:32]}-2", ""),
    "digitalocean": ("", "dop_v1" + f"_{H}", ""),
    "heroku": ("", "HRKU" + "-AA12345678-1234-1234-1234-123456789012", ""),
    "linear": ("", "lin_api" + f"_{A[:40]}", ""),
    "notion": ("", "ntn" + f"_{A[:46]}", ""),
    "sentry": ("", "sntrys" + f"_{B[:60]}", ""),
    "shopify": ("", "shpat" + f"_{H[:32]}", ""),
    "square": ("", "sq0atp" + f"-{A[:22]}", ""),
    "vault": ("", "hvs" + f".{A[:24]}", ""),
    "terraform": (f"{A[:14]}.atlasv1.", f"{A}{A[:3]}", ""),
    "age": ("", "AGE-SECRET" + f"-KEY-1{U[:58]}", ""),
    "atlassian": ("", "ATATT3" + f"{A}=1A2B3C4D", ""),
    "postman": ("", "PMAK" + f"-{H[:24]}-{H[:34]}", ""),
    "grafana": ("", "glsa" + f"_{A[:32]}_1a2b3c4d", ""),
    "new relic": ("", "NRAK" + f"-{U[:27]}", ""),
    "doppler": ("", "dp.st" + f".prd.{A[:43]}", ""),
    "pulumi": ("", "pul" + f"-{H[:40]}", ""),
    "planetscale": ("", "pscale_tkn" + f"_{A[:43]}", ""),
    "supabase": ("", "sbp" + f"_{H[:40]}", ""),
    "fly.io": ("", "fm2" + f"_{B}", ""),
    "groq": ("", "gsk" + f"_{A[:52]}", ""),
    "xai": ("", "xai" + f"-{A}", ""),
    "perplexity": ("", "pplx" + f"-{A[:48]}", ""),
    "replicate": ("", "r8" + f"_{A[:37]}", ""),
    "netlify": ("", "nfp" + f"_{A[:36]}", ""),
    "vercel": ("", "vcp" + f"_{A[:24]}", ""),
    "rubygems": ("", "rubygems" + f"_{H[:48]}", ""),
    "crates.io": ("", "cio" + f"{A[:32]}", ""),
    "nuget": ("", "oy2" + f"{H[:43]}", ""),
    "figma": ("", "figd" + f"_{A[:40]}", ""),
    "tailscale": ("", "tskey" + f"-auth-{A[:12]}-{A[:24]}", ""),
    "circleci": ("", "CCIPAT" + f"_{A[:22]}_{H[:40]}", ""),
    "buildkite": ("", "bkua" + f"_{H[:40]}", ""),
    "langsmith": ("", "lsv2_pt" + f"_{H[:32]}_{H[:10]}", ""),
    "1password": ("", "ops" + f"_eyJ{A}", ""),
    "jwt": ("", f"eyJhbGciOiJIUzI1NiJ9.eyJ{A[:30]}.{A[:43]}", ""),
    "basic": ("Authorization: Basic ", "dXNlcjpodW50ZXIy", ""),
    "bearer": ("curl -H 'authorization: Bearer ", f"{A[:30]}", "' x"),
    "proxy authorization": ("Proxy-Authorization: Basic ", "dXNlcjpodW50ZXIy", ""),
    "bare bearer": ("use Bearer ", f"{A[:30]}", " now"),
    "url": ("https://me:", "hunter2", "@example.com/x"),
    "url token": ("https://", f"{A[:30]}", "@example.com/x"),
    "postgres": ("postgres://app:", "p4ss", "@db:5432/app"),
    "redis": ("redis://:", "hunter2", "@localhost"),
    "netrc": ("machine api.example.com\n  login me\n  password ", "hunter2", ""),
    "cookie": ("Cookie: ", "session=a1b2c3d4e5; theme=dark", ""),
    "set-cookie": ("set-cookie: ", "sid=a1b2c3d4e5", "\n"),
    "env": ("export DB_PASSWORD=", "swordfish", ""),
    "env with a sign": ("DB_PASSWORD=", "!Xk29@s", ""),
    "env that names itself": ("NPM_TOKEN=", "my-secret-token", ""),
    "json with a sign": ('{"password": "', "$1Xk29@", '"}'),
    "env of a key": ("STRIPE_KEY=", "abcdefgh", ""),
    "aws secret": ("aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""),
    "shell": ("API_TOKEN='", "abc def".replace(" ", "1"), "'"),
    "json": ('{"clientSecret": "', "q1w2e3r4t5", '"}'),
    "json in json": ('{\\"password\\": \\"', "swordfish", '\\"}'),
    "yaml": ("api_key: ", "q1w2e3r4t5", "\n"),
    "yaml in capitals": ("  JWT_SECRET: ", "correcthorse", "\n"),
    "typescript": ("const password: string = '", "swordfish", "';"),
    "go": ('token := "', "q1w2e3r4t5", '"'),
    "php": ("'password' => '", "swordfish", "'"),
    "option": ("mysql --password=", "hunter22", " x"),
    "option and word": ("deploy --auth-token ", "q1w2e3r4t5", " x"),
    "query": ("GET /x?a=1&access_token=", "q1w2e3r4t5", "&b=2"),
    "xml": ("<password>", "hunter22", "</password>"),
    "header": ("X-Api-Key: ", "q1w2e3r4t5", ""),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_a_secret_goes_and_its_surroundings_stay(kind: str) -> None:
    before, secret, after = SHAPES[kind]
    for around in ("", " ", "\n", '"'):
        whole = f"said{around}{around and before}" if around else before
        text = f"{whole}{secret}{after}"
        clean = Redactor().text(text)
        assert secret not in clean
        assert clean.startswith(whole)
        assert clean.endswith(after)
        assert "[redacted" in clean
        assert Redactor().text(clean) == clean


@pytest.mark.parametrize("kind", SHAPES)
def test_a_secret_goes_from_json_texts_that_stay_json(kind: str) -> None:
    text = "".join(("first line\n", *SHAPES[kind], "\nlast line"))
    secret = SHAPES[kind][1]
    event = {"type": "user", "content": [{"tool": "Bash", "out": text}], "usage": {"input_tokens": 12}}
    clean = Redactor().value(event)
    assert secret not in json.dumps(clean)
    assert isinstance(clean, dict)
    assert clean["usage"] == event["usage"]
    line = Redactor().line(json.dumps(event))  # a line too long to be parsed is taken as it is
    assert secret not in line
    assert json.loads(line)["content"][0]["out"].endswith("\nlast line")


def test_every_shape_is_tested() -> None:
    text = "\n".join("".join(parts) for parts in SHAPES.values())
    labels = {label for label, _, _ in (*PREFIXED, *HINTED)}
    assert len(labels) >= 45
    seen = Redactor().text(text)
    assert {label for label in labels if f"[redacted: {label}]" not in seen} == set()


HARMLESS = [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    '"session_id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301"',
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "/home/someone/projects/app/node_modules/@types/node/fs.d.ts",
    "password: string;",
    "password?: string | null",
    "token: Token",
    "tokens: 1234",
    '"input_tokens":1200,"output_tokens":77,"cache_read_input_tokens":4096',
    "MAX_TOKENS=4096",
    "const token = await getToken(user)",
    "token = tokens[3]",
    "self.password = password",
    "secret = os.environ['SECRET']",
    "API_KEY=$API_KEY npm test",
    "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
    "api_key: process.env.API_KEY",
    'password: "password"',
    "PASSWORD=<your password>",
    "API_KEY=your-api-key-here",
    "if (token == null) return",
    "fetch(url, { credentials: 'include' })",
    "credentials: 'same-origin'",
    "the password must be at least 8 characters long",
    "Password: required",
    "secret_name: prod/db",
    "PWD=/srv/project",
    "GOOGLE_APPLICATION_CREDENTIALS=/home/me/key.json",
    "primary_key=True, foreign_key=users.id",
    "key: value",
    "cache_key = hash1234",
    "https://example.com/a/b?c=d#e",
    "http://localhost:3000/users/@me",
    "postgres://user:${PASSWORD}@localhost/db",
    "git@github.com:acme/widgets.git",
    "npm_config_registry=https://registry.example.com",
    "sk-loading-spinner-container-wide",
    "task-1234567890-abcdefghijklmnop",
    'if key.startswith("-----BEGIN PRIVATE KEY-----"):',
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0B\n-----END CERTIFICATE-----",
    "Authorization: Bearer <token>",
    "Authorization: string",
    "ACCESS_TOKEN: 'access_token',",
    "DB_PASSWORD: !Ref DbPassword",
    "DB_PASSWORD=%DB_PASSWORD%",
    "the bearer of this letter",
    "cookie: string",
    "login form password field",
    "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased')",
    "msg_01XFDUDYJgAACzvnptvVoYEL toolu_01A09q90qw90lq917835lq9",
    "model=claude-sonnet-4-5-20250929",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_code_prose_and_numbers_stay(text: str) -> None:
    assert Redactor().text(text) == text
    assert Redactor().value({"a": [text]}) == {"a": [text]}
    assert Redactor().line(text) == text


def test_an_image_stays() -> None:
    image = base64.b64encode(random.Random(7).randbytes(300_000)).decode()
    event = {"type": "image", "source": {"type": "base64", "data": image}}
    assert Redactor().value(event) is event


def test_clean_values_are_the_same_object() -> None:
    event = {"a": ["b", {"c": 1, "d": None}], "e": "f"}
    assert Redactor().value(event) is event


# -- names in JSON


def test_a_key_gives_its_value_away() -> None:
    event = {
        "env": {"API_KEY": "zz11yy22", "DB_PASSWORD": "swordfish", "PATH": "/bin"},
        "list": [{"name": "NPM_TOKEN", "value": "q1w2e3r4"}, {"name": "HOME", "value": "/root"}],
        "argv": ["deploy", "--token", "q1w2e3r4t5", "--verbose", "q1w2e3r4t5"],
        "headers": {"Authorization": "Bearer q1w2e3r4", "cookie": "sid=1234567"},
        "usage": {"token": 12},
    }
    assert Redactor().value(event) == {
        "env": {"API_KEY": REDACTED, "DB_PASSWORD": REDACTED, "PATH": "/bin"},
        "list": [{"name": "NPM_TOKEN", "value": REDACTED}, {"name": "HOME", "value": "/root"}],
        "argv": ["deploy", "--token", REDACTED, "--verbose", "q1w2e3r4t5"],
        "headers": {"Authorization": REDACTED, "cookie": REDACTED},
        "usage": {"token": 12},
    }


def test_keys_are_looked_at_too() -> None:
    secret = SHAPES["npm"][1]
    assert Redactor().value({secret: {"a": 1}}) == {"[redacted: npm token]": {"a": 1}}


def test_what_is_too_deep_is_left_out() -> None:
    value: object = "ghp" + f"_{A[:36]}"
    for _ in range(MAX_DEPTH * 3):
        value = [value]
    clean = Redactor().value(value)
    assert A[:36] not in repr(clean)
    assert REDACTED in repr(clean)


# -- private keys

KEY = [
    "-----BEGIN RSA PRIVATE KEY-----",
    "Proc-Type: 4,ENCRYPTED",
    "DEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF",
    "",
    *(base64.b64encode(random.Random(n).randbytes(48)).decode() for n in range(12)),
    "q1w2e3==",
    "-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("prefix", ["", "+", "  ", "   12\t", "key.pem:", "12:"])
def test_a_private_key_is_followed_over_lines(prefix: str) -> None:
    redactor = Redactor()
    after = [f"{prefix}what comes after stays", f"{prefix}and this: abcdefghijklmnopqrst"]
    lines = [redactor.line(line) for line in (*(f"{prefix}{line}" for line in KEY), *after)]
    for line in KEY[4:-1]:
        assert not any(line in clean for clean in lines)
    assert lines[-2:] == after


def test_a_private_key_in_one_text_goes(tmp_path: Path) -> None:
    for text in ("\n".join(KEY), "\r\n".join(KEY), "\\n".join(KEY), "\n".join(KEY[:9])):
        assert Redactor().text(f"a {text} b").startswith("a [redacted: private key]")
        assert not any(line in Redactor().text(text) for line in KEY[4:8])


def test_a_private_key_in_a_list_of_lines_goes() -> None:
    patch = {"lines": [" before", *(f"+{line}" for line in KEY), " after"]}
    clean = Redactor().value(patch)
    assert isinstance(clean, dict)
    assert (clean["lines"][0], clean["lines"][-1]) == (" before", " after")
    assert not any(line in str(clean) for line in KEY[4:-1])


def test_a_mere_mention_hides_nothing() -> None:
    redactor = Redactor()
    lines = ["expected -----BEGIN PRIVATE KEY-----", "but there was nothing of the kind", "x" * 40]
    assert [redactor.line(line) for line in lines] == lines


def test_a_key_without_end_hides_no_more_than_a_key_has() -> None:
    redactor = Redactor()
    lines = [redactor.line(line) for line in (KEY[0], *(["QUJD" * 16] * 1000))]
    assert "[redacted" not in lines[-1]


# -- known secrets

values = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"]), min_size=6, max_size=60
)


@given(values, st.binary(max_size=7), st.binary(max_size=7))
def test_a_known_value_goes_in_every_form(secret: str, before: bytes, after: bytes) -> None:
    redactor = Redactor([secret])
    raw = secret.encode()
    for form in (
        secret,
        json.dumps(secret),
        json.dumps(json.dumps(secret)),
        json.dumps(secret, ensure_ascii=False),
        quote(secret, safe=""),
        quote_plus(secret),
    ):
        assert secret not in redactor.text(f"a {form} b")
        assert form.strip('"\\') not in redactor.text(f"a {form} b")
    if len(raw) >= 10:
        encoded = base64.b64encode(before + raw + after).decode()
        assert redactor.text(encoded) != encoded
        encoded = base64.urlsafe_b64encode(before + raw + after).decode()
        assert redactor.text(encoded) != encoded


def test_short_values_would_corrupt_everything() -> None:
    assert Redactor(["a", "12345", ""]).text("a banana 12345") == "a banana 12345"


def test_a_key_in_a_variable_goes_line_by_line() -> None:
    redactor = Redactor(["\n".join(KEY)])
    assert KEY[6] not in redactor.text(f"line 6 is {KEY[6]}")


def test_the_longest_value_goes_first() -> None:
    assert Redactor(["abcdef", "abcdef-ghijkl"]).text("abcdef-ghijkl") == REDACTED


# -- the environment


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("NPM_TOKEN", "abcdefghij", True),
        ("TOKEN_FOR_NPM", "abcdefghij", True),
        ("SECRET_KEY_BASE", "abcdefghij", True),
        ("DB_PASS", "swordfish", True),
        ("DB_PASSWORD", "!@$ with spaces", True),
        ("DB_PASSWORD", "<password>", True),
        ("NPM_TOKEN", "seeded-secret-token", True),
        ("DEPLOY_TOKEN", "$2b$10$abcdef", True),
        ("SECRET_MODE", "production", False),
        ("OPENAI_API_KEY", "abcdefghij", True),
        ("DATABASE_URL", "postgres://u:hunter2@h/d", True),
        ("ANYTHING", "ghp" + f"_{A[:36]}", True),
        ("NPM_TOKEN", "abc", False),
        ("POSTGRES_PASSWORD", "postgres", False),
        ("MAX_TOKEN", "100000", False),
        ("TOKENIZERS_PARALLELISM", "disabled", False),
        ("TOKEN_FILE", "/run/secrets/token", False),
        ("SSH_AUTH_SOCK", "/tmp/ssh-xyz/agent.1", False),
        ("PWD", "/home/someone/project", False),
        ("HOME", "/home/someone", False),
        ("EDITOR", "nano-editor", False),
    ],
)
def test_which_variables_are_secrets(name: str, value: str, secret: bool) -> None:
    assert looks_secret(name, value) is secret
    assert bool(environment_secrets({name: value})) is secret


def test_of_a_url_only_the_password_is_a_secret() -> None:
    found = environment_secrets({"DATABASE_URL": "postgres://user:hunter2@db.example.com/x"})
    assert found == ["hunter2"]


# -- speed and bounds


@given(st.text(st.sampled_from("token=\"':/@-_.{}[]<>\\ \nAB1eyJghp_passwordkey-----BEGIN "), max_size=400))
@settings(max_examples=300)
def test_any_text_gives_a_text_that_stays_as_it_is(text: str) -> None:
    redactor = Redactor(["hunter2hunter2"])
    clean = redactor.text(text)
    assert "hunter2hunter2" not in redactor.text(f"{text} hunter2hunter2")
    assert redactor.text(clean).count("[redacted") >= clean.count("[redacted")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_any_value_keeps_its_shape(value: object) -> None:
    secret = "ghp" + f"_{A[:36]}"
    clean = Redactor([secret]).value([value, secret])
    assert isinstance(clean, list)
    assert clean[1] in (REDACTED, "[redacted: github token]")
    assert type(clean[0]) is type(value)


REPEATED = [
    *(
        'token="',
        "token='",
        "token: A.",
        "api_key ",
        "passwd\t\t",
        'passphrase="a ',
        "password: a=",
        "-",
        "a",
        "\\n",
    ),
    *("://a:", "://a.", "eyJaaaaaaaaaaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN ", "--password "),
    *(
        "authorization: ",
        "cookie: a=bbbbbbb; ",
        "machine a login b ",
        "aaa1Q~",
        "SG.aaaaaaaaaaaaaaaaaaaaaaaa.",
        "é",
    ),
    *(prefix for shape in (*PREFIXED, *HINTED) for prefix in shape[1][:1]),
]


def test_no_text_takes_long() -> None:
    """The slowest takes about 2 s for a megabyte, so a tenth of it has room on any machine."""
    for part in REPEATED:
        text = (part * (100_000 // len(part) + 1))[:100_000]
        start = time.perf_counter()
        Redactor().line(text)
        assert time.perf_counter() - start < 5, part


@pytest.mark.soak
def test_no_megabyte_takes_long() -> None:
    for part in REPEATED:
        start = time.perf_counter()
        Redactor().text((part * (1_000_000 // len(part) + 1))[:1_000_000])
        assert time.perf_counter() - start < 10, part


def test_it_works_in_the_shims_bare_interpreter(tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.append({str(AGENTS)!r})\n"
        "from shim.redact import Redactor\n"
        "print(Redactor(['hunter2']).line('hunter2'), 'urllib.parse' in sys.modules, 'typing' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", program],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.stdout.split() == [REDACTED, "False", "False"]


# Streams

KEY_LINES = "\n".join(
    ["-----BEGIN RSA PRIVATE " + "KEY-----", *[B[:64]] * 20, "-----END RSA PRIVATE " + "KEY-----"]
)


def streamed(data: bytes, *, size: int, secrets: tuple[str, ...] = ()) -> bytes:
    stream = RedactedStream(secrets)
    parts = [stream.add(data[start : start + size]) for start in range(0, len(data), size)]
    return b"".join([*parts, stream.finish()])


@pytest.mark.parametrize("size", [1, 7, 64, 1000, 1_000_000])
def test_a_stream_hides_a_secret_wherever_its_parts_begin(size: int) -> None:
    known = "a known value"
    lines = ["first \udce9 é", *("".join(parts) for parts in SHAPES.values()), known, KEY_LINES, "last"]
    data = "\n".join(lines).encode("utf-8", "surrogateescape")
    clean = streamed(data, size=size, secrets=(known,))
    for kind, (_, secret, _) in SHAPES.items():
        assert secret.encode() not in clean, kind
    assert known.encode() not in clean
    assert B[:64].encode() not in clean
    assert clean.startswith(b"first \xe9 \xc3\xa9\n")
    assert clean.endswith(b"\nlast")


@given(st.binary(max_size=300), st.integers(1, 50))
def test_a_stream_without_secrets_stays_as_it_is(data: bytes, size: int) -> None:
    text = data.decode("utf-8", "surrogateescape")
    if Redactor().text(text) == text:
        assert streamed(data, size=size) == data


@pytest.mark.parametrize("shift", range(-70, 20, 3))
@pytest.mark.parametrize("sign", ["x", " "])
def test_a_line_without_an_end_is_not_cut_within_a_secret(shift: int, sign: str) -> None:
    secret = SHAPES["github classic"][1]
    before = (f"a{sign}" * MAX_PENDING)[: MAX_PENDING - CUT + shift]
    clean = streamed(f"{before} Authorization: Bearer {secret} {sign * 3 * CUT}".encode(), size=65536)
    assert secret[:14].encode() not in clean
    assert secret[-12:].encode() not in clean
    assert len(clean) > MAX_PENDING - 3 * CUT


@pytest.mark.parametrize("shift", range(0, 60, 4))
def test_what_is_left_out_of_a_stream_does_not_halve_a_secret(shift: int) -> None:
    secret = SHAPES["github classic"][1]
    data = f"{'a ' * 40}{secret} {'b ' * 40}".encode()
    stream = RedactedStream(())
    at = 80 + shift
    head = stream.add(data[:at]) + stream.finish(data[at:])
    tail = RedactedStream(()).tail(data[:at], data[at:])
    for part in (head, tail):
        assert secret[:12].encode() not in part
        assert secret[-12:].encode() not in part
    assert head.startswith(b"a a a")
    assert tail.endswith(b"b b ")


def test_the_end_of_a_private_key_whose_beginning_was_left_out() -> None:
    data = f"{KEY_LINES}\nafter\n".encode()
    at = data.index(b"\n") + 700
    assert RedactedStream(()).tail(data[at - 100 : at], data[at:]) == b"\nafter\n"
    words = b"-----END RSA PRIVATE " + b"KEY----- is how it ends\nafter\n"
    assert RedactedStream(()).tail(b"a text about keys:\n", words) == words


def test_our_own_environment_counts_and_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert redact("correct horse battery") == "correct horse battery"
    monkeypatch.setenv("DEPLOY_TOKEN", "correct horse battery")
    assert redact("a correct horse battery b") == f"a {REDACTED} b"
    assert redact_value({"a": ["correct horse battery"]}) == {"a": [REDACTED]}
    monkeypatch.delenv("DEPLOY_TOKEN")
    assert redact("correct horse battery") == "correct horse battery"
