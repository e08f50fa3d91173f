"""Limits: how long an account is left alone, what is on disk, and what a broken file or clock does."""

import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.adapter import REACTIONS, Outcome, Reaction, UsageLimit
from bmad_autopilot.agents.rate_limits import (
    DAY,
    FIRST_WAIT,
    HOUR,
    JITTER,
    MAX_GUESS,
    MAX_KINDS,
    MAX_WAIT,
    MINUTE,
    RETRY_POLICIES,
    ParkedAccount,
    clear_refusals,
    compute_parking,
    limits_file,
    limits_folder,
    read_parked,
    record_refusal,
    retry_delay,
)
from bmad_autopilot.core.errors import FileError

NOW = 1_800_000_000.0
SOON, LATE = JITTER


def half() -> float:
    return 0.5


@pytest.fixture
def path(tmp_path: Path) -> str:
    return f"{tmp_path}/state/limits/claude.json"


# How long


@pytest.mark.parametrize("jitter", [0.0, 0.5, 1.0])
def test_an_announced_reset_is_waited_for_and_a_little_more(jitter: float) -> None:
    parked = compute_parking("claude", None, UsageLimit("five_hour", NOW + 3 * HOUR), NOW, jitter)
    assert NOW + 3 * HOUR + SOON <= parked.until <= NOW + 3 * HOUR + LATE
    assert parked[:2] == ("claude", "five_hour")
    assert (parked.refused_at, parked.refusals) == (NOW, 1)


@pytest.mark.parametrize(
    "resets_at", [None, NOW, NOW - 1, 0.0, -1e300, NOW + MAX_WAIT + 1, float("inf"), float("nan")]
)
def test_without_a_reset_that_can_be_believed_the_time_is_guessed(resets_at: float | None) -> None:
    assert (
        compute_parking("claude", None, UsageLimit("five_hour", resets_at), NOW, 0.0).until
        == NOW + FIRST_WAIT + SOON
    )


def test_guesses_double_up_to_five_hours() -> None:
    waits, parked, now = [], None, NOW
    for _ in range(30):
        parked = compute_parking("claude", parked, UsageLimit("unknown"), now, 0.0)
        waits.append((parked.until - now - SOON) / MINUTE)
        now = parked.until
    assert waits[:6] == [15, 30, 60, 120, 240, 300]
    assert set(waits[5:]) == {MAX_GUESS / MINUTE}


@pytest.mark.parametrize("announced", [None, NOW + 5 * HOUR, NOW + 5 * HOUR + 10 * MINUTE])
def test_a_second_refusal_after_the_reset_is_a_longer_limit(announced: float | None) -> None:
    first = compute_parking("claude", None, UsageLimit("five_hour", NOW + 4 * HOUR), NOW, 0.0)
    second = compute_parking("claude", first, UsageLimit("five_hour", announced), first.until, 0.0)
    assert second.until - second.refused_at >= 2 * (first.until - first.refused_at)
    assert second.refusals == 2


def test_a_newly_announced_reset_is_never_cut_short() -> None:
    first = compute_parking("claude", None, UsageLimit("five_hour", NOW + HOUR), NOW, 0.0)
    second = compute_parking("claude", first, UsageLimit("five_hour", NOW + 6 * DAY), first.until, 0.0)
    assert second.until >= NOW + 6 * DAY


def test_waits_never_grow_beyond_the_longest() -> None:
    parked, now = None, NOW
    for _ in range(20):
        parked = compute_parking("claude", parked, UsageLimit("seven_day", now + 7 * DAY), now, 1.0)
        assert parked.until - now <= MAX_WAIT + LATE
        now = parked.until


def test_calls_that_were_under_way_are_refused_once() -> None:
    first = compute_parking("claude", None, UsageLimit("five_hour", NOW + HOUR), NOW, 0.0)
    assert compute_parking("claude", first, UsageLimit("five_hour", NOW + HOUR), NOW + 2, 0.0) == first
    assert (
        compute_parking("claude", first, UsageLimit("five_hour", NOW + MINUTE), NOW + 2, 0.0).until == first.until
    )
    longer = compute_parking("claude", first, UsageLimit("five_hour", NOW + 2 * HOUR), NOW + 2, 0.0)
    assert (longer.until, longer.refusals) == (NOW + 2 * HOUR + SOON, 1)


def test_a_refusal_from_the_future_does_not_count() -> None:
    first = compute_parking("claude", None, UsageLimit("five_hour", NOW + HOUR), NOW, 0.0)
    again = compute_parking("claude", first, UsageLimit("five_hour"), NOW - DAY, 0.0)
    assert (again.until, again.refusals) == (NOW - DAY + FIRST_WAIT + SOON, 1)


times = st.floats(NOW - 30 * DAY, NOW + 30 * DAY)


