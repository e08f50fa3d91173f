"""Agents that fail or lie in a pull request's fix round. Their stories are honest work; no thread may be resolved
and nothing merged on their claims alone."""

import json
from collections.abc import Mapping

from ..sample import BROKEN_FILE
from ..workspace import AgentJob, ScriptedEnding, Workspace
from . import story_pages
from .habit import HabitKind, at_steps, make_habits
from .honest import REVIEW_NOTES, honest, remove_if_present, step_ending, write_question

FIX_ISSUES = "fix-issues"


@at_steps(FIX_ISSUES, otherwise=honest)
def says_mended(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Says of each point that it is fixed, and changes nothing."""
    _answer_all(workspace, job, {"answer": "fixed", "why": "Handled."})
    return step_ending(job)


@at_steps(FIX_ISSUES, otherwise=honest)
def names_an_old_commit(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Says that each point was fixed by the commit that the reviewer looked at."""
    _answer_all(workspace, job, {"answer": "fixed", "why": "It was done before.", "commit": workspace.head()})
    return step_ending(job)


@at_steps(FIX_ISSUES, otherwise=honest)
def mends_without_a_word(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Mends, and does not say what became of the points."""
    done = honest(workspace, job)
    remove_if_present(workspace, _answers_path(job))
    return done


@at_steps(FIX_ISSUES, otherwise=honest)
def answers_in_part(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Mends, and says nothing of the last point."""
    done = honest(workspace, job)
    answers = _read_answers(workspace, job)
    if job.points:
        answers.pop(job.points[-1][0], None)
    workspace.write(_answers_path(job), json.dumps({"threads": answers}).encode())
    return done


@at_steps(FIX_ISSUES, otherwise=honest)
def garbles_its_answers(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Mends, and its answers are no JSON."""
    done = honest(workspace, job)
    workspace.write(_answers_path(job), b'{"threads": {"1": fixed, of course')
    return done


@at_steps(FIX_ISSUES, otherwise=honest)
def disputes_everything(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Disagrees with each point, and changes nothing."""
    _answer_all(workspace, job, {"answer": "disagrees", "why": "It is right as it is."})
    return step_ending(job)


@at_steps(FIX_ISSUES, otherwise=honest)
def breaks_what_it_mends(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Mends, and in a pull request's first round the project's own checks fail after it."""
    done = honest(workspace, job)
    if job.story.endswith(".pr-1"):
        workspace.write(BROKEN_FILE, b"")
    return done


@at_steps(FIX_ISSUES, otherwise=honest)
def crashes_while_mending(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Crashes at its first try, with every answer given and nothing mended."""
    if job.attempt > 1:
        return honest(workspace, job)
    _answer_all(workspace, job, {"answer": "fixed", "why": "It is done as asked."})
    return step_ending(job)._replace(outcome="crashed")


@at_steps(FIX_ISSUES, otherwise=honest)
def asks_while_mending(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Asks with half of it done, and goes on with the answer."""
    if job.answers:
        return honest(workspace, job)
    workspace.write(REVIEW_NOTES.format(job.story.partition(".")[0]), b"# What reviewers found\n\n")
    write_question(workspace, job, "Is a negative amount an error, or a refund?", ("an error", "a refund"))
    return step_ending(job)


@at_steps(FIX_ISSUES, otherwise=honest)
def moves_rows_while_mending(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Mends, and sets the epic's row back on the board."""
    done = honest(workspace, job)
    story_pages.set_row(workspace, job, "backlog", job.story.partition(".")[0])
    return done


@at_steps(FIX_ISSUES, otherwise=honest)
def commits_what_it_mends(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Mends, and commits that itself."""
    done = honest(workspace, job)
    workspace.commit("fix: what the reviewers found")
    return done


def _answer_all(workspace: Workspace, job: AgentJob, answers: Mapping[str, str]) -> None:
    if job.points:
        workspace.write(
            _answers_path(job), json.dumps({"threads": {name: answers for name, _ in job.points}}).encode()
        )


def _read_answers(workspace: Workspace, job: AgentJob) -> dict[str, object]:
    return dict(json.loads(workspace.read(_answers_path(job)) or b'{"threads": {}}')["threads"])


def _answers_path(job: AgentJob) -> str:
    return f"{job.folder}/{job.story}.threads.json"


PULL_FIXERS = make_habits(
    HabitKind.PULL_FIXER,
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
