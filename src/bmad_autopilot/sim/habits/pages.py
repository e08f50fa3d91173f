"""Story files and specs as agents write them: found, made, and changed a place at a time."""

import re
from collections.abc import Callable

from ..desk import Desk, Job
from .stories import Story

_STATUS = re.compile(
    r"^(Status: *|\*\*Status:\*\* *|## Status\n\n|status: *)([^\n]+)$", re.MULTILINE | re.IGNORECASE
)
_OPEN_BOX = re.compile(r"^([ \t]*- )\[ \]", re.MULTILINE)
_HEADING = re.compile(r"^#{1,3} ", re.MULTILINE)


def page_path(desk: Desk, job: Job) -> str | None:
    """The story's own file, also under another slug or in a folder below; else its spec."""
    usual = f"{job.folder}/{job.story}.md"
    if desk.read(usual) is not None:
        return usual
    story = Story(job.story)
    names = re.compile(rf"{re.escape(job.folder)}/(?:[^/]+/)?(spec-)?{re.escape(story.prefix)}(?!\d)[^/]*\.md")
    found = sorted((match[1] or "", path) for path in desk.paths() if (match := names.fullmatch(path)))
    return found[0][1] if found else None


def change(desk: Desk, path: str, edit: Callable[[str], str]) -> None:
    """Line ends and a byte order mark stay as they are."""
    text = (desk.read(path) or b"").decode("utf-8", "replace")
    is_crlf = "\r\n" in text
    text = edit(text.replace("\r\n", "\n"))
    desk.write(path, (text.replace("\n", "\r\n") if is_crlf else text).encode())


def with_status(text: str, status: str) -> str:
    return _STATUS.sub(lambda match: match[1] + status, text, count=1)


def ticked(text: str) -> str:
    return _OPEN_BOX.sub(r"\1[x]", text)


def with_section(text: str, heading: str, body: str) -> str:
    """A section's text replaced; at the end where there is none of that name."""
    start, end = _section(text, heading)
    if start < 0:
        return f"{text.rstrip()}\n\n{heading}\n\n{body.strip()}\n"
    rest = text[end:]
    return f"{text[:start]}\n{body.strip()}\n" + (f"\n{rest}" if rest else "")


def with_line(text: str, heading: str, line: str) -> str:
    """A line added at the end of a section, once."""
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


def story_page(story: Story) -> str:
    """As create-story leaves it, in the template's form."""
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


def spec_page(story: Story) -> str:
    """As build-auto leaves it."""
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
