"""Calling an agent for a step, and taking in what it came to."""

from ..core.records import RunRecord, StepRecord, StoryRecord
from ..core.rules import Rule
from ..core.statuses import Kind
from ..gates.rows import Moved, as_before, strayed_rows, with_rows_back
from ..workflows.pipelines import FIX_ISSUES, RETROSPECTIVE, Step
from ..workflows.step_context import Answered, Halfway
from .beginning import begin_story
from .committing import calls_of, handed_over, head_before
from .delivery.rounds import CONFLICT, POINTS, round_logs, round_points
from .doors import CallId, CallOrder, Gathered
from .judging import judge_call
from .looking import Look, call_id, dollars_left
from .loop_state import Loop
from .position import CHECKS


def call(loop: Loop, look: Look, rule: Rule) -> None:
    story, step = look.story, look.at.step
    assert story is not None
    assert step is not None
    _start(loop, look, story, step, look.at.record, "")


def fix(loop: Loop, look: Look, rule: Rule) -> None:
    assert look.story is not None
    _start(loop, look, look.story, loop.lane.workflow.fix, None, CHECKS)


def retrospect(loop: Loop, look: Look, rule: Rule) -> None:
    assert look.epic is not None
    key = look.epic.key
    if key not in loop.run.stories:
        begin_story(loop, key, look.epic.meaning)
    _start(loop, look, loop.run.stories[key], RETROSPECTIVE, look.at.record, "")


def _start(loop: Loop, look: Look, story: StoryRecord, step: Step, record: StepRecord | None, cause: str) -> None:
    if record is None:
        number = loop.run.steps + 1
        loop.note("step", story=story.key, number=number, step=step.name, round=story.round, cause=cause)
        record = loop.run.stories[story.key].steps[-1]
    last = record.last
    attempt = 1 if last is None else last.attempt if last.ended is None else last.attempt + 1
    named = CallId(record.number, record.step, attempt)
    agent = loop.doors.caller(step).agent
    whose = {"story": story.key, "step": step.name, "role": step.role, "agent": agent}
    loop.note("call", **whose, number=named.number, attempt=attempt)
    order = _order(loop, named, story, step, record)
    loop.doors.start(order._replace(agent=agent, now=look.tree.tree if look.tree else None))


def _order(loop: Loop, call: CallId, story: StoryRecord, step: Step, record: StepRecord) -> CallOrder:
    earlier = [one for one in record.calls if one.attempt < call.attempt and one.ended]
    # What was found wrong before a limit is still to be told after it.
    ended = next((one.ended for one in reversed(earlier) if one.finding != "refused"), None) or {}
    told = ended.get("finding") in ("failed", "lacking") or ended.get("asks") == "blocked"
    failure = str(ended.get("message", "")) if told else ""
    mends = record.cause == CHECKS
    is_fix = story.entered_by == "round" and step in (loop.lane.workflow.fix, FIX_ISSUES) and not mends
    pull_round = loop.run.delivery.round_of(story.key)
    return CallOrder(
        call,
        story.key,
        step,
        story.baseline,
        head_before(story),
        story.tree,
        story.code,
        review=story.summary if is_fix and story.sent_back_by == "review" else "",
        checks=_broken(loop.run) if mends else story.summary if is_fix and story.sent_back_by == "checks" else "",
        failure=failure,
        cut_short=bool(earlier) and earlier[-1].finding == "refused",
        halfway=_halfway(loop.run, story, record),
        dollars=dollars_left(loop.lane, loop.run),
        times=1 + record.extended,
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
    )


def _broken(run: RunRecord) -> str:
    return next((check.excerpt for check in reversed(run.checks.values()) if not check.passed), "")


def _halfway(run: RunRecord, story: StoryRecord, record: StepRecord) -> Halfway | None:
    answers = [
        Answered(
            str(one["text"]), str(one["answer"]), str(one.get("context", "")) if one["code"] == "agent" else ""
        )
        for one in run.answers
        if one.get("code") in ("agent", "blocked")
        and one.get("story") == story.key
        and one.get("number") == record.number
    ]
    return Halfway(answers=tuple(answers)) if answers else None


def take_in(loop: Loop, look: Look, rule: Rule) -> None:
    record = look.at.record
    assert record is not None
    assert record.last is not None
    story = look.story or next(s for s in loop.run.stories.values() if s.current is record)
    step = look.at.step or (RETROSPECTIVE if record.step == RETROSPECTIVE.name else loop.lane.workflow.fix)
    call = call_id(record, record.last)
    got, strayed = _within_its_epic(loop, loop.doors.gather(_order(loop, call, story, step, record)))
    entry = judge_call(step, record, got, loop.doors.now(), loop.doors.random())
    if strayed:
        entry["put_back"] = [list(row) for row in strayed]
    if step == RETROSPECTIVE:  # it looks back, and moves nobody's row but its own
        for key, before, after in entry.get("rows", ()):
            if key not in look.rows or look.rows[key].kind is not Kind.RETROSPECTIVE:
                loop.doors.set_row(key, as_before(key, before), after)
    loop.note("ended", story=story.key, step=record.step, number=record.number, attempt=call.attempt, **entry)


def _within_its_epic(loop: Loop, got: Gathered) -> tuple[Gathered, list[Moved]]:
    """In a work tree of its own a lane moves only its epic's rows: nobody but its agent can have moved another's,
    whose own lane knows better. Where people work as well they are asked."""
    strayed = strayed_rows(got.look, loop.lane.epic or "") if loop.doors.is_apart() else []
    for key, before, after in strayed:
        loop.doors.set_row(key, as_before(key, before), after)
    return (got._replace(look=with_rows_back(got.look, strayed)), strayed) if strayed else (got, strayed)
