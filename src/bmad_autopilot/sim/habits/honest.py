"""The honest agent: at each step it does what BMAD's skill does."""

import json
from collections.abc import Callable, Mapping

from ..desk import Desk, Ending, Job
from ..sample import BROKEN
from . import rows
from .pages import change, page_path, spec_page, story_page, ticked, with_line, with_section, with_status
from .stories import Story, module, points_in, suite

NOTES = "docs/review-{}.md"  # where it says what became of a reviewer's points
CONFLICT, MARKS = " is in conflict with the base branch:", ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
TASTE, INSISTED = "matter of taste", "has decided that it is to be done"
RETRO_DATE = "2026-01-15"
_SECONDS = {"create-story": 120.0, "dev": 600.0, "build-auto": 900.0, "fix": 300.0, "code-review": 240.0}


def honest(desk: Desk, job: Job) -> Ending:
    """Does at each step what its skill does."""
    step = _STEPS.get(job.step)
    if step is not None:
        step(desk, job)
    drop(desk, state_path(job))
    desk.say(f"{job.step} of {job.story} is done.")
    return ending(job)


def ending(job: Job) -> Ending:
    seconds = _SECONDS.get(job.step, 60.0)
    return Ending(seconds=seconds, dollars=round(seconds / 1000, 3), tokens=int(seconds) * 50)


def create(desk: Desk, job: Job) -> None:
    story = Story(job.story)
    desk.write(f"{job.folder}/{job.story}.md", story_page(story).encode())
    if rows.row_of(desk, job, rows.epic_key(job.story)) == "backlog":
        rows.set_row(desk, job, "in-progress", rows.epic_key(job.story))
    rows.set_row(desk, job, "ready-for-dev")


def develop(desk: Desk, job: Job) -> None:
    write_code(desk, job)
    write_record(desk, job, lambda text: with_status(text, "review"))
    rows.set_row(desk, job, "review")


def fix(desk: Desk, job: Job) -> None:
    write_code(desk, job)
    write_record(desk, job, lambda text: text)


def fix_issues(desk: Desk, job: Job) -> None:
    """Each point of the reviewers, one by one; what is a matter of taste is left as it is, with the reason."""
    for _, text in job.points:
        join_sides(desk, text)
    taste = {name for name, text in job.points if TASTE in text.lower() and INSISTED not in text}
    wanted = [name for name, _ in job.points if name not in taste]
    if wanted or job.failure:
        notes = NOTES.format(job.story.partition(".")[0])
        old = desk.read(notes) or b"# What reviewers found\n\n"
        desk.write(
            notes, old + "".join(f"- {job.story}, {name}: done\n" for name in wanted or ["checks"]).encode()
        )
        drop(desk, BROKEN)
    answers = {
        name: {"answer": "disagrees", "why": "Both ways are fine, and this one is used everywhere else."}
        if name in taste
        else {"answer": "fixed", "why": "It is done as asked, with a test."}
        for name, _ in job.points
    }
    if job.points:
        desk.write(f"{job.folder}/{job.story}.threads.json", json.dumps({"threads": answers}).encode())


def join_sides(desk: Desk, text: str) -> None:
    """A file that is in conflict: the lines of both sides, one after the other."""
    head, _, shown = text.partition(CONFLICT)
    if shown:
        lines = [line for line in shown.strip("\n").split("\n") if not line.startswith(MARKS)]
        desk.write(head.rpartition("\n")[2].strip(), ("\n".join(lines) + "\n").encode())


def build(desk: Desk, job: Job) -> None:
    """Its spec, and commits of its own; the board it leaves alone."""
    story = Story(job.story)
    write_code(desk, job)
    desk.write(spec_path(job), spec_page(story).encode())
    desk.commit(f"feat: {story.title.lower()}")


