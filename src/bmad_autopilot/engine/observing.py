"""How things stand with a lane: read, never changed. What the table needs as facts, and what an action needs
beside them."""

from collections.abc import Mapping

from ..board.sprint import Row as BoardRow
from ..core.errors import FileError
from ..core.facts import Board, Call, Commit, Delivery, Epic, Facts, Gate, Question, Rest, Row, Step, Target
from ..core.owes import Owes
from ..core.records import RunRecord, StepRecord, StoryRecord
from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, PARKED, Kind, read_status
from ..workflows.pipelines import PULL_ROUND, RETROSPECTIVE
from .delivery.rounds import CONFLICT, round_in_hand
from .doors import Doors, Tree
from .lane import Lane
from .looking import Look, call_of, has_budget, rest_of, told
from .position import Position, active, epic_row, is_over, position, stories_of, tidy_label, wanted
from .trying import tries_left
from .workflow_lane import observe_workflow

RETRO = "retrospective"
MAX_RESTLESS = 5  # times that checks are run while nothing of ours changes the tree
BEFORE_DEV, AFTER_STORY, AFTER_EPIC = "before_dev", "after_each_story", "after_each_epic"  # human checkpoints


def observe(doors: Doors, lane: Lane, run: RunRecord) -> Look:
    facts = told(doors, run)
    if lane.is_flow:
        from .flows.observing import observe_flow  # most runs are of a board

        return observe_flow(doors, lane, run, facts)
    if lane.is_workflow:
        return observe_workflow(doors, lane, run, facts)
    if run.delivery.began:
        return _in_delivery(doors, lane, run, facts)
    try:
        rows = doors.rows()
    except FileError as error:
        return _blind(doors, run, facts, error)
    key = None if _looks_back(doors, lane, run, rows) else active(lane, run, rows)
    story = run.stories.get(key) if key is not None else None
    over = story is None or story.gone or is_over(story, rows[story.key].meaning if story.key in rows else "")
    if story is not None and not over:
        return _in_story(doors, lane, run, rows, story, facts)
    unproved = _unproved(doors, lane, run, rows, facts)
    if unproved is not None:
        return unproved
    if key is None:
        return _after_stories(doors, lane, run, rows, facts)
    return _before_story(doors, lane, run, rows, key, facts._replace(begun=False))


def _unproved(doors: Doors, lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow], facts: Facts) -> Look | None:
    """A story of the epic that this run has not begun, that was not done when it began, and that says done now. It
    is asked about before anything is committed: the board is part of each commit."""
    if not lane.rows:
        return None
    own = (row for row in rows.values() if row.kind is Kind.STORY and row.epic == lane.epic)
    done = [row for row in own if row.meaning == DONE and row.key not in run.stories]
    new = (row for row in done if read_status(lane.rows.get(row.key, ""), Kind.STORY).meaning != DONE)
    row = next((row for row in new if not doors.is_committed_done(row.key, run.known_head)), None)
    if row is None:
        return None
    facts = facts._replace(row=Row.UNPROVED)
    return Look(facts, rows, StoryRecord(row.key), row, wanted=lane.rows.get(row.key, ""))


def _in_delivery(doors: Doors, lane: Lane, run: RunRecord, facts: Facts) -> Look:
    from .delivery.observing import observe_delivery  # most runs have none

    story = round_in_hand(run)
    return _in_round(doors, lane, run, story, facts) if story else observe_delivery(doors, lane, run, facts)


def _in_round(doors: Doors, lane: Lane, run: RunRecord, story: StoryRecord, facts: Facts) -> Look:
    """Of mending what reviewers and checks found: a story of its own, without a row."""
    at = position(PULL_ROUND, story, BACKLOG)
    call = call_of(doors, at.record)
    look = Look(facts._replace(call=call, epic=Epic.UNLISTED), {}, story, at=at)
    if call in (Call.RUNNING, Call.ENDED) or facts.question is not Question.NONE or facts.stop:
        return look
    facts = look.facts._replace(
        step=_step(at),
        rounds=story.round - story.counted_from + 1 < lane.max_rounds,
        fixes=story.fixes < lane.max_fixes,
        commit=Commit.DUE if story.finished and "done" not in story.commits else Commit.NONE,
    )
    return _before_call(doors, lane, run, look._replace(facts=facts))


def _looks_back(doors: Doors, lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow]) -> bool:
    """A retrospective is under way or to be taken in: a story that somebody has moved meanwhile waits for it."""
    epic = epic_row(lane, rows.values())
    record = run.stories.get(epic.key) if epic else None
    return record is not None and record.is_called and call_of(doors, record.current) is not Call.NONE


def _blind(doors: Doors, run: RunRecord, facts: Facts, error: FileError) -> Look:
    """No board. A call that is under way may have spoilt it, and may yet mend it."""
    record = next((story.current for story in reversed(run.stories.values()) if story.current), None)
    call = call_of(doors, record)
    board = Board.SPOILT if call in (Call.RUNNING, Call.ENDED) else Board.UNREADABLE
    return Look(facts._replace(board=board, call=call), at=Position(None, record), problem=error)


