"""Backoff: every cause has its patience, counted on disk, and an end."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.backoff import PATIENCE, Pause, note_failure, read_pauses, reset
from bmad_autopilot.agents.outcomes import REACTIONS, Outcome, Reaction
from bmad_autopilot.core.errors import FileError

NOW = 1_800_000_000.0
causes = st.sampled_from(list(PATIENCE))


def most() -> float:
    return 1.0


@pytest.fixture
def path(tmp_path: Path) -> str:
    return f"{tmp_path}/retries.json"


def test_exactly_what_is_tried_again_has_patience() -> None:
    again = {
        outcome for outcome, reaction in REACTIONS.items() if reaction in (Reaction.BACK_OFF, Reaction.TRY_AGAIN)
    }
    assert PATIENCE.keys() == again


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome not in PATIENCE])
def test_nothing_else_is_counted(path: str, outcome: Outcome) -> None:
    with pytest.raises(AssertionError):
        note_failure(path, outcome, NOW, most)
    assert not Path(path).exists()


@pytest.mark.parametrize("cause", PATIENCE)
def test_every_cause_comes_to_an_end(path: str, cause: Outcome) -> None:
    patience = PATIENCE[cause]
    for count in range(1, patience.tries + 1):
        pause = note_failure(path, cause, NOW, most)
        wait = min(patience.first * patience.factor ** (count - 1), patience.longest)
        assert pause == Pause(NOW + wait, count)
    for count in range(patience.tries + 1, patience.tries + 4):
        assert note_failure(path, cause, NOW, most) == Pause(None, count)


def test_what_the_agent_did_is_tried_once_more() -> None:
    assert {PATIENCE[cause].tries for cause in (Outcome.CRASHED, Outcome.STALLED, Outcome.MAX_TURNS)} == {1}


def test_causes_are_counted_apart_and_survive_a_restart(path: str) -> None:
    note_failure(path, Outcome.NETWORK, NOW, most)
    network = note_failure(path, Outcome.NETWORK, NOW, most)
    crashed = note_failure(path, Outcome.CRASHED, NOW, most)
    assert (network.count, crashed.count) == (2, 1)
    assert read_pauses(path) == {Outcome.NETWORK: network, Outcome.CRASHED: crashed}


def test_an_attempt_that_is_noted_again_counts_once(path: str) -> None:
    first = note_failure(path, Outcome.NETWORK, NOW, most, attempt="a-1")
    assert note_failure(path, Outcome.NETWORK, NOW + 99, most, attempt="a-1") == first
    assert note_failure(path, Outcome.NETWORK, NOW, most, attempt="a-2").count == 2


def test_success_forgets_one_cause_or_all(path: str) -> None:
    for cause in (Outcome.NETWORK, Outcome.CRASHED, Outcome.LOST):
        note_failure(path, cause, NOW, most)
    reset(path, Outcome.NETWORK)
    assert read_pauses(path).keys() == {Outcome.CRASHED, Outcome.LOST}
    reset(path)
    assert read_pauses(path) == {}
    assert note_failure(path, Outcome.CRASHED, NOW, most).count == 1


def test_nothing_to_forget_writes_nothing(path: str) -> None:
    reset(path)
    assert read_pauses(path) == {}
    assert not Path(path).exists()


@given(causes, st.floats(0, 1))
def test_the_whole_pause_is_left_to_chance(
    tmp_path_factory: pytest.TempPathFactory, cause: Outcome, chance: float
) -> None:
    path = tmp_path_factory.getbasetemp() / "chance.json"
    path.unlink(missing_ok=True)
    pause = note_failure(str(path), cause, 0.0, lambda: chance)
    assert pause.wait_until == chance * min(PATIENCE[cause].first, PATIENCE[cause].longest)


@pytest.mark.parametrize(
    "raw",
    [
        *(
            "",
            "{",
            "[]",
            "null",
            '{"causes": 3}',
            '{"causes": {"network": 3}}',
            pytest.param("[" * 50_000, id="deep"),
            "\xff",
        ),
        *(
            json.dumps({"causes": {"network": {"count": count}}})
            for count in (-1, 0, True, "2", 1.5, 10**30, None)
        ),
    ],
)
def test_a_broken_file_counts_nothing(path: str, raw: str) -> None:
    Path(path).write_text(raw, encoding="latin-1")
    assert read_pauses(path) == {}
    assert note_failure(path, Outcome.NETWORK, NOW, most).count == 1


@pytest.mark.parametrize("until", ["soon", True, None, 1e300, float("nan")])
def test_a_broken_time_is_no_time(path: str, until: object) -> None:
    Path(path).write_text(json.dumps({"causes": {"network": {"count": 2, "wait_until": until}}}))
    assert read_pauses(path) == {Outcome.NETWORK: Pause(None, 2)}


def test_a_file_that_cannot_be_read_is_an_error(path: str) -> None:
    Path(path).mkdir()
    with pytest.raises(FileError):
        note_failure(path, Outcome.NETWORK, NOW, most)


@given(st.binary(max_size=200))
def test_any_bytes_are_read(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any-retries.json"
    path.write_bytes(raw)
    assert read_pauses(str(path)) == {}
