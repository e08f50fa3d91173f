"""The flows there are: the project's own, as its settings name them, and those that come with us."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..core.diagnostics import Diagnostic
from ..core.errors import FileError, Place, UsageError
from ..files import Text, read_text
from ..project.config import Config
from ..project.flow_scan import Scan
from ..project.open import Project
from ..project.settings_errors import suggest
from . import flow_rules
from .flow_entry import FlowHead
from .pipelines import Step, Workflow
from .step_file import MAX_BYTES, StepFile, step_file_from

# In the order in which they are tried on a project that does not say which one it is in.
ORDER = ("existing-code", "greenfield", "bmm")

_FOLDER = os.path.join(os.path.dirname(__file__), "flows")
_KNOWLEDGE = "docs"  # where BMAD keeps what is known of a project, unless told otherwise


class Flow(NamedTuple):
    workflow: Workflow
    head: FlowHead
    path: str = ""  # of a project's own, from its top
    notes: tuple[Diagnostic, ...] = ()

    @property
    def name(self) -> str:
        return self.workflow.name

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.workflow.steps

    @property
    def conditions(self) -> Iterator[str]:
        """All that are ever asked of the folder."""
        yield from (*self.head.begins, *self.head.continues)
        for part in filter(None, (step.flow for step in self.steps)):
            yield from part.done
            yield from (part.only,) if part.only else ()
            yield from part.gate.passed if part.gate else ()


def all_flows(config: Config) -> tuple[Flow, ...]:
    """The project's own first: they are the more particular ones. FileError: the first mistake in one of them."""
    known = built_in_flows()
    own: list[Flow] = []
    for file in config.flows:
        own.append(_own(file.path, file.raw, (*known, *own)))
    return (*own, *known)


def flow_named(flows: Sequence[Flow], name: str) -> Flow:
    found = find_flow(flows, name)
    if found is not None:
        return found
    names = {flow.name: flow.name for flow in flows}
    raise UsageError(
        "there is no such flow", found=name[:60], expected=", ".join(names), hint=suggest(name, names)
    )


def find_flow(flows: Sequence[Flow], name: str) -> Flow | None:
    """By its name, however it is written."""
    wanted = "-".join(name.replace("_", " ").replace("-", " ").split()).casefold()
    return next((flow for flow in flows if flow.name.replace("_", "-").casefold() == wanted), None)


@lru_cache(maxsize=1)
def built_in_flows() -> tuple[Flow, ...]:
    names = sorted(name for name in os.listdir(_FOLDER) if name.endswith(".yaml"))
    flows = (_flow(step_file_from(read_text(os.path.join(_FOLDER, name), limit=MAX_BYTES))) for name in names)
    return tuple(sorted(flows, key=lambda flow: ORDER.index(flow.name) if flow.name in ORDER else len(ORDER)))


def _own(path: str, raw: bytes, known: Iterable[Flow]) -> Flow:
    text = Text(path, raw)
    if len(raw) > MAX_BYTES:
        found, expected = f"{len(raw)} bytes", f"at most {MAX_BYTES}"
        raise FileError("is too large for a flow", place=Place(path), found=found, expected=expected)
    found_file = step_file_from(text)
    if found_file.flow is None:
        hint = "to run it as it is: bmad workflow run " + path
        raise FileError("is no flow's file", place=Place(path, 1), expected="a table `flow:`", hint=hint)
    flow = _flow(found_file)._replace(path=path)
    taken = find_flow(tuple(known), flow.name)
    if taken is not None:
        where = taken.path or "a flow that comes with bmad-autopilot"
        raise FileError(
            "has a name that is taken", place=Place(path, 1), found=flow.name, expected="another", hint=where
        )
    return flow


def _flow(found: StepFile) -> Flow:
    assert found.flow is not None
    return Flow(found.workflow, found.flow, notes=found.notes)


def places_of(project: Project) -> dict[str, str]:
    """What the placeholders in conditions stand for, from the top of the work tree."""
    folders = project.folders
    named = {
        "output": folders.output,
        "planning": folders.planning,
        "implementation": folders.implementation,
        "knowledge": os.path.join(folders.base, _KNOWLEDGE),
    }
    assert set(named) == set(flow_rules.PLACES)
    return {name: os.path.relpath(path, project.root.checkout) for name, path in named.items()}


def seen_in(project: Project, flows: Iterable[Flow], artefacts: frozenset[str] = frozenset()) -> Scan:
    """One look at the project's folder, for all that these flows may ask."""
    from ..project.bmad import Era

    listed = list(flows)
    return Scan(
        project.root.checkout,
        flow_rules.globs_of(one for flow in listed for one in flow.conditions),
        places=places_of(project),
        state_files=[flow.head.state for flow in listed],
        bmad=project.bmad.era is not Era.NONE,
        board=bool(project.folders.board) and os.path.lexists(project.folders.board or ""),
        artefacts=artefacts,
    )
