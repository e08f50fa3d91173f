"""The board, as agents edit it: a word of one line, everything else as it was."""

import re

from ..desk import Desk, Job


def set_row(desk: Desk, job: Job, status: str, key: str | None = None) -> None:
    board = _text(desk, job)
    row = re.compile(rf"^([ \t]+{re.escape(key or job.story)}:[ \t]*)([^\s#]+)", re.MULTILINE)
    _write(desk, job, row.sub(lambda match: match[1] + status, board, count=1))


def row_of(desk: Desk, job: Job, key: str) -> str | None:
    found = re.search(rf"^[ \t]+{re.escape(key)}:[ \t]*([^\s#]+)", _text(desk, job), re.MULTILINE)
    return found[1] if found else None


def later_keys(desk: Desk, job: Job) -> list[str]:
    """The stories below this one on the board."""
    keys = re.findall(r"^[ \t]+(\d+-\d+-[^\s:]+):", _text(desk, job), re.MULTILINE)
    return keys[keys.index(job.story) + 1 :] if job.story in keys else []


def epic_key(story: str) -> str:
    return f"epic-{story.partition('-')[0]}"


def give_reason(desk: Desk, job: Job, reason: str) -> None:
    """Why a row is blocked."""
    text = _text(desk, job)
    if "\nblocked_reasons:\n" not in text:
        text = f"{text.rstrip()}\n\nblocked_reasons:\n"
    if f"\n  {job.story}: {reason}\n" not in text:
        _write(desk, job, f"{text.rstrip()}\n  {job.story}: {reason}\n")


def add_action_item(desk: Desk, job: Job, epic: str, action: str) -> None:
    text = _text(desk, job)
    if "\naction_items:\n" not in text:
        text = f"{text.rstrip()}\n\naction_items:\n"
    item = f"  - epic: {epic}\n    action: {action}\n    owner: dev\n    status: open\n"
    if item not in text:
        _write(desk, job, f"{text.rstrip()}\n{item}")


def touch(desk: Desk, job: Job, comment: str) -> None:
    """A new date, and a remark below it."""
    date = re.compile(r"^(last_updated:[ \t]*)[^\n]*$", re.MULTILINE)
    _write(
        desk, job, date.sub(lambda match: f"{match[1]}01-16-2026 10:30\n# {comment}", _text(desk, job), count=1)
    )


def _text(desk: Desk, job: Job) -> str:
    return (desk.read(job.board) or b"").decode("utf-8", "replace")


def _write(desk: Desk, job: Job, text: str) -> None:
    desk.write(job.board, text.encode())
