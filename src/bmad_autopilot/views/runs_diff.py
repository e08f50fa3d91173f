"""Two checkpoints beside each other: what changed between them."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from ..core.changes import Change
from ..runs.checkpoints import Checkpoint
from ..runs.differences import Difference, Differences
from ..runs.times import iso
from .figures import counted
from .log_lines import fit
from .runs import moment
from .terminal import Terminal, clean

MOST = 40  # of a kind that are listed
MAX_VALUE = 200

_LETTERS = {"added": "A", "modified": "M", "deleted": "D", "renamed": "R", "retyped": "T"}


class DiffView(NamedTuple):
    before: Checkpoint
    after: Checkpoint
    found: Differences
    files: list[Change] | None  # None: the trees cannot be compared
    why_not: str  # then
    now: float


def render(view: DiffView, out: Terminal) -> Iterator[str]:
    for sign, color, one in (("−", "red", view.before), ("+", "green", view.after)):
        story = f" of {one.story}" if one.story else ""
        text = f"{one.id}  {one.run}  step {one.step} {one.name}{story}  {moment(one.at, view.now)}"
        lines = fit(f"{sign} {clean(text)}", out, "  ")
        yield out.style(lines[0], color)
        yield from lines[1:]
    found = view.found
    same = not (found.variables or found.rows or found.artefacts or found.head or view.files)
    yield from _section("variables", found.variables, out)
    yield from _section("board", found.rows, out)
    yield from _section("artefacts", found.artefacts, out)
    if found.head is not None:
        yield from ("", out.style("git", "bold"))
        yield f"  head {_sha(found.head.before)} → {_sha(found.head.after)}"
    yield from _files(view, out)
    if same and view.files is not None:
        yield from ("", "nothing differs")


def _section(title: str, found: tuple[Difference, ...], out: Terminal) -> Iterator[str]:
    if not found:
        return
    yield from ("", out.style(title, "bold"))
    for one in found[:MOST]:
        if not one.was_there:
            text, color = f"+ {one.name}: {_value(one.after)}", "green"
        elif not one.is_there:
            text, color = f"− {one.name}: {_value(one.before)}", "red"
        elif one.before == one.after:
            text, color = f"~ {one.name}: its content", "yellow"
        else:
            text, color = f"~ {one.name}: {_value(one.before)} → {_value(one.after)}", "yellow"
        lines = fit(f"  {clean(text)}", out, "      ")
        yield out.style(lines[0][:3], color) + lines[0][3:]
        yield from lines[1:]
    if len(found) > MOST:
        yield f"  … {len(found) - MOST} more: --json has them all"


def _files(view: DiffView, out: Terminal) -> Iterator[str]:
    if view.files is None:
        yield ""
        yield from fit(f"files: {clean(view.why_not)}", out, "  ")
        return
    if not view.files:
        return
    yield from ("", f"{out.style('files', 'bold')} ({counted(len(view.files), 'file')})")
    for one in view.files[:MOST]:
        lines = f" (+{one.added} −{one.removed})" if one.added is not None else " (binary)"
        name = f"{one.before} → {one.path}" if one.before else one.path
        yield from fit(f"  {_LETTERS.get(one.kind.value, '?')} {clean(name)}{lines}", out, "      ")
    if len(view.files) > MOST:
        yield f"  … {len(view.files) - MOST} more"
    trees = f"git diff {(view.before.tree or '')[:12]} {(view.after.tree or '')[:12]}"
    yield f"  {out.style('→', 'cyan')} {clean(trees)}"


def _sha(value: object) -> str:
    return clean(str(value)[:7]) if value else "nothing"


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split()) if text else '""'
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"


def document(view: DiffView) -> dict[str, object]:
    found = view.found
    files = None if view.files is None else [_file(one) for one in view.files]
    return {
        "version": 1,
        "kind": "checkpoint-diff",
        "before": _checkpoint(view.before),
        "after": _checkpoint(view.after),
        "variables": [one._asdict() for one in found.variables],
        "rows": [one._asdict() for one in found.rows],
        "artefacts": [one._asdict() for one in found.artefacts],
        "head": {"before": found.head.before, "after": found.head.after} if found.head else None,
        "files": files,
        "files_unknown": view.why_not or None,
    }


def _checkpoint(one: Checkpoint) -> dict[str, object]:
    named = ("id", "digest", "run", "session", "step", "name", "story", "head", "branch", "tree", "ref")
    return {**{name: getattr(one, name) for name in named}, "at": iso(one.at)}


def _file(one: Change) -> dict[str, object]:
    known = {"path": one.path, "kind": one.kind.value, "before": one.before or None}
    return {**known, "added": one.added, "removed": one.removed}
