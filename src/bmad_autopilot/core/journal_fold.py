"""Folds a run's journal into a RunRecord. The journal is the source of truth.

Each kind of entry has one handler. Unknown entries are ignored, so that an older version can read a newer run."""

from collections.abc import Callable, Iterable

from . import run_record
from .answers import AnswerMeaning, read_meaning
from .run_record import CallRecord, CheckRecord, Data, RunRecord, StepRecord, StoryRecord, apply_delivery_answer

# Answers of a person.

# After these answers failed checks run again: the person may have fixed something outside the code.
_RECHECK_ANSWERS = (
    AnswerMeaning.RECHECK,
    AnswerMeaning.MORE_FIXES,
    AnswerMeaning.MORE_PULL_ROUNDS,
    AnswerMeaning.HAND_OVER,
)


def apply_answer(run: RunRecord, data: Data, at: float) -> None:
    asked = run.question or {}
    run.question = None
    run.answers.append({**asked, **data, "at": at})
    run.question_turn += 1
    means = read_meaning(data.get("means", ""))
    apply_delivery_answer(run.delivery, means, asked)
    story = run.stories.get(str(asked.get("story", "")))
    if asked.get("stage") and means in (AnswerMeaning.CONTINUE, AnswerMeaning.HAND_OVER):
        run.passed_checkpoints.add(f"{asked['stage']}:{asked['story']}")
    if means in (AnswerMeaning.NEW_SETTINGS, AnswerMeaning.OLD_SETTINGS):
        run.settings, run.keeps_initial_settings = (
            str(asked.get("settings", "")),
            means is AnswerMeaning.OLD_SETTINGS,
        )
    elif means in (AnswerMeaning.CLOSE_EPIC, AnswerMeaning.LEAVE_EPIC):
        run.excluded_stories_answer = means
    elif means is AnswerMeaning.REPEAT_STEP:
        run.story(str(asked["story"])).repeat_step = str(asked["step"])
    elif means is AnswerMeaning.MORE_BUDGET:
        run.allowance += 1.0
        run.hours_counted_from = at
    elif story is not None:
        # A workflow has no board row that shows how far the person got: the step is called again.
        is_step = means is AnswerMeaning.HAND_OVER and asked.get("about") == "workflow"
        _apply_story_answer(story, AnswerMeaning.AGAIN if is_step else means)
    if means in _RECHECK_ANSWERS:
        run.checks = {code: check for code, check in run.checks.items() if check.passed and not check.is_disturbed}
        run.last_check = None


def _apply_story_answer(story: StoryRecord, means: AnswerMeaning) -> None:
    step = story.steps[-1] if story.steps else None
    if means in (AnswerMeaning.SKIP, AnswerMeaning.HAND_OVER) and step and step.is_open:
        step.closed = True
    if means is AnswerMeaning.SKIP:
        story.skipped = True
    elif means is AnswerMeaning.DROP and step:
        step.closed = True
    elif means is AnswerMeaning.HAND_OVER:
        story.passed_steps = []
        if step and step.last_call:
            step.last_call.handed_over = True
    elif means is AnswerMeaning.MORE_ROUNDS:
        story.rounds_counted_from = story.round + 1
    elif means is AnswerMeaning.MORE_FIXES:
        story.fixes, story.rounds_counted_from = 0, story.round + 1
    elif means in (AnswerMeaning.AGAIN, AnswerMeaning.EXTEND) and step:
        step.extensions += means is AnswerMeaning.EXTEND
        _ask_next_or_retry(step)
    elif means is AnswerMeaning.OTHERWISE and step and step.last_call and step.last_call.outcome:
        step.last_call.outcome = {**step.last_call.outcome, **(step.last_call.outcome.get("otherwise") or {})}


def _ask_next_or_retry(step: StepRecord) -> None:
    """Ask the remaining questions of the last call before paying for another one; otherwise retry the step."""
    ended = step.last_call.outcome if step.last_call else None
    more = list(ended.get("more", ())) if ended else []
    if step.last_call and ended and more:
        step.last_call.outcome = {**ended, "question": more[0], "more": more[1:]}
    else:
        step.retry_due = True
        step.uncounted_calls = len(step.calls)


def fold(entries: Iterable[tuple[str, Data, float]]) -> RunRecord:
    run = RunRecord()
    for kind, data, at in entries:
        apply_entry(run, kind, data, at)
    return run


