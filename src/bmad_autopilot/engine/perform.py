"""Performs the action of a rule: record the intent, apply the effect, record the result.

Each performer checks whether its effect is already done, so a crash at any point loses and repeats nothing."""

from typing import Any

from ..board.sprint_status import Row
from ..core.errors import FileError
from ..core.facts import BackoffFact, CallFact, DeliveryFact
from ..core.lane_scope import LaneScope
from ..core.run_ending import RunEnding
from ..core.statuses import DONE, IN_PROGRESS, RowKind
from ..core.transitions import CommitKind, RoundCause, Rule, RuleAction
from ..workflows.workflow import RETROSPECTIVE, Step
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
from .delivery.branch_actions import start_delivery
from .delivery.pull_actions import note_existing_pull, perform_delivery
from .delivery.snapshot import DeliveryObservation, SnapshotObservation
from .flows import perform as flows
from .flows.model import FlowObservation
from .flows.observe import next_commit
from .observation import (
    BoardObservation,
    BoardStory,
    EpicObservation,
    InapplicableRule,
    Loop,
    Observation,
    StoryObservation,
    UnreadableFile,
    UnstartedStory,
    board_rows,
)
from .observe import RETRO
from .ports import CommitOrder, WorktreeSnapshot

MAX_SUMMARY = 8000
# Actions that end the attempt to merge, or delay it for long: the merge turn is released.
_RELEASES_MERGE_TURN = (
    RuleAction.ASK,
    RuleAction.START_FIX_ROUND,
    RuleAction.DELETE_BRANCH,
    RuleAction.FINISH,
    RuleAction.DETACH,
)


def perform(loop: Loop, observation: Observation, rule: Rule) -> RunEnding | None:
    """Return the run's ending, if it has ended."""
    if isinstance(observation, SnapshotObservation):
        note_existing_pull(loop, observation.snapshot)
    if observation.facts.delivery is DeliveryFact.ON and rule.action in _RELEASES_MERGE_TURN:
        loop.ports.delivery.release_merge_turn()
    match rule.action:
        case RuleAction.DETACH:
            return _leave(loop, observation)
        case RuleAction.FINISH:
            return _finish(loop, observation)
        case RuleAction.ASK:
            questions.ask(loop, observation, rule)
        case RuleAction.ANSWER if (asked := loop.run.question) is not None:
            questions.give_preset_answer(loop, asked)
        case RuleAction.APPLY_ANSWER if (asked := loop.run.question) is not None:
            return questions.apply_answer(loop, observation, asked)
        case RuleAction.WAIT_FOR_ANSWER if (asked := loop.run.question) is not None:
            return questions.wait_for_answer(loop, asked)
        case RuleAction.WAIT_FOR_AGENT if (call := observation.call) is not None:
            loop.ports.agents.wait(call)
        case RuleAction.WAIT_FOR_SLOT:
            loop.ports.agents.wait_for_slot()
        case _:
            return _perform_kind(loop, observation, rule)
    return None


def _perform_kind(loop: Loop, observation: Observation, rule: Rule) -> RunEnding | None:
    match observation:
        case FlowObservation():
            return _perform_flow(loop, observation, rule)
        case DeliveryObservation():
            return perform_delivery(loop, observation, rule)
        case StoryObservation():
            _perform_story(loop, observation, rule)
        case UnstartedStory():
            _perform_unstarted(loop, observation, rule)
        case EpicObservation():
            _perform_epic(loop, observation, rule)
        case UnreadableFile():
            _perform_unreadable(loop, observation, rule)
        case _:
            raise InapplicableRule(rule, observation)
    return None


