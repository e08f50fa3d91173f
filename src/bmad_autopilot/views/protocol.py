"""A run that agents keep with `bmad checkpoint`: where to go on with it, and all that it knew."""

import json
from collections.abc import Iterator

from ..runs.protocol_resume import Resume
from .terminal import Terminal, clean
from .words import resuming


def render(found: Resume, language: str, out: Terminal) -> Iterator[str]:
    yield out.style(resuming(language, found.run, found.step, max(found.step, found.total)), "bold")
    yield f"  workflow   {clean(found.workflow)}" + (f" ({clean(found.path)})" if found.path else "")
    yield f"  completed  {', '.join(map(str, found.completed)) or 'no step yet'}"
    for name, value in found.variables.items():
        yield f"  variable   {clean(name)} = {clean(json.dumps(value, ensure_ascii=False))}"
    for step, path in found.artefacts:
        yield f"  artefact   step {step}: {clean(path)}"
    for path in found.missing:
        yield f"  missing    {clean(path)}"
    for note in found.notes:
        yield f"  note       {clean(note)}"
    yield f"  next       do step {found.step}; then bmad checkpoint update --run {found.run} --step {found.step}"


def document(found: Resume) -> dict[str, object]:
    return {
        "version": 1,
        "kind": "protocol-resume",
        **found._asdict(),
        "status": found.status.value,
        "completed": list(found.completed),
        "variables": dict(found.variables),
        "artefacts": [{"step": step, "path": path} for step, path in found.artefacts],
        "missing": list(found.missing),
        "notes": list(found.notes),
    }
