"""Honest agents with odd habits. Each does its work, and the gates must accept it."""

import json

from ..workspace import AgentJob, ScriptedEnding, Workspace
from . import story_pages
from .habit import CODE_STEPS, REVIEW_STEP, HabitKind, StorySubject, at_steps, make_habits
from .honest import honest, remove_if_present, review_path, state_path
from .story_pages import edit_page, find_story_page, with_line, with_section, with_status
from .untidy_files import STORY_FILE_HABITS, TEST_FILE_HABITS


@at_steps(*CODE_STEPS, otherwise=honest)
def commits_itself(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Commits everything it did."""
    done = honest(workspace, job)
    workspace.commit(f"feat: {StorySubject(job.story).title.lower()}")
    return done


def commits_often(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Commits at every step, before and after its work."""
    workspace.write(
        "docs/journal.md", (workspace.read("docs/journal.md") or b"") + f"- {job.step} of {job.story}\n".encode()
    )
    workspace.commit(f"chore: begin {job.step}")
    done = honest(workspace, job)
    workspace.commit(f"feat: {job.step} of {job.story}")
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def touches_board(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Sets the board's date and adds a comment."""
    done = honest(workspace, job)
    story_pages.touch_board(workspace, job, f"{job.story} was worked on")
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def claims_done(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Sets its row and its story to done where a review is still to come."""
    done = honest(workspace, job)
    page = find_story_page(workspace, job)
    if page is not None:
        edit_page(workspace, page, lambda text: with_status(text, "done"))
    story_pages.set_row(workspace, job, "done")
    return done


def forgets_row(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Never writes to the board."""
    board = workspace.read(job.board)
    done = honest(workspace, job)
    if board is not None:
        workspace.write(job.board, board)
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def adds_dependency(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Adds a package to the project's dependencies."""
    done = honest(workspace, job)
    project = workspace.read("pyproject.toml") or b""
    workspace.write("pyproject.toml", project.replace(b"dependencies = []", b'dependencies = ["tabulate>=0.9"]'))
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def empty_state(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Leaves an agent-state file without a question."""
    done = honest(workspace, job)
    workspace.write(state_path(job), json.dumps({"storyKey": job.story, "questions": []}).encode())
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def answered_state(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Leaves the question that was answered long ago."""
    done = honest(workspace, job)
    question = {"id": "q1", "question": "Whole cents?", "answer": "whole cents"}
    workspace.write(state_path(job), json.dumps({"storyKey": job.story, "questions": [question]}).encode())
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def leaves_builds(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Leaves what its builds made, which git ignores."""
    done = honest(workspace, job)
    workspace.write("build/lib/ledger.txt", b"built\n")
    workspace.write("src/ledger/__pycache__/money.cpython-311.pyc", b"\0\1\2")
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def leaves_scraps(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Leaves notes and scratch files that nobody listed."""
    done = honest(workspace, job)
    workspace.write(f"notes-{job.story}.txt", b"try sum() first\n")
    workspace.write("tmp/out.log", b"ok\n")
    workspace.write("docs/sketches/.gitkeep", b"")
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def updates_guides(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Keeps the guides for agents and the docs up to date."""
    done = honest(workspace, job)
    line = f"- `{StorySubject(job.story).name}` adds amounts up.\n".encode()
    for path in ("AGENTS.md", "CLAUDE.md", "README.md", "docs/usage.md"):
        text = workspace.read(path) or b""
        workspace.write(path, text if line in text else text + line)
    return done


@at_steps(*CODE_STEPS, REVIEW_STEP, otherwise=honest)
def defers_work(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Appends to the list of deferred work."""
    done = honest(workspace, job)
    path = f"{job.folder}/deferred-work.md"
    entry = (
        f"## Deferred from: {job.step} of {job.story} (2026-01-15)\n\n- Amounts in other currencies\n\n".encode()
    )
    workspace.write(path, (workspace.read(path) or b"") + entry)
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def names_in_unicode(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Gives files names with blanks, umlauts and other scripts."""
    done = honest(workspace, job)
    workspace.write("docs/Überblick über Beträge – 概要.md", "# Beträge\n".encode())
    workspace.write("src/ledger/größe.py", b"CENT = 1\n")
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def talks_long(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Closes with a long report full of marks."""
    done = honest(workspace, job)
    workspace.set_final_message(
        "\n".join(f"{number}. ✅ **checked** `item {number}`" for number in range(1, 400)) + "\nAnything else?"
    )
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def explains_blocked(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Writes about a blocked sprint in a document beside its story."""
    done = honest(workspace, job)
    workspace.write(
        f"{job.folder}/{job.story}-notes.md", b"# Notes\n\nStatus: blocked\n\nWas blocked for a day.\n"
    )
    return done


@at_steps(REVIEW_STEP, otherwise=honest)
def odd_verdict(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Its reviewer's verdict has a byte order mark, further keys and a capital."""
    done = honest(workspace, job)
    verdict = {"story": job.story, "reviewResult": "Approved", "score": 9, "summary": "Fine.", "issues": []}
    workspace.write(
        review_path(job), b"\xef\xbb\xbf" + json.dumps(verdict, indent=4).encode().replace(b"\n", b"\r\n")
    )
    return done


@at_steps(REVIEW_STEP, otherwise=honest)
def fenced_verdict(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Its reviewer's verdict stands in a fence, under another name."""
    done = honest(workspace, job)
    workspace.write(review_path(job), b'```json\n{"verdict": "approve", "notes": ["all criteria met"]}\n```\n')
    return done


@at_steps(REVIEW_STEP, otherwise=honest)
def mending_reviewer(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Its reviewer mends small things itself and approves."""
    done = honest(workspace, job)
    code = StorySubject(job.story).code
    workspace.write(
        code, (workspace.read(code) or b"").replace(b"Their sum, in cents.", b"Their sum, in whole cents.")
    )
    return done


@at_steps(REVIEW_STEP, otherwise=honest)
def findings_only(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Its reviewer writes findings, all dealt with, and a status, but no verdict file."""
    done = honest(workspace, job)
    page = find_story_page(workspace, job)
    if page is not None:
        line = "- [x] [Review][Patch] The docstring said too little [fixed]"
        edit_page(workspace, page, lambda text: with_line(text, "### Review Findings", line))
        _drop_verdict(workspace, job, page)
    return done


@at_steps(REVIEW_STEP, otherwise=honest)
def senior_reviewer(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Its reviewer writes a section with an outcome, as older versions do, and no verdict file."""
    done = honest(workspace, job)
    page = find_story_page(workspace, job)
    if page is not None:
        body = "**Reviewer:** QA\n**Outcome:** Approve\n\nAll criteria are met."
        edit_page(workspace, page, lambda text: with_section(text, "## Senior Developer Review (AI)", body))
        _drop_verdict(workspace, job, page)
    return done


def _drop_verdict(workspace: Workspace, job: AgentJob, page: str) -> None:
    """Keeps the verdict file of a spec: a spec is done before its review, so only that file has the verdict."""
    if not page.rpartition("/")[2].startswith("spec-"):
        remove_if_present(workspace, review_path(job))


UNTIDY = {
    **make_habits(
        HabitKind.UNTIDY,
        *(commits_itself, commits_often, touches_board, claims_done, forgets_row, adds_dependency),
        *(empty_state, answered_state, leaves_builds, leaves_scraps, updates_guides, defers_work),
        *(names_in_unicode, talks_long, explains_blocked),
        *(odd_verdict, fenced_verdict, mending_reviewer, findings_only, senior_reviewer),
    ),
    **STORY_FILE_HABITS,
    **TEST_FILE_HABITS,
}
