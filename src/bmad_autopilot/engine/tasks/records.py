"""What the runs of a flow's tasks have come to, from their journals."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...core.errors import AutopilotError
from ...core.folding import fold
from ...core.records import RunRecord, StoryRecord
from ...runs.finding import all_runs
from ...runs.journal import Journal
from ..driving import lane_at

SESSION = "tasks"  # the session branch of their runs, unless another is named


class TaskWork(NamedTuple):
    """All calls for one row, over all runs."""

    commits: tuple[str, ...] = ()
    calls: int = 0
    rounds: int = 0
    dollars: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0
    answers: tuple[Mapping[str, Any], ...] = ()


class Work(NamedTuple):
    rows: Mapping[str, TaskWork]
    checks: tuple[tuple[str, int, int], ...]  # command, how often it passed, how often it was run
    runs: tuple[str, ...]  # their names, the oldest first


def work_of(runs: str, keys: frozenset[str]) -> Work:
    """For these rows. A run that cannot be read tells nothing."""
    rows: dict[str, TaskWork] = {}
    checks: dict[str, list[bool]] = {}
    names = []
    for run in sorted(all_runs(runs, archive=True), key=lambda run: (run.state.started_at, run.id)):
        record = _record(run.folder)
        if record is None or not keys & record.stories.keys():
            continue
        names.append(run.id)
        for key in sorted(keys & record.stories.keys()):
            rows[key] = _added(rows.get(key, TaskWork()), record, record.stories[key])
        for check in record.checks.values():
            for command, code, _ in check.ran:
                checks.setdefault(str(command), []).append(code == 0)
    told = ((command, sum(passed), len(passed)) for command, passed in sorted(checks.items()))
    return Work(rows, tuple(told), tuple(names))


def _record(folder: str) -> RunRecord | None:
    lane = lane_at(folder)
    if lane is None or not lane.of_tasks:
        return None
    try:
        entries = Journal(folder, lambda value: value).entries()
    except AutopilotError:
        return None
    return fold((entry.kind, entry.data, entry.at) for entry in entries)


def _added(work: TaskWork, run: RunRecord, story: StoryRecord) -> TaskWork:
    ended = [call.ended for step in story.steps for call in step.calls if call.ended is not None]
    prices = [one.get("dollars") for one in ended]
    return TaskWork(
        tuple(dict.fromkeys((*work.commits, *story.commits.values()))),
        work.calls + len(ended),
        work.rounds + (story.round if ended else 0),
        work.dollars + sum(price for price in prices if price is not None),
        work.unpriced + sum(price is None for price in prices),
        work.seconds + sum(float(one.get("seconds") or 0.0) for one in ended),
        (*work.answers, *(one for one in run.answers if one.get("story") == story.key and one.get("answer"))),
    )