@given(st.lists(st.tuples(st.floats(0, 10 * DAY), st.none() | times | st.floats(), st.floats(0, 1)), max_size=8))
def test_a_wait_is_always_bounded_and_never_shorter_than_what_was_announced(
    rounds: list[tuple[float, float | None, float]],
) -> None:
    parked, now = None, NOW
    for gap, resets_at, jitter in rounds:
        now += gap
        parked = compute_parking("claude", parked, UsageLimit("five_hour", resets_at), now, jitter)
        assert now < parked.until <= now + MAX_WAIT + LATE
        if resets_at is not None and now < resets_at <= now + MAX_WAIT:
            assert parked.until >= resets_at


# On disk


def test_a_refusal_is_on_disk_and_parks_until_its_time(path: str) -> None:
    parked = record_refusal(path, "claude", UsageLimit("five_hour", NOW + HOUR), NOW, half)
    assert read_parked(path, NOW + 1) == (parked, ())
    assert read_parked(path, parked.until - 1).parked == parked
    assert read_parked(path, parked.until) == (None, ())
    assert json.loads(Path(path).read_text())["parked"][0]["until"] == parked.until
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_the_second_refusal_is_known_after_a_restart(path: str) -> None:
    first = record_refusal(path, "claude", UsageLimit("five_hour", NOW + HOUR), NOW, half)
    second = record_refusal(path, "claude", UsageLimit("five_hour", first.until + MINUTE), first.until, half)
    assert second.refusals == 2
    assert second.until - second.refused_at >= 2 * (first.until - first.refused_at)


@pytest.mark.parametrize("order", [1, -1])
def test_a_short_limit_does_not_end_a_long_one_of_another_kind(path: str, order: int) -> None:
    limits = [UsageLimit("five_hour", NOW + HOUR), UsageLimit("seven_day", NOW + 3 * DAY)][::order]
    for limit in limits:
        shown = record_refusal(path, "claude", limit, NOW, half)
    assert shown.kind == "seven_day"
    found = read_parked(path, NOW).parked
    assert found is not None
    assert found.until >= NOW + 3 * DAY


def test_nobody_is_parked_who_was_never_refused(path: str) -> None:
    assert read_parked(path, NOW) == (None, ())
    clear_refusals(path, NOW, NOW)
    assert not os.path.exists(os.path.dirname(path))


def test_a_call_that_completed_clears_what_was_refused_before_it_began(path: str) -> None:
    record_refusal(path, "claude", UsageLimit("five_hour", NOW + HOUR), NOW, half)
    clear_refusals(path, NOW + 1, NOW + 60)
    assert not os.path.exists(path)
    assert record_refusal(path, "claude", UsageLimit("five_hour"), NOW + DAY, half).refusals == 1


def test_a_call_that_began_before_the_refusal_proves_nothing(path: str) -> None:
    parked = record_refusal(path, "claude", UsageLimit("five_hour", NOW + HOUR), NOW, half)
    clear_refusals(path, NOW - 60, NOW + 1)
    assert read_parked(path, NOW + 2).parked == parked


def test_a_clock_that_went_back_parks_nobody_now_or_later(path: str) -> None:
    record_refusal(path, "claude", UsageLimit("five_hour", NOW + HOUR), NOW, half)
    reading = read_parked(path, NOW - DAY)
    assert reading.parked is None
    assert [note.code for note in reading.diagnostics] == ["clock-went-back"]
    clear_refusals(path, NOW - DAY, NOW - DAY + 60)
    assert read_parked(path, NOW + 1).parked is None


def test_a_refusal_after_the_clock_went_back_takes_its_place(path: str) -> None:
    record_refusal(path, "claude", UsageLimit("seven_day", NOW + 5 * DAY), NOW, half)
    parked = record_refusal(path, "claude", UsageLimit("five_hour", NOW - DAY + HOUR), NOW - DAY, half)
    assert read_parked(path, NOW - DAY) == (parked, ())
    assert read_parked(path, NOW + 1) == (None, ())


GOOD = {"agent": "claude", "kind": "x", "until": NOW + 60, "refused_at": NOW, "refusals": 1}


@pytest.mark.parametrize(
    "raw",
    [
        *(
            "",
            "{",
            "[]",
            "null",
            "3",
            '"parked"',
            "{}",
            '{"parked": 3}',
            '{"parked": {"a": 1}}',
            '{"parked": ["x"]}',
        ),
        *(
            pytest.param("[" * 50_000, id="deep"),
            '{"parked": [null]}',
            "\ufeff{}",
            pytest.param("x" * 70_000, id="large"),
        ),
        *(
            json.dumps({"parked": [{**GOOD, **change}]})
            for change in (
                {"until": "soon"},
                {"until": True},
                {"until": NOW - 1},
                {"until": NOW + 30 * DAY},
                {"until": 10**400},
                {"until": float("nan")},
                {"refused_at": None},
                {"refusals": 0},
                {"refusals": "many"},
                {"kind": 3},
            )
        ),
    ],
)
def test_a_broken_file_parks_nobody_and_is_said(path: str, raw: str) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_text(raw)
    reading = read_parked(path, NOW)
    assert reading.parked is None
    assert [note.code for note in reading.diagnostics] == ["broken-limits"]
    record_refusal(path, "claude", UsageLimit("five_hour", NOW + HOUR), NOW, half)
    assert read_parked(path, NOW).parked is not None


