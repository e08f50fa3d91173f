"""Invariants of every simulation. Each is a function that reads the effect log and the journals and yields its
violations."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..core.answers import AnswerMeaning
from ..core.run_ending import RunEnding
from ..core.statuses import DONE, IN_PROGRESS, PARKED, UNKNOWN, RowKind, read_status
from ..engine.ports import CallId
from .effect_log import Effect, EffectActor
from .habits import HabitKind
from .memory.git import is_ignored
from .result import LaneSession, SimulationResult
from .users import Manner

# Agent calls: each is started once, one at a time, and only for a reason in the journal.


def no_call_is_started_twice(result: SimulationResult) -> Iterator[str]:
    started = Counter((effect.run, effect.data["call"]) for effect in result.world.log.select("start"))
    yield from (f"{run} {call} {times} times" for (run, call), times in started.items() if times > 1)


def one_call_at_a_time(result: SimulationResult) -> Iterator[str]:
    running: set[CallId] = set()
    for effect in result.world.log.select("start", "end", "lost"):
        call = effect.data["call"]
        if effect.kind != "start":
            running.discard(call)
            continue
        if running:
            yield f"{call} while {running} ran"
        running.add(call)


def every_call_was_meant(result: SimulationResult) -> Iterator[str]:
    """The journal has the intent before the start."""
    meant: set[tuple[str, int, int]] = set()
    for effect in result.world.log.effects:
        if effect.kind == "note" and effect.data["entry"] == "call":
            meant.add((effect.run, effect.data["number"], effect.data["attempt"]))
        elif effect.kind == "start":
            call = effect.data["call"]
            if (effect.run, call.number, call.attempt) not in meant:
                yield f"{call}"


def every_call_is_taken_in_once(result: SimulationResult) -> Iterator[str]:
    for run, journal in result.world.journals.items():
        taken = Counter((data["number"], data["attempt"]) for kind, data, _ in journal if kind == "ended")
        yield from (f"{run} {call} {times} times" for call, times in taken.items() if times > 1)


def every_call_is_justified(result: SimulationResult) -> Iterator[str]:
    """Reads the journal by its own simple rules instead of the fold that the loop uses. The first call of a step
    needs the step; a further one needs the previous call's failure or a person's answer."""
    for run, journal in result.world.journals.items():
        yield from (
            f"{run}: {problem}" for problem in _unjustified_calls([(kind, data) for kind, data, _ in journal])
        )


def _unjustified_calls(entries: list[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    steps: dict[tuple[str, str, int, str], int] = {}  # (story, step, round, cause) → how many were announced
    endings: dict[tuple[int, int], str] = {}
    again: set[int] = set()
    asked: Mapping[str, Any] = {}
    for kind, data in entries:
        if kind == "step":
            key = (data["story"], data["step"], data["round"], data["cause"])
            if not data["cause"] and steps.get(key):
                yield f"{key} was begun twice"
            steps[key] = 1
        elif kind in ("edited", "story") or (kind == "answered" and data.get("means") == AnswerMeaning.HAND_OVER):
            story = data.get("story") or asked.get("story")
            steps = {key: count for key, count in steps.items() if key[0] != story}
        elif kind == "ended":
            endings[data["number"], data["attempt"]] = str(data["finding"])
        elif kind == "asked":
            asked = data
        elif kind == "answered" and data.get("means") in (
            AnswerMeaning.AGAIN,
            AnswerMeaning.EXTEND,
            AnswerMeaning.OTHERWISE,
        ):
            again.add(asked.get("number") or 0)
        elif kind == "call" and data["attempt"] > 1:
            before = endings.get((data["number"], data["attempt"] - 1))
            if before not in ("failed", "lacking", "refused") and data["number"] not in again:
                yield f"call {data['number']}/{data['attempt']} after one that was {before}"


def money_is_counted_once(result: SimulationResult) -> Iterator[str]:
    for session in result.sessions:
        own = (call for (run, _), call in result.world.calls.items() if run == session.run)
        spent = sum(call.ending.dollars for call in own if call.state == "finished")
        journal = result.journal(session.run)
        counted = sum(data.get("dollars") or 0.0 for kind, data, _ in journal if kind == "ended")
        if counted > spent + 1e-6 or (session.ending == RunEnding.COMPLETED and abs(counted - spent) > 1e-6):
            yield f"{session.run} counted {counted:.2f}, and agents took {spent:.2f}"


_STOPPING_STATUSES = ("", "done", "blocked", "deferred")


def no_call_for_what_a_person_stopped(result: SimulationResult) -> Iterator[str]:
    """No call starts for a story that a person has parked, closed or removed from the board, unless the journal
    acknowledges the edit or it happened less than a second before."""
    moved: dict[str, float] = {}
    for effect in result.world.log.effects:
        if effect.kind == "edit-row" and not effect.data["during_call"]:
            moved.pop(effect.data["key"], None)
            if effect.data["after"] in _STOPPING_STATUSES:
                moved[effect.data["key"]] = effect.at
        elif effect.kind == "note" and effect.data["entry"] in ("edited", "story", "gone"):
            moved.pop(effect.data.get("story", ""), None)
        elif effect.kind == "restore-board":
            moved.clear()  # the edited board is kept, and reported
        elif effect.kind == "set-row" and effect.actor is EffectActor.US:
            moved.pop(effect.data["key"], None)
        elif effect.kind == "start":
            since = moved.get(effect.data["story"])
            if since is not None and effect.at - since > 1.0:
                yield f"{effect.data['story']} at {effect.at:.0f}, moved at {since:.0f}"


CALL_INVARIANTS: tuple[Callable[[SimulationResult], Iterator[str]], ...] = (
    no_call_is_started_twice,
    one_call_at_a_time,
    every_call_was_meant,
    every_call_is_taken_in_once,
    every_call_is_justified,
    money_is_counted_once,
    no_call_for_what_a_person_stopped,
)


# People: their edits are kept.

# Entries that the loop writes after it has read the row; `accepted` requires the expected status.
_ACKNOWLEDGING = ("edited", "story", "gone", "accepted")


class _EditedRows:
    """Rows moved by a person, until the journal acknowledges the edit."""

    def __init__(self) -> None:
        self.unacknowledged: dict[str, Effect] = {}
        self._origin: dict[str, str] = {}  # status before the person's first edit
        self._removed: set[str] = set()
        self._unrecorded: dict[str, str] = {}  # status before a write of ours that is not recorded yet
        self._undoing = False  # the rows of a question are set back; the answer is not recorded yet

    def moved(self, key: str, edit: Effect) -> None:
        first = self._origin.setdefault(key, _meaning(edit.data["before"]))
        self.unacknowledged.pop(key, None)
        (self._removed.discard if edit.data["after"] else self._removed.add)(key)
        back = _meaning(edit.data["after"]) in (first, self._unrecorded.get(key))
        if not edit.data["during_call"] and not back:
            self.unacknowledged[key] = edit

    def noted(self, key: str, entry: str, before: str) -> None:
        if entry in _ACKNOWLEDGING or (entry == "call" and self._agrees(key)):
            self.unacknowledged.pop(key, None)
        if entry in _ACKNOWLEDGING or (entry == "ended" and key not in self._removed):
            self._origin.pop(key, None)
        if entry == "answered" and self._undoing:
            self._undoing = False
            self._unrecorded.clear()
        if entry == "row":
            self._unrecorded[key] = before
        elif entry == "row-set":
            self._unrecorded.pop(key, None)

    def _agrees(self, key: str) -> bool:
        """The person set the status that a call starts with: there is nothing to acknowledge."""
        edit = self.unacknowledged.get(key)
        return edit is not None and _meaning(edit.data["after"]) == IN_PROGRESS

    def answered(self, key: str, code: str) -> None:
        """The person was asked about all rows, or about this story."""
        if code == "rows":
            self.unacknowledged.clear()
            self._undoing = True
        self.unacknowledged.pop(key, None)

    def written(self, key: str, before: str) -> None:
        """We moved the row."""
        if self._undoing:
            self._unrecorded[key] = _meaning(before)


def no_edit_is_overwritten(result: SimulationResult) -> Iterator[str]:
    """We do not move a row that a person moved before the journal acknowledges it. Two cases are exempt: an edit
    while an agent works on that story, which cannot be told from the agent's own; and an edit between our write
    and its record when the supervisor dies in between."""
    rows = _EditedRows()
    for effect in result.world.log.effects:
        key = str(effect.data.get("key") or effect.data.get("story") or "")
        if effect.kind == "edit-row":
            rows.moved(key, effect)
        elif effect.kind == "note":
            rows.noted(key, effect.data["entry"], effect.data.get("before", ""))
        elif effect.kind == "answer":
            rows.answered(key, effect.data["code"])
        elif effect.kind == "restore-board":
            rows.unacknowledged.clear()  # the edited board is kept, and reported
        elif effect.kind == "set-row":
            rows.written(key, effect.data["before"])
            edit = rows.unacknowledged.pop(key, None)
            if edit is not None and edit.data["after"] == effect.data["before"]:
                yield f"{key}: {edit.data['after']} at {edit.at:.0f}, {effect.data['after']} at {effect.at:.0f}"


def _meaning(status: str) -> str:
    """`blocked` and `deferred` have the same meaning."""
    return read_status(status, RowKind.STORY).meaning if status else ""


def no_file_of_a_person_is_committed(result: SimulationResult) -> Iterator[str]:
    """Except for files written while an agent worked, which cannot be told from the agent's own."""
    written = list(result.world.log.select("write-file"))
    paths = {str(effect.data["path"]) for effect in written}
    paths -= {str(effect.data["path"]) for effect in written if effect.data["during_call"]}
    for commit in result.world.git.commits.values():
        parent = result.world.git.commits[commit.parent].files if commit.parent else {}
        for path in paths:
            if commit.key and commit.files.get(path) != parent.get(path):
                yield f"{path} in {commit.message}"