def _before_story(
    doors: Doors, lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow], key: str, facts: Facts
) -> Look:
    why = doors.ground(lane.branch)
    epic = epic_row(lane, rows.values())
    stage = AFTER_STORY if any(story.finished for story in run.stories.values()) else ""
    asked = doors.left_question(key) if lane.adopted == key else None
    facts = facts._replace(ground=not why, left=asked is not None)
    look = Look(facts, rows, StoryRecord(key), rows.get(key), epic, why=why, asked=asked)
    return _at_stage(lane, run, look, stage)


def _at_stage(lane: Lane, run: RunRecord, look: Look, stage: str) -> Look:
    """A place where a person may want to be asked first."""
    story = look.story.key if look.story else look.epic.key if look.epic else ""
    due = stage == lane.human_checkpoint and f"{stage}:{story}" not in run.cleared
    return look._replace(facts=look.facts._replace(checkpoint=True), stage=stage) if due else look


def _in_story(
    doors: Doors, lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow], story: StoryRecord, facts: Facts
) -> Look:
    row = rows.get(story.key)
    at = position(lane.workflow, story, row.meaning if row else "")
    call = call_of(doors, at.record)
    look = Look(facts._replace(call=call), rows, story, row, epic_row(lane, rows.values()), at)
    if call in (Call.RUNNING, Call.ENDED) or facts.question is not Question.NONE or facts.stop:
        return look
    one_step = lane.scope == "step" and run.steps_done > 0
    due = story.expected if one_step else wanted(story, at, call.value)
    look = look._replace(wanted=due)
    facts = look.facts._replace(
        row=_row(doors, run, story, row, due, call),
        epic=_epic_under_way(look.epic),
        step=_step(at),
        rounds=story.round - story.counted_from + 1 < lane.max_rounds,
        fixes=story.fixes < lane.max_fixes,
        commit=_commit(story, at, call),
        one_step=one_step,
    )
    if facts.row is Row.RIGHT and call is not Call.ASKED:  # what the call itself claimed or asks comes first
        unproved = _unproved(doors, lane, run, rows, look.facts)
        if unproved is not None:
            return unproved
    look = _before_call(doors, lane, run, look._replace(facts=facts))
    writes_code = at.step is not None and at.step.owes is Owes.CODE and story.round == 1 and at.record is None
    return _at_stage(lane, run, look, BEFORE_DEV) if writes_code else look


def _before_call(doors: Doors, lane: Lane, run: RunRecord, look: Look) -> Look:
    """What costs a look at git or at the account is looked at only where the table asks for it."""
    facts, at, story = look.facts, look.at, look.story
    if story is None or facts.row in (Row.GONE, Row.EDITED, Row.UNPROVED):
        return look
    why = doors.ground(lane.branch)
    gate, tree = Gate.PASSED, None
    if at.step is None:
        if at.through:
            tree = doors.tree(story.key)
            facts = facts._replace(gate=_gate(run, tree), budget=has_budget(doors, lane, run))
        return look._replace(facts=facts._replace(ground=not why), tree=tree, why=why)
    if (facts.step is Step.REVIEW and facts.call is not Call.CHANGES) or (facts.call is Call.GOOD and at.final):
        tree = doors.tree(story.key)
        gate = Gate.PASSED if _is_conflict(run, story) else _gate(run, tree)
    rest, until = _rest(doors, look)
    tidy = not at.step.clean or facts.row is Row.DUE or doors.is_tidy()
    if not tidy and tidy_label(run, at) in story.commits:
        why = why or f"files are changed that are not this run's to commit, and {at.step.name} wants a clean tree"
    facts = facts._replace(
        ground=not why,
        gate=gate,
        rest=rest,
        tries=tries_left(at.record),
        budget=has_budget(doors, lane, run),
        tidy=tidy,
    )
    return look._replace(facts=facts, tree=tree, until=until, why=why)


def _is_conflict(run: RunRecord, story: StoryRecord) -> bool:
    """A round that resolves a conflict: only what comes of the merge can be checked."""
    opened = run.delivery.round_of(story.key)
    return opened is not None and opened.why == CONFLICT


def _row(doors: Doors, run: RunRecord, story: StoryRecord, row: BoardRow | None, due: str, call: Call) -> Row:
    if row is None:
        return Row.GONE
    if row.meaning == due or row.status.raw == due:
        return Row.RIGHT
    if call is Call.ASKED and row.meaning == PARKED == story.claim:
        return Row.RIGHT  # that is how it asked
    # Where an agent has moved it, that is what it said when we last looked; else what we found or were setting.
    known = (story.claim,) if story.claim else (story.expected, story.came_from)
    if row.meaning in known:
        return Row.DUE
    # A commit of the user's must hold the row, and all that was done for the story.
    is_proved = row.meaning != DONE or (doors.is_committed_done(row.key, run.known_head) and doors.is_tidy())
    return Row.EDITED if is_proved else Row.UNPROVED


