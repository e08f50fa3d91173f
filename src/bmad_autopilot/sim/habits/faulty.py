"""Agents with a passing fault, and agents that need a person. Their stories become done afterwards."""

from ..sample import BROKEN_FILE, NO_DATABASE_FILE
from ..workspace import AgentJob, ScriptedEnding, Workspace
from . import story_pages
from .habit import (
    CODE_STEPS,
    REVIEW_STEP,
    HabitFunction,
    HabitKind,
    StorySubject,
    at_steps,
    make_habits,
    module_source,
    suite_source,
)
from .honest import honest, step_ending, write_question, write_verdict
from .story_pages import edit_page, find_story_page, with_line, with_status

FINDING_MARK = "[Review][Patch]"


@at_steps(*CODE_STEPS, otherwise=honest)
def slow(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Needs seventy minutes for the code."""
    return honest(workspace, job)._replace(seconds=4200.0)


@at_steps(*CODE_STEPS, otherwise=honest)
def crashing(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Crashes once with half of the code written."""
    if job.attempt > 1:
        return honest(workspace, job)
    workspace.write(StorySubject(job.story).code, module_source(StorySubject(job.story)))
    return step_ending(job)._replace(outcome="crashed", seconds=120.0)


@at_steps(*CODE_STEPS, otherwise=honest)
def asking(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Asks before it writes code, and goes on with the answer."""
    if job.answers:
        return honest(workspace, job)
    write_question(
        workspace,
        job,
        f"Should {StorySubject(job.story).title.lower()} count amounts of 0?",
        ("count them", "leave them out"),
    )
    return step_ending(job)._replace(seconds=60.0)


@at_steps(*CODE_STEPS, otherwise=honest)
def asks_in_prose(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Ends with a question in its last words and changes nothing."""
    if job.answers:
        return honest(workspace, job)
    workspace.set_final_message("There are two ways to round the sum. Which one do you want?")
    return step_ending(job)._replace(seconds=60.0)


@at_steps(REVIEW_STEP, otherwise=honest)
def picky(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Its reviewer asks for changes once."""
    page = find_story_page(workspace, job)
    if page is None or FINDING_MARK.encode() in (workspace.read(page) or b""):
        return honest(workspace, job)
    return _request_changes(workspace, job, 1)


@at_steps(REVIEW_STEP, otherwise=honest)
def endlessly_picky(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Its reviewer asks for other changes each time."""
    page = find_story_page(workspace, job)
    return _request_changes(
        workspace, job, 1 + (workspace.read(page) or b"").count(FINDING_MARK.encode()) if page else 1
    )


def _request_changes(workspace: Workspace, job: AgentJob, number: int) -> ScriptedEnding:
    story = StorySubject(job.story)
    remark = f"Remark {number}: a list without end is not refused"
    page = find_story_page(workspace, job)
    if page is not None:
        line = f"- [ ] {FINDING_MARK} {remark} [{story.code}:4]"
        edit_page(
            workspace, page, lambda text: with_line(with_status(text, "in-progress"), "### Review Findings", line)
        )
    write_verdict(workspace, job, "changes-requested", f"{remark}; see {story.code}.")
    story_pages.set_row(workspace, job, "in-progress")
    workspace.set_final_message("Changes requested.")
    return step_ending(job)


@at_steps(*CODE_STEPS, otherwise=honest)
def limit(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Meets its account's limit, which resets after an hour."""
    return honest(workspace, job) if job.attempt > 1 else ScriptedEnding("limit", 5.0, 0.0, 0, resets_after=3600.0)


@at_steps(*CODE_STEPS, otherwise=honest)
def overloaded(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Is refused twice because the service is overloaded."""
    return honest(workspace, job) if job.attempt > 2 else ScriptedEnding("overloaded", 5.0, 0.0, 0)


@at_steps(*CODE_STEPS, otherwise=honest)
def broken_checks(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Its first code fails the project's checks; told so, it mends it."""
    story = StorySubject(job.story)
    is_first = workspace.read(story.code) is None
    done = honest(workspace, job)
    if is_first:
        workspace.write(story.code, module_source(story, broken=True))
        workspace.write(BROKEN_FILE, f"{story.test}: 351 != 350\n".encode())
        if job.step == "build-auto":
            workspace.commit(f"feat: {story.title.lower()}, finished")
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def environment(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Its code needs a database that is not there, so that the checks cannot run."""
    is_first = workspace.read(StorySubject(job.story).code) is None
    done = honest(workspace, job)
    if is_first:
        workspace.write(NO_DATABASE_FILE, b"a database on port 5432\n")
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def parks(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Sets its row to blocked and says why on the board."""
    if job.answers:
        return honest(workspace, job)
    story_pages.set_row(workspace, job, "blocked")
    story_pages.add_blocked_reason(workspace, job, "the rules for rounding are not agreed on")
    workspace.set_final_message("I cannot go on.")
    return step_ending(job)._replace(seconds=60.0)


@at_steps("dev", "create-story", "build-auto", otherwise=honest)
def breaks_board(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Does its work, and leaves a board that is no YAML any more."""
    done = honest(workspace, job)
    workspace.write(
        job.board, (workspace.read(job.board) or b"").replace(b"development_status:", b"development_status: [", 1)
    )
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def half_written(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Stops halfway at its first call, and says that it is done."""
    if job.attempt > 1:
        return honest(workspace, job)
    workspace.write(StorySubject(job.story).test, suite_source(StorySubject(job.story)))
    workspace.set_final_message("All done.")
    return step_ending(job)


def fails_first_with(outcome: str) -> HabitFunction:
    """A habit whose first call for the code ends with this outcome."""

    @at_steps(*CODE_STEPS, otherwise=honest)
    def act(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
        return honest(workspace, job) if job.attempt > 1 else ScriptedEnding(outcome, 30.0, 0.02, 200)

    act.__name__, act.__doc__ = outcome, f"Its first call for the code ends as {outcome}."
    return act


_OUTCOMES = (
    "lost stalled timed-out cancelled auth billing budget network max-turns prompt-too-long misconfigured".split()
)

FAULTY = make_habits(
    HabitKind.FAULTY,
    *(slow, crashing, asking, asks_in_prose, picky, endlessly_picky, limit, overloaded),
    *(broken_checks, environment, parks, breaks_board, half_written),
    *map(fails_first_with, _OUTCOMES),
)