def _perform_story(loop: Loop, observation: StoryObservation, rule: Rule) -> None:
    match rule.action:
        case RuleAction.WAIT_FOR_LIMIT | RuleAction.WAIT_FOR_PAUSE if (
            step := observation.position.step
        ) is not None:
            _wait_until(loop, observation, step)
        case RuleAction.CALL_AGENT if (step := observation.position.step) is not None:
            agent_calls.start_call(loop, observation, step)
        case RuleAction.FIX:
            agent_calls.start_fix(loop, observation)
        case RuleAction.COLLECT_CALL if (
            record := observation.record
        ) is not None and record.last_call is not None:
            agent_calls.collect_result(loop, observation, record, record.last_call)
        case RuleAction.CHECK if (tree := observation.tree) is not None:
            _check(loop, observation, tree)
        case RuleAction.ACCEPT:
            _accept(loop, observation)
        case RuleAction.NEW_ROUND:
            _new_round(loop, observation, rule)
        case RuleAction.COMMIT:
            _commit(loop, _story_order(loop, observation, rule.commit_kind))
        case _ if isinstance(observation, BoardStory):
            _perform_row(loop, observation, rule)
        case _:
            raise InapplicableRule(rule, observation)


def _perform_row(loop: Loop, observation: BoardStory, rule: Rule) -> None:
    match rule.action:
        case RuleAction.SET_ROW if (row := observation.row) is not None:
            _set_row(loop, row, observation.wanted_status)
        case RuleAction.RECORD_EDIT if (row := observation.row) is not None:
            _note_edit(loop, observation, row)
        case RuleAction.DROP_STORY:
            _drop_story(loop, observation)
        case RuleAction.START_EPIC if (epic := observation.epic) is not None:
            _set_epic(loop, epic, IN_PROGRESS)
        case _:
            raise InapplicableRule(rule, observation)


def _perform_unstarted(loop: Loop, observation: UnstartedStory, rule: Rule) -> None:
    if rule.action is not RuleAction.START_STORY:
        raise InapplicableRule(rule, observation)
    start_story(loop, observation.row.key, observation.row.meaning)


def _perform_epic(loop: Loop, observation: EpicObservation, rule: Rule) -> None:
    story, record = observation.retrospective, observation.record
    match rule.action:
        case RuleAction.WAIT_FOR_LIMIT | RuleAction.WAIT_FOR_PAUSE:
            _wait_until(loop, observation, RETROSPECTIVE)
        case RuleAction.RUN_RETROSPECTIVE if (epic := observation.epic) is not None:
            agent_calls.start_retrospective(loop, observation, epic)
        case RuleAction.COLLECT_CALL if story is not None and record is not None and record.last_call is not None:
            agent_calls.collect_retrospective(loop, observation, story, record, record.last_call)
        case RuleAction.CLOSE_EPIC if (epic := observation.epic) is not None:
            _set_epic(loop, epic, DONE)
        case RuleAction.COMMIT:
            order = epic_commit(loop.run, observation.subject or "epic")
            if order.label == RETRO:
                _set_retrospective(loop, observation)
            _commit(loop, order)
        case RuleAction.DELIVER:
            start_delivery(loop)
        case _:
            raise InapplicableRule(rule, observation)


def _perform_flow(loop: Loop, observation: FlowObservation, rule: Rule) -> RunEnding | None:
    match rule.action:
        case RuleAction.WRITE_STATE:
            flows.write_state(loop, observation)
        case RuleAction.IMPLEMENT if (step := observation.position.step) is not None:
            return flows.start_tasks(loop, observation, step)
        case RuleAction.COMMIT if (record := next_commit(loop.run, observation.story)) is not None:
            _commit(loop, flows.step_commit(loop, observation.story, record))
        case _:
            _perform_story(loop, observation, rule)
    return None


def _perform_unreadable(loop: Loop, observation: UnreadableFile, rule: Rule) -> None:
    match rule.action:
        case RuleAction.RESTORE_BOARD if (call := observation.call) is not None:
            loop.note("restored", kept=loop.ports.board.restore(call), why=str(observation.problem))
        case RuleAction.FAIL:
            raise observation.problem
        case _:
            raise InapplicableRule(rule, observation)


# the end


def _leave(loop: Loop, observation: Observation) -> RunEnding:
    at_work = observation.facts.call is CallFact.RUNNING and observation.call is not None
    ended = observation.call is not None and at_work and loop.ports.agents.cancel_on_second_stop(observation.call)
    loop.note(
        "left", agents="ended" if ended else "at-work" if at_work else "none", paused=not observation.facts.stop
    )
    return RunEnding.DETACHED if observation.facts.stop else RunEnding.PAUSED


