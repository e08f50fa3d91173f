"""One effect for each action of the table: intent first, the effect, then what came of it. Each looks whether it
is done already, so that a crash at any point loses nothing and repeats nothing."""

from collections.abc import Callable, Mapping
from typing import Any

from ..core.errors import FileError
from ..core.facts import Call, Delivery, Rest
from ..core.rules import Action, Rule
from ..core.statuses import DONE, IN_PROGRESS, Kind
from ..workflows.pipelines import RETROSPECTIVE
from . import call_making, questioning
from .beginning import begin_story
from .checkpointing import checkpoint_order
from .committing import calls_of, epic_commit, head_before, round_commit, skip_commit, story_commit, tidy_commit
from .delivery import on_branch, on_pull
from .delivery.performing import PERFORMERS as DELIVERING
from .flows import performing as flows
from .looking import Look
from .loop_state import Loop
from .observing import RETRO

MAX_SUMMARY = 8000
# What it is merged by is over with these, or it may be long before it is.
_STEP_ASIDE = (Action.ASK, Action.OPEN_ROUND, Action.CLEAR_BRANCH, Action.FINISH, Action.LEAVE)


Performer = Callable[[Loop, Look, Rule], "str | None"]  # how the run ended, where it has


def perform(loop: Loop, look: Look, rule: Rule) -> str | None:
    if look.delivery is not None:
        on_pull.note_found(loop, look.delivery)
    if look.facts.delivery is Delivery.ON and rule.action in _STEP_ASIDE:
        loop.doors.step_aside()
    return _PERFORMERS[rule.action](loop, look, rule)


# the end


def _leave(loop: Loop, look: Look, rule: Rule) -> str:
    at_work = look.facts.call is Call.RUNNING and look.call is not None
    ended = look.call is not None and at_work and loop.doors.linger(look.call)
    loop.note("left", agents="ended" if ended else "at-work" if at_work else "none", paused=not look.facts.stop)
    return "left" if look.facts.stop else "paused"


def _finish(loop: Loop, look: Look, rule: Rule) -> str:
    if look.facts.one_step and look.story is not None and not look.story.finished:
        loop.note("waiting")  # the run goes on with the story's next step, when that is asked for
        return "completed"
    loop.note("finished", status="completed")
    row = look.rows.get(loop.lane.key)
    is_story = loop.lane.scope in ("story", "step") and not look.facts.one_step
    is_undone = is_story and (row is None or row.meaning != DONE)
    return "not-done" if is_undone else "completed"


def _fail(loop: Loop, look: Look, rule: Rule) -> str:
    assert look.problem is not None
    raise look.problem


# waiting


def _wait_for_agent(loop: Loop, look: Look, rule: Rule) -> None:
    loop.doors.wait(None, look.call)


def _wait_until(loop: Loop, look: Look, rule: Rule) -> None:
    if loop.run.resting != look.until:
        step = look.at.step or RETROSPECTIVE
        lacks = loop.doors.caller(step).lacks if look.facts.rest is Rest.LIMIT else ""
        loop.note("resting", why=str(look.facts.rest), until=look.until, **({"lacks": lacks} if lacks else {}))
    loop.doors.wait(look.until, None)


def _wait_for_slot(loop: Loop, look: Look, rule: Rule) -> None:
    loop.doors.wait_for_slot()


# the board


def _restore_board(loop: Loop, look: Look, rule: Rule) -> None:
    assert look.call is not None
    loop.note("restored", kept=loop.doors.restore_board(look.call), why=str(look.problem))


def _note_edit(loop: Loop, look: Look, rule: Rule) -> None:
    assert look.story is not None
    assert look.row is not None
    loop.note("edited", story=look.story.key, before=look.story.expected, status=look.row.meaning)


def _set_row(loop: Loop, look: Look, rule: Rule) -> None:
    assert look.row is not None
    loop.note("row", key=look.row.key, before=look.row.meaning, after=look.wanted)
    if loop.doors.set_row(look.row.key, look.wanted, look.row.status.raw):
        loop.note("row-set", key=look.row.key)


def _set_epic(loop: Loop, look: Look, after: str) -> None:
    assert look.epic is not None
    loop.note("epic", key=look.epic.key, before=look.epic.meaning, after=after)
    loop.doors.set_row(look.epic.key, after, look.epic.status.raw)


def _lift_epic(loop: Loop, look: Look, rule: Rule) -> None:
    _set_epic(loop, look, IN_PROGRESS)


def _close_epic(loop: Loop, look: Look, rule: Rule) -> None:
    _set_epic(loop, look, DONE)


# the story


def _begin(loop: Loop, look: Look, rule: Rule) -> None:
    assert look.story is not None
    assert look.row is not None
    begin_story(loop, look.story.key, look.row.meaning)


def _let_go(loop: Loop, look: Look, rule: Rule) -> None:
    assert look.story is not None
    kept = loop.doors.set_aside(look.story.key, calls_of(look.story), head_before(look.story))
    loop.note("gone", story=look.story.key, kept=kept)


