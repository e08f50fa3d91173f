"""What must hold of every simulation, whatever went wrong in it. Each promise is a function of its own that looks
at what happened in order, and at the journals, and says what broke it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..core.statuses import DONE, PARKED, UNKNOWN
from .habits import Kind
from .humans import Manner
from .invariants_calls import CALL_PROMISES
from .invariants_people import PEOPLE_PROMISES
from .memory_git import is_ignored
from .played import Played, Session

Promise = Callable[[Played], Iterator[str]]

MAX_TOLD = 20


def broken_promises(played: Played) -> Iterator[str]:
    told = 0
    for promise in PROMISES:
        for problem in promise(played):
            told += 1
            if told <= MAX_TOLD:
                yield f"{promise.__name__.replace('_', ' ')}: {problem}"


def every_run_ends(played: Played) -> Iterator[str]:
    for session in played.sessions:
        if session.ending not in ("completed", "failed", "waiting"):
            yield f"{session.run} ended as {session.ending}"


def every_story_ends_done_or_with_a_person(played: Played) -> Iterator[str]:
    """A run that waits has an open question; one that failed was told to stop; one that is over left nothing."""
    for session in played.sessions:
        entries = [(kind, data) for kind, data, _ in played.journal(session.run)]
        if session.ending == "completed":
            yield from _left_over(played, session)
        elif session.ending == "waiting" and _open_question(entries) is None:
            yield f"{session.run} waits, and asks nothing"
        elif session.ending == "failed" and not any(data.get("means") == "abort" for _, data in entries):
            yield f"{session.run} failed, and nobody told it to stop"


def _left_over(played: Played, session: Session) -> Iterator[str]:
    own = f"{session.lane.epic}-"
    late = {effect.data["key"] for effect in played.edits() if effect.at > session.finished - 1.0}
    for key, meaning in session.rows.items():
        if key.startswith(own) and meaning not in (DONE, PARKED, UNKNOWN) and key not in late:
            yield f"{session.run} is over, and {key} is {meaning}"


def _open_question(entries: Iterable[tuple[str, Mapping[str, Any]]]) -> str | None:
    asked: str | None = None
    for kind, data in entries:
        asked = str(data["question"]) if kind == "asked" else None if kind == "answered" else asked
    return asked


def every_wait_has_a_bound(played: Played) -> Iterator[str]:
    for effect in played.world.log.of("wait"):
        if effect.data.get("until") is None:
            yield f"{effect.run} at {effect.at:.0f}"


def no_question_is_asked_twice(played: Played) -> Iterator[str]:
    named = ("code", "story", "call", "turn")
    asked = Counter((effect.run, *(effect.data[name] for name in named)) for effect in played.world.log.of("ask"))
    for question, times in asked.items():
        if times > 1:
            yield f"{question} {times} times"
    for run, journal in played.world.journals.items():
        names = Counter(data["question"] for kind, data, _ in journal if kind == "asked")
        yield from (f"{run} recorded {name} twice" for name, times in names.items() if times > 1)


def no_commit_is_made_twice(played: Played) -> Iterator[str]:
    """A base that was taken in goes into each epic's branch."""
    made = (commit.key for commit in played.world.git.commits.values())
    keys = Counter(key for key in made if key and not key.startswith("base/"))
    yield from (f"{key} {times} times" for key, times in keys.items() if times > 1)


def no_board_change_is_repeated(played: Played) -> Iterator[str]:
    """Each of ours found the row as something else."""
    for effect in played.world.log.of("set-row"):
        if effect.data["before"] == effect.data["after"]:
            yield f"{effect.data['key']} set to {effect.data['after']} again"


def every_accepted_story_is_committed_once(played: Played) -> Iterator[str]:
    for session in played.sessions:
        if session.ending != "completed":
            continue
        for story, commits in _accepted(played, session).items():
            if len(commits) != 1:
                yield f"{story} has {len(commits)} commits"
            else:
                yield from _missing_work(played, session, story, commits[0])


def _accepted(played: Played, session: Session) -> dict[str, list[str]]:
    """Stories that were accepted, without a word of a person afterwards, and their last commits."""
    found: dict[str, list[str]] = {}
    for kind, data, _ in played.journal(session.run):
        story = str(data.get("story", ""))
        if kind == "accepted" and data.get("finished"):
            found[story] = []
        elif kind in ("edited", "gone"):
            found.pop(story, None)
        elif kind == "commit" and data.get("label") == "done" and story in found:
            found[story].append(str(data["sha"]))
    return found


