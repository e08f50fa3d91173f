"""Loads the flows, the project's own and the built-in ones, and chooses the one a project is in."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..core.errors import Diagnostic, FileError, Location, UsageError
from ..core.flow_state import FlowState
from ..io.files import TextFile, read_text
from ..project.config import Config
from ..project.config_reader import suggest_name
from ..project.project import Project
from ..project.source_scan import FolderScan
from . import flow_file
from .flow_file import FlowHead, FolderState, unmet_conditions
from .step_file import MAX_BYTES, StepFile, parse_step_file
from .workflow import Step, Workflow

# The order in which built-in flows are tried on a project that does not name its flow.
ORDER = ("existing-code", "greenfield", "bmm")

_FOLDER = os.path.join(os.path.dirname(__file__), "flows")
_KNOWLEDGE = "docs"  # BMAD's default folder for project knowledge


class Flow(NamedTuple):
    workflow: Workflow
    head: FlowHead
    path: str = ""  # of a project's own flow, relative to its top
    notes: tuple[Diagnostic, ...] = ()

    @property
    def name(self) -> str:
        return self.workflow.name

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.workflow.steps

    @property
    def conditions(self) -> Iterator[str]:
        """All conditions that this flow may check in the project's folder."""
        yield from (*self.head.begins, *self.head.continues)
        for part in filter(None, (step.flow for step in self.steps)):
            yield from part.done
            yield from (part.only,) if part.only else ()
            yield from part.gate.passed if part.gate else ()


def load_flows(config: Config) -> tuple[Flow, ...]:
    """The project's own flows first, because they are more specific. Raises FileError for the first mistake."""
    known = built_in_flows()
    own: list[Flow] = []
    for file in config.flows:
        own.append(_load_project_flow(file.path, file.raw, (*known, *own)))
    return (*own, *known)


def get_flow(flows: Sequence[Flow], name: str) -> Flow:
    found = find_flow(flows, name)
    if found is not None:
        return found
    names = {flow.name: flow.name for flow in flows}
    raise UsageError(
        "there is no such flow", found=name[:60], expected=", ".join(names), hint=suggest_name(name, names)
    )


def find_flow(flows: Sequence[Flow], name: str) -> Flow | None:
    """Find a flow by name, ignoring case and separators."""
    wanted = "-".join(name.replace("_", " ").replace("-", " ").split()).casefold()
    return next((flow for flow in flows if flow.name.replace("_", "-").casefold() == wanted), None)


@lru_cache(maxsize=1)
def built_in_flows() -> tuple[Flow, ...]:
    names = sorted(name for name in os.listdir(_FOLDER) if name.endswith(".yaml"))
    flows = (_flow(parse_step_file(read_text(os.path.join(_FOLDER, name), limit=MAX_BYTES))) for name in names)
    return tuple(sorted(flows, key=lambda flow: ORDER.index(flow.name) if flow.name in ORDER else len(ORDER)))


def _load_project_flow(path: str, raw: bytes, known: Iterable[Flow]) -> Flow:
    text = TextFile(path, raw)
    if len(raw) > MAX_BYTES:
        found, expected = f"{len(raw)} bytes", f"at most {MAX_BYTES}"
        raise FileError("is too large for a flow", location=Location(path), found=found, expected=expected)
    found_file = parse_step_file(text)
    if found_file.flow is None:
        hint = "to run it as it is: bmad workflow run " + path
        raise FileError("is no flow's file", location=Location(path, 1), expected="a table `flow:`", hint=hint)
    flow = _flow(found_file)._replace(path=path)
    taken = find_flow(tuple(known), flow.name)
    if taken is not None:
        where = taken.path or "a flow that comes with bmad-autopilot"
        raise FileError(
            "has a name that is taken", location=Location(path, 1), found=flow.name, expected="another", hint=where
        )
    return flow


def _flow(found: StepFile) -> Flow:
    assert found.flow is not None
    return Flow(found.workflow, found.flow, notes=found.notes)


def folder_placeholders(project: Project) -> dict[str, str]:
    """The values of the placeholders in conditions, relative to the top of the work tree."""
    folders = project.folders
    named = {
        "output": folders.output,
        "planning": folders.planning,
        "implementation": folders.implementation,
        "knowledge": os.path.join(folders.base, _KNOWLEDGE),
    }
    assert set(named) == set(flow_file.FOLDER_PLACEHOLDERS)
    return {name: os.path.relpath(path, project.root.checkout) for name, path in named.items()}


def scan_for_flows(project: Project, flows: Iterable[Flow], artefacts: frozenset[str] = frozenset()) -> FolderScan:
    """Scan the project's folder once for all conditions of these flows."""
    from ..project.bmad_install import Era

    listed = list(flows)
    return FolderScan(
        project.root.checkout,
        flow_file.condition_globs(one for flow in listed for one in flow.conditions),
        placeholders=folder_placeholders(project),
        state_files=[flow.head.state for flow in listed],
        bmad=project.bmad.era is not Era.NONE,
        board=bool(project.folders.board) and os.path.lexists(project.folders.board or ""),
        artefacts=artefacts,
    )


# Choosing the flow a project is in: by the state file first, then by the folder.

_SHOWN = 60


class FlowChoice(NamedTuple):
    flow: Flow | None  # None: undetermined, the user chooses
    why: str  # a sentence for the user
    others: tuple[Flow, ...] = ()  # flows that fit as well; if no flow was chosen, all flows


def choose_flow(flows: Sequence[Flow], folder: FolderState, states: Mapping[str, FlowState]) -> FlowChoice:
    """`states`: the existing state files' contents, by the path that the flows declare."""
    for path in dict.fromkeys(flow.head.state for flow in flows):
        state = states.get(path)
        if state is not None and state.flow.strip():
            return _choose_by_state(flows, state.flow.strip(), path)
    fitting = [flow for flow in flows if _fits(flow, folder)]
    if not fitting:
        return FlowChoice(None, "no state file names a flow, and the folder fits none", tuple(flows))
    # A state file that does not name its flow still narrows the choice.
    with_state = [flow for flow in fitting if flow.head.state in states]
    flow, *others = with_state or fitting
    how = "begins" if _all_hold(flow.head.begins, folder) else "is under way"
    also = f"; {' and '.join(one.name for one in others)} would fit too" if others else ""
    return FlowChoice(flow, f"by what the folder holds, {flow.name} {how}{also}", tuple(others))


def _choose_by_state(flows: Sequence[Flow], name: str, path: str) -> FlowChoice:
    flow = find_flow(flows, name)
    shown = f"`{name[:_SHOWN]}`"
    if flow is None:
        names = {one.name: one.name for one in flows}
        close = suggest_name(name, names)
        hint = f"; {close}" if close else ""
        return FlowChoice(None, f"{path} names the flow {shown}, which is not known here{hint}", tuple(flows))
    if flow.head.state != path:
        why = f"{path} names the flow {shown}, which keeps its state in {flow.head.state}"
        return FlowChoice(None, why, tuple(flows))
    return FlowChoice(flow, f"{path} says so")


def _fits(flow: Flow, folder: FolderState) -> bool:
    return _all_hold(flow.head.begins, folder) or _all_hold(flow.head.continues, folder)


def _all_hold(conditions: Sequence[str], folder: FolderState) -> bool:
    """False without conditions: such a flow is started by name only."""
    return bool(conditions) and not unmet_conditions(conditions, folder)