PEOPLE_INVARIANTS: tuple[Callable[[SimulationResult], Iterator[str]], ...] = (
    no_edit_is_overwritten,
    no_file_of_a_person_is_committed,
)


Invariant = Callable[[SimulationResult], Iterator[str]]

MAX_VIOLATIONS = 20


def find_violations(result: SimulationResult) -> Iterator[str]:
    count = 0
    for invariant in INVARIANTS:
        for problem in invariant(result):
            count += 1
            if count <= MAX_VIOLATIONS:
                yield f"{invariant.__name__.replace('_', ' ')}: {problem}"


def every_run_ends(result: SimulationResult) -> Iterator[str]:
    for session in result.sessions:
        if session.ending not in (RunEnding.COMPLETED, RunEnding.FAILED, RunEnding.WAITING):
            yield f"{session.run} ended as {session.ending}"


def every_story_ends_done_or_with_a_person(result: SimulationResult) -> Iterator[str]:
    """A waiting run has an open question, a failed run was aborted by a person, a completed run left no story."""
    for session in result.sessions:
        entries = [(kind, data) for kind, data, _ in result.journal(session.run)]
        if session.ending == RunEnding.COMPLETED:
            yield from _unfinished_stories(result, session)
        elif session.ending == RunEnding.WAITING and _open_question(entries) is None:
            yield f"{session.run} waits, and asks nothing"
        elif session.ending == RunEnding.FAILED and not any(
            data.get("means") == AnswerMeaning.ABORT for _, data in entries
        ):
            yield f"{session.run} failed, and nobody told it to stop"


