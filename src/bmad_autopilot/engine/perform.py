"""Performs the action of a rule: record the intent, apply the effect, record the result.

Each performer checks whether its effect is already done, so a crash at any point loses and repeats nothing."""

from collections.abc import Callable, Mapping
from typing import Any

from ..core.errors import FileError
from ..core.facts import BackoffFact, CallFact, DeliveryFact
from ..core.lane_scope import LaneScope
from ..core.run_ending import RunEnding
from ..core.statuses import DONE, IN_PROGRESS, RowKind
from ..core.transitions import CommitKind, RoundCause, Rule, RuleAction
from ..workflows.workflow import RETROSPECTIVE
from . import agent_calls, questions
from .agent_calls import start_story
from .commits import (
    calls_of,
    checkpoint_order,
    epic_commit,
    last_own_commit,
    round_commit,
    skip_commit,
    story_commit,
    tidy_commit,
)
from .delivery import branch_actions, pull_actions
from .delivery.pull_actions import PERFORMERS as DELIVERING
from .flows import perform as flows
from .observation import Loop, Observation
from .observe import RETRO
from .ports import CommitOrder

MAX_SUMMARY = 8000
# Actions that end the attempt to merge, or delay it for long: the merge turn is released.
_RELEASES_MERGE_TURN = (
    RuleAction.ASK,
    RuleAction.START_FIX_ROUND,
    RuleAction.DELETE_BRANCH,
    RuleAction.FINISH,
    RuleAction.DETACH,
)


Performer = Callable[[Loop, Observation, Rule], RunEnding | None]  # the run's ending, if it has ended


def perform(loop: Loop, observation: Observation, rule: Rule) -> RunEnding | None:
    if observation.delivery is not None:
        pull_actions.note_existing_pull(loop, observation.delivery)
    if observation.facts.delivery is DeliveryFact.ON and rule.action in _RELEASES_MERGE_TURN:
        loop.ports.delivery.release_merge_turn()
    return _PERFORMERS[rule.action](loop, observation, rule)


# the end


def _leave(loop: Loop, observation: Observation, rule: Rule) -> RunEnding:
    at_work = observation.facts.call is CallFact.RUNNING and observation.call is not None
    ended = observation.call is not None and at_work and loop.ports.agents.cancel_on_second_stop(observation.call)
    loop.note(
        "left", agents="ended" if ended else "at-work" if at_work else "none", paused=not observation.facts.stop
    )
    return RunEnding.DETACHED if observation.facts.stop else RunEnding.PAUSED


def _finish(loop: Loop, observation: Observation, rule: Rule) -> RunEnding:
    if observation.facts.one_step and observation.story is not None and not observation.story.finished:
        loop.note("waiting")  # the run continues with the story's next step when that is requested
        return RunEnding.COMPLETED
    loop.note("finished", status="completed")
    row = observation.rows.get(loop.lane.key)
    is_story = loop.lane.scope in (LaneScope.STORY, LaneScope.STEP) and not observation.facts.one_step
    is_undone = is_story and (row is None or row.meaning != DONE)
    return RunEnding.NOT_DONE if is_undone else RunEnding.COMPLETED


def _fail(loop: Loop, observation: Observation, rule: Rule) -> RunEnding:
    assert observation.problem is not None
    raise observation.problem


# waiting


def _wait_for_agent(loop: Loop, observation: Observation, rule: Rule) -> None:
    if observation.call is not None:
        loop.ports.agents.wait(observation.call)


def _wait_until(loop: Loop, observation: Observation, rule: Rule) -> None:
    if loop.run.resting_until != observation.until:
        step = observation.position.step or RETROSPECTIVE
        lacks = (
            loop.ports.agents.choose(step).fallback_problem if observation.facts.rest is BackoffFact.LIMIT else ""
        )
        loop.note(
            "resting",
            why=str(observation.facts.rest),
            until=observation.until,
            **({"lacks": lacks} if lacks else {}),
        )
    loop.ports.clock.wait(observation.until)


