"""The door to gh, with a gh that says what it was told to."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.github.gh import SHARE, Gh, RateBudget
from bmad_autopilot.github.gh_errors import HttpAnswer
from tests.github.gh_stub import StubGh, Waits, gh_with, stub

QUERY = "query AutopilotTest($a: String!) { rateLimit { cost } viewer { login } }"
MUTATION = "mutation AutopilotTest($a: String!) { x }"


@pytest.fixture
def gh_stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StubGh:
    return stub(tmp_path / "stub", monkeypatch)


@pytest.fixture
def waits() -> Waits:
    return Waits()


def trouble_of(ask: object) -> ForgeError:
    assert callable(ask)
    with pytest.raises(ForgeError) as caught:
        ask()
    return caught.value


def test_what_is_sent_goes_in_by_stdin_and_the_host_is_named(gh_stub: StubGh, waits: Waits) -> None:
    gh_stub.answer(201, '{"number": 7}')
    body = {"title": "--method DELETE\n`rm`", "body": "@x"}
    assert gh_with(waits, "ghe.example.com").send("POST", "repos/a/b/pulls", body) == {"number": 7}
    (call,) = gh_stub.asked
    assert call.argv[:6] == ["api", "--hostname", "ghe.example.com", "--include", "--method", "POST"]
    assert call.argv[-3:] == ["--input", "-", "repos/a/b/pulls"]
    assert "rm" not in " ".join(call.argv)
    assert json.loads(call.stdin) == body


def test_a_request_without_a_body_has_no_input(gh_stub: StubGh, waits: Waits) -> None:
    gh_stub.answer(204)
    assert gh_with(waits).send("DELETE", "repos/a/b/git/refs/heads/x") is None
    assert "--input" not in gh_stub.asked[0].argv


def test_the_users_login_stays_and_what_would_change_the_output_goes(
    gh_stub: StubGh, waits: Waits, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "GH_TOKEN": "t",
        "GH_CONFIG_DIR": "/c",
        "HTTPS_PROXY": "http://p",
        "GH_HOST": "evil.example",
        "GH_DEBUG": "api",
        "GH_FORCE_TTY": "1",
        "GH_REPO": "other/one",
    }.items():
        monkeypatch.setenv(name, value)
    gh_stub.answer(200, "{}")
    gh_with(waits).get("user")
    seen = gh_stub.asked[0].environment
    assert (seen["GH_TOKEN"], seen["GH_CONFIG_DIR"], seen["HTTPS_PROXY"]) == ("t", "/c", "http://p")
    assert (seen["GH_PROMPT_DISABLED"], seen["GH_TELEMETRY"], seen["NO_COLOR"]) == ("1", "0", "1")
    assert not {"GH_HOST", "GH_DEBUG", "GH_FORCE_TTY", "GH_REPO"} & seen.keys()


def test_a_read_is_repeated_while_what_stops_it_passes(gh_stub: StubGh, waits: Waits) -> None:
    gh_stub.answer(502, "<html>")
    gh_stub.silent(1, 'Get "https://api.github.com/user": EOF')
    gh_stub.answer(200, '{"ok": 1}')
    assert gh_with(waits).get("user").json() == {"ok": 1}
    assert waits == [1.0, 2.0]


def test_a_read_is_given_up_after_three_tries(gh_stub: StubGh, waits: Waits) -> None:
    for _ in range(3):
        gh_stub.answer(503, "")
    error = trouble_of(lambda: gh_with(waits).get("user"))
    assert (error.kind, error.status, len(gh_stub.asked)) == (ForgeErrorKind.UNAVAILABLE, 503, 3)


def test_an_effect_is_never_repeated(gh_stub: StubGh, waits: Waits) -> None:
    gh = gh_with(waits)
    gh_stub.answer(502, "")
    assert trouble_of(lambda: gh.send("POST", "repos/a/b/pulls", {})).kind is ForgeErrorKind.UNAVAILABLE
    gh_stub.silent(1, "EOF")
    assert trouble_of(lambda: gh.graphql(MUTATION, {})).kind is ForgeErrorKind.UNAVAILABLE
    gh_stub.answer(429, "{}", Retry_After="1")
    assert trouble_of(lambda: gh.send("PUT", "repos/a/b/pulls/1/merge", {})).kind is ForgeErrorKind.LIMIT
    assert (len(gh_stub.asked), waits) == (3, [])


def test_a_short_limit_is_waited_for_and_a_long_one_is_told(gh_stub: StubGh, waits: Waits) -> None:
    gh = gh_with(waits)
    gh_stub.answer(429, "{}", Retry_After="3")
    gh_stub.answer(200, "[]")
    assert gh.get("a").json() == []
    assert waits == [3.0]
    gh_stub.answer(403, '{"message": "You have exceeded a secondary rate limit."}', Retry_After="120")
    error = trouble_of(lambda: gh.get("a"))
    assert (error.kind, error.until) == (ForgeErrorKind.LIMIT, waits.now + 120)
    assert len(gh_stub.asked) == 3


def test_what_has_not_changed_is_not_sent_again(gh_stub: StubGh, waits: Waits) -> None:
    gh = gh_with(waits)
    gh_stub.answer(200, '["a"]', Etag='W/"1"')
    gh_stub.answer(304, "", Etag='W/"1"')
    gh_stub.answer(200, '["b"]', Etag='W/"2"')
    assert [gh.get("x").json() for _ in range(3)] == [["a"], ["a"], ["b"]]
    sent = [[part for part in call.argv if part.startswith("If-None-Match")] for call in gh_stub.asked]
    assert sent == [[], ['If-None-Match: W/"1"'], ['If-None-Match: W/"1"']]


def test_a_torn_answer_is_no_answer(gh_stub: StubGh, waits: Waits) -> None:
    gh = gh_with(waits)
    gh_stub.answer(200, '{"a": ', code=1)
    gh_stub.answer(200, '{"a": 1}')
    assert gh.get("x").json() == {"a": 1}
    gh_stub.answer(200, '{"sha": "12', code=1)
    assert trouble_of(lambda: gh.send("PUT", "x", {})).kind is ForgeErrorKind.UNAVAILABLE
    gh_stub.answer(200, '{"data": {', code=1)
    assert trouble_of(lambda: gh.graphql(MUTATION, {})).kind is ForgeErrorKind.UNAVAILABLE


def test_a_gh_that_does_not_answer_is_ended(gh_stub: StubGh, waits: Waits) -> None:
    gh_stub.hang()
    error = trouble_of(lambda: gh_with(waits, seconds=0.3).send("POST", "x", {}))
    assert error.kind is ForgeErrorKind.UNAVAILABLE
    assert "did not answer" in error.message


def test_no_gh_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    error = trouble_of(lambda: Gh().get("user"))
    assert error.kind is ForgeErrorKind.LOGIN
    assert error.hint is not None
    assert "cli.github.com" in error.hint


@pytest.mark.parametrize(
    ("host", "command"), [("github.com", "gh auth login"), ("g.x", "gh auth login --hostname g.x")]
)
def test_no_login_says_how_to_log_in(gh_stub: StubGh, waits: Waits, host: str, command: str) -> None:
    gh_stub.silent(4, "To get started with GitHub CLI, please run:  gh auth login")
    error = trouble_of(lambda: gh_with(waits, host).get("user"))
    assert (error.kind, error.hint) == (ForgeErrorKind.LOGIN, command)


def test_a_query_is_named_and_its_points_are_counted(gh_stub: StubGh, waits: Waits) -> None:
    gh = gh_with(waits)
    rate = {"cost": 3, "remaining": 1000, "limit": 5000, "resetAt": "2027-01-15T09:00:00Z"}
    gh_stub.answer(200, json.dumps({"data": {"rateLimit": rate, "viewer": None}}))
    assert gh.graphql(QUERY, {"a": "é"})["viewer"] is None
    sent = json.loads(gh_stub.asked[0].stdin)
    assert (sent["operationName"], sent["variables"], sent["query"]) == ("AutopilotTest", {"a": "é"}, QUERY)
    assert gh_stub.asked[0].argv[-1] == "graphql"
    assert gh.budget is not None
    assert (gh.budget.remaining, gh.budget.cost) == (1000, 3)
    assert gh.pace(10) > 10


def test_data_with_errors_beside_it_is_an_error(gh_stub: StubGh, waits: Waits) -> None:
    error = {"type": "FORBIDDEN", "path": ["repository"], "message": "Resource not accessible"}
    both = json.dumps({"data": {"viewer": {"login": "a"}}, "errors": [error]})
    gh_stub.answer(200, both, code=1)
    gh_stub.answer(200, both, code=1)
    gh = gh_with(waits)
    assert trouble_of(lambda: gh.graphql(QUERY, {})).kind is ForgeErrorKind.DENIED
    assert gh.graphql(QUERY, {}, filter_errors=lambda errors: [])["viewer"] == {"login": "a"}


@pytest.mark.parametrize("body", ["[]", '"x"', "7", '{"data": null}', '{"data": []}', "<html>no</html>", "\xff"])
def test_an_answer_that_is_none_is_odd(gh_stub: StubGh, waits: Waits, body: str) -> None:
    gh_stub.answer(200, body)
    assert trouble_of(lambda: gh_with(waits).graphql(QUERY, {})).kind is ForgeErrorKind.UNRECOGNIZED


RESET = "2027-01-15T09:00:00Z"
AT = 1_800_003_600.0


def purse(cost: int, remaining: int) -> RateBudget:
    made = RateBudget()
    made.note_query({"cost": cost, "remaining": remaining, "limit": 5000, "resetAt": RESET})
    return made


def test_a_hundred_pull_requests_at_ten_seconds_are_within_the_share() -> None:
    assert purse(3, 5000).pace(10, AT - 3600) == 10


def test_others_use_makes_us_slower() -> None:
    assert purse(3, 1000).pace(10, AT - 3600) == 43.2


def test_with_nothing_left_one_waits_for_the_reset_and_no_longer() -> None:
    assert purse(3, 0).pace(10, AT - 600) == 600
    assert purse(3, 0).pace(10, AT) == 10
    assert purse(3, 0).pace(10, AT - 2) == 10


def test_the_dearest_of_the_last_queries_counts() -> None:
    made = purse(3, 1000)
    made.note_query({"cost": 1, "remaining": 1000, "limit": 5000, "resetAt": RESET})
    assert made.pace(10, AT - 3600) == 43.2


def test_without_a_word_of_it_the_wanted_pace_stays() -> None:
    made = RateBudget()
    for told in (None, {}, {"cost": "x"}, {"cost": 1, "remaining": 2, "resetAt": "soon"}):
        made.note_query(told)
    assert made.pace(10, AT) == 10


def test_headers_are_kept_apart_by_what_they_count() -> None:
    made = purse(2, 4000)
    headers = {"x-ratelimit-remaining": "10", "x-ratelimit-limit": "5000", "x-ratelimit-reset": "1800003600"}
    made.note_headers(HttpAnswer(200, headers | {"x-ratelimit-resource": "core"}, b""))
    assert made.requests is not None
    assert made.requests.remaining == 10
    assert made.points is not None
    assert made.points.remaining == 4000
    made.note_headers(HttpAnswer(200, headers | {"x-ratelimit-resource": "graphql"}, b""))
    assert (made.points.remaining, made.points.cost) == (10, 2)


@given(st.integers(1, 50), st.integers(0, 5000), st.floats(0, 3600))
def test_looking_at_that_pace_stays_within_the_share(cost: int, remaining: int, left: float) -> None:
    pace = purse(cost, remaining).pace(1.0, AT - left)
    assert pace >= 1.0
    looks = int(left / pace)
    assert looks * cost <= SHARE * remaining + cost + 1