def _unfinished_stories(result: SimulationResult, session: LaneSession) -> Iterator[str]:
    own = f"{session.lane.epic}-"
    late = {effect.data["key"] for effect in result.edits() if effect.at > session.finished_at - 1.0}
    for key, meaning in session.rows.items():
        if key.startswith(own) and meaning not in (DONE, PARKED, UNKNOWN) and key not in late:
            yield f"{session.run} is over, and {key} is {meaning}"


def _open_question(entries: Iterable[tuple[str, Mapping[str, Any]]]) -> str | None:
    asked: str | None = None
    for kind, data in entries:
        asked = str(data["question"]) if kind == "asked" else None if kind == "answered" else asked
    return asked


def every_wait_has_a_bound(result: SimulationResult) -> Iterator[str]:
    for effect in result.world.log.select("wait"):
        if effect.data.get("until") is None:
            yield f"{effect.run} at {effect.at:.0f}"


def no_question_is_asked_twice(result: SimulationResult) -> Iterator[str]:
    named = ("code", "story", "call", "turn")
    asked = Counter(
        (effect.run, *(effect.data[name] for name in named)) for effect in result.world.log.select("ask")
    )
    for question, times in asked.items():
        if times > 1:
            yield f"{question} {times} times"
    for run, journal in result.world.journals.items():
        names = Counter(data["question"] for kind, data, _ in journal if kind == "asked")
        yield from (f"{run} recorded {name} twice" for name, times in names.items() if times > 1)