def _wait_for_slot(loop: Loop, observation: Observation, rule: Rule) -> None:
    loop.ports.agents.wait_for_slot()


# the board


def _restore_board(loop: Loop, observation: Observation, rule: Rule) -> None:
    assert observation.call is not None
    loop.note("restored", kept=loop.ports.board.restore(observation.call), why=str(observation.problem))


def _note_edit(loop: Loop, observation: Observation, rule: Rule) -> None:
    assert observation.story is not None
    assert observation.row is not None
    loop.note(
        "edited",
        story=observation.story.key,
        before=observation.story.expected_status,
        status=observation.row.meaning,
    )


def _set_row(loop: Loop, observation: Observation, rule: Rule) -> None:
    assert observation.row is not None
    loop.note("row", key=observation.row.key, before=observation.row.meaning, after=observation.wanted_status)
    if loop.ports.board.set_row(observation.row.key, observation.wanted_status, observation.row.status.raw):
        loop.note("row-set", key=observation.row.key)


def _set_epic(loop: Loop, observation: Observation, after: str) -> None:
    assert observation.epic is not None
    loop.note("epic", key=observation.epic.key, before=observation.epic.meaning, after=after)
    loop.ports.board.set_row(observation.epic.key, after, observation.epic.status.raw)


def _reopen_epic(loop: Loop, observation: Observation, rule: Rule) -> None:
    _set_epic(loop, observation, IN_PROGRESS)


def _close_epic(loop: Loop, observation: Observation, rule: Rule) -> None:
    _set_epic(loop, observation, DONE)


# the story


def _start_story(loop: Loop, observation: Observation, rule: Rule) -> None:
    assert observation.story is not None
    assert observation.row is not None
    start_story(loop, observation.story.key, observation.row.meaning)


def _drop_story(loop: Loop, observation: Observation, rule: Rule) -> None:
    assert observation.story is not None
    kept = loop.ports.worktree.stash(
        observation.story.key, calls_of(observation.story), last_own_commit(observation.story)
    )
    loop.note("gone", story=observation.story.key, kept=kept)


def _check(loop: Loop, observation: Observation, rule: Rule) -> None:
    if observation.delivery is not None:
        branch_actions.check(loop, observation, rule)
        return
    assert observation.tree is not None
    loop.note("checking", story=observation.story.key if observation.story else "")
    check = loop.ports.worktree.check(observation.tree.code or "")
    strayed = _revert_rows(loop, observation)
    loop.note(
        "check", **vars(check), tree=observation.tree.tree, **({"put_back_rows": strayed} if strayed else {})
    )


def _revert_rows(loop: Loop, observation: Observation) -> list[list[str]]:
    """Revert rows of other epics that moved while the checks ran. Only in the lane's own work tree, where only a
    check can have moved them. Return each as key, before, after."""
    if not loop.ports.worktree.is_own():
        return []
    try:
        now = loop.ports.board.rows()
    except FileError:
        return []  # the next observation says so
    others = [row for row in observation.rows.values() if row.epic != loop.lane.epic and row.key in now]
    moved = [row for row in others if now[row.key].status.raw != row.status.raw]
    for row in moved:
        loop.ports.board.set_row(row.key, row.status.raw, now[row.key].status.raw)
    return [[row.key, row.status.raw, now[row.key].status.raw] for row in moved]


def _accept(loop: Loop, observation: Observation, rule: Rule) -> None:
    assert observation.story is not None
    record = observation.position.record
    loop.ports.agents.clear_state(observation.story.key)
    loop.note(
        "accepted",
        story=observation.story.key,
        number=record.number if record else None,
        step=record.step if record else "",
        row=observation.wanted_status,
        finished=observation.position.is_final or observation.position.is_past_workflow,
        **_checkpoint(loop, observation),
    )


def _checkpoint(loop: Loop, observation: Observation) -> dict[str, Any]:
    """The checkpoint of a completed step, as part of its journal entry."""
    order = checkpoint_order(loop.lane, loop.run, observation)
    return {"checkpoint": dict(loop.ports.records.checkpoint(order))} if order is not None else {}


