"""Asks a lane's questions and applies the answers: builds the question, records it, acts on its answer."""

from ..agents.adapter import Outcome
from ..core.answers import AnswerMeaning
from ..core.errors import command
from ..core.facts import CallFact
from ..core.messages import translate
from ..core.run_ending import RunEnding
from ..core.run_record import CheckRecord, Data
from ..core.statuses import BACKLOG, DONE, RowKind
from ..core.stop_causes import CAUSE_MENUS, BlockReason, Cause
from ..core.transitions import Rule
from ..gates.scope import restored_status
from ..workflows.workflow import Step
from .commits import calls_of, last_own_commit
from .delivery.questions import DELIVERY_QUESTIONS, pull_question, question_key
from .delivery.snapshot import DeliveryObservation, SnapshotObservation
from .flows.model import FlowObservation
from .flows.questions import FLOW_ANSWERS, flow_question
from .observation import (
    BoardObservation,
    BoardStory,
    EpicObservation,
    Loop,
    Observation,
    StoryObservation,
    StoryPosition,
    UnstartedStory,
    allowed_preset_answer,
    board_rows,
)
from .ports import LaneQuestion, Ports, UnansweredQuestion, WorktreeSnapshot
from .question_texts import AFTER_STORY, QUESTION_TEXTS, RECOMMENDED_BY_CAUSE, TEXT_BY_CAUSE, QuestionText

MAX_COMMANDS = 20

_UNMERGED = ("not merged", "a merge is under way")  # phrases of git/worktree_state.py

AGENT = "agent"
LEFT_BEHIND = "left-behind"


def question_for(code: str, observation: Observation, rounds: int) -> LaneQuestion:
    ended = observation.ended
    code = str(ended.get("asks") or code) if code == AGENT else code
    if code == AGENT:
        return _agent_question(observation, ended)
    form = QUESTION_TEXTS[code]
    cause = _cause(code, form, observation, ended)
    step, epic = _step(observation), observation.epic if isinstance(observation, BoardObservation) else None
    names = {
        "story": observation.subject,
        "step": step.name if step else "",
        "rounds": rounds,
        "epic": epic.key if epic else translate("the epic"),
    }
    recommended, because = RECOMMENDED_BY_CAUSE.get(cause, (form.recommended, form.because))
    return LaneQuestion(
        code,
        observation.subject,
        observation.call,
        translate(_text(form, cause, observation), **names),
        _context(code, observation, ended),
        CAUSE_MENUS[cause].options,
        recommended,
        (ended.get("question") or {}).get("reason") or form.reason if code == "blocked" else form.reason,
        cause=cause,
        because=translate(because),
    )


def leftover_question(story: str, asked: UnansweredQuestion) -> LaneQuestion:
    """A question that an agent of an adopted run has asked."""
    return LaneQuestion(
        LEFT_BEHIND,
        story,
        None,
        asked.question,
        asked.context,
        asked.options,
        reason=asked.reason or BlockReason.CRITICAL_DECISION,
        agent_question_id=asked.id,
        cause=Cause.QUESTION,
    )


def meaning_of(code: str, answer: str) -> AnswerMeaning:
    if code == LEFT_BEHIND:
        return AnswerMeaning.CONTINUE
    if code in FLOW_ANSWERS:
        return FLOW_ANSWERS[code].get(answer, AnswerMeaning.CONTINUE)
    form = QUESTION_TEXTS.get(code) or DELIVERY_QUESTIONS.get(code)
    return form.options.get(answer, AnswerMeaning.AGAIN) if form else AnswerMeaning.AGAIN


def _step(observation: Observation) -> Step | None:
    return observation.position.step if isinstance(observation, StoryObservation) else None


