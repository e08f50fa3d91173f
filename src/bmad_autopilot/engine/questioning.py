"""Asking a person, and doing what they answer: by themselves, or by the settings where they are not there."""

from ..core.rules import Rule
from ..core.statuses import BACKLOG, DONE, Kind
from ..gates.rows import as_before
from .asking import about_checks, left_behind, meaning, question_for, with_trace
from .committing import calls_of, head_before
from .delivery.questions import FORMS, pull_question, question_key
from .doors import Question, Tree
from .flows.questions import MEANS as FLOW_MEANS
from .flows.questions import flow_question
from .looking import Look, in_advance
from .loop_state import Loop

MAX_PATHS = 10


def ask(loop: Loop, look: Look, rule: Rule) -> None:
    question = _worded(loop, look, rule)
    name = loop.doors.ask(question)
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
        **({"key": question_key(question.code, look, loop.run)} if question.code in FORMS else {}),
        **({"stage": look.stage} if rule.question in ("human-checkpoint", *FLOW_MEANS) else {}),
        **({"settings": loop.doors.settings()} if rule.question == "settings" else {}),
    )


def _worded(loop: Loop, look: Look, rule: Rule) -> Question:
    if rule.question == "left-behind" and look.asked is not None and look.story is not None:
        return left_behind(look.story.key, look.asked)._replace(turn=loop.run.turn)
    if rule.question in FLOW_MEANS:
        asked = flow_question(rule.question, look, loop.doors.flow(), loop.lane.workflow.steps)
        return asked._replace(turn=loop.run.turn)
    if rule.question in FORMS:
        return _of_delivery(loop, look, rule)
    question = question_for(rule.question, look, loop.lane.max_rounds)._replace(turn=loop.run.turn)
    if look.tree is not None and rule.question in ("checks", "environment"):
        code = look.tree.code or ""
        question = question._replace(context=about_checks(loop.run.checks[code], loop.doors.check_logs(code)))
    if rule.question == "restless" and look.tree is not None:
        question = question._replace(context=_about_changes(loop, look.tree))
    if rule.question == "settings":
        question = question._replace(context=loop.doors.changed_settings())
    return with_trace(question, loop.doors)


def _about_changes(loop: Loop, tree: Tree) -> str:
    """What changed while the checks ran, and by which of them where that is known."""
    check = loop.run.last_check
    wrote = {path: command for one in loop.run.checks.values() for command, path in one.wrote}
    changed = loop.doors.changed(loop.run.trees[-1], tree.tree or "") if loop.run.trees else ()
    lines = [
        f"changed meanwhile: {path}" + (f" (by `{wrote[path]}`)" if path in wrote else "")
        for path in dict.fromkeys((*changed, *(path for _, path in (check.wrote if check else ()))))
    ]
    if check is not None and check.moved_head:
        lines.insert(0, f"commits were made meanwhile: git log {check.head_before[:10]}..{check.head[:10]}")
    return "\n".join(lines[:MAX_PATHS])


def _of_delivery(loop: Loop, look: Look, rule: Rule) -> Question:
    question = pull_question(rule.question, look, loop.run)._replace(turn=loop.run.turn)
    check = look.delivery.seen.check if look.delivery else None
    if check is None or rule.question not in ("unfit", "unfit-here"):
        return question
    return question._replace(context=about_checks(check, loop.doors.check_logs(check.code)))


def answer(loop: Loop, look: Look, rule: Rule) -> None:
    assert loop.run.question is not None
    found = in_advance(loop.doors, loop.run)
    assert found is not None
    loop.doors.record_answer(str(loop.run.question["question"]), found)


def take_answer(loop: Loop, look: Look, rule: Rule) -> str | None:
    asked = loop.run.question
    assert asked is not None
    name, code = str(asked["question"]), str(asked["code"])
    answer = loop.doors.answer(name) or ""
    means = meaning(code, answer)
    loop.doors.deliver(name)
    if code == "rows":
        (_undo_rows if answer == "undo" else _keep_rows)(loop, look)
    if code == "row":
        _settle_row(loop, look, str(asked["story"]), mine=answer == "mine")
    story = loop.run.stories.get(str(asked.get("story", "")))
    if means == "skip" and story is not None and not loop.lane.is_workflow:
        loop.note(
            "aside", story=story.key, kept=loop.doors.set_aside(story.key, calls_of(story), head_before(story))
        )
    if code == "settings" and means != "abort":
        loop.lane = loop.doors.settle(keep=means == "old-settings")
    loop.note("answered", question=name, answer=answer, means=means, by=loop.doors.answered_by(name))
    if means == "abort":
        loop.note("finished", status="failed")
        return "failed"
    if means == "session-over":
        loop.note("finished", status="completed")
        return means
    if means == "hand-over" and loop.waited_for == name:
        loop.note("waiting")
        return "handed-over"
    return None  # chosen while nobody was at work, it has been in their hands until now


def _undo_rows(loop: Loop, look: Look) -> None:
    last = look.at.record.last if look.at.record else None
    moved = last.ended.get("rows", ()) if last and last.ended else ()
    for key, before, after in moved:
        loop.doors.set_row(key, as_before(key, before), after)


def _keep_rows(loop: Loop, look: Look) -> None:
    """Stories of the lane's epic that a person has set to done are done: nothing is asked about them again."""
    last = look.at.record.last if look.at.record else None
    for key, before, _ in last.ended.get("rows", ()) if last and last.ended else ():
        row = look.rows.get(key)
        if row is not None and row.kind is Kind.STORY and row.epic == loop.lane.epic and row.meaning == DONE:
            loop.note("edited", story=key, before=before, status=DONE)


def _settle_row(loop: Loop, look: Look, key: str, *, mine: bool) -> None:
    """A row that says done: it stands, or it goes back to what this run expects. One that was moved again since is
    looked at again."""
    row, story = look.rows.get(key), loop.run.stories.get(key)
    if row is None or row.meaning != DONE:
        return
    before = story.expected if story is not None else loop.lane.rows.get(key, "")
    if mine:
        loop.note("edited", story=key, before=before, status=DONE)
        return
    loop.note("row", key=key, before=row.meaning, after=before or BACKLOG)
    if loop.doors.set_row(key, before or BACKLOG, row.status.raw):
        loop.note("row-set", key=key)


def wait_for_answer(loop: Loop, look: Look, rule: Rule) -> str | None:
    assert loop.run.question is not None
    loop.waited_for = str(loop.run.question["question"])
    if loop.doors.wait_for_answer(loop.waited_for):
        return None
    loop.note("waiting")
    return "waiting"
