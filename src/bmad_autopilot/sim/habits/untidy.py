"""Honest agents with habits of their own. Each does its work; none may be refused for how it goes about it."""

import json

from ..desk import Desk, Ending, Job
from . import rows
from .habit import REVIEW, WORK, Kind, at, collect
from .honest import drop, honest, review_path, state_path
from .pages import change, page_path, with_line, with_section, with_status
from .stories import Story
from .untidy_pages import PAGES
from .untidy_tests import TESTERS


@at(*WORK, otherwise=honest)
def commits_itself(desk: Desk, job: Job) -> Ending:
    """Commits everything it did."""
    done = honest(desk, job)
    desk.commit(f"feat: {Story(job.story).title.lower()}")
    return done


def commits_often(desk: Desk, job: Job) -> Ending:
    """Commits at every step, before and after its work."""
    desk.write(
        "docs/journal.md", (desk.read("docs/journal.md") or b"") + f"- {job.step} of {job.story}\n".encode()
    )
    desk.commit(f"chore: begin {job.step}")
    done = honest(desk, job)
    desk.commit(f"feat: {job.step} of {job.story}")
    return done


@at(*WORK, otherwise=honest)
def touches_board(desk: Desk, job: Job) -> Ending:
    """Sets the board's date and adds a comment."""
    done = honest(desk, job)
    rows.touch(desk, job, f"{job.story} was worked on")
    return done


@at(*WORK, otherwise=honest)
def claims_done(desk: Desk, job: Job) -> Ending:
    """Sets its row and its story to done where a review is still to come."""
    done = honest(desk, job)
    page = page_path(desk, job)
    if page is not None:
        change(desk, page, lambda text: with_status(text, "done"))
    rows.set_row(desk, job, "done")
    return done


def forgets_row(desk: Desk, job: Job) -> Ending:
    """Never writes to the board."""
    board = desk.read(job.board)
    done = honest(desk, job)
    if board is not None:
        desk.write(job.board, board)
    return done


@at(*WORK, otherwise=honest)
def adds_dependency(desk: Desk, job: Job) -> Ending:
    """Adds a package to the project's dependencies."""
    done = honest(desk, job)
    project = desk.read("pyproject.toml") or b""
    desk.write("pyproject.toml", project.replace(b"dependencies = []", b'dependencies = ["tabulate>=0.9"]'))
    return done


@at(*WORK, otherwise=honest)
def empty_state(desk: Desk, job: Job) -> Ending:
    """Leaves an agent-state file without a question."""
    done = honest(desk, job)
    desk.write(state_path(job), json.dumps({"storyKey": job.story, "questions": []}).encode())
    return done


@at(*WORK, otherwise=honest)
def answered_state(desk: Desk, job: Job) -> Ending:
    """Leaves the question that was answered long ago."""
    done = honest(desk, job)
    question = {"id": "q1", "question": "Whole cents?", "answer": "whole cents"}
    desk.write(state_path(job), json.dumps({"storyKey": job.story, "questions": [question]}).encode())
    return done


@at(*WORK, otherwise=honest)
def leaves_builds(desk: Desk, job: Job) -> Ending:
    """Leaves what its builds made, which git ignores."""
    done = honest(desk, job)
    desk.write("build/lib/ledger.txt", b"built\n")
    desk.write("src/ledger/__pycache__/money.cpython-311.pyc", b"\0\1\2")
    return done


@at(*WORK, otherwise=honest)
def leaves_scraps(desk: Desk, job: Job) -> Ending:
    """Leaves notes and scratch files that nobody listed."""
    done = honest(desk, job)
    desk.write(f"notes-{job.story}.txt", b"try sum() first\n")
    desk.write("tmp/out.log", b"ok\n")
    desk.write("docs/sketches/.gitkeep", b"")
    return done


@at(*WORK, otherwise=honest)
def updates_guides(desk: Desk, job: Job) -> Ending:
    """Keeps the guides for agents and the docs up to date."""
    done = honest(desk, job)
    line = f"- `{Story(job.story).name}` adds amounts up.\n".encode()
    for path in ("AGENTS.md", "CLAUDE.md", "README.md", "docs/usage.md"):
        text = desk.read(path) or b""
        desk.write(path, text if line in text else text + line)
    return done