def _check(loop: Loop, look: Look, rule: Rule) -> None:
    if look.delivery is not None:
        on_branch.check(loop, look, rule)
        return
    assert look.tree is not None
    loop.note("checking", story=look.story.key if look.story else "")
    check = loop.doors.check(look.tree.code or "")
    strayed = _put_back_rows(loop, look)
    loop.note("check", **vars(check), tree=look.tree.tree, **({"put_back_rows": strayed} if strayed else {}))


def _put_back_rows(loop: Loop, look: Look) -> list[list[str]]:
    """Rows of other epics that moved while the checks ran in a work tree of the lane's own: only a check can have
    moved them there. Each as key, before, after."""
    if not loop.doors.is_apart():
        return []
    try:
        now = loop.doors.rows()
    except FileError:
        return []  # the next observation says so
    others = [row for row in look.rows.values() if row.epic != loop.lane.epic and row.key in now]
    moved = [row for row in others if now[row.key].status.raw != row.status.raw]
    for row in moved:
        loop.doors.set_row(row.key, row.status.raw, now[row.key].status.raw)
    return [[row.key, row.status.raw, now[row.key].status.raw] for row in moved]


def _accept(loop: Loop, look: Look, rule: Rule) -> None:
    assert look.story is not None
    record = look.at.record
    loop.doors.clear_state(look.story.key)
    loop.note(
        "accepted",
        story=look.story.key,
        number=record.number if record else None,
        step=record.step if record else "",
        row=look.wanted,
        finished=look.at.final or look.at.through,
        **_checkpoint(loop, look),
    )


def _checkpoint(loop: Loop, look: Look) -> dict[str, Any]:
    """Of a step that is over: what an entry says of it beside the rest."""
    order = checkpoint_order(loop.lane, loop.run, look)
    return {"checkpoint": dict(loop.doors.checkpoint(order))} if order is not None else {}


def _new_round(loop: Loop, look: Look, rule: Rule) -> None:
    assert look.story is not None
    last = look.at.record.last if look.at.record else None
    summary = str(last.ended.get("summary", "")) if last and last.ended else ""
    why = "review"
    if rule.name == "good-but-broken" and look.tree is not None:
        why, summary = "checks", loop.run.checks[look.tree.code or ""].excerpt
    loop.note(
        "round",
        story=look.story.key,
        round=look.story.round + 1,
        summary=summary[:MAX_SUMMARY],
        why=why,
        row=look.wanted if why == "review" else "",
        **_checkpoint(loop, look),
    )


# git


def _commit(loop: Loop, look: Look, rule: Rule) -> None:
    make = {"tidy-first": tidy_commit, "changes-commit": round_commit, "epic-to-commit": epic_commit}
    of_story = skip_commit if look.story is not None and look.story.skipped else story_commit
    is_flows = rule.name == "flow-commit"
    order = flows.commit_step(loop, look) if is_flows else make.get(rule.name, of_story)(loop.run, look)
    if order.label == RETRO:
        _set_retrospective(loop, look)
    loop.note("committing", key=order.key)
    sha = loop.doors.commit(order)
    loop.note("commit", key=order.key, label=order.label, story=order.story, sha=sha, subject=order.subject)


def _set_retrospective(loop: Loop, look: Look) -> None:
    """Not every BMAD sets it; what stands already is not written again."""
    own = (row for row in look.rows.values() if row.kind is Kind.RETROSPECTIVE and row.epic == loop.lane.epic)
    for row in own:
        if row.meaning != DONE:
            loop.doors.set_row(row.key, DONE, row.status.raw)


_PERFORMERS: Mapping[Action, Performer] = {
    Action.LEAVE: _leave,
    Action.FINISH: _finish,
    Action.FAIL: _fail,
    Action.WAIT_FOR_ANSWER: questioning.wait_for_answer,
    Action.WAIT_FOR_AGENT: _wait_for_agent,
    Action.WAIT_FOR_LIMIT: _wait_until,
    Action.WAIT_FOR_SLOT: _wait_for_slot,
    Action.WAIT_FOR_PAUSE: _wait_until,
    Action.ASK: questioning.ask,
    Action.ANSWER: questioning.answer,
    Action.TAKE_ANSWER: questioning.take_answer,
    Action.RESTORE_BOARD: _restore_board,
    Action.TAKE_IN: call_making.take_in,
    Action.BEGIN: _begin,
    Action.LET_GO: _let_go,
    Action.NOTE_EDIT: _note_edit,
    Action.SET_ROW: _set_row,
    Action.LIFT_EPIC: _lift_epic,
    Action.CLOSE_EPIC: _close_epic,
    Action.CHECK: _check,
    Action.CALL: call_making.call,
    Action.FIX: call_making.fix,
    Action.RETROSPECT: call_making.retrospect,
    Action.ACCEPT: _accept,
    Action.NEW_ROUND: _new_round,
    Action.COMMIT: _commit,
    Action.KEEP_STATE: flows.keep_state,
    Action.IMPLEMENT: flows.implement,
    **DELIVERING,
}
