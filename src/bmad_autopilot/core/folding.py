"""A run's journal, folded: the journal is the truth, the records are how it reads.

Each kind of entry has one function below. An entry that nobody understands says nothing, so that an older version
can read a newer run."""

from collections.abc import Callable, Iterable

from . import delivery
from .answered import answered
from .records import CallRecord, Check, Data, RunRecord, StepRecord, StoryRecord


def fold(entries: Iterable[tuple[str, Data, float]]) -> RunRecord:
    run = RunRecord()
    for kind, data, at in entries:
        apply(run, kind, data, at)
    return run


def apply(run: RunRecord, kind: str, data: Data, at: float) -> None:
    try:
        if kind in delivery.KINDS:
            delivery.KINDS[kind](run.delivery, data, at)
        elif kind in _KINDS:
            if kind in _MOVES:
                run.trees.clear()
            _KINDS[kind](run, data, at)
    except (LookupError, TypeError, ValueError, AttributeError):
        return  # of a newer version, or torn: what is left of the journal counts


def _run(run: RunRecord, data: Data, at: float) -> None:
    if not run.head:
        run.head, run.began, run.hours_from = data, at, at
        run.variables = dict(data.get("variables") or {})


def _resumed(run: RunRecord, data: Data, at: float) -> None:
    run.ended = ""
    run.steps_done = 0
    run.hours_from += max(0.0, at - run.idle_since) if run.idle_since else 0.0
    run.idle_since = 0.0


def _forked(run: RunRecord, data: Data, at: float) -> None:
    """It began at a checkpoint of another run, whose time and money are that one's."""
    run.began = run.hours_from = at
    run.idle_since = run.dollars = run.seconds = 0.0
    run.unpriced = run.tokens = 0
    run.taken_over = sum(len(step.calls) for story in run.stories.values() for step in story.steps)


def _story(run: RunRecord, data: Data, at: float) -> None:
    story = run.story(str(data["story"]))
    if story.baseline is None and story.tree is None:
        story.baseline, story.tree, story.code = data.get("baseline"), data.get("tree"), data.get("code")
    run.known_head = data.get("baseline") or run.known_head
    _begins(story, data.get("status"))
    story.began_as = story.began_as or story.expected
    story.gone = False


def _step(run: RunRecord, data: Data, at: float) -> None:
    story = run.story(str(data["story"]))
    if story.current:
        story.current.closed = True
    step = StepRecord(int(data["number"]), str(data["step"]), story.round, str(data.get("cause", "")))
    story.steps.append(step)
    story.repeat = ""
    run.steps = max(run.steps, step.number)
    story.fixes += step.cause == "checks"


def _call(run: RunRecord, data: Data, at: float) -> None:
    found = run.find_step(data)
    if found is None:
        return
    step = found[1]
    if step.last is None or step.last.attempt < int(data["attempt"]):
        step.calls.append(CallRecord(int(data["attempt"]), str(data.get("cause", ""))))
    if step.last is not None and step.last.ended is None:
        step.last.agent = str(data.get("agent", ""))  # meant for one that met its limit: called of another
    step.again = False


def _ended(run: RunRecord, data: Data, at: float) -> None:
    found = run.find_step(data)
    last = found[1].last if found else None
    if found is None or last is None or last.ended is not None:
        return
    last.ended = dict(data)
    run.known_head = data.get("head") or run.known_head
    found[0].claim = str(data.get("row", ""))
    dollars = data.get("dollars")
    run.dollars += dollars or 0.0
    run.unpriced += dollars is None
    run.tokens += int(data.get("tokens", 0))
    run.seconds += float(data.get("seconds", 0.0))
    if last.finding == "good" and data.get("said"):
        delivery.take_answers(run.delivery, found[0].key, data["said"])
    if found[1].step == "retrospective" and last.finding != "refused":  # that passes, and it is held then
        run.retrospective = data


