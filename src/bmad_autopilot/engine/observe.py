"""Observes a lane without changing anything: facts for the decision table, and context for the performers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from ..board.sprint_status import Row as BoardRow
from ..core.answers import AnswerMeaning
from ..core.errors import FileError
from ..core.facts import (
    BackoffFact,
    BoardFact,
    CallFact,
    CommitFact,
    DeliveryFact,
    EpicFact,
    Facts,
    GateFact,
    QuestionFact,
    RowFact,
    StepFact,
    TargetFact,
)
from ..core.lane_scope import LaneScope
from ..core.run_record import RunRecord, StepRecord, StoryRecord
from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, PARKED, RowKind, read_status
from ..core.step_output import StepOutput
from ..workflows.workflow import PULL_ROUND, RETROSPECTIVE, Step, Workflow
from .delivery.rounds import CONFLICT, current_fix_round
from .lane import DeliveryPlan, Lane
from .observation import (
    BoardStory,
    EpicObservation,
    Observation,
    StoryObservation,
    StoryPosition,
    UnreadableFile,
    UnstartedStory,
    active_story,
    call_status,
    epic_row,
    find_position,
    has_budget,
    has_tries_left,
    human_facts,
    is_over,
    rest_status,
    stories_of,
    tidy_label,
    wanted_status,
)
from .ports import Ports, WorktreeSnapshot

# A workflow file: no board, no gate, no commit; one step after another.


def observe_workflow(ports: Ports, lane: Lane, run: RunRecord, facts: Facts) -> StoryObservation:
    """The story record may be empty: nothing is recorded before the first step, as there is no row."""
    story = run.stories.get(lane.key) or StoryRecord(lane.key)
    position = _position(lane.workflow, run, story)
    call = call_status(ports, position.record)
    target = TargetFact.FINISHED if position.step is None else TargetFact.STORY
    facts = facts._replace(epic=EpicFact.UNLISTED, target=target, call=call)
    observation = StoryObservation(facts, story=story, position=position)
    if (
        call in (CallFact.RUNNING, CallFact.ENDED)
        or facts.question is not QuestionFact.NONE
        or facts.stop
        or position.step is None
    ):
        return observation
    rest, until = rest_status(ports, position.step, position.record)
    facts = facts._replace(
        step=StepFact.WORK, rest=rest, tries=has_tries_left(position.record), budget=has_budget(ports, lane, run)
    )
    return replace(observation, facts=facts, until=until)


def skipped_steps(run: RunRecord, story: StoryRecord) -> set[str]:
    left_out = {one.get("number") for one in run.answers if one.get("means") == AnswerMeaning.SKIP}
    return {step.step for step in story.steps if step.number in left_out}


def _position(workflow: Workflow, run: RunRecord, story: StoryRecord) -> StoryPosition:
    """The first step that is neither done nor skipped. A step that a person took over is called again and finds
    their work."""
    over = {step.step for step in story.steps if step.accepted} | skipped_steps(run, story)
    left = [step for step in workflow.steps if step.name not in over]
    if not left:
        return StoryPosition(None, None)
    current = story.current if story.current and story.current.step == left[0].name else None
    return StoryPosition(left[0], current, len(left) == 1)


Observed = TypeVar("Observed", bound=Observation)
ObservedStory = TypeVar("ObservedStory", bound=StoryObservation)

RETRO = "retrospective"
MAX_UNSTABLE_CHECKS = 5  # check runs while the tree keeps changing without our doing
BEFORE_DEV, AFTER_STORY, AFTER_EPIC = "before_dev", "after_each_story", "after_each_epic"  # human checkpoints


def observe(ports: Ports, lane: Lane, run: RunRecord) -> Observation:
    facts = human_facts(ports, run)
    if ports.flow is not None:
        from .flows.observe import observe_flow  # most runs are of a board

        return observe_flow(ports, ports.flow, lane, run, facts)
    if lane.is_workflow:
        return observe_workflow(ports, lane, run, facts)
    if run.delivery.started_at and lane.delivery is not None:
        return _in_delivery(ports, lane, lane.delivery, run, facts)
    try:
        rows = ports.board.rows()
    except FileError as error:
        return _without_board(ports, run, facts, error)
    key = None if _is_retrospective_open(ports, lane, run, rows) else active_story(lane, run, rows)
    story = run.stories.get(key) if key is not None else None
    over = story is None or story.gone or is_over(story, rows[story.key].meaning if story.key in rows else "")
    if story is not None and not over:
        return _in_story(ports, lane, run, rows, story, facts)
    unproved = _unproven_done(ports, lane, run, rows, facts)
    if unproved is not None:
        return unproved
    if key is None:
        return _after_stories(ports, lane, run, rows, facts)
    return _before_story(ports, lane, run, rows, key, facts._replace(begun=False))


def _unproven_done(
    ports: Ports, lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow], facts: Facts
) -> UnstartedStory | None:
    """A story of the epic that was not done when the run began, that this run has not started, and whose row says
    done now. A person is asked before the next commit, because each commit includes the board."""
    if not lane.rows:
        return None
    own = (row for row in rows.values() if row.kind is RowKind.STORY and row.epic == lane.epic)
    done = [row for row in own if row.meaning == DONE and row.key not in run.stories]
    new = (row for row in done if read_status(lane.rows.get(row.key, ""), RowKind.STORY).meaning != DONE)
    row = next((row for row in new if not ports.worktree.is_committed_done(row.key, run.known_head)), None)
    if row is None:
        return None
    facts = facts._replace(row=RowFact.UNVERIFIED)
    return UnstartedStory(facts, rows=rows, row=row, previous_status=lane.rows.get(row.key, ""))


def _in_delivery(ports: Ports, lane: Lane, plan: DeliveryPlan, run: RunRecord, facts: Facts) -> Observation:
    from .delivery.observe import observe_delivery  # most runs have none

    story = current_fix_round(run)
    return _in_round(ports, lane, run, story, facts) if story else observe_delivery(ports, lane, plan, run, facts)


def _in_round(ports: Ports, lane: Lane, run: RunRecord, story: StoryRecord, facts: Facts) -> StoryObservation:
    """A fix round for a pull request: recorded as a story of its own, without a row."""
    position = find_position(PULL_ROUND, story, BACKLOG)
    call = call_status(ports, position.record)
    facts = facts._replace(call=call, epic=EpicFact.UNLISTED)
    observation = StoryObservation(facts, story=story, position=position)
    if call in (CallFact.RUNNING, CallFact.ENDED) or facts.question is not QuestionFact.NONE or facts.stop:
        return observation
    facts = facts._replace(
        step=_step(position),
        rounds=story.round - story.rounds_counted_from + 1 < lane.max_rounds,
        fixes=story.fixes < lane.max_fixes,
        commit=CommitFact.DUE if story.finished and "done" not in story.commits else CommitFact.NONE,
    )
    return _before_call(ports, lane, run, replace(observation, facts=facts))


def _is_retrospective_open(ports: Ports, lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow]) -> bool:
    """Whether a retrospective runs or awaits collection; a story moved meanwhile waits for it."""
    epic = epic_row(lane, rows.values())
    record = run.stories.get(epic.key) if epic else None
    return (
        record is not None
        and record.has_uncollected_call
        and call_status(ports, record.current) is not CallFact.NONE
    )


def _without_board(ports: Ports, run: RunRecord, facts: Facts, error: FileError) -> UnreadableFile:
    """The board cannot be read. A running call may have corrupted it, and may still repair it."""
    record = next((story.current for story in reversed(run.stories.values()) if story.current), None)
    call = call_status(ports, record)
    board = BoardFact.CORRUPTED if call in (CallFact.RUNNING, CallFact.ENDED) else BoardFact.UNREADABLE
    return UnreadableFile(facts._replace(board=board, call=call), problem=error, step=record)


def _before_story(
    ports: Ports, lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow], key: str, facts: Facts
) -> UnstartedStory:
    why = ports.worktree.problem(lane.branch)
    epic = epic_row(lane, rows.values())
    stage = AFTER_STORY if any(story.finished for story in run.stories.values()) else ""
    asked = ports.agents.unanswered_question(key) if lane.adopted == key else None
    facts = facts._replace(ground=not why, left=asked is not None)
    observation = UnstartedStory(
        facts, rows=rows, row=rows[key], epic=epic, worktree_problem=why, agent_question=asked
    )
    return _at_stage(lane, run, observation, stage)


def _at_stage(lane: Lane, run: RunRecord, observation: Observed, stage: str) -> Observed:
    """Mark the human checkpoint `stage` as due if it is configured and not yet confirmed."""
    due = stage == lane.human_checkpoint and f"{stage}:{observation.subject}" not in run.passed_checkpoints
    return (
        replace(observation, facts=observation.facts._replace(checkpoint=True), stage=stage)
        if due
        else observation
    )


def _in_story(
    ports: Ports, lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow], story: StoryRecord, facts: Facts
) -> Observation:
    row = rows.get(story.key)
    position = find_position(lane.workflow, story, row.meaning if row else "")
    call = call_status(ports, position.record)
    facts = facts._replace(call=call)
    observation = BoardStory(
        facts, rows=rows, story=story, row=row, epic=epic_row(lane, rows.values()), position=position
    )
    if call in (CallFact.RUNNING, CallFact.ENDED) or facts.question is not QuestionFact.NONE or facts.stop:
        return observation
    one_step = lane.scope is LaneScope.STEP and run.steps_done > 0
    due = story.expected_status if one_step else wanted_status(story, position, call.value)
    observation = replace(observation, wanted_status=due)
    facts = facts._replace(
        row=_row(ports, run, story, row, due, call),
        epic=_epic_under_way(observation.epic),
        step=_step(position),
        rounds=story.round - story.rounds_counted_from + 1 < lane.max_rounds,
        fixes=story.fixes < lane.max_fixes,
        commit=_commit(story, position, call),
        one_step=one_step,
    )
    if facts.row is RowFact.CORRECT and call is not CallFact.ASKED:  # the call's own claim or question comes first
        unproved = _unproven_done(ports, lane, run, rows, observation.facts)
        if unproved is not None:
            return unproved
    observation = _before_call(ports, lane, run, replace(observation, facts=facts))
    writes_code = (
        position.step is not None
        and position.step.owes is StepOutput.CODE
        and story.round == 1
        and position.record is None
    )
    return _at_stage(lane, run, observation, BEFORE_DEV) if writes_code else observation


def _before_call(ports: Ports, lane: Lane, run: RunRecord, observation: ObservedStory) -> ObservedStory:
    """Add the facts that need git or the account, only where the decision table uses them."""
    facts, position, story = observation.facts, observation.position, observation.story
    if facts.row in (RowFact.REMOVED, RowFact.EDITED, RowFact.UNVERIFIED):
        return observation
    why = ports.worktree.problem(lane.branch)
    gate, tree = GateFact.PASSED, None
    if position.step is None:
        if position.is_past_workflow:
            tree = ports.worktree.snapshot(story.key)
            facts = facts._replace(gate=_gate(run, tree), budget=has_budget(ports, lane, run))
        facts = facts._replace(ground=not why)
        return replace(observation, facts=facts, tree=tree, worktree_problem=why)
    if (facts.step is StepFact.REVIEW and facts.call is not CallFact.CHANGES) or (
        facts.call is CallFact.SUCCEEDED and position.is_final
    ):
        tree = ports.worktree.snapshot(story.key)
        gate = GateFact.PASSED if _is_conflict(run, story) else _gate(run, tree)
    rest, until = _rest(ports, facts.call, position.step, position.record)
    tidy = not position.step.clean or facts.row is RowFact.DUE or ports.worktree.is_clean()
    if not tidy and tidy_label(run, position) in story.commits:
        why = (
            why
            or f"files are changed that are not this run's to commit, and {position.step.name} wants a clean tree"
        )
    facts = facts._replace(
        ground=not why,
        gate=gate,
        rest=rest,
        tries=has_tries_left(position.record),
        budget=has_budget(ports, lane, run),
        tidy=tidy,
    )
    return replace(observation, facts=facts, tree=tree, until=until, worktree_problem=why)


def _is_conflict(run: RunRecord, story: StoryRecord) -> bool:
    """Whether this round resolves a conflict: only the merge result can be checked."""
    opened = run.delivery.round_of(story.key)
    return opened is not None and opened.why == CONFLICT


def _row(
    ports: Ports, run: RunRecord, story: StoryRecord, row: BoardRow | None, due: str, call: CallFact
) -> RowFact:
    if row is None:
        return RowFact.REMOVED
    if row.meaning == due or row.status.raw == due:
        return RowFact.CORRECT
    if call is CallFact.ASKED and row.meaning == PARKED == story.claimed_status:
        return RowFact.CORRECT  # the agent asked by parking the row
    # The status we last knew: the agent's claim if it moved the row, else what we expected or found.
    known = (story.claimed_status,) if story.claimed_status else (story.expected_status, story.previous_status)
    if row.meaning in known:
        return RowFact.DUE
    # A commit of the user's must contain the row and all of the story's work.
    is_proved = row.meaning != DONE or (
        ports.worktree.is_committed_done(row.key, run.known_head) and ports.worktree.is_clean()
    )
    return RowFact.EDITED if is_proved else RowFact.UNVERIFIED


def _step(position: StoryPosition) -> StepFact:
    if position.step is None:
        return StepFact.ALL_DONE if position.is_past_workflow else StepFact.NONE
    return StepFact.REVIEW if position.step.owes is StepOutput.VERDICT else StepFact.WORK


def _epic_under_way(epic: BoardRow | None) -> EpicFact:
    if epic is None:
        return EpicFact.UNLISTED
    return EpicFact.BACKLOG if epic.meaning == BACKLOG else EpicFact.IN_PROGRESS


def _commit(story: StoryRecord, position: StoryPosition, call: CallFact) -> CommitFact:
    if story.finished or story.skipped:
        label = "skipped" if story.skipped else "done"
        return CommitFact.DUE if label not in story.commits else CommitFact.NONE
    if call is CallFact.CHANGES:
        return CommitFact.DUE if f"round-{story.round}" not in story.commits else CommitFact.NONE
    return CommitFact.NONE


def _gate(run: RunRecord, tree: WorktreeSnapshot) -> GateFact:
    if run.last_check is not None and run.last_check.is_disturbed:
        return GateFact.UNSTABLE
    check = run.checks.get(tree.code or "")
    if check is None:
        return GateFact.DUE if len(run.trees) < MAX_UNSTABLE_CHECKS else GateFact.UNSTABLE
    if check.passed:
        return GateFact.PASSED
    if check.environment:
        return GateFact.ENVIRONMENT
    return GateFact.SAME if check.fixed_since else GateFact.CODE


def _rest(ports: Ports, call: CallFact, step: Step, record: StepRecord | None) -> tuple[BackoffFact, float | None]:
    if call in (CallFact.SUCCEEDED, CallFact.CHANGES):
        return BackoffFact.NONE, None
    return rest_status(ports, step, record)


def _after_stories(
    ports: Ports, lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow], facts: Facts
) -> EpicObservation:
    """No story has work left: what remains of the epic (commit, retrospective, close, delivery)."""
    epic = epic_row(lane, rows.values())
    record = run.stories.get(epic.key) if epic else None
    retro = record.current if record else None
    stories = stories_of(lane, rows)
    odd = [row for row in stories if row.meaning != DONE]
    looks_back = _retrospective_due(lane, run, rows, retro)
    rest, until = rest_status(ports, RETROSPECTIVE, retro) if looks_back else (BackoffFact.NONE, None)
    facts = facts._replace(
        target=TargetFact.EXCLUDED
        if odd and lane.scope is LaneScope.EPIC and not run.excluded_stories_answer
        else TargetFact.FINISHED,
        epic=_epic_after(lane, run, rows, epic),
        call=call_status(ports, retro) if retro else CallFact.NONE,
        commit=_epic_commit(run, record),
        retrospective=looks_back,
        rest=rest,
        budget=has_budget(ports, lane, run),
        attended=ports.people.is_attended(),
        delivery=DeliveryFact.DUE
        if lane.delivery and run.excluded_stories_answer != "leave"
        else DeliveryFact.OFF,
    )
    why = (
        ports.worktree.problem(lane.branch)
        if facts.commit is CommitFact.DUE or facts.epic is EpicFact.OPEN
        else ""
    )
    facts = facts._replace(ground=not why)
    observation = EpicObservation(
        facts, rows=rows, retrospective=record, epic=epic, until=until, worktree_problem=why
    )
    return _at_stage(lane, run, observation, AFTER_EPIC) if lane.scope is LaneScope.EPIC else observation


def _epic_commit(run: RunRecord, record: StoryRecord | None) -> CommitFact:
    """Due for the closed epic's row, and for the files of an accepted retrospective."""
    if run.epic_closed and "epic" not in run.commits:
        return CommitFact.DUE
    held = run.retrospective is not None and run.retrospective.get("finding") == CallFact.SUCCEEDED
    return CommitFact.DUE if held and record is not None and RETRO not in record.commits else CommitFact.NONE


def _epic_after(lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow], epic: BoardRow | None) -> EpicFact:
    if epic is None or run.excluded_stories_answer == "leave":
        return EpicFact.UNLISTED
    if epic.meaning not in (BACKLOG, IN_PROGRESS):
        return EpicFact.CLOSED
    own = [row for row in rows.values() if row.kind is RowKind.STORY and row.epic == lane.epic]
    over = (DONE,) if run.excluded_stories_answer != "close" else (DONE, PARKED)
    if lane.scope is not LaneScope.EPIC and any(row.meaning not in over for row in own):
        return EpicFact.UNLISTED
    return EpicFact.OPEN if own else EpicFact.UNLISTED


def _retrospective_due(
    lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow], record: StepRecord | None
) -> bool:
    """Once; and again after a person's answer or a transient refusal."""
    again = record is not None and record.retry_due
    if lane.scope is not LaneScope.EPIC or lane.retrospective != "run" or not (run.retrospective is None or again):
        return False
    if not has_tries_left(record):
        return False
    retro = next(
        (row for row in rows.values() if row.kind is RowKind.RETROSPECTIVE and row.epic == lane.epic), None
    )
    return retro is not None and retro.meaning != DONE