def no_commit_is_made_twice(result: SimulationResult) -> Iterator[str]:
    """Merges of the base (`base/…`) may occur once in each epic's branch."""
    made = (commit.key for commit in result.world.git.commits.values())
    keys = Counter(key for key in made if key and not key.startswith("base/"))
    yield from (f"{key} {times} times" for key, times in keys.items() if times > 1)


def no_board_change_is_repeated(result: SimulationResult) -> Iterator[str]:
    """Each of our writes changes the row's status."""
    for effect in result.world.log.select("set-row"):
        if effect.data["before"] == effect.data["after"]:
            yield f"{effect.data['key']} set to {effect.data['after']} again"


def every_accepted_story_is_committed_once(result: SimulationResult) -> Iterator[str]:
    for session in result.sessions:
        if session.ending != RunEnding.COMPLETED:
            continue
        for story, commits in _accepted(result, session).items():
            if len(commits) != 1:
                yield f"{story} has {len(commits)} commits"
            else:
                yield from _missing_work(result, session, story, commits[0])


def _accepted(result: SimulationResult, session: LaneSession) -> dict[str, list[str]]:
    """Accepted stories that no person has changed afterwards, with their final commits."""
    found: dict[str, list[str]] = {}
    for kind, data, _ in result.journal(session.run):
        story = str(data.get("story", ""))
        if kind == "accepted" and data.get("finished"):
            found[story] = []
        elif kind in ("edited", "gone"):
            found.pop(story, None)
        elif kind == "commit" and data.get("label") == "done" and story in found:
            found[story].append(str(data["sha"]))
    return found


def _missing_work(result: SimulationResult, session: LaneSession, story: str, sha: str) -> Iterator[str]:
    world = result.world
    commit = world.git.commits.get(sha)
    calls = [call for (run, _), call in world.calls.items() if run == session.run and call.order.story == story]
    ended = [call for call in calls if call.tree_after is not None]
    if commit is None or not ended:
        yield f"{story}: its commit is nowhere"
        return
    last = world.git.files_at(ended[-1].tree_after)
    for path in {path for call in ended for path in call.touched(world.git)}:
        if path == world.story_paths.board or is_ignored(path) or path in session.lane.dirty:
            continue
        if commit.files.get(path) != last.get(path):
            yield f"{story}: {path} is not in {sha[-6:]} as it was left"


def accepted_rows_say_done(result: SimulationResult) -> Iterator[str]:
    edited = {str(effect.data["key"]) for effect in result.edits()}
    for session in result.sessions:
        if session.ending == RunEnding.COMPLETED:
            for story in _accepted(result, session):
                if session.rows.get(story) != DONE and story not in edited:
                    yield f"{story} is {session.rows.get(story)}"