def _accepted(run: RunRecord, data: Data, at: float) -> None:
    if data.get("number") is None and data.get("finished"):  # its row said so when we came: no step of this run
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
        story.passed.append(step.step)
    story.finished = story.finished or bool(data.get("finished"))
    _stands(story, data)


def _checkpoint(run: RunRecord, data: Data) -> None:
    made = data.get("checkpoint")
    if made:
        run.variables = dict(made["variables"])
        run.checkpoints.append(made)


def _stands(story: StoryRecord, data: Data) -> None:
    """The row says what it should, whoever wrote it."""
    story.came_from = story.expected = str(data.get("row") or story.expected)
    story.claim = ""


def _row(run: RunRecord, data: Data, at: float) -> None:
    story = run.stories.get(str(data["key"]))
    if story is not None:
        story.came_from, story.expected, story.claim = str(data["before"]), str(data["after"]), ""


def _row_set(run: RunRecord, data: Data, at: float) -> None:
    story = run.stories.get(str(data["key"]))
    if story is not None:
        _stands(story, {})


def _edited(run: RunRecord, data: Data, at: float) -> None:
    """A person moved the row: what we were about to do on this story is overtaken."""
    story = run.story(str(data["story"]))
    _begins(story, data["status"])


def _begins(story: StoryRecord, status: object) -> None:
    """For the first time; or again, where its row has left the board and is back, or was moved."""
    _stands(story, {"row": status})
    story.passed, story.entered_by = [], ""
    story.finished = story.skipped = False
    for label in ("done", "skipped"):
        story.commits.pop(label, None)
    if story.current:
        story.current.closed = True


def _restarted(run: RunRecord, data: Data, at: float) -> None:
    """As if this run had never taken it up."""
    run.stories.pop(str(data["story"]), None)
    run.epic_closed = False
    run.implementing = ""
    run.commits.pop("epic", None)
    run.turn += 1
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
    if data.get("row"):  # else it was not set yet: what an agent has claimed is still to be corrected
        _stands(story, data)
    story.passed, story.entered_by = [], "round"
    story.fixes = 0


def _check(run: RunRecord, data: Data, at: float) -> None:
    known = {name: data[name] for name in Check.__dataclass_fields__ if name in data}
    check = Check(**known)
    run.checks[check.code] = run.last_check = check
    run.known_head = check.head or run.known_head
    if data.get("tree"):
        run.trees.append(str(data["tree"]))


def _commit(run: RunRecord, data: Data, at: float) -> None:
    story = run.stories.get(str(data.get("story", "")))
    commits = story.commits if story else run.commits
    commits[str(data["label"])] = run.known_head = str(data["sha"])
    delivery.round_committed(run.delivery, str(data.get("story", "")), str(data["sha"]))


def _asked(run: RunRecord, data: Data, at: float) -> None:
    run.question = dict(data)


def _finished(run: RunRecord, data: Data, at: float) -> None:
    run.ended = str(data.get("status", ""))


def _state(run: RunRecord, data: Data, at: float) -> None:
    run.recorded |= {str(one) for one in data.get("recorded", ())}


def _implementing(run: RunRecord, data: Data, at: float) -> None:
    run.implementing = str(data["step"])


def _implemented(run: RunRecord, data: Data, at: float) -> None:
    run.implementing = ""
    run.implemented.append({"step": str(data["step"]), "outcome": str(data["outcome"])})


def _resting(run: RunRecord, data: Data, at: float) -> None:
    run.resting = data.get("until")


def _idle(run: RunRecord, data: Data, at: float) -> None:
    run.idle_since = at


def _epic(run: RunRecord, data: Data, at: float) -> None:
    run.epic_closed = run.epic_closed or data.get("after") == "done"


# After these the work tree may well be another one.
_MOVES = frozenset(("call", "accepted", "round", "commit", "answered", "resumed"))

_KINDS: dict[str, Callable[[RunRecord, Data, float], None]] = {
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
    "answered": answered,
    "finished": _finished,
}
