"""The honest agent: at each step it does what BMAD's skill does. Other habits build on these functions."""

import json
from collections.abc import Callable, Mapping

from ..sample import BROKEN_FILE
from ..workspace import AgentJob, ScriptedEnding, Workspace
from . import story_pages
from .habit import StorySubject, count_points, module_source, suite_source
from .story_pages import (
    edit_page,
    find_story_page,
    spec_page,
    story_page,
    with_line,
    with_section,
    with_status,
    with_ticked_tasks,
)

REVIEW_NOTES = "docs/review-{}.md"  # lists the reviewers' points and their results
CONFLICT_PHRASE, CONFLICT_MARKERS = (
    " is in conflict with the base branch:",
    ("<<<<<<<", "=======", ">>>>>>>", "|||||||"),
)
TASTE_PHRASE, INSISTED_PHRASE = "matter of taste", "has decided that it is to be done"
RETRO_DATE = "2026-01-15"
_STEP_SECONDS = {"create-story": 120.0, "dev": 600.0, "build-auto": 900.0, "fix": 300.0, "code-review": 240.0}


def honest(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Does at each step what its skill does."""
    step = _STEPS.get(job.step)
    if step is not None:
        step(workspace, job)
    remove_if_present(workspace, state_path(job))
    workspace.set_final_message(f"{job.step} of {job.story} is done.")
    return step_ending(job)


def step_ending(job: AgentJob) -> ScriptedEnding:
    seconds = _STEP_SECONDS.get(job.step, 60.0)
    return ScriptedEnding(seconds=seconds, dollars=round(seconds / 1000, 3), tokens=int(seconds) * 50)


def create_story(workspace: Workspace, job: AgentJob) -> None:
    story = StorySubject(job.story)
    workspace.write(f"{job.folder}/{job.story}.md", story_page(story).encode())
    if story_pages.row_status(workspace, job, story_pages.epic_key(job.story)) == "backlog":
        story_pages.set_row(workspace, job, "in-progress", story_pages.epic_key(job.story))
    story_pages.set_row(workspace, job, "ready-for-dev")


def develop(workspace: Workspace, job: AgentJob) -> None:
    write_code(workspace, job)
    write_record(workspace, job, lambda text: with_status(text, "review"))
    story_pages.set_row(workspace, job, "review")


def fix(workspace: Workspace, job: AgentJob) -> None:
    write_code(workspace, job)
    write_record(workspace, job, lambda text: text)


def fix_issues(workspace: Workspace, job: AgentJob) -> None:
    """Fix every point of the reviewers, except for matters of taste, and answer each one."""
    for _, text in job.points:
        keep_both_sides(workspace, text)
    matters_of_taste = {
        name for name, text in job.points if TASTE_PHRASE in text.lower() and INSISTED_PHRASE not in text
    }
    wanted = [name for name, _ in job.points if name not in matters_of_taste]
    if wanted or job.failure:
        notes = REVIEW_NOTES.format(job.story.partition(".")[0])
        old = workspace.read(notes) or b"# What reviewers found\n\n"
        workspace.write(
            notes, old + "".join(f"- {job.story}, {name}: done\n" for name in wanted or ["checks"]).encode()
        )
        remove_if_present(workspace, BROKEN_FILE)
    answers = {
        name: {"answer": "disagrees", "why": "Both ways are fine, and this one is used everywhere else."}
        if name in matters_of_taste
        else {"answer": "fixed", "why": "It is done as asked, with a test."}
        for name, _ in job.points
    }
    if job.points:
        workspace.write(f"{job.folder}/{job.story}.threads.json", json.dumps({"threads": answers}).encode())


def keep_both_sides(workspace: Workspace, text: str) -> None:
    """Resolve a file in conflict by keeping the lines of both sides."""
    head, _, shown = text.partition(CONFLICT_PHRASE)
    if shown:
        lines = [line for line in shown.strip("\n").split("\n") if not line.startswith(CONFLICT_MARKERS)]
        workspace.write(head.rpartition("\n")[2].strip(), ("\n".join(lines) + "\n").encode())


def build(workspace: Workspace, job: AgentJob) -> None:
    """Write code and spec and commit them; the board is left alone."""
    story = StorySubject(job.story)
    write_code(workspace, job)
    workspace.write(spec_path(job), spec_page(story).encode())
    workspace.commit(f"feat: {story.title.lower()}")


def review(workspace: Workspace, job: AgentJob) -> None:
    page = find_story_page(workspace, job)
    if page is not None:
        edit_page(
            workspace,
            page,
            lambda text: with_line(with_status(text, "done"), "## Change Log", "- Reviewed: approved."),
        )
    write_verdict(workspace, job, "approved", "Every criterion is met, and each has a test that can fail.")
    story_pages.set_row(workspace, job, "done")


def write_code(workspace: Workspace, job: AgentJob) -> None:
    story = StorySubject(job.story)
    points = count_points(workspace.read(story.code)) + (1 if job.review else 0)
    workspace.write(story.code, module_source(story, points))
    workspace.write(story.test, suite_source(story, points))
    remove_if_present(workspace, BROKEN_FILE)


def write_record(workspace: Workspace, job: AgentJob, finish: Callable[[str], str]) -> None:
    """Fill in the developer's parts of a story file: task boxes, notes, File List."""
    page = find_story_page(workspace, job)
    if page is None:
        return
    story = StorySubject(job.story)
    notes = ["- The amounts are added up.", *(f"- As decided: {answer}" for answer in job.answers)]
    notes += ["- Dealt with what the review found."] if job.review else []

    def edit(text: str) -> str:
        text = with_section(with_ticked_tasks(text), "### File List", f"- {story.code}\n- {story.test}")
        for note in notes:
            text = with_line(text, "### Completion Notes List", note)
        return finish(with_line(text, "## Change Log", "- Implemented."))

    edit_page(workspace, page, edit)


def write_verdict(workspace: Workspace, job: AgentJob, result: str, summary: str) -> None:
    workspace.write(
        review_path(job), json.dumps({"reviewResult": result, "summary": summary}, indent=2).encode() + b"\n"
    )


def write_question(workspace: Workspace, job: AgentJob, question: str, options: tuple[str, ...] = ()) -> None:
    state = {
        "storyKey": job.story,
        "phase": job.step,
        "lastCompletedStep": "read the story",
        "blockedAt": "before the first task",
        "blockReason": "critical_decision",
        "questions": [{"id": "q1", "question": question, "options": list(options), "answer": None}],
        "artifactsProduced": [],
    }
    workspace.write(state_path(job), json.dumps(state, indent=2).encode() + b"\n")
    workspace.set_final_message("I need a decision.")


def remove_if_present(workspace: Workspace, path: str) -> None:
    if workspace.read(path) is not None:
        workspace.remove(path)


def state_path(job: AgentJob) -> str:
    return f"{job.folder}/{job.story}.agent-state.json"


def review_path(job: AgentJob) -> str:
    return f"{job.folder}/{job.story}.review.json"


def spec_path(job: AgentJob) -> str:
    return f"{job.folder}/spec-{job.story}.md"


def _validate(workspace: Workspace, job: AgentJob) -> None:
    page = find_story_page(workspace, job)
    if page is not None:
        edit_page(workspace, page, lambda text: with_line(text, "## Dev Notes", "- Checked against the epic."))


def _revise(workspace: Workspace, job: AgentJob) -> None:
    page = find_story_page(workspace, job)
    if page is not None:
        note = "- Revised: nothing to change."
        edit_page(workspace, page, lambda text: with_line(text, "### Completion Notes List", note))


def _retrospect(workspace: Workspace, job: AgentJob) -> None:
    epic = job.story.removeprefix("epic-").removesuffix("-retrospective")
    page = (
        f"---\nepic: {epic}\ndate: '{RETRO_DATE}'\nverdict: accepted\n---\n\n# Epic {epic} Retrospective\n\n"
        "## What went well\n\n- Every story had a test before its review.\n\n"
        "## Action Items\n\n- Write down how amounts are rounded (dev)\n"
    )
    workspace.write(f"{job.folder}/epic-{epic}-retro-{RETRO_DATE}.md", page.encode())
    story_pages.set_row(workspace, job, "done", f"epic-{epic}-retrospective")
    story_pages.add_action_item(workspace, job, epic, "Write down how amounts are rounded")


_STEPS: Mapping[str, Callable[[Workspace, AgentJob], None]] = {
    "create-story": create_story,
    "validate": _validate,
    "dev": develop,
    "revision": _revise,
    "code-review": review,
    "build-auto": build,
    "fix": fix,
    "fix-issues": fix_issues,
    "retrospective": _retrospect,
}
