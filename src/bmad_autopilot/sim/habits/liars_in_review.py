"""Liars in the reviewer's chair, behind an honest developer."""

from ..desk import Desk, Ending, Job
from . import rows
from .habit import REVIEW, WORK, Kind, at, collect
from .honest import drop, ending, give_verdict, honest, review_path
from .liars_with_tests import deletes_test, guts_test
from .pages import change, page_path, with_line
from .stories import Story


@at(REVIEW, otherwise=honest)
def no_verdict(desk: Desk, job: Job) -> Ending:
    """Its reviewer praises the work and gives no verdict."""
    desk.say("Looks good to me, ship it!")
    return ending(job)


@at(REVIEW, otherwise=honest)
def unreadable_verdict(desk: Desk, job: Job) -> Ending:
    """Its reviewer gives a verdict that nobody can read."""
    desk.write(review_path(job), b'{"reviewResult": "approv')
    desk.say("Approved.")
    return ending(job)


@at(REVIEW, otherwise=honest)
def vague_verdict(desk: Desk, job: Job) -> Ending:
    """Its reviewer gives a verdict that is none, and sets the row to done."""
    give_verdict(desk, job, "approved-unless-somebody-objects", "Probably fine.")
    rows.set_row(desk, job, "done")
    return ending(job)


@at(REVIEW, otherwise=honest)
def approves_its_findings(desk: Desk, job: Job) -> Ending:
    """Its reviewer approves with a grave finding of its own still open."""
    page = page_path(desk, job)
    number = (desk.read(page) or b"").count(b"[AI-Review][High]") + 1 if page else 1
    if page is not None:
        line = f"- [ ] [AI-Review][High] Sum {number} is wrong [{Story(job.story).code}:6]"
        change(desk, page, lambda text: with_line(text, "### Review Follow-ups (AI)", line))
    give_verdict(desk, job, "approved", "One thing to look at later.")
    rows.set_row(desk, job, "done")
    return ending(job)


@at(REVIEW, otherwise=honest)
def empties_work(desk: Desk, job: Job) -> Ending:
    """Its reviewer takes the code out again and approves."""
    done = honest(desk, job)
    drop(desk, Story(job.story).code)
    drop(desk, Story(job.story).test)
    return done


def _as_developer(job: Job) -> Job:
    """The same job, to be meddled with as at a step that writes code."""
    return job._replace(step=WORK[0])


@at(REVIEW, otherwise=honest)
def guts_in_review(desk: Desk, job: Job) -> Ending:
    """Its reviewer takes the checks out of a test and approves."""
    guts_test(desk, _as_developer(job))
    return honest(desk, job)


@at(REVIEW, otherwise=honest)
def deletes_in_review(desk: Desk, job: Job) -> Ending:
    """Its reviewer deletes a test and approves."""
    deletes_test(desk, _as_developer(job))
    return honest(desk, job)


def approved_ahead(desk: Desk, job: Job) -> Ending:
    """Its developer writes the approval beforehand, and its reviewer nothing."""
    if job.step == REVIEW:
        desk.say("There is an approval already.")
        return ending(job)
    done = honest(desk, job)
    if job.step in WORK:
        give_verdict(desk, job, "approved", "Approved by its author.")
    return done


REVIEWERS = collect(
    Kind.LIAR,
    *(no_verdict, unreadable_verdict, vague_verdict, approves_its_findings, empties_work),
    *(guts_in_review, deletes_in_review, approved_ahead),
)
