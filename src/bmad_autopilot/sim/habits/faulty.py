"""Agents to whom something happens, and those that need somebody: their stories get done once it is over."""

from ..desk import Desk, Ending, Job
from ..sample import BROKEN, ENVIRONMENT
from . import rows
from .habit import REVIEW, WORK, Act, Kind, at, collect
from .honest import ask, ending, give_verdict, honest
from .pages import change, page_path, with_line, with_status
from .stories import Story, module, suite

REMARK = "[Review][Patch]"


@at(*WORK, otherwise=honest)
def slow(desk: Desk, job: Job) -> Ending:
    """Needs seventy minutes for the code."""
    return honest(desk, job)._replace(seconds=4200.0)


@at(*WORK, otherwise=honest)
def crashing(desk: Desk, job: Job) -> Ending:
    """Crashes once with half of the code written."""
    if job.attempt > 1:
        return honest(desk, job)
    desk.write(Story(job.story).code, module(Story(job.story)))
    return ending(job)._replace(outcome="crashed", seconds=120.0)


@at(*WORK, otherwise=honest)
def asking(desk: Desk, job: Job) -> Ending:
    """Asks before it writes code, and goes on with the answer."""
    if job.answers:
        return honest(desk, job)
    ask(
        desk, job, f"Should {Story(job.story).title.lower()} count amounts of 0?", ("count them", "leave them out")
    )
    return ending(job)._replace(seconds=60.0)


@at(*WORK, otherwise=honest)
def asks_in_prose(desk: Desk, job: Job) -> Ending:
    """Ends with a question in its last words and changes nothing."""
    if job.answers:
        return honest(desk, job)
    desk.say("There are two ways to round the sum. Which one do you want?")
    return ending(job)._replace(seconds=60.0)


@at(REVIEW, otherwise=honest)
def picky(desk: Desk, job: Job) -> Ending:
    """Its reviewer asks for changes once."""
    page = page_path(desk, job)
    if page is None or REMARK.encode() in (desk.read(page) or b""):
        return honest(desk, job)
    return _send_back(desk, job, 1)


@at(REVIEW, otherwise=honest)
def endlessly_picky(desk: Desk, job: Job) -> Ending:
    """Its reviewer asks for other changes each time."""
    page = page_path(desk, job)
    return _send_back(desk, job, 1 + (desk.read(page) or b"").count(REMARK.encode()) if page else 1)


def _send_back(desk: Desk, job: Job, number: int) -> Ending:
    story = Story(job.story)
    remark = f"Remark {number}: a list without end is not refused"
    page = page_path(desk, job)
    if page is not None:
        line = f"- [ ] {REMARK} {remark} [{story.code}:4]"
        change(desk, page, lambda text: with_line(with_status(text, "in-progress"), "### Review Findings", line))
    give_verdict(desk, job, "changes-requested", f"{remark}; see {story.code}.")
    rows.set_row(desk, job, "in-progress")
    desk.say("Changes requested.")
    return ending(job)


@at(*WORK, otherwise=honest)
def limit(desk: Desk, job: Job) -> Ending:
    """Meets its account's limit, which resets after an hour."""
    return honest(desk, job) if job.attempt > 1 else Ending("limit", 5.0, 0.0, 0, resets_after=3600.0)


@at(*WORK, otherwise=honest)
def overloaded(desk: Desk, job: Job) -> Ending:
    """Is refused twice because the service is overloaded."""
    return honest(desk, job) if job.attempt > 2 else Ending("overloaded", 5.0, 0.0, 0)


@at(*WORK, otherwise=honest)
def broken_checks(desk: Desk, job: Job) -> Ending:
    """Its first code fails the project's checks; told so, it mends it."""
    story = Story(job.story)
    is_first = desk.read(story.code) is None
    done = honest(desk, job)
    if is_first:
        desk.write(story.code, module(story, broken=True))
        desk.write(BROKEN, f"{story.test}: 351 != 350\n".encode())
        if job.step == "build-auto":
            desk.commit(f"feat: {story.title.lower()}, finished")
    return done


@at(*WORK, otherwise=honest)
def environment(desk: Desk, job: Job) -> Ending:
    """Its code needs a database that is not there, so that the checks cannot run."""
    is_first = desk.read(Story(job.story).code) is None
    done = honest(desk, job)
    if is_first:
        desk.write(ENVIRONMENT, b"a database on port 5432\n")
    return done


@at(*WORK, otherwise=honest)
def parks(desk: Desk, job: Job) -> Ending:
    """Sets its row to blocked and says why on the board."""
    if job.answers:
        return honest(desk, job)
    rows.set_row(desk, job, "blocked")
    rows.give_reason(desk, job, "the rules for rounding are not agreed on")
    desk.say("I cannot go on.")
    return ending(job)._replace(seconds=60.0)


@at("dev", "create-story", "build-auto", otherwise=honest)
def breaks_board(desk: Desk, job: Job) -> Ending:
    """Does its work, and leaves a board that is no YAML any more."""
    done = honest(desk, job)
    desk.write(
        job.board, (desk.read(job.board) or b"").replace(b"development_status:", b"development_status: [", 1)
    )
    return done


@at(*WORK, otherwise=honest)
def half_written(desk: Desk, job: Job) -> Ending:
    """Stops halfway at its first call, and says that it is done."""
    if job.attempt > 1:
        return honest(desk, job)
    desk.write(Story(job.story).test, suite(Story(job.story)))
    desk.say("All done.")
    return ending(job)


def ends_with(outcome: str) -> Act:
    """An agent whose first call for the code ends like this."""

    @at(*WORK, otherwise=honest)
    def act(desk: Desk, job: Job) -> Ending:
        return honest(desk, job) if job.attempt > 1 else Ending(outcome, 30.0, 0.02, 200)

    act.__name__, act.__doc__ = outcome, f"Its first call for the code ends as {outcome}."
    return act


_OUTCOMES = (
    "lost stalled timed-out cancelled auth billing budget network max-turns prompt-too-long misconfigured".split()
)

FAULTY = collect(
    Kind.FAULTY,
    *(slow, crashing, asking, asks_in_prose, picky, endlessly_picky, limit, overloaded),
    *(broken_checks, environment, parks, breaks_board, half_written),
    *map(ends_with, _OUTCOMES),
)
