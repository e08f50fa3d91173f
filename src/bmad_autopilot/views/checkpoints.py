"""The checkpoints one can go back to: each with its id, its run and step, and when it was."""

import time
from collections.abc import Iterator

from ..runs.checkpoints import Checkpoint
from ..runs.times import iso
from .runs import moment
from .terminal import Terminal, clean, cut, display_width, pad

SHOWN = 60


def render(found: list[Checkpoint], out: Terminal, folder: str) -> Iterator[str]:
    if not found:
        yield f"no checkpoint is recorded below {clean(folder)} yet: each completed step makes one"
        return
    ids = _short_ids(found)
    shown = found[:SHOWN]
    width = max(display_width(one.run) for one in shown)
    digits = max(len(str(one.step)) for one in shown)
    times = [moment(one.at, time.time()) for one in shown]
    for one, at in zip(shown, times, strict=True):
        when = pad(at, max(map(len, times)))
        step = f"step {one.step:>{digits}}  {clean(one.name)}" + (f" of {clean(one.story)}" if one.story else "")
        line = f"{ids[one.digest]}  {when}  {one.run:<{width}}  {step}".rstrip()
        line = cut(line, out.width) if out.is_terminal else line
        yield out.style(line[: len(ids[one.digest])], "bold") + line[len(ids[one.digest]) :]
    if len(found) > len(shown):
        yield f"… {len(found) - len(shown)} more: bmad runs show RUN"
    yield ""
    yield "bmad resume --checkpoint ID  goes back to one, on a branch of its own"


def _short_ids(found: list[Checkpoint]) -> dict[str, str]:
    """As many digits as tell them apart."""
    length = 6
    while len({one.digest[:length] for one in found}) < len({one.digest for one in found}):
        length += 1
    return {one.digest: one.digest[:length] for one in found}


def document(found: list[Checkpoint]) -> dict[str, object]:
    return {"version": 1, "kind": "checkpoints", "checkpoints": [_one(one) for one in found]}


def _one(one: Checkpoint) -> dict[str, object]:
    return {
        "id": one.id,
        "digest": one.digest,
        "run": one.run,
        "session": one.session,
        "step": one.step,
        "name": one.name,
        "story": one.story or None,
        "at": iso(one.at),
        "head": one.head,
        "branch": one.branch or None,
        "ref": one.ref or None,
        "variables": dict(one.variables),
        "artefacts": [artefact._asdict() for artefact in one.artefacts],
        "rows": dict(one.rows),
    }
