"""GitHub's answers as types: odd ones are told, never guessed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.github.decode import (
    read_checks,
    read_pull,
    read_pull_summary,
    read_review,
    read_thread,
    require_nodes,
)
from bmad_autopilot.github.forge import CheckState, Pull
from tests.support.scripted_github import check_run, comment, pull, pull_mark, review, thread

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@contextmanager
def _odd_or_nothing() -> Iterator[None]:
    try:
        yield
    except ForgeError as error:
        if error.kind is not ForgeErrorKind.UNRECOGNIZED:
            raise


def _places(value: Any) -> list[tuple[Any, ...]]:
    """Every road that leads to something inside of it."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [road for key, inside in parts for road in ((key,), *((key, *rest) for rest in _places(inside)))]


@given(st.sampled_from(_places(pull())), _JSON)
def test_an_odd_field_is_an_error_or_is_read(road: tuple[Any, ...], value: Any) -> None:
    found: Any = pull()
    place = found
    for key in road[:-1]:
        place = place[key]
    place[road[-1]] = value
    with _odd_or_nothing():
        assert isinstance(read_pull(found), Pull)


@pytest.mark.parametrize(
    "name", ["number", "state", "headRefOid", "headRefName", "baseRefName", "isDraft", "title"]
)
def test_what_must_be_there_is_asked_for_by_name(name: str) -> None:
    found = pull_mark()
    del found[name]
    with pytest.raises(ForgeError, match=name) as caught:
        read_pull_summary(found)
    assert caught.value.kind is ForgeErrorKind.UNRECOGNIZED


def test_an_unknown_state_of_a_pull_request_is_odd() -> None:
    with pytest.raises(ForgeError, match="state"):
        read_pull_summary(pull_mark(state="FROZEN"))


@given(st.sampled_from(sorted({*thread(1), *review(1), *check_run("a")})), _JSON)
def test_an_odd_thread_is_an_error_or_is_read(name: str, value: Any) -> None:
    for read in (
        lambda: read_thread(thread(1, **{name: value}), [comment(1)]),
        lambda: read_review(review(1) | {name: value}),
        lambda: read_checks([check_run("a") | {name: value}]),
    ):
        with _odd_or_nothing():
            read()


def test_an_account_that_is_gone_is_a_ghost() -> None:
    seen = read_review(review(1) | {"author": None})
    assert (seen.author.login, seen.author.is_bot) == ("ghost", False)


def test_half_a_letter_is_replaced() -> None:
    read_pull(pull(title="a\ud800b")).title.encode()


def test_the_push_is_the_latest_time_that_is_known() -> None:
    forced = {"nodes": [{"createdAt": "2026-11-16T11:00:00Z"}]}
    assert read_pull(pull(forced=forced)).pushed - read_pull(pull()).pushed == 1.5 * 3600
    assert read_pull(pull(headRef=None)).pushed == read_pull(pull()).created


@pytest.mark.parametrize(
    ("status", "conclusion", "state"),
    [
        ("COMPLETED", "SUCCESS", CheckState.PASSED),
        ("COMPLETED", "FAILURE", CheckState.FAILED),
        ("COMPLETED", "TIMED_OUT", CheckState.FAILED),
        ("COMPLETED", "STARTUP_FAILURE", CheckState.FAILED),
        ("COMPLETED", "CANCELLED", CheckState.CANCELLED),
        ("COMPLETED", "SKIPPED", CheckState.SKIPPED),
        ("COMPLETED", "NEUTRAL", CheckState.NEUTRAL),
        ("COMPLETED", "ACTION_REQUIRED", CheckState.ACTION),
        ("COMPLETED", "STALE", CheckState.UNKNOWN),
        ("COMPLETED", "GLORIOUS", CheckState.UNKNOWN),
        ("COMPLETED", None, CheckState.UNKNOWN),
        ("QUEUED", None, CheckState.PENDING),
        ("WAITING", None, CheckState.PENDING),
        ("IN_PROGRESS", "SUCCESS", CheckState.PENDING),
        ("ODD", "SUCCESS", CheckState.UNKNOWN),
    ],
)
def test_a_check_run_has_one_state(status: str, conclusion: str | None, state: CheckState) -> None:
    (check,) = read_checks([check_run("a", conclusion, status)])
    assert check.state is state


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("SUCCESS", CheckState.PASSED),
        ("PENDING", CheckState.PENDING),
        ("EXPECTED", CheckState.PENDING),
        ("FAILURE", CheckState.FAILED),
        ("ERROR", CheckState.FAILED),
        ("FINE", CheckState.UNKNOWN),
    ],
)
def test_a_status_has_one_state(word: str, state: CheckState) -> None:
    status = {"__typename": "StatusContext", "context": "ci/x", "state": word, "createdAt": "2026-11-16T10:00:00Z"}
    (check,) = read_checks([status | {"isRequired": True, "targetUrl": None}])
    assert (check.name, check.state, check.required, check.job) == ("ci/x", state, True, 0)


def test_of_one_name_the_newest_counts() -> None:
    old = check_run("a", "CANCELLED", startedAt="2026-11-16T09:00:00Z")
    new = check_run("a", "SUCCESS", startedAt="2026-11-16T09:05:00Z")
    queued = check_run("a", None, "QUEUED", startedAt=None)
    other = check_run("a", "FAILURE", checkSuite={"app": {"slug": "other"}, "workflowRun": None})
    assert [check.state for check in read_checks([old, new])] == [CheckState.PASSED]
    assert [check.state for check in read_checks([new, old])] == [CheckState.PASSED]
    assert [check.state for check in read_checks([queued, new])] == [CheckState.PENDING]
    assert len(read_checks([new, other])) == 2


def test_a_workflow_that_failed_is_not_hidden_by_another_of_the_same_name() -> None:
    def of_file(number: int) -> dict[str, object]:
        run = {"databaseId": number, "event": "pull_request", "workflow": {"name": "CI", "databaseId": number}}
        return {"app": {"slug": "github-actions"}, "workflowRun": run}

    red = check_run("build", "FAILURE", checkSuite=of_file(1), startedAt="2026-11-16T09:00:00Z")
    green = check_run("build", "SUCCESS", checkSuite=of_file(2), startedAt="2026-11-16T09:05:00Z")
    assert {check.state for check in read_checks([red, green])} == {CheckState.FAILED, CheckState.PASSED}


def test_another_apps_check_is_no_job() -> None:
    (check,) = read_checks([check_run("a", checkSuite={"app": {"slug": "other"}, "workflowRun": None})])
    assert (check.job, check.run, check.app) == (0, 0, "other")


def test_a_context_of_a_kind_that_we_do_not_know_is_odd() -> None:
    with pytest.raises(ForgeError):
        read_checks([{"__typename": "Oracle"}])


def test_a_hole_in_a_list_is_odd() -> None:
    """It may have been the thread that is open, or the check that failed."""
    with pytest.raises(ForgeError, match="a node of reviewThreads"):
        require_nodes({"nodes": [{"id": "T"}, None]}, "reviewThreads")