def _agent_question(observation: Observation, ended: Data) -> LaneQuestion:
    asked = ended.get("question") or {}
    return LaneQuestion(
        AGENT,
        observation.subject,
        observation.call,
        str(asked.get("question", "")),
        str(asked.get("context", "")),
        tuple(str(option) for option in asked.get("options", ())),
        reason=str(asked.get("reason") or BlockReason.CRITICAL_DECISION),
        agent_question_id=str(asked.get("id", "")),
        cause=Cause.QUESTION,
    )


def _cause(code: str, form: QuestionText, observation: Observation, ended: Data) -> Cause:
    if code in ("failed", "hopeless"):
        return _by_outcome(ended, form.cause)
    if code == "blocked":
        return _known(ended.get("cause"), form.cause)
    if code == "ground" and any(mark in observation.worktree_problem for mark in _UNMERGED):
        return Cause.CONFLICT
    if code == "human-checkpoint" and isinstance(observation, EpicObservation) and not observation.retrospective:
        return Cause.EPIC_COMPLETE
    return form.cause


def _by_outcome(ended: Data, otherwise: Cause) -> Cause:
    if ended.get("finding") == CallFact.INCOMPLETE:
        return Cause.FALSE_CLAIM
    outcomes = {Outcome.TIMED_OUT: Cause.TIMEOUT, Outcome.LIMIT: Cause.LIMIT}
    return next((cause for outcome, cause in outcomes.items() if ended.get("outcome") == outcome), otherwise)


def _known(word: object, otherwise: Cause) -> Cause:
    return next((cause for cause in Cause if cause == word), otherwise)


def _text(form: QuestionText, cause: Cause, observation: Observation) -> str:
    if cause is Cause.HUMAN_CHECKPOINT and _step(observation) is None:
        return AFTER_STORY
    return TEXT_BY_CAUSE.get(cause, form.text)


# the question's context


def with_call_output(question: LaneQuestion, ports: Ports) -> LaneQuestion:
    """Add the last output of the call it is about, and the files to look at."""
    if question.call is None or question.cause not in _CALL_CAUSES:
        return question
    parts = [question.context] if question.context else []
    message = ports.agents.last_output(question.call)
    if message:
        parts.append("Its last lines:\n" + "\n".join(f"  {line}" for line in message.split("\n")))
    parts += [f"See: {path}" for path in ports.agents.related_files(question.story, question.call)]
    return question._replace(context="\n".join(parts))


_CALL_CAUSES = (
    *(Cause.BLOCKED, Cause.FAILED, Cause.UNRECOVERABLE, Cause.CHECKS),
    *(Cause.ROUNDS, Cause.TIMEOUT, Cause.LIMIT, Cause.FALSE_CLAIM),
)


def describe_checks(check: CheckRecord, logs: str) -> str:
    """The commands that fail, and where their logs are."""
    failed = [
        f"{command}: " + ("did not end" if exit is None else f"exit code {exit}")
        for command, exit, _ in check.ran
        if exit != 0
    ]
    return "\n".join((*failed[:MAX_COMMANDS], f"logs: {logs}"))


def _context(code: str, observation: Observation, ended: Data) -> str:
    if code == "rows":
        moved = ended.get("rows", ())
        return "\n".join(f"{key}: {before or 'not there'} → {after or 'gone'}" for key, before, after in moved)
    row = observation.row if isinstance(observation, BoardStory | UnstartedStory) else None
    if code == "row" and row is not None:
        return f"{row.key}: {_status_before(observation) or 'not done'} → {row.status.raw}"
    if code == "left-out" and isinstance(observation, EpicObservation) and (epic := observation.epic) is not None:
        stories = sorted(observation.rows.values(), key=lambda row: row.order)
        own = [row for row in stories if row.epic == epic.number and row.key != epic.key]
        return "\n".join(f"{row.key}: {row.status.raw}" for row in own if row.meaning not in ("done", "optional"))
    if code == "ground":
        return observation.worktree_problem
    if code == "stuck" and row is not None:
        back = command("board", "set", row.key, "ready-for-dev")
        return f"its row says {row.status.raw}, and no step of the workflow begins there: {back}"
    if code in ("human-checkpoint", "settings", "budget"):
        return ""
    message = str(ended.get("summary") or ended.get("message") or "")
    return f"Reason: {message}" if message and code in ("blocked", "failed", "hopeless", "rounds") else message