def _step(at: Position) -> Step:
    if at.step is None:
        return Step.THROUGH if at.through else Step.NONE
    return Step.REVIEW if at.step.owes is Owes.VERDICT else Step.WORK


def _epic_under_way(epic: BoardRow | None) -> Epic:
    if epic is None:
        return Epic.UNLISTED
    return Epic.BACKLOG if epic.meaning == BACKLOG else Epic.UNDER_WAY


def _commit(story: StoryRecord, at: Position, call: Call) -> Commit:
    if story.finished or story.skipped:
        label = "skipped" if story.skipped else "done"
        return Commit.DUE if label not in story.commits else Commit.NONE
    if call is Call.CHANGES:
        return Commit.DUE if f"round-{story.round}" not in story.commits else Commit.NONE
    return Commit.NONE


def _gate(run: RunRecord, tree: Tree) -> Gate:
    if run.last_check is not None and run.last_check.is_disturbed:
        return Gate.RESTLESS
    check = run.checks.get(tree.code or "")
    if check is None:
        return Gate.DUE if len(run.trees) < MAX_RESTLESS else Gate.RESTLESS
    if check.passed:
        return Gate.PASSED
    if check.environment:
        return Gate.ENVIRONMENT
    return Gate.SAME if check.fixed_since else Gate.CODE


def _rest(doors: Doors, look: Look) -> tuple[Rest, float | None]:
    step, record = look.at.step, look.at.record
    if step is None or look.facts.call in (Call.GOOD, Call.CHANGES):
        return Rest.NONE, None
    return rest_of(doors, step, record)


def _after_stories(doors: Doors, lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow], facts: Facts) -> Look:
    """Nothing to do for any story: what is left of the epic."""
    epic = epic_row(lane, rows.values())
    record = run.stories.get(epic.key) if epic else None
    retro = record.current if record else None
    stories = stories_of(lane, rows)
    odd = [row for row in stories if row.meaning != DONE]
    looks_back = _retrospective_due(lane, run, rows, retro)
    rest, until = rest_of(doors, RETROSPECTIVE, retro) if looks_back else (Rest.NONE, None)
    facts = facts._replace(
        target=Target.LEFT_OUT if odd and lane.scope == "epic" and not run.left_out else Target.OVER,
        epic=_epic_after(lane, run, rows, epic),
        call=call_of(doors, retro) if retro else Call.NONE,
        commit=_epic_commit(run, record),
        retrospective=looks_back,
        rest=rest,
        budget=has_budget(doors, lane, run),
        attended=doors.attended(),
        delivery=Delivery.DUE if lane.delivery and run.left_out != "leave" else Delivery.OFF,
    )
    why = doors.ground(lane.branch) if facts.commit is Commit.DUE or facts.epic is Epic.OPEN else ""
    facts = facts._replace(ground=not why)
    look = Look(facts, rows, record, None, epic, Position(None, retro), until=until, why=why)
    return _at_stage(lane, run, look, AFTER_EPIC) if lane.scope == "epic" else look


def _epic_commit(run: RunRecord, record: StoryRecord | None) -> Commit:
    """Its row, and what an accepted retrospective wrote."""
    if run.epic_closed and "epic" not in run.commits:
        return Commit.DUE
    held = run.retrospective is not None and run.retrospective.get("finding") == Call.GOOD
    return Commit.DUE if held and record is not None and RETRO not in record.commits else Commit.NONE


def _epic_after(lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow], epic: BoardRow | None) -> Epic:
    if epic is None or run.left_out == "leave":
        return Epic.UNLISTED
    if epic.meaning not in (BACKLOG, IN_PROGRESS):
        return Epic.CLOSED
    own = [row for row in rows.values() if row.kind is Kind.STORY and row.epic == lane.epic]
    over = (DONE,) if run.left_out != "close" else (DONE, PARKED)
    if lane.scope != "epic" and any(row.meaning not in over for row in own):
        return Epic.UNLISTED
    return Epic.OPEN if own else Epic.UNLISTED


def _retrospective_due(
    lane: Lane, run: RunRecord, rows: Mapping[str, BoardRow], record: StepRecord | None
) -> bool:
    """Once; and again where somebody has answered, or where it was refused for a reason that passes."""
    again = record is not None and record.again
    if lane.scope != "epic" or lane.retrospective != "run" or not (run.retrospective is None or again):
        return False
    if not tries_left(record):
        return False
    retro = next((row for row in rows.values() if row.kind is Kind.RETROSPECTIVE and row.epic == lane.epic), None)
    return retro is not None and retro.meaning != DONE