def _finish(loop: Loop, observation: Observation) -> RunEnding:
    one_step = observation.facts.one_step
    if one_step and isinstance(observation, StoryObservation) and not observation.story.finished:
        loop.note("waiting")  # the run continues with the story's next step when that is requested
        return RunEnding.COMPLETED
    loop.note("finished", status="completed")
    row = board_rows(observation).get(loop.lane.key)
    is_story = loop.lane.scope in (LaneScope.STORY, LaneScope.STEP) and not one_step
    is_undone = is_story and (row is None or row.meaning != DONE)
    return RunEnding.NOT_DONE if is_undone else RunEnding.COMPLETED


# waiting


def _wait_until(loop: Loop, observation: Observation, step: Step) -> None:
    if loop.run.resting_until != observation.until:
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


# the board


def _note_edit(loop: Loop, observation: BoardStory, row: Row) -> None:
    loop.note(
        "edited",
        story=observation.story.key,
        before=observation.story.expected_status,
        status=row.meaning,
    )


def _set_row(loop: Loop, row: Row, status: str) -> None:
    loop.note("row", key=row.key, before=row.meaning, after=status)
    if loop.ports.board.set_row(row.key, status, row.status.raw):
        loop.note("row-set", key=row.key)


def _set_epic(loop: Loop, epic: Row, after: str) -> None:
    loop.note("epic", key=epic.key, before=epic.meaning, after=after)
    loop.ports.board.set_row(epic.key, after, epic.status.raw)


# the story


def _drop_story(loop: Loop, observation: BoardStory) -> None:
    kept = loop.ports.worktree.stash(
        observation.story.key, calls_of(observation.story), last_own_commit(observation.story)
    )
    loop.note("gone", story=observation.story.key, kept=kept)


def _check(loop: Loop, observation: StoryObservation, tree: WorktreeSnapshot) -> None:
    loop.note("checking", story=observation.story.key)
    check = loop.ports.worktree.check(tree.code or "")
    strayed = _revert_rows(loop, observation) if isinstance(observation, BoardStory) else []
    loop.note("check", **vars(check), tree=tree.tree, **({"put_back_rows": strayed} if strayed else {}))


def _revert_rows(loop: Loop, observation: BoardObservation) -> list[list[str]]:
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


def _accept(loop: Loop, observation: StoryObservation) -> None:
    record = observation.record
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


def _checkpoint(loop: Loop, observation: StoryObservation) -> dict[str, Any]:
    """The checkpoint of a completed step, as part of its journal entry."""
    order = checkpoint_order(loop.lane, loop.run, observation)
    return {"checkpoint": dict(loop.ports.records.checkpoint(order))} if order is not None else {}


def _new_round(loop: Loop, observation: StoryObservation, rule: Rule) -> None:
    why, summary = "review", str(observation.ended.get("summary", ""))
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


def _commit(loop: Loop, order: CommitOrder) -> None:
    loop.note("committing", key=order.key)
    sha = loop.ports.worktree.commit(order)
    loop.note("commit", key=order.key, label=order.label, story=order.story, sha=sha, subject=order.subject)


def _story_order(loop: Loop, observation: StoryObservation, kind: CommitKind) -> CommitOrder:
    story = observation.story
    if kind is CommitKind.CLEAN_TREE:
        return tidy_commit(loop.run, story, observation.position)
    if kind is CommitKind.REVIEW_ROUND:
        return round_commit(loop.run, story)
    return skip_commit(loop.run, story) if story.skipped else story_commit(loop.run, story)


def _set_retrospective(loop: Loop, observation: EpicObservation) -> None:
    """Not every BMAD version sets the row; one that is already done is not written again."""
    own = (
        row
        for row in observation.rows.values()
        if row.kind is RowKind.RETROSPECTIVE and row.epic == loop.lane.epic
    )
    for row in own:
        if row.meaning != DONE:
            loop.ports.board.set_row(row.key, DONE, row.status.raw)
