"""Finds, writes and edits story files, specs and board rows as agents do."""

import re
from collections.abc import Callable

from ..workspace import AgentJob, Workspace
from .habit import StorySubject

_STATUS = re.compile(
    r"^(Status: *|\*\*Status:\*\* *|## Status\n\n|status: *)([^\n]+)$", re.MULTILINE | re.IGNORECASE
)
_OPEN_BOX = re.compile(r"^([ \t]*- )\[ \]", re.MULTILINE)
_HEADING = re.compile(r"^#{1,3} ", re.MULTILINE)


def find_story_page(workspace: Workspace, job: AgentJob) -> str | None:
    """The story's file, also under another slug or in a subfolder; otherwise its spec."""
    usual = f"{job.folder}/{job.story}.md"
    if workspace.read(usual) is not None:
        return usual
    story = StorySubject(job.story)
    names = re.compile(rf"{re.escape(job.folder)}/(?:[^/]+/)?(spec-)?{re.escape(story.prefix)}(?!\d)[^/]*\.md")
    found = sorted((match[1] or "", path) for path in workspace.paths() if (match := names.fullmatch(path)))
    return found[0][1] if found else None


def edit_page(workspace: Workspace, path: str, edit: Callable[[str], str]) -> None:
    """Edit a file; line ends and a byte order mark are kept."""
    text = (workspace.read(path) or b"").decode("utf-8", "replace")
    is_crlf = "\r\n" in text
    text = edit(text.replace("\r\n", "\n"))
    workspace.write(path, (text.replace("\n", "\r\n") if is_crlf else text).encode())


def with_status(text: str, status: str) -> str:
    return _STATUS.sub(lambda match: match[1] + status, text, count=1)


def with_ticked_tasks(text: str) -> str:
    return _OPEN_BOX.sub(r"\1[x]", text)


def with_section(text: str, heading: str, body: str) -> str:
    """Replace the text of a section, or append the section if it does not exist."""
    start, end = _section(text, heading)
    if start < 0:
        return f"{text.rstrip()}\n\n{heading}\n\n{body.strip()}\n"
    rest = text[end:]
    return f"{text[:start]}\n{body.strip()}\n" + (f"\n{rest}" if rest else "")


def with_line(text: str, heading: str, line: str) -> str:
    """Append a line to a section, unless it is there already."""
    start, end = _section(text, heading)
    body = text[start:end].strip() if start >= 0 else ""
    if line in body.split("\n"):
        return text
    return with_section(text, heading, f"{body}\n{line}")


def _section(text: str, heading: str) -> tuple[int, int]:
    at = text.find(f"\n{heading}\n")
    if at < 0:
        return -1, -1
    start = at + len(heading) + 2
    after = _HEADING.search(text, start)
    return start, after.start() if after else len(text)


def story_page(story: StorySubject) -> str:
    """A story file as create-story writes it from its template."""
    return f"""\
# Story {story.number}: {story.title}

Status: ready-for-dev

## Story

As a keeper of a small ledger,
I want to {story.title.lower()},
so that I know where the money is.

## Acceptance Criteria

1. `{story.name}` gives the sum of the amounts it is handed, in cents.
2. Without any amount it gives 0.

## Tasks / Subtasks

- [ ] Write `{story.code}` (AC: 1, 2)
  - [ ] Add the amounts up
- [ ] Cover it in `{story.test}` (AC: 1, 2)

## Dev Notes

- Amounts are whole cents; see `src/ledger/money.py`.

## Dev Agent Record

### Agent Model Used

### Completion Notes List

### File List

## Change Log
"""


def spec_page(story: StorySubject) -> str:
    """A spec as build-auto writes it."""
    return f"""\
---
title: '{story.title}'
type: 'feature'
created: '2026-01-15'
status: 'done'
followup_review_recommended: false
warnings: []
deferred: []
---

# {story.title}

<intent-contract>

## Intent

**Problem:** Nobody can {story.title.lower()}.

**Approach:** `{story.name}` gives the sum of the amounts it is handed, in cents.

</intent-contract>

## Code Map

- `{story.code}`
- `{story.test}`

## Tasks & Acceptance

- [x] `{story.code}`: add the amounts up
- [x] `{story.test}`: cover it

**Acceptance Criteria:**

- Given no amount, when they are added up, then the sum is 0.

## Auto Run Result

Status: done
"""


# The board as agents edit it: one word of one line.


def set_row(workspace: Workspace, job: AgentJob, status: str, key: str | None = None) -> None:
    board = _board_text(workspace, job)
    row = re.compile(rf"^([ \t]+{re.escape(key or job.story)}:[ \t]*)([^\s#]+)", re.MULTILINE)
    _write_board(workspace, job, row.sub(lambda match: match[1] + status, board, count=1))


def row_status(workspace: Workspace, job: AgentJob, key: str) -> str | None:
    found = re.search(rf"^[ \t]+{re.escape(key)}:[ \t]*([^\s#]+)", _board_text(workspace, job), re.MULTILINE)
    return found[1] if found else None


def later_keys(workspace: Workspace, job: AgentJob) -> list[str]:
    """The stories below this one on the board."""
    keys = re.findall(r"^[ \t]+(\d+-\d+-[^\s:]+):", _board_text(workspace, job), re.MULTILINE)
    return keys[keys.index(job.story) + 1 :] if job.story in keys else []


def epic_key(story: str) -> str:
    return f"epic-{story.partition('-')[0]}"


def add_blocked_reason(workspace: Workspace, job: AgentJob, reason: str) -> None:
    """Add the reason to the board's `blocked_reasons`."""
    text = _board_text(workspace, job)
    if "\nblocked_reasons:\n" not in text:
        text = f"{text.rstrip()}\n\nblocked_reasons:\n"
    if f"\n  {job.story}: {reason}\n" not in text:
        _write_board(workspace, job, f"{text.rstrip()}\n  {job.story}: {reason}\n")


def add_action_item(workspace: Workspace, job: AgentJob, epic: str, action: str) -> None:
    text = _board_text(workspace, job)
    if "\naction_items:\n" not in text:
        text = f"{text.rstrip()}\n\naction_items:\n"
    item = f"  - epic: {epic}\n    action: {action}\n    owner: dev\n    status: open\n"
    if item not in text:
        _write_board(workspace, job, f"{text.rstrip()}\n{item}")


def touch_board(workspace: Workspace, job: AgentJob, comment: str) -> None:
    """Set a new date on the board and add a comment below it."""
    date = re.compile(r"^(last_updated:[ \t]*)[^\n]*$", re.MULTILINE)
    _write_board(
        workspace,
        job,
        date.sub(lambda match: f"{match[1]}01-16-2026 10:30\n# {comment}", _board_text(workspace, job), count=1),
    )


def _board_text(workspace: Workspace, job: AgentJob) -> str:
    return (workspace.read(job.board) or b"").decode("utf-8", "replace")


def _write_board(workspace: Workspace, job: AgentJob, text: str) -> None:
    workspace.write(job.board, text.encode())