def epics_are_closed_with_their_last_story(result: SimulationResult) -> Iterator[str]:
    """Unless a person answered to leave the epic open."""
    left = {
        effect.data["story"] for effect in result.world.log.select("answer") if effect.data["answer"] == "leave"
    }
    for session in result.sessions:
        if session.lane.key in left:
            continue
        own = [meaning for key, meaning in session.rows.items() if key.startswith(f"{session.lane.epic}-")]
        over = session.ending == RunEnding.COMPLETED and own and set(own) == {DONE}
        if over and session.rows.get(session.lane.key) != DONE:
            yield f"{session.lane.key} is {session.rows.get(session.lane.key)}"


def no_liar_reaches_done(result: SimulationResult) -> Iterator[str]:
    touched = result.stories_changed_by_people()
    for run, data in result.entries("accepted"):
        story = str(data.get("story"))
        if (
            data.get("finished")
            and story not in touched
            and result.scenario.participants.initial_kind(story) is HabitKind.LIAR
        ):
            yield f"{story} of {result.scenario.participants.initial_habits[story]} in {run}"


def honest_stories_get_done(result: SimulationResult) -> Iterator[str]:
    """Applies where people help and do not edit the board."""
    if result.scenario.participants.humans.manner is not Manner.PATIENT or any(result.edits()):
        return
    skipped = set(result.skipped_stories())
    for session in result.sessions:
        for key, meaning in session.rows.items():
            kind = result.scenario.participants.initial_kind(key) if key in result.stories else None
            paths = key.startswith(f"{session.lane.epic}-") and session.ending == RunEnding.COMPLETED
            if paths and kind in (HabitKind.HONEST, HabitKind.UNTIDY) and (meaning != DONE or key in skipped):
                yield f"{key} of {result.scenario.participants.initial_habits.get(key, 'honest')} is {meaning}"


def every_completed_step_has_its_checkpoint(result: SimulationResult) -> Iterator[str]:
    """The checkpoint's ref exists and holds the work tree as the call left it."""
    for run, data in (*result.entries("accepted"), *result.entries("round")):
        made = data.get("checkpoint")
        if data.get("number") is None and not made:
            continue  # the row was done before the run, or this is a round, which has no step of its own
        if not made or made["ref"] not in result.world.saved:
            yield f"{run}: {data.get('story')} {data.get('step')}"


def what_asks_a_person_first_is_asked(result: SimulationResult) -> Iterator[str]:
    """No code is written and no further story started before the question that `human_checkpoint` requires."""
    for session in result.sessions:
        stage = session.lane.human_checkpoint
        asked: set[str] = set()
        finished: set[str] = set()
        for kind, data, _ in result.journal(session.run):
            story = str(data.get("story", ""))
            if kind == "asked" and data.get("stage") == stage:
                asked.add(story)
            elif kind == "accepted" and data.get("finished"):
                finished.add(story)
            elif _needs_confirmation(stage, kind, data, finished) and story not in asked:
                yield f"{session.run}: {story}"
            if kind in ("edited", "story"):  # a person moved it: it is not finished any more
                finished.discard(story)


def _needs_confirmation(stage: str, kind: str, data: Mapping[str, Any], finished: set[str]) -> bool:
    if stage == "before_dev":
        is_first = data.get("round") == 1 and not data.get("cause")
        return kind == "step" and is_first and data.get("step") in ("dev", "build-auto")
    is_story = kind == "story" and not str(data["story"]).startswith("epic-")
    return stage == "after_each_story" and is_story and bool(finished)


INVARIANTS: tuple[Invariant, ...] = (
    every_completed_step_has_its_checkpoint,
    what_asks_a_person_first_is_asked,
    every_run_ends,
    every_story_ends_done_or_with_a_person,
    every_wait_has_a_bound,
    no_question_is_asked_twice,
    no_commit_is_made_twice,
    no_board_change_is_repeated,
    every_accepted_story_is_committed_once,
    accepted_rows_say_done,
    epics_are_closed_with_their_last_story,
    no_liar_reaches_done,
    honest_stories_get_done,
    *CALL_INVARIANTS,
    *PEOPLE_INVARIANTS,
)