def _missing_work(played: Played, session: Session, story: str, sha: str) -> Iterator[str]:
    world = played.world
    commit = world.git.commits.get(sha)
    calls = [call for (run, _), call in world.calls.items() if run == session.run and call.order.story == story]
    ended = [call for call in calls if call.tree_after is not None]
    if commit is None or not ended:
        yield f"{story}: its commit is nowhere"
        return
    last = world.git.at(ended[-1].tree_after)
    for path in {path for call in ended for path in call.touched(world.git)}:
        if path == world.books.board or is_ignored(path) or path in session.lane.dirty:
            continue
        if commit.files.get(path) != last.get(path):
            yield f"{story}: {path} is not in {sha[-6:]} as it was left"


def accepted_rows_say_done(played: Played) -> Iterator[str]:
    edited = {str(effect.data["key"]) for effect in played.edits()}
    for session in played.sessions:
        if session.ending == "completed":
            for story in _accepted(played, session):
                if session.rows.get(story) != DONE and story not in edited:
                    yield f"{story} is {session.rows.get(story)}"


def epics_are_closed_with_their_last_story(played: Played) -> Iterator[str]:
    """Unless somebody said to leave it open."""
    left = {effect.data["story"] for effect in played.world.log.of("answer") if effect.data["answer"] == "leave"}
    for session in played.sessions:
        if session.lane.key in left:
            continue
        own = [meaning for key, meaning in session.rows.items() if key.startswith(f"{session.lane.epic}-")]
        over = session.ending == "completed" and own and set(own) == {DONE}
        if over and session.rows.get(session.lane.key) != DONE:
            yield f"{session.lane.key} is {session.rows.get(session.lane.key)}"


def no_liar_reaches_done(played: Played) -> Iterator[str]:
    touched = played.touched_by_people()
    for run, data in played.entries("accepted"):
        story = str(data.get("story"))
        if data.get("finished") and story not in touched and played.scenario.cast.kind(story) is Kind.LIAR:
            yield f"{story} of {played.scenario.cast.first[story]} in {run}"


def honest_stories_get_done(played: Played) -> Iterator[str]:
    """Where people help and leave the board alone."""
    if played.scenario.cast.humans.manner is not Manner.PATIENT or any(played.edits()):
        return
    skipped = set(played.skipped())
    for session in played.sessions:
        for key, meaning in session.rows.items():
            kind = played.scenario.cast.kind(key) if key in played.stories else None
            mine = key.startswith(f"{session.lane.epic}-") and session.ending == "completed"
            if mine and kind in (Kind.HONEST, Kind.UNTIDY) and (meaning != DONE or key in skipped):
                yield f"{key} of {played.scenario.cast.first.get(key, 'honest')} is {meaning}"


def every_completed_step_has_its_checkpoint(played: Played) -> Iterator[str]:
    """With the work tree as its call left it, under a ref that is there."""
    for run, data in (*played.entries("accepted"), *played.entries("round")):
        made = data.get("checkpoint")
        if data.get("number") is None and not made:
            continue  # its row said so when we came; or a round, which names no step of its own
        if not made or made["ref"] not in played.world.saved:
            yield f"{run}: {data.get('story')} {data.get('step')}"


def what_asks_a_person_first_is_asked(played: Played) -> Iterator[str]:
    """No code is written, and no further story begun, that a person wanted to be asked about before."""
    for session in played.sessions:
        stage = session.lane.human_checkpoint
        asked: set[str] = set()
        finished: set[str] = set()
        for kind, data, _ in played.journal(session.run):
            story = str(data.get("story", ""))
            if kind == "asked" and data.get("stage") == stage:
                asked.add(story)
            elif kind == "accepted" and data.get("finished"):
                finished.add(story)
            elif _needs_word(stage, kind, data, finished) and story not in asked:
                yield f"{session.run}: {story}"
            if kind in ("edited", "story"):  # moved by a person, it is not finished any more
                finished.discard(story)


def _needs_word(stage: str, kind: str, data: Mapping[str, Any], finished: set[str]) -> bool:
    if stage == "before_dev":
        is_first = data.get("round") == 1 and not data.get("cause")
        return kind == "step" and is_first and data.get("step") in ("dev", "build-auto")
    is_story = kind == "story" and not str(data["story"]).startswith("epic-")
    return stage == "after_each_story" and is_story and bool(finished)


PROMISES: tuple[Promise, ...] = (
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
    *CALL_PROMISES,
    *PEOPLE_PROMISES,
)
