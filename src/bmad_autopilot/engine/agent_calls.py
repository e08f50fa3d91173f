"""Starts the agent call of a step, and collects and records its result."""

from typing import Any

from ..board.sprint_status import Row
from ..core.run_record import CallRecord, RunRecord, StepRecord, StoryRecord
from ..core.statuses import RowKind
from ..gates.scope import MovedRow, moved_rows_of_other_epics, restored_status, with_restored_rows
from ..workflows.agent_call import AnsweredQuestion, PausedAttempt
from ..workflows.workflow import FIX_ISSUES, RETROSPECTIVE, Step
from .call_outcome import judge_call
from .commits import calls_of, handed_over, last_own_commit
from .delivery.rounds import CONFLICT, POINTS, round_logs, round_points
from .observation import CHECKS, EpicObservation, Loop, StoryObservation, call_id, dollars_left
from .ports import AgentCall, AgentResult, CallId, WorktreeSnapshot

# Starting a story: records the state before its first call.


def start_story(loop: Loop, key: str, status: str) -> None:
    """Record the story's baseline. Questions of an earlier run are cleared, unless that run was adopted."""
    if loop.lane.adopted != key:
        loop.ports.agents.clear_state(key)
    tree = loop.ports.worktree.snapshot(key)
    loop.note("story", story=key, baseline=tree.head, tree=tree.tree, code=tree.code, status=status)


def start_call(loop: Loop, observation: StoryObservation, step: Step) -> None:
    _start(loop, observation.story, step, observation.record, observation.tree)


def start_fix(loop: Loop, observation: StoryObservation) -> None:
    _start(loop, observation.story, loop.lane.workflow.fix, None, observation.tree, cause=CHECKS)


def start_retrospective(loop: Loop, observation: EpicObservation, epic: Row) -> None:
    if epic.key not in loop.run.stories:
        start_story(loop, epic.key, epic.meaning)
    _start(loop, loop.run.stories[epic.key], RETROSPECTIVE, observation.record, None)


def _start(
    loop: Loop,
    story: StoryRecord,
    step: Step,
    record: StepRecord | None,
    tree: WorktreeSnapshot | None,
    *,
    cause: str = "",
) -> None:
    if record is None:
        number = loop.run.steps + 1
        loop.note("step", story=story.key, number=number, step=step.name, round=story.round, cause=cause)
        record = loop.run.stories[story.key].steps[-1]
    last = record.last_call
    attempt = 1 if last is None else last.attempt if last.outcome is None else last.attempt + 1
    named = CallId(record.number, record.step, attempt)
    agent = loop.ports.agents.choose(step).agent
    whose = {"story": story.key, "step": step.name, "role": step.role, "agent": agent}
    loop.note("call", **whose, number=named.number, attempt=attempt)
    order = _order(loop, named, story, step, record)
    loop.ports.agents.start(order._replace(agent=agent, current_tree=tree.tree if tree else None))


def _order(loop: Loop, call: CallId, story: StoryRecord, step: Step, record: StepRecord) -> AgentCall:
    earlier = [one for one in record.calls if one.attempt < call.attempt and one.outcome]
    # Objections from before a rate limit still go into the prompt after it.
    ended = next((one.outcome for one in reversed(earlier) if one.finding != "refused"), None) or {}
    has_failure = ended.get("finding") in ("failed", "lacking") or ended.get("asks") == "blocked"
    failure = str(ended.get("message", "")) if has_failure else ""
    fixes_checks = record.cause == CHECKS
    is_fix = story.entered_by == "round" and step in (loop.lane.workflow.fix, FIX_ISSUES) and not fixes_checks
    pull_round = loop.run.delivery.round_of(story.key)
    return AgentCall(
        call,
        story.key,
        step,
        story.baseline,
        last_own_commit(story),
        story.tree,
        story.code_tree,
        review=story.summary if is_fix and story.sent_back_by == "review" else "",
        checks=_failing_output(loop.run)
        if fixes_checks
        else story.summary
        if is_fix and story.sent_back_by == "checks"
        else "",
        failure=failure,
        cut_short=bool(earlier) and earlier[-1].finding == "refused",
        halfway=_halfway(loop.run, story, record),
        dollars=dollars_left(loop.lane, loop.run),
        time_limit_factor=1 + record.extensions,
        calls=calls_of(story),
        handed_over=handed_over(story),
        points=round_points(pull_round),
        logs=round_logs(pull_round),
        in_conflict=pull_round is not None and pull_round.why == CONFLICT,
        must_change=pull_round is not None and pull_round.why != POINTS,
        variables=loop.run.variables,
        artefacts=tuple(
            (str(one["name"]), str(one["path"])) for made in loop.run.checkpoints for one in made["artefacts"]
        ),
        name=f"bmad-{story.key}-{call.number}-{call.attempt}",
        branch=loop.lane.branch,
        epic=loop.lane.epic or "",
    )


def _failing_output(run: RunRecord) -> str:
    return next((check.excerpt for check in reversed(run.checks.values()) if not check.passed), "")


def _halfway(run: RunRecord, story: StoryRecord, record: StepRecord) -> PausedAttempt | None:
    answers = [
        AnsweredQuestion(
            str(one["text"]), str(one["answer"]), str(one.get("context", "")) if one["code"] == "agent" else ""
        )
        for one in run.answers
        if one.get("code") in ("agent", "blocked")
        and one.get("story") == story.key
        and one.get("number") == record.number
    ]
    return PausedAttempt(answers=tuple(answers)) if answers else None


def collect_result(loop: Loop, observation: StoryObservation, record: StepRecord, call: CallRecord) -> None:
    step = observation.position.step or loop.lane.workflow.fix
    _note_ended(loop, observation.story, record, call, _judge(loop, observation.story, step, record, call))


def collect_retrospective(
    loop: Loop, observation: EpicObservation, story: StoryRecord, record: StepRecord, call: CallRecord
) -> None:
    """A retrospective may move no row but its own."""
    entry = _judge(loop, story, RETROSPECTIVE, record, call)
    for key, before, after in entry.get("rows", ()):
        if key not in observation.rows or observation.rows[key].kind is not RowKind.RETROSPECTIVE:
            loop.ports.board.set_row(key, restored_status(key, before), after)
    _note_ended(loop, story, record, call, entry)


def _judge(loop: Loop, story: StoryRecord, step: Step, record: StepRecord, call: CallRecord) -> dict[str, Any]:
    order = _order(loop, call_id(record, call), story, step, record)
    got, strayed = _confine_to_epic(loop, loop.ports.agents.collect(order))
    entry = judge_call(step, record, got, loop.ports.clock.now(), loop.ports.clock.random())
    return {**entry, "put_back": [list(row) for row in strayed]} if strayed else entry


def _note_ended(
    loop: Loop, story: StoryRecord, record: StepRecord, call: CallRecord, entry: dict[str, Any]
) -> None:
    loop.note("ended", story=story.key, step=record.step, number=record.number, attempt=call.attempt, **entry)


def _confine_to_epic(loop: Loop, got: AgentResult) -> tuple[AgentResult, list[MovedRow]]:
    """In its own work tree a lane may move only its epic's rows. Only its agent can have moved others there, so
    they are set back. In a checkout that people use too, a person is asked instead."""
    strayed = moved_rows_of_other_epics(got.evidence, loop.lane.epic or "") if loop.ports.worktree.is_own() else []
    for key, before, after in strayed:
        loop.ports.board.set_row(key, restored_status(key, before), after)
    return (
        (got._replace(evidence=with_restored_rows(got.evidence, strayed)), strayed) if strayed else (got, strayed)
    )
