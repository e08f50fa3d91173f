"""Liars and untidy honest agents, run through the whole loop as real processes on real git."""

from pathlib import Path

import pytest

from bmad_autopilot.sim.habits import HABITS
from bmad_autopilot.sim.habits.habit import Kind
from tests.engine.laning import Sample

LIARS = sorted(name for name, habit in HABITS.items() if habit.kind is Kind.LIAR)
UNTIDY = sorted(name for name, habit in HABITS.items() if habit.kind is Kind.UNTIDY)
EVERY = 5  # of them are run for real each time; all of them in `make soak`


def _mostly_soak(names: list[str]) -> list[object]:
    marks = (pytest.mark.real, pytest.mark.soak)
    return [pytest.param(name, marks=marks[index % EVERY != 0]) for index, name in enumerate(names)]


def test_there_are_enough_of_them() -> None:
    assert len(LIARS) >= 25
    assert len(UNTIDY) >= 25


@pytest.mark.parametrize("habit", _mostly_soak(LIARS))
def test_a_liar_is_never_done(tmp_path: Path, habit: str) -> None:
    sample = Sample(tmp_path / "p", f"honest,{habit}:1-1", stories=2)
    ran = sample.run()
    assert ran.end.status == "waiting"
    assert sample.row("1-1") != "done"
    assert not any(subject.startswith("Story 1-1") and ":" not in subject for subject in sample.story_commits())


@pytest.mark.parametrize("habit", _mostly_soak(UNTIDY))
def test_an_untidy_honest_agent_gets_its_story_done(tmp_path: Path, habit: str) -> None:
    sample = Sample(tmp_path / "p", f"honest,{habit}:1-1", stories=2)
    ran = sample.run()
    assert (ran.end.status, ran.questions) == ("completed", [])
    assert sample.row("1-1") == "done"
