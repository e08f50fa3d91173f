"""What a user is told of each thing that can go wrong with GitHub."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.github.forge import ForgeError, Trouble
from bmad_autopilot.github.gh_answers import HttpAnswer
from bmad_autopilot.github.gh_troubles import Asked, graphql_trouble, http_trouble, silent_trouble

NOW = 1_000_000.0
ASKED = Asked("GET repos/acme/widgets", "github.com")


def http(status: int, body: Any = "", *, asked: Asked = ASKED, **headers: Any) -> ForgeError:
    data = body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return http_trouble(asked, HttpAnswer(status, named, data.encode()), NOW)


def graphql(*errors: Any, **headers: str) -> ForgeError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return graphql_trouble(Asked("AutopilotPull", "github.com"), list(errors), HttpAnswer(200, named, b""), NOW)


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        (301, Trouble.MISSING),
        (400, Trouble.ODD),
        (401, Trouble.LOGIN),
        (403, Trouble.DENIED),
        (404, Trouble.MISSING),
        (405, Trouble.REFUSED),
        (408, Trouble.AWAY),
        (409, Trouble.REFUSED),
        (410, Trouble.MISSING),
        (418, Trouble.ODD),
        (422, Trouble.REFUSED),
        (429, Trouble.LIMIT),
        (451, Trouble.DENIED),
        (500, Trouble.AWAY),
        (502, Trouble.AWAY),
        (599, Trouble.AWAY),
    ],
)
def test_each_status_is_a_trouble(status: int, trouble: Trouble) -> None:
    error = http(status, {"message": "Words of GitHub"})
    assert (error.trouble, error.status) == (trouble, status)
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
    assert (error.trouble, error.until - NOW) == (Trouble.LIMIT, wait)


def test_a_server_that_is_away_may_say_for_how_long() -> None:
    assert http(503, "", retry_after="4").until == NOW + 4
    assert http(503, "").until == 0


def test_a_login_that_is_no_longer_good_says_which_host() -> None:
    assert http(401).hint == "gh auth login"
    assert http(401, asked=Asked("x", "ghe.example.com")).hint == "gh auth login --hostname ghe.example.com"


def test_a_single_sign_on_shows_where() -> None:
    url = "https://github.com/orgs/acme/sso?authorization_request=A"
    error = http(403, {"message": "Resource protected"}, x_github_sso=f"required; url={url}")
    assert error.trouble is Trouble.DENIED
    assert error.hint is not None
    assert url in error.hint
    other = graphql({"type": "FORBIDDEN", "message": "Resource protected by organization SAML enforcement."})
    assert other.hint is not None
    assert "gh auth refresh" in other.hint


def test_a_missing_repository_asks_for_name_and_login() -> None:
    error = graphql({"type": "NOT_FOUND", "message": "Could not resolve to a Repository with the name 'a/b'."})
    assert error.trouble is Trouble.MISSING
    assert error.hint is not None
    assert "gh auth status" in error.hint


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        ({"type": "NOT_FOUND", "message": "m"}, Trouble.MISSING),
        ({"type": "FORBIDDEN", "message": "m"}, Trouble.DENIED),
        ({"type": "RATE_LIMITED", "message": "m"}, Trouble.LIMIT),
        ({"type": "UNPROCESSABLE", "message": "m"}, Trouble.REFUSED),
        ({"type": "STALE_DATA", "message": "m"}, Trouble.REFUSED),
        ({"message": "Something went wrong while executing your query."}, Trouble.AWAY),
        ({"message": "You have exceeded a secondary rate limit"}, Trouble.LIMIT),
        ({"message": "Field 'x' doesn't exist on type 'Mutation'"}, Trouble.ODD),
        ({"type": "NEW_ONE", "message": "try again"}, Trouble.ODD),
        ({}, Trouble.ODD),
        ("text", Trouble.ODD),
        (None, Trouble.ODD),
    ],
)
def test_each_graphql_error_is_a_trouble(error: Any, trouble: Trouble) -> None:
    assert graphql(error).trouble is trouble


def test_missing_scopes_are_named_in_a_command() -> None:
    said = "The 'name' field requires one of the following scopes: ['read:org', 'repo'], but has not been granted"
    error = graphql({"type": "INSUFFICIENT_SCOPES", "message": said})
    assert (error.trouble, error.hint) == (Trouble.DENIED, "gh auth refresh --scopes read:org,repo")


def test_of_several_errors_the_one_that_does_not_pass_is_told() -> None:
    passing = {"message": "Something went wrong"}
    assert graphql(passing, {"type": "FORBIDDEN", "message": "no"}).trouble is Trouble.DENIED


@given(
    st.integers(300, 599),
    st.binary(max_size=80),
    st.dictionaries(
        st.sampled_from(["retry-after", "x-ratelimit-reset", "x-ratelimit-remaining", "x-github-sso"]), st.text()
    ),
)
def test_every_answer_has_a_trouble(status: int, body: bytes, headers: dict[str, str]) -> None:
    error = http_trouble(ASKED, HttpAnswer(status, headers, body), NOW)
    assert 0 <= error.until <= NOW + 3600
    assert "\n" not in error.message


@given(st.one_of(st.none(), st.integers(0, 255)), st.text())
def test_every_silence_has_a_trouble(code: int | None, said: str) -> None:
    assert silent_trouble(ASKED, code, said).trouble in (Trouble.AWAY, Trouble.LOGIN, Trouble.ODD)
