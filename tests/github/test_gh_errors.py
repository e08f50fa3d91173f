"""What a user is told of each thing that can go wrong with GitHub."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.github.gh_errors import (
    ApiRequest,
    HttpAnswer,
    graphql_error,
    http_error,
    no_answer_error,
    split_answer,
)

NOW = 1_000_000.0
ASKED = ApiRequest("GET repos/acme/widgets", "github.com")


def http(status: int, body: Any = "", *, asked: ApiRequest = ASKED, **headers: Any) -> ForgeError:
    data = body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return http_error(asked, HttpAnswer(status, named, data.encode()), NOW)


def graphql(*errors: Any, **headers: str) -> ForgeError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return graphql_error(ApiRequest("AutopilotPull", "github.com"), list(errors), HttpAnswer(200, named, b""), NOW)


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        (301, ForgeErrorKind.MISSING),
        (400, ForgeErrorKind.UNRECOGNIZED),
        (401, ForgeErrorKind.LOGIN),
        (403, ForgeErrorKind.DENIED),
        (404, ForgeErrorKind.MISSING),
        (405, ForgeErrorKind.REFUSED),
        (408, ForgeErrorKind.UNAVAILABLE),
        (409, ForgeErrorKind.REFUSED),
        (410, ForgeErrorKind.MISSING),
        (418, ForgeErrorKind.UNRECOGNIZED),
        (422, ForgeErrorKind.REFUSED),
        (429, ForgeErrorKind.LIMIT),
        (451, ForgeErrorKind.DENIED),
        (500, ForgeErrorKind.UNAVAILABLE),
        (502, ForgeErrorKind.UNAVAILABLE),
        (599, ForgeErrorKind.UNAVAILABLE),
    ],
)
def test_each_status_is_a_trouble(status: int, trouble: ForgeErrorKind) -> None:
    error = http(status, {"message": "Words of GitHub"})
    assert (error.kind, error.status) == (trouble, status)
    assert "Words of GitHub" in error.message
    assert str(status) in error.message


def test_the_details_of_a_refusal_are_told() -> None:
    body = {"message": "Validation Failed", "errors": [{"message": "A pull request already exists for a:b."}]}
    assert "A pull request already exists for a:b." in http(422, body).message
    assert "at least 1 review" in http(405, {"message": "Rule", "errors": ["at least 1 review"]}).message


@pytest.mark.parametrize(
    ("status", "body", "headers", "wait"),
    [
        (429, {}, {"retry_after": "42"}, 42),
        (429, {}, {}, 60),
        (403, {"message": "You have exceeded a secondary rate limit. Please wait."}, {}, 60),
        (403, {"message": "API rate limit exceeded for user ID 1."}, {"retry_after": "7"}, 7),
        (403, {}, {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1000900"}, 900),
        (403, {}, {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "99999999"}, 3600),
        (403, {}, {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1"}, 0),
        (403, {}, {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "soon"}, 60),
    ],
)
def test_a_limit_names_the_time_when_it_passes(
    status: int, body: Any, headers: dict[str, Any], wait: float
) -> None:
    error = http(status, body, **headers)
    assert (error.kind, error.until - NOW) == (ForgeErrorKind.LIMIT, wait)


def test_a_server_that_is_away_may_say_for_how_long() -> None:
    assert http(503, "", retry_after="4").until == NOW + 4
    assert http(503, "").until == 0


def test_a_login_that_is_no_longer_good_says_which_host() -> None:
    assert http(401).hint == "gh auth login"
    assert http(401, asked=ApiRequest("x", "ghe.example.com")).hint == "gh auth login --hostname ghe.example.com"


def test_a_single_sign_on_shows_where() -> None:
    url = "https://github.com/orgs/acme/sso?authorization_request=A"
    error = http(403, {"message": "Resource protected"}, x_github_sso=f"required; url={url}")
    assert error.kind is ForgeErrorKind.DENIED
    assert error.hint is not None
    assert url in error.hint
    other = graphql({"type": "FORBIDDEN", "message": "Resource protected by organization SAML enforcement."})
    assert other.hint is not None
    assert "gh auth refresh" in other.hint


def test_a_missing_repository_asks_for_name_and_login() -> None:
    error = graphql({"type": "NOT_FOUND", "message": "Could not resolve to a Repository with the name 'a/b'."})
    assert error.kind is ForgeErrorKind.MISSING
    assert error.hint is not None
    assert "gh auth status" in error.hint


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        ({"type": "NOT_FOUND", "message": "m"}, ForgeErrorKind.MISSING),
        ({"type": "FORBIDDEN", "message": "m"}, ForgeErrorKind.DENIED),
        ({"type": "RATE_LIMITED", "message": "m"}, ForgeErrorKind.LIMIT),
        ({"type": "UNPROCESSABLE", "message": "m"}, ForgeErrorKind.REFUSED),
        ({"type": "STALE_DATA", "message": "m"}, ForgeErrorKind.REFUSED),
        ({"message": "Something went wrong while executing your query."}, ForgeErrorKind.UNAVAILABLE),
        ({"message": "You have exceeded a secondary rate limit"}, ForgeErrorKind.LIMIT),
        ({"message": "Field 'x' doesn't exist on type 'Mutation'"}, ForgeErrorKind.UNRECOGNIZED),
        ({"type": "NEW_ONE", "message": "try again"}, ForgeErrorKind.UNRECOGNIZED),
        ({}, ForgeErrorKind.UNRECOGNIZED),
        ("text", ForgeErrorKind.UNRECOGNIZED),
        (None, ForgeErrorKind.UNRECOGNIZED),
    ],
)
def test_each_graphql_error_is_a_trouble(error: Any, trouble: ForgeErrorKind) -> None:
    assert graphql(error).kind is trouble


def test_missing_scopes_are_named_in_a_command() -> None:
    said = "The 'name' field requires one of the following scopes: ['read:org', 'repo'], but has not been granted"
    error = graphql({"type": "INSUFFICIENT_SCOPES", "message": said})
    assert (error.kind, error.hint) == (ForgeErrorKind.DENIED, "gh auth refresh --scopes read:org,repo")


def test_of_several_errors_the_one_that_does_not_pass_is_told() -> None:
    passing = {"message": "Something went wrong"}
    assert graphql(passing, {"type": "FORBIDDEN", "message": "no"}).kind is ForgeErrorKind.DENIED


@given(
    st.integers(300, 599),
    st.binary(max_size=80),
    st.dictionaries(
        st.sampled_from(["retry-after", "x-ratelimit-reset", "x-ratelimit-remaining", "x-github-sso"]), st.text()
    ),
)
def test_every_answer_has_a_trouble(status: int, body: bytes, headers: dict[str, str]) -> None:
    error = http_error(ASKED, HttpAnswer(status, headers, body), NOW)
    assert 0 <= error.until <= NOW + 3600
    assert "\n" not in error.message


@given(st.one_of(st.none(), st.integers(0, 255)), st.text())
def test_every_silence_has_a_trouble(code: int | None, said: str) -> None:
    assert no_answer_error(ASKED, code, said).kind in (
        ForgeErrorKind.UNAVAILABLE,
        ForgeErrorKind.LOGIN,
        ForgeErrorKind.UNRECOGNIZED,
    )


def test_status_headers_and_body_are_told_apart() -> None:
    answer = split_answer(b'HTTP/2.0 200 OK\nEtag: W/"a:b"\r\nX-Ratelimit-Remaining: 12\r\n\r\n{"a":\r\n\r\n1}', 0)
    assert answer is not None
    assert (answer.status, answer.headers["etag"], answer.json()) == (200, 'W/"a:b"', {"a": 1})
    assert answer.number("x-ratelimit-remaining") == 12
    assert answer.number("etag") is None


@pytest.mark.parametrize("out", [b"", b"gh: something", b"HTTP/1.1", b"HTTP/1.1 200 OK", b"\nHTTP/1.1 200 OK\n"])
def test_what_is_no_answer_is_none(out: bytes) -> None:
    assert split_answer(out, 1) is None


def test_headers_without_an_end_are_torn() -> None:
    answer = split_answer(b"HTTP/1.1 200 OK\nA: b\r\n", 0)
    assert answer is not None
    assert not answer.is_whole


@given(st.binary(max_size=300), st.integers(0, 5))
def test_no_output_of_gh_breaks_us(out: bytes, code: int) -> None:
    for data in (out, b"HTTP/1.1 200 OK\n" + out, b"HTTP/2.0 403 No\r\n\r\n" + out):
        answer = split_answer(data, code)
        if answer is None:
            continue
        try:
            answer.json()
        except ForgeError:
            continue


def test_deep_json_is_no_crash() -> None:
    answer = split_answer(b"HTTP/1.1 200 OK\n\r\n" + b"[" * 200_000, 0)
    assert answer is not None
    with pytest.raises(ForgeError):
        answer.json()


@given(st.dictionaries(st.text(max_size=5), st.integers()))
def test_json_comes_back_as_it_was(value: dict[str, int]) -> None:
    answer = split_answer(b"HTTP/1.1 201 Created\n\r\n" + json.dumps(value).encode(), 0)
    assert answer is not None
    assert answer.json() == value