def _status_before(observation: Observation) -> str:
    """The status that the row should have instead of done."""
    if isinstance(observation, UnstartedStory):
        return observation.previous_status
    return observation.wanted_status if isinstance(observation, StoryObservation) else ""


# Performers: ask a person, answer from the settings, and apply an answer.

MAX_PATHS = 10


def ask(loop: Loop, observation: Observation, rule: Rule) -> None:
    question = _build_question(loop, observation, rule)
    name = loop.ports.people.ask(question)
    call = question.call
    loop.note(
        "asked",
        question=name,
        code=question.code,
        story=question.story,
        number=call.number if call else None,
        text=question.text,
        context=question.context,
        options=list(question.options),
        recommended=question.recommended,
        cause=question.cause,
        because=question.because,
        about="workflow" if loop.lane.is_workflow else "story",
        **({"labels": list(question.labels)} if question.labels else {}),
        **({"step": step} if (step := question.step or (call.step if call and loop.lane.is_flow else "")) else {}),
        **(
            {"key": question_key(question.code, observation, loop.run)}
            if isinstance(observation, DeliveryObservation) and question.code in DELIVERY_QUESTIONS
            else {}
        ),
        **({"stage": observation.stage} if rule.question in ("human-checkpoint", *FLOW_ANSWERS) else {}),
        **({"settings": loop.ports.records.settings()} if rule.question == "settings" else {}),
    )


def _build_question(loop: Loop, observation: Observation, rule: Rule) -> LaneQuestion:
    turn = loop.run.question_turn
    match observation:
        case UnstartedStory(agent_question=UnansweredQuestion() as asked) if rule.question == LEFT_BEHIND:
            return leftover_question(observation.subject, asked)._replace(turn=turn)
        case FlowObservation(position=StoryPosition(step=Step() as step)) if rule.question in FLOW_ANSWERS:
            return flow_question(rule.question, observation, step, loop.lane.workflow.steps)._replace(turn=turn)
        case DeliveryObservation() if rule.question in DELIVERY_QUESTIONS:
            return _delivery_question(loop, observation, rule)
    question = question_for(rule.question, observation, loop.lane.max_rounds)._replace(turn=turn)
    tree = observation.tree if isinstance(observation, StoryObservation) else None
    if tree is not None and rule.question in ("checks", "environment"):
        code = tree.code or ""
        question = question._replace(
            context=describe_checks(loop.run.checks[code], loop.ports.worktree.check_logs(code))
        )
    if tree is not None and rule.question == "restless":
        question = question._replace(context=_describe_changes(loop, tree))
    if rule.question == "settings":
        question = question._replace(context=loop.ports.records.describe_settings_changes())
    return with_call_output(question, loop.ports)


def _describe_changes(loop: Loop, tree: WorktreeSnapshot) -> str:
    """The files that changed while the checks ran, and which check wrote them, where known."""
    check = loop.run.last_check
    wrote = {path: command for one in loop.run.checks.values() for command, path in one.wrote}
    changed = loop.ports.worktree.changed_paths(loop.run.trees[-1], tree.tree or "") if loop.run.trees else ()
    lines = [
        f"changed meanwhile: {path}" + (f" (by `{wrote[path]}`)" if path in wrote else "")
        for path in dict.fromkeys((*changed, *(path for _, path in (check.wrote if check else ()))))
    ]
    if check is not None and check.moved_head:
        lines.insert(0, f"commits were made meanwhile: git log {check.head_before[:10]}..{check.head[:10]}")
    return "\n".join(lines[:MAX_PATHS])