def apply_entry(run: RunRecord, kind: str, data: Data, at: float) -> None:
    try:
        if kind in run_record.DELIVERY_HANDLERS:
            run_record.DELIVERY_HANDLERS[kind](run.delivery, data, at)
        elif kind in _HANDLERS:
            if kind in _TREE_CHANGING_KINDS:
                run.trees.clear()
            _HANDLERS[kind](run, data, at)
    except (LookupError, TypeError, ValueError, AttributeError):
        return  # a newer version's entry or a torn one: skip it


def _run(run: RunRecord, data: Data, at: float) -> None:
    if not run.start_entry:
        run.start_entry, run.started_at, run.hours_counted_from = data, at, at
        run.variables = dict(data.get("variables") or {})


def _resumed(run: RunRecord, data: Data, at: float) -> None:
    run.final_status = ""
    run.steps_done = 0
    run.hours_counted_from += max(0.0, at - run.idle_since) if run.idle_since else 0.0
    run.idle_since = 0.0


def _forked(run: RunRecord, data: Data, at: float) -> None:
    """The run starts at a checkpoint of another run; time and cost until then belong to that run."""
    run.started_at = run.hours_counted_from = at
    run.idle_since = run.dollars = run.seconds = 0.0
    run.unpriced_calls = run.tokens = 0
    run.inherited_calls = sum(len(step.calls) for story in run.stories.values() for step in story.steps)


def _story(run: RunRecord, data: Data, at: float) -> None:
    story = run.story(str(data["story"]))
    if story.baseline is None and story.tree is None:
        story.baseline, story.tree, story.code_tree = data.get("baseline"), data.get("tree"), data.get("code")
    run.known_head = data.get("baseline") or run.known_head
    _start_story(story, data.get("status"))
    story.initial_status = story.initial_status or story.expected_status
    story.gone = False


def _step(run: RunRecord, data: Data, at: float) -> None:
    story = run.story(str(data["story"]))
    if story.current:
        story.current.closed = True
    step = StepRecord(int(data["number"]), str(data["step"]), story.round, str(data.get("cause", "")))
    story.steps.append(step)
    story.repeat_step = ""
    run.steps = max(run.steps, step.number)
    story.fixes += step.cause == "checks"


def _call(run: RunRecord, data: Data, at: float) -> None:
    found = run.find_step(data)
    if found is None:
        return
    step = found[1]
    if step.last_call is None or step.last_call.attempt < int(data["attempt"]):
        step.calls.append(CallRecord(int(data["attempt"]), str(data.get("cause", ""))))
    if step.last_call is not None and step.last_call.outcome is None:
        step.last_call.agent = str(data.get("agent", ""))  # the first agent hit its limit: another one was called
    step.retry_due = False


def _ended(run: RunRecord, data: Data, at: float) -> None:
    found = run.find_step(data)
    last = found[1].last_call if found else None
    if found is None or last is None or last.outcome is not None:
        return
    last.outcome = dict(data)
    run.known_head = data.get("head") or run.known_head
    found[0].claimed_status = str(data.get("row", ""))
    dollars = data.get("dollars")
    run.dollars += dollars or 0.0
    run.unpriced_calls += dollars is None
    run.tokens += int(data.get("tokens", 0))
    run.seconds += float(data.get("seconds", 0.0))
    if last.finding == "good" and data.get("said"):
        run_record.record_thread_answers(run.delivery, found[0].key, data["said"])
    if found[1].step == "retrospective" and last.finding != "refused":  # a refusal is temporary
        run.retrospective = data


def _accepted(run: RunRecord, data: Data, at: float) -> None:
    if data.get("number") is None and data.get("finished"):  # the row already said done
        run.stories[str(data["story"])].finished = True
    found = run.find_step(data)
    _checkpoint(run, data)
    if found is None:
        return
    story, step = found
    step.accepted = True
    run.steps_done += 1
    if step.cause == "checks":
        for check in run.checks.values():
            check.fixed_since = True
    else:
        story.passed_steps.append(step.step)
    story.finished = story.finished or bool(data.get("finished"))
    _confirm_row(story, data)


def _checkpoint(run: RunRecord, data: Data) -> None:
    made = data.get("checkpoint")
    if made:
        run.variables = dict(made["variables"])
        run.checkpoints.append(made)


def _confirm_row(story: StoryRecord, data: Data) -> None:
    """The row has the expected status, no matter who wrote it."""
    story.previous_status = story.expected_status = str(data.get("row") or story.expected_status)
    story.claimed_status = ""