def _new_round(loop: Loop, observation: Observation, rule: Rule) -> None:
    assert observation.story is not None
    last = observation.position.record.last_call if observation.position.record else None
    summary = str(last.outcome.get("summary", "")) if last and last.outcome else ""
    why = "review"
    if rule.round_cause is RoundCause.CHECKS and observation.tree is not None:
        why, summary = "checks", loop.run.checks[observation.tree.code or ""].excerpt
    loop.note(
        "round",
        story=observation.story.key,
        round=observation.story.round + 1,
        summary=summary[:MAX_SUMMARY],
        why=why,
        row=observation.wanted_status if why == "review" else "",
        **_checkpoint(loop, observation),
    )


# git


def _commit(loop: Loop, observation: Observation, rule: Rule) -> None:
    order = _commit_order(loop, observation, rule.commit_kind)
    if order.label == RETRO:
        _set_retrospective(loop, observation)
    loop.note("committing", key=order.key)
    sha = loop.ports.worktree.commit(order)
    loop.note("commit", key=order.key, label=order.label, story=order.story, sha=sha, subject=order.subject)


def _commit_order(loop: Loop, observation: Observation, kind: CommitKind) -> CommitOrder:
    if kind is CommitKind.FLOW_STEP:
        return flows.commit_step(loop, observation)
    if kind is CommitKind.STORY:
        is_skipped = observation.story is not None and observation.story.skipped
        return (skip_commit if is_skipped else story_commit)(loop.run, observation)
    make = {
        CommitKind.CLEAN_TREE: tidy_commit,
        CommitKind.REVIEW_ROUND: round_commit,
        CommitKind.EPIC: epic_commit,
    }
    return make[kind](loop.run, observation)


def _set_retrospective(loop: Loop, observation: Observation) -> None:
    """Not every BMAD version sets the row; one that is already done is not written again."""
    own = (
        row
        for row in observation.rows.values()
        if row.kind is RowKind.RETROSPECTIVE and row.epic == loop.lane.epic
    )
    for row in own:
        if row.meaning != DONE:
            loop.ports.board.set_row(row.key, DONE, row.status.raw)


_PERFORMERS: Mapping[RuleAction, Performer] = {
    RuleAction.DETACH: _leave,
    RuleAction.FINISH: _finish,
    RuleAction.FAIL: _fail,
    RuleAction.WAIT_FOR_ANSWER: questions.wait_for_answer,
    RuleAction.WAIT_FOR_AGENT: _wait_for_agent,
    RuleAction.WAIT_FOR_LIMIT: _wait_until,
    RuleAction.WAIT_FOR_SLOT: _wait_for_slot,
    RuleAction.WAIT_FOR_PAUSE: _wait_until,
    RuleAction.ASK: questions.ask,
    RuleAction.ANSWER: questions.give_preset_answer,
    RuleAction.APPLY_ANSWER: questions.apply_answer,
    RuleAction.RESTORE_BOARD: _restore_board,
    RuleAction.COLLECT_CALL: agent_calls.collect_result,
    RuleAction.START_STORY: _start_story,
    RuleAction.DROP_STORY: _drop_story,
    RuleAction.RECORD_EDIT: _note_edit,
    RuleAction.SET_ROW: _set_row,
    RuleAction.START_EPIC: _reopen_epic,
    RuleAction.CLOSE_EPIC: _close_epic,
    RuleAction.CHECK: _check,
    RuleAction.CALL_AGENT: agent_calls.start_call,
    RuleAction.FIX: agent_calls.start_fix,
    RuleAction.RUN_RETROSPECTIVE: agent_calls.start_retrospective,
    RuleAction.ACCEPT: _accept,
    RuleAction.NEW_ROUND: _new_round,
    RuleAction.COMMIT: _commit,
    RuleAction.WRITE_STATE: flows.write_state,
    RuleAction.IMPLEMENT: flows.start_tasks,
    **DELIVERING,
}