@at(*WORK, REVIEW, otherwise=honest)
def defers_work(desk: Desk, job: Job) -> Ending:
    """Appends to the list of deferred work."""
    done = honest(desk, job)
    path = f"{job.folder}/deferred-work.md"
    entry = (
        f"## Deferred from: {job.step} of {job.story} (2026-01-15)\n\n- Amounts in other currencies\n\n".encode()
    )
    desk.write(path, (desk.read(path) or b"") + entry)
    return done


@at(*WORK, otherwise=honest)
def names_in_unicode(desk: Desk, job: Job) -> Ending:
    """Gives files names with blanks, umlauts and other scripts."""
    done = honest(desk, job)
    desk.write("docs/Überblick über Beträge – 概要.md", "# Beträge\n".encode())
    desk.write("src/ledger/größe.py", b"CENT = 1\n")
    return done


@at(*WORK, otherwise=honest)
def talks_long(desk: Desk, job: Job) -> Ending:
    """Closes with a long report full of marks."""
    done = honest(desk, job)
    desk.say(
        "\n".join(f"{number}. ✅ **checked** `item {number}`" for number in range(1, 400)) + "\nAnything else?"
    )
    return done


@at(*WORK, otherwise=honest)
def explains_blocked(desk: Desk, job: Job) -> Ending:
    """Writes about a blocked sprint in a document beside its story."""
    done = honest(desk, job)
    desk.write(f"{job.folder}/{job.story}-notes.md", b"# Notes\n\nStatus: blocked\n\nWas blocked for a day.\n")
    return done


@at(REVIEW, otherwise=honest)
def odd_verdict(desk: Desk, job: Job) -> Ending:
    """Its reviewer's verdict has a byte order mark, further keys and a capital."""
    done = honest(desk, job)
    verdict = {"story": job.story, "reviewResult": "Approved", "score": 9, "summary": "Fine.", "issues": []}
    desk.write(review_path(job), b"\xef\xbb\xbf" + json.dumps(verdict, indent=4).encode().replace(b"\n", b"\r\n"))
    return done


@at(REVIEW, otherwise=honest)
def fenced_verdict(desk: Desk, job: Job) -> Ending:
    """Its reviewer's verdict stands in a fence, under another name."""
    done = honest(desk, job)
    desk.write(review_path(job), b'```json\n{"verdict": "approve", "notes": ["all criteria met"]}\n```\n')
    return done


@at(REVIEW, otherwise=honest)
def mending_reviewer(desk: Desk, job: Job) -> Ending:
    """Its reviewer mends small things itself and approves."""
    done = honest(desk, job)
    code = Story(job.story).code
    desk.write(code, (desk.read(code) or b"").replace(b"Their sum, in cents.", b"Their sum, in whole cents."))
    return done


@at(REVIEW, otherwise=honest)
def findings_only(desk: Desk, job: Job) -> Ending:
    """Its reviewer writes findings, all dealt with, and a status, but no verdict file."""
    done = honest(desk, job)
    page = page_path(desk, job)
    if page is not None:
        line = "- [x] [Review][Patch] The docstring said too little [fixed]"
        change(desk, page, lambda text: with_line(text, "### Review Findings", line))
        _drop_verdict(desk, job, page)
    return done


@at(REVIEW, otherwise=honest)
def senior_reviewer(desk: Desk, job: Job) -> Ending:
    """Its reviewer writes a section with an outcome, as older versions do, and no verdict file."""
    done = honest(desk, job)
    page = page_path(desk, job)
    if page is not None:
        body = "**Reviewer:** QA\n**Outcome:** Approve\n\nAll criteria are met."
        change(desk, page, lambda text: with_section(text, "## Senior Developer Review (AI)", body))
        _drop_verdict(desk, job, page)
    return done


def _drop_verdict(desk: Desk, job: Job, page: str) -> None:
    """A spec is done before its review: there only the file says what the review came to."""
    if not page.rpartition("/")[2].startswith("spec-"):
        drop(desk, review_path(job))


UNTIDY = {
    **collect(
        Kind.UNTIDY,
        *(commits_itself, commits_often, touches_board, claims_done, forgets_row, adds_dependency),
        *(empty_state, answered_state, leaves_builds, leaves_scraps, updates_guides, defers_work),
        *(names_in_unicode, talks_long, explains_blocked),
        *(odd_verdict, fenced_verdict, mending_reviewer, findings_only, senior_reviewer),
    ),
    **PAGES,
    **TESTERS,
}