def _delivery_question(loop: Loop, observation: DeliveryObservation, rule: Rule) -> LaneQuestion:
    question = pull_question(rule.question, observation, loop.run)._replace(turn=loop.run.question_turn)
    check = observation.snapshot.check if isinstance(observation, SnapshotObservation) else None
    if check is None or rule.question not in ("unfit", "unfit-here"):
        return question
    return question._replace(context=describe_checks(check, loop.ports.worktree.check_logs(check.code)))


def give_preset_answer(loop: Loop, asked: Data) -> None:
    found = allowed_preset_answer(loop.ports, loop.run)
    if found is not None:  # None: the settings have changed since the observation
        loop.ports.people.record_answer(str(asked["question"]), found)


def apply_answer(loop: Loop, observation: Observation, asked: Data) -> RunEnding | None:
    name, code = str(asked["question"]), str(asked["code"])
    answer = loop.ports.people.answer(name) or ""
    means = meaning_of(code, answer)
    loop.ports.people.deliver_answer(name)
    if code == "rows":
        (_undo_rows if answer == "undo" else _keep_rows)(loop, observation)
    if code == "row":
        _resolve_row(loop, observation, str(asked["story"]), mine=answer == "mine")
    story = loop.run.stories.get(str(asked.get("story", "")))
    if means is AnswerMeaning.SKIP and story is not None and not loop.lane.is_workflow:
        loop.note(
            "aside",
            story=story.key,
            kept=loop.ports.worktree.stash(story.key, calls_of(story), last_own_commit(story)),
        )
    if code == "settings" and means is not AnswerMeaning.ABORT:
        loop.lane = loop.ports.records.apply_settings(keep=means is AnswerMeaning.OLD_SETTINGS)
    loop.note("answered", question=name, answer=answer, means=means, by=loop.ports.people.answered_by(name))
    if means is AnswerMeaning.ABORT:
        loop.note("finished", status="failed")
        return RunEnding.FAILED
    if means is AnswerMeaning.END_SESSION:
        loop.note("finished", status="completed")
        return RunEnding.SESSION_OVER
    if means is AnswerMeaning.HAND_OVER and loop.awaited_question == name:
        loop.note("waiting")
        return RunEnding.HANDED_OVER
    return None  # answered while no process was running: the hand-over has already taken place


def _undo_rows(loop: Loop, observation: Observation) -> None:
    for key, before, after in observation.ended.get("rows", ()):
        loop.ports.board.set_row(key, restored_status(key, before), after)


def _keep_rows(loop: Loop, observation: Observation) -> None:
    """Accept stories of the lane's epic that a person has set to done, so that they are not asked about again."""
    for key, before, _ in observation.ended.get("rows", ()):
        row = board_rows(observation).get(key)
        if row is not None and row.kind is RowKind.STORY and row.epic == loop.lane.epic and row.meaning == DONE:
            loop.note("edited", story=key, before=before, status=DONE)


def _resolve_row(loop: Loop, observation: Observation, key: str, *, mine: bool) -> None:
    """Accept a row that says done, or set it back to the status this run expects. A row that was moved again since
    is left for the next observation."""
    row, story = board_rows(observation).get(key), loop.run.stories.get(key)
    if row is None or row.meaning != DONE:
        return
    before = story.expected_status if story is not None else loop.lane.rows.get(key, "")
    if mine:
        loop.note("edited", story=key, before=before, status=DONE)
        return
    loop.note("row", key=key, before=row.meaning, after=before or BACKLOG)
    if loop.ports.board.set_row(key, before or BACKLOG, row.status.raw):
        loop.note("row-set", key=key)


def wait_for_answer(loop: Loop, asked: Data) -> RunEnding | None:
    loop.awaited_question = str(asked["question"])
    if loop.ports.people.wait_for_answer(loop.awaited_question):
        return None
    loop.note("waiting")
    return RunEnding.WAITING