def test_a_folder_in_its_place_parks_nobody(path: str) -> None:
    os.makedirs(path)
    assert read_parked(path, NOW).parked is None
    with pytest.raises(FileError):
        record_refusal(path, "claude", UsageLimit("five_hour"), NOW, half)


def test_a_state_folder_that_is_a_file_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "limits").write_text("")
    with pytest.raises(FileError) as caught:
        record_refusal(f"{tmp_path}/limits/claude.json", "claude", UsageLimit("x"), NOW, half)
    assert caught.value.location is not None


@given(st.binary(max_size=300))
def test_any_bytes_are_read(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any-limits.json"
    path.write_bytes(raw)
    assert read_parked(str(path), NOW).parked is None


@given(
    st.lists(
        st.tuples(st.text(max_size=70), st.none() | times, st.floats(0, DAY)), min_size=1, max_size=MAX_KINDS + 3
    )
)
def test_what_was_recorded_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, refusals: list[tuple[str, float | None, float]]
) -> None:
    path = str(tmp_path_factory.getbasetemp() / "written-limits" / "claude.json")
    now = NOW
    for kind, resets_at, gap in refusals:
        now += gap
        parked = record_refusal(path, "claude", UsageLimit(kind, resets_at), now, half)
        assert read_parked(path, now) == (parked, ())
    os.unlink(path)


def test_refusals_at_the_same_moment_are_all_kept(path: str) -> None:
    kinds = [f"kind-{number}" for number in range(8)]
    ends = [
        threading.Thread(target=record_refusal, args=(path, "claude", UsageLimit(kind, NOW + HOUR), NOW, half))
        for kind in kinds
    ]
    for thread in ends:
        thread.start()
    for thread in ends:
        thread.join(20)
    assert sorted(row["kind"] for row in json.loads(Path(path).read_text())["parked"]) == kinds


# Whose


def test_the_folder_is_this_users_for_all_projects(home: Path) -> None:
    assert limits_folder({"XDG_STATE_HOME": "/s", "HOME": "/h"}) == "/s/bmad-autopilot/limits"
    for state in ({}, {"XDG_STATE_HOME": ""}, {"XDG_STATE_HOME": "relative"}):
        assert limits_folder({**state, "HOME": "/h"}) == "/h/.local/state/bmad-autopilot/limits"
    assert limits_folder({}) == f"{home}/.local/state/bmad-autopilot/limits"


def test_another_login_is_another_account(home: Path) -> None:
    def name(agent: str, **environment: str) -> str:
        return os.path.basename(limits_file("/l", agent, {"HOME": str(home), **environment}))

    assert name("claude") == name("claude", CLAUDE_CONFIG_DIR=f"{home}/.claude") == "claude.json"
    other = name("claude", CLAUDE_CONFIG_DIR=f"{home}/elsewhere")
    assert other.startswith("claude-")
    assert other == name("claude", CLAUDE_CONFIG_DIR=f"{home}/./elsewhere/")
    assert other != name("claude", CLAUDE_CONFIG_DIR=f"{home}/other")
    assert name("codex", CLAUDE_CONFIG_DIR=f"{home}/elsewhere") == "codex.json"
    assert name("my-tool", CODEX_HOME="/x") == "my-tool.json"


def test_no_path_is_made_of_an_agents_name() -> None:
    refused: list[Callable[[], str]] = [lambda: limits_file("/l", "../x", {}), lambda: limits_file("/l", "", {})]
    for attempt in refused:
        with pytest.raises(AssertionError):
            attempt()


def test_what_is_parked_can_be_shown() -> None:
    assert ParkedAccount("claude", "five_hour", NOW, NOW, 1)._asdict()["announced"] is False


# Backoff: every cause has its patience, and an end.


def test_exactly_what_is_tried_again_has_patience() -> None:
    again = (Reaction.BACK_OFF, Reaction.RETRY)
    assert RETRY_POLICIES.keys() == {outcome for outcome, reaction in REACTIONS.items() if reaction in again}


def test_what_the_agent_did_is_tried_once_more_and_at_once() -> None:
    causes = (Outcome.CRASHED, Outcome.STALLED, Outcome.MAX_TURNS)
    assert {(RETRY_POLICIES[cause].max_retries, retry_delay(cause, 1, 1.0)) for cause in causes} == {(1, 0.0)}


@pytest.mark.parametrize("cause", [Outcome.OVERLOADED, Outcome.NETWORK])
def test_what_passes_by_itself_is_given_hours_in_growing_pauses(cause: Outcome) -> None:
    waits = [retry_delay(cause, failures, 1.0) for failures in range(1, RETRY_POLICIES[cause].max_retries + 1)]
    assert waits == sorted(waits)
    assert waits[1] == 2 * waits[0]
    assert waits[-1] == 1800
    assert sum(waits) > 2 * 3600


@given(st.sampled_from(list(RETRY_POLICIES)), st.integers(1, 40), st.floats(0, 1))
def test_never_longer_than_its_longest(cause: Outcome, failures: int, random: float) -> None:
    assert 0 <= retry_delay(cause, failures, random) <= RETRY_POLICIES[cause].max_delay
