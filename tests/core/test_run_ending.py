"""Endings of a run, and the exit code of each."""

import pytest

from bmad_autopilot.core.errors import EXIT_DONE, EXIT_FAILED, EXIT_HUMAN, EXIT_INTERRUPTED
from bmad_autopilot.core.run_ending import RunEnding

CODES = {
    RunEnding.COMPLETED: EXIT_DONE,
    RunEnding.NOT_DONE: EXIT_FAILED,
    RunEnding.FAILED: EXIT_FAILED,
    RunEnding.WAITING: EXIT_HUMAN,
    RunEnding.HANDED_OVER: EXIT_HUMAN,
    RunEnding.PAUSED: EXIT_HUMAN,
    RunEnding.PENDING: EXIT_HUMAN,
    RunEnding.DETACHED: EXIT_INTERRUPTED,
    RunEnding.SESSION_OVER: EXIT_DONE,
    RunEnding.TASKS: EXIT_HUMAN,
}


@pytest.mark.parametrize("ending", list(RunEnding))
def test_each_ending_has_its_exit_code(ending: RunEnding) -> None:
    assert ending.exit_code == CODES[ending]


def test_only_a_run_that_is_over_counts_as_over() -> None:
    assert [ending for ending in RunEnding if ending.is_over] == [RunEnding.COMPLETED, RunEnding.NOT_DONE]
    assert [ending for ending in RunEnding if ending.is_stopped] == [RunEnding.PAUSED, RunEnding.DETACHED]