def review(desk: Desk, job: Job) -> None:
    page = page_path(desk, job)
    if page is not None:
        change(
            desk, page, lambda text: with_line(with_status(text, "done"), "## Change Log", "- Reviewed: approved.")
        )
    give_verdict(desk, job, "approved", "Every criterion is met, and each has a test that can fail.")
    rows.set_row(desk, job, "done")


def write_code(desk: Desk, job: Job) -> None:
    story = Story(job.story)
    points = points_in(desk.read(story.code)) + (1 if job.review else 0)
    desk.write(story.code, module(story, points))
    desk.write(story.test, suite(story, points))
    drop(desk, BROKEN)


def write_record(desk: Desk, job: Job, finish: Callable[[str], str]) -> None:
    """The parts of a story file that are the developer's: boxes, notes, File List."""
    page = page_path(desk, job)
    if page is None:
        return
    story = Story(job.story)
    notes = ["- The amounts are added up.", *(f"- As decided: {answer}" for answer in job.answers)]
    notes += ["- Dealt with what the review found."] if job.review else []

    def edit(text: str) -> str:
        text = with_section(ticked(text), "### File List", f"- {story.code}\n- {story.test}")
        for note in notes:
            text = with_line(text, "### Completion Notes List", note)
        return finish(with_line(text, "## Change Log", "- Implemented."))

    change(desk, page, edit)


def give_verdict(desk: Desk, job: Job, result: str, summary: str) -> None:
    desk.write(
        review_path(job), json.dumps({"reviewResult": result, "summary": summary}, indent=2).encode() + b"\n"
    )


def ask(desk: Desk, job: Job, question: str, options: tuple[str, ...] = ()) -> None:
    state = {
        "storyKey": job.story,
        "phase": job.step,
        "lastCompletedStep": "read the story",
        "blockedAt": "before the first task",
        "blockReason": "critical_decision",
        "questions": [{"id": "q1", "question": question, "options": list(options), "answer": None}],
        "artifactsProduced": [],
    }
    desk.write(state_path(job), json.dumps(state, indent=2).encode() + b"\n")
    desk.say("I need a decision.")


def drop(desk: Desk, path: str) -> None:
    if desk.read(path) is not None:
        desk.remove(path)


def state_path(job: Job) -> str:
    return f"{job.folder}/{job.story}.agent-state.json"


def review_path(job: Job) -> str:
    return f"{job.folder}/{job.story}.review.json"


def spec_path(job: Job) -> str:
    return f"{job.folder}/spec-{job.story}.md"


def _validate(desk: Desk, job: Job) -> None:
    page = page_path(desk, job)
    if page is not None:
        change(desk, page, lambda text: with_line(text, "## Dev Notes", "- Checked against the epic."))


def _revise(desk: Desk, job: Job) -> None:
    page = page_path(desk, job)
    if page is not None:
        note = "- Revised: nothing to change."
        change(desk, page, lambda text: with_line(text, "### Completion Notes List", note))


def _retrospect(desk: Desk, job: Job) -> None:
    epic = job.story.removeprefix("epic-").removesuffix("-retrospective")
    page = (
        f"---\nepic: {epic}\ndate: '{RETRO_DATE}'\nverdict: accepted\n---\n\n# Epic {epic} Retrospective\n\n"
        "## What went well\n\n- Every story had a test before its review.\n\n"
        "## Action Items\n\n- Write down how amounts are rounded (dev)\n"
    )
    desk.write(f"{job.folder}/epic-{epic}-retro-{RETRO_DATE}.md", page.encode())
    rows.set_row(desk, job, "done", f"epic-{epic}-retrospective")
    rows.add_action_item(desk, job, epic, "Write down how amounts are rounded")


_STEPS: Mapping[str, Callable[[Desk, Job], None]] = {
    "create-story": create,
    "validate": _validate,
    "dev": develop,
    "revision": _revise,
    "code-review": review,
    "build-auto": build,
    "fix": fix,
    "fix-issues": fix_issues,
    "retrospective": _retrospect,
}