def _row(run: RunRecord, data: Data, at: float) -> None:
    story = run.stories.get(str(data["key"]))
    if story is not None:
        story.previous_status, story.expected_status, story.claimed_status = (
            str(data["before"]),
            str(data["after"]),
            "",
        )


def _row_set(run: RunRecord, data: Data, at: float) -> None:
    story = run.stories.get(str(data["key"]))
    if story is not None:
        _confirm_row(story, {})


def _edited(run: RunRecord, data: Data, at: float) -> None:
    """A person moved the row, which supersedes the current step."""
    story = run.story(str(data["story"]))
    _start_story(story, data["status"])


def _start_story(story: StoryRecord, status: object) -> None:
    """Start the story, or start it again after its row was moved or came back to the board."""
    _confirm_row(story, {"row": status})
    story.passed_steps, story.entered_by = [], ""
    story.finished = story.skipped = False
    for label in ("done", "skipped"):
        story.commits.pop(label, None)
    if story.current:
        story.current.closed = True


def _restarted(run: RunRecord, data: Data, at: float) -> None:
    """Forget the story, as if this run had never started it."""
    run.stories.pop(str(data["story"]), None)
    run.epic_closed = False
    run.implementing = ""
    run.commits.pop("epic", None)
    run.question_turn += 1
    if run.question is not None and run.question.get("story") == data["story"]:
        run.question = None


def _gone(run: RunRecord, data: Data, at: float) -> None:
    run.story(str(data["story"])).gone = True


def _round(run: RunRecord, data: Data, at: float) -> None:
    story = run.story(str(data["story"]))
    _checkpoint(run, data)
    if story.current:
        story.current.accepted = True
        run.steps_done += 1
    story.round = int(data["round"])
    story.summary = str(data.get("summary", ""))
    story.sent_back_by = str(data.get("why", ""))
    if data.get("row"):  # otherwise the agent's claimed status still has to be corrected
        _confirm_row(story, data)
    story.passed_steps, story.entered_by = [], "round"
    story.fixes = 0


def _check(run: RunRecord, data: Data, at: float) -> None:
    known = {name: data[name] for name in CheckRecord.__dataclass_fields__ if name in data}
    check = CheckRecord(**known)
    run.checks[check.code] = run.last_check = check
    run.known_head = check.head or run.known_head
    if data.get("tree"):
        run.trees.append(str(data["tree"]))


def _commit(run: RunRecord, data: Data, at: float) -> None:
    story = run.stories.get(str(data.get("story", "")))
    commits = story.commits if story else run.commits
    commits[str(data["label"])] = run.known_head = str(data["sha"])
    run_record.record_round_commit(run.delivery, str(data.get("story", "")), str(data["sha"]))


def _asked(run: RunRecord, data: Data, at: float) -> None:
    run.question = dict(data)


def _finished(run: RunRecord, data: Data, at: float) -> None:
    run.final_status = str(data.get("status", ""))


def _state(run: RunRecord, data: Data, at: float) -> None:
    run.recorded |= {str(one) for one in data.get("recorded", ())}


def _implementing(run: RunRecord, data: Data, at: float) -> None:
    run.implementing = str(data["step"])


def _implemented(run: RunRecord, data: Data, at: float) -> None:
    run.implementing = ""
    run.implemented.append({"step": str(data["step"]), "outcome": str(data["outcome"])})


def _resting(run: RunRecord, data: Data, at: float) -> None:
    run.resting_until = data.get("until")


def _idle(run: RunRecord, data: Data, at: float) -> None:
    run.idle_since = at


def _epic(run: RunRecord, data: Data, at: float) -> None:
    run.epic_closed = run.epic_closed or data.get("after") == "done"


# The work tree may have changed after entries of these kinds.
_TREE_CHANGING_KINDS = frozenset(("call", "accepted", "round", "commit", "answered", "resumed"))

_HANDLERS: dict[str, Callable[[RunRecord, Data, float], None]] = {
    "run": _run,
    "resumed": _resumed,
    "forked": _forked,
    "story": _story,
    "step": _step,
    "call": _call,
    "ended": _ended,
    "accepted": _accepted,
    "row": _row,
    "row-set": _row_set,
    "epic": _epic,
    "state": _state,
    "implementing": _implementing,
    "implemented": _implemented,
    "resting": _resting,
    "waiting": _idle,
    "left": _idle,
    "edited": _edited,
    "gone": _gone,
    "restarted": _restarted,
    "round": _round,
    "check": _check,
    "commit": _commit,
    "asked": _asked,
    "answered": apply_answer,
    "finished": _finished,
}
