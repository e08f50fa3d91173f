"""Agents that go wrong where a pull request's reviewers and checks want something. Their stories are honest work:
no thread may be closed, and nothing merged, by what they only say."""

import json
from collections.abc import Mapping

from ..desk import Desk, Ending, Job
from ..sample import BROKEN
from . import rows
from .habit import Kind, at, collect
from .honest import NOTES, ask, drop, ending, honest

MEND = "fix-issues"


@at(MEND, otherwise=honest)
def says_mended(desk: Desk, job: Job) -> Ending:
    """Says of each point that it is fixed, and changes nothing."""
    _answer(desk, job, {"answer": "fixed", "why": "Handled."})
    return ending(job)


@at(MEND, otherwise=honest)
def names_an_old_commit(desk: Desk, job: Job) -> Ending:
    """Says that each point was fixed by the commit that the reviewer looked at."""
    _answer(desk, job, {"answer": "fixed", "why": "It was done before.", "commit": desk.head()})
    return ending(job)


@at(MEND, otherwise=honest)
def mends_without_a_word(desk: Desk, job: Job) -> Ending:
    """Mends, and does not say what became of the points."""
    done = honest(desk, job)
    drop(desk, _file(job))
    return done


@at(MEND, otherwise=honest)
def answers_in_part(desk: Desk, job: Job) -> Ending:
    """Mends, and says nothing of the last point."""
    done = honest(desk, job)
    said = _said(desk, job)
    if job.points:
        said.pop(job.points[-1][0], None)
    desk.write(_file(job), json.dumps({"threads": said}).encode())
    return done


@at(MEND, otherwise=honest)
def garbles_its_answers(desk: Desk, job: Job) -> Ending:
    """Mends, and its answers are no JSON."""
    done = honest(desk, job)
    desk.write(_file(job), b'{"threads": {"1": fixed, of course')
    return done


@at(MEND, otherwise=honest)
def disputes_everything(desk: Desk, job: Job) -> Ending:
    """Disagrees with each point, and changes nothing."""
    _answer(desk, job, {"answer": "disagrees", "why": "It is right as it is."})
    return ending(job)


@at(MEND, otherwise=honest)
def breaks_what_it_mends(desk: Desk, job: Job) -> Ending:
    """Mends, and in a pull request's first round the project's own checks fail after it."""
    done = honest(desk, job)
    if job.story.endswith(".pr-1"):
        desk.write(BROKEN, b"")
    return done


@at(MEND, otherwise=honest)
def crashes_while_mending(desk: Desk, job: Job) -> Ending:
    """Crashes at its first try, with every answer given and nothing mended."""
    if job.attempt > 1:
        return honest(desk, job)
    _answer(desk, job, {"answer": "fixed", "why": "It is done as asked."})
    return ending(job)._replace(outcome="crashed")


@at(MEND, otherwise=honest)
def asks_while_mending(desk: Desk, job: Job) -> Ending:
    """Asks with half of it done, and goes on with the answer."""
    if job.answers:
        return honest(desk, job)
    desk.write(NOTES.format(job.story.partition(".")[0]), b"# What reviewers found\n\n")
    ask(desk, job, "Is a negative amount an error, or a refund?", ("an error", "a refund"))
    return ending(job)


@at(MEND, otherwise=honest)
def moves_rows_while_mending(desk: Desk, job: Job) -> Ending:
    """Mends, and sets the epic's row back on the board."""
    done = honest(desk, job)
    rows.set_row(desk, job, "backlog", job.story.partition(".")[0])
    return done


@at(MEND, otherwise=honest)
def commits_what_it_mends(desk: Desk, job: Job) -> Ending:
    """Mends, and commits that itself."""
    done = honest(desk, job)
    desk.commit("fix: what the reviewers found")
    return done


def _answer(desk: Desk, job: Job, said: Mapping[str, str]) -> None:
    if job.points:
        desk.write(_file(job), json.dumps({"threads": {name: said for name, _ in job.points}}).encode())


def _said(desk: Desk, job: Job) -> dict[str, object]:
    return dict(json.loads(desk.read(_file(job)) or b'{"threads": {}}')["threads"])


def _file(job: Job) -> str:
    return f"{job.folder}/{job.story}.threads.json"


MENDERS = collect(
    Kind.MENDER,
    says_mended,
    names_an_old_commit,
    mends_without_a_word,
    answers_in_part,
    garbles_its_answers,
    disputes_everything,
    breaks_what_it_mends,
    crashes_while_mending,
    asks_while_mending,
    moves_rows_while_mending,
    commits_what_it_mends,
)
