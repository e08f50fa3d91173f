"""Which flow a project is in: the state file's word first, then the folder."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..core.flow_state import FlowState
from ..project.settings_errors import suggest
from .flow_list import Flow, find_flow
from .flow_rules import Seen, lacking

_SHOWN = 60


class Choice(NamedTuple):
    flow: Flow | None  # None: nothing says which, and a person chooses
    why: str  # a sentence for a person
    others: tuple[Flow, ...] = ()  # flows that fit as well; without a flow, all that can be chosen


def choose_flow(flows: Sequence[Flow], seen: Seen, states: Mapping[str, FlowState]) -> Choice:
    """`states`: what each state file says that is there, by its path as the flows name it."""
    for path in dict.fromkeys(flow.head.state for flow in flows):
        state = states.get(path)
        if state is not None and state.flow.strip():
            return _by_state(flows, state.flow.strip(), path)
    fitting = [flow for flow in flows if _fits(flow, seen)]
    if not fitting:
        return Choice(None, "no state file names a flow, and the folder fits none", tuple(flows))
    # A state file that does not name its flow still says which ones it can be.
    with_state = [flow for flow in fitting if flow.head.state in states]
    flow, *others = with_state or fitting
    how = "begins" if _all_hold(flow.head.begins, seen) else "is under way"
    also = f"; {' and '.join(one.name for one in others)} would fit too" if others else ""
    return Choice(flow, f"by what the folder holds, {flow.name} {how}{also}", tuple(others))


def _by_state(flows: Sequence[Flow], name: str, path: str) -> Choice:
    flow = find_flow(flows, name)
    shown = f"`{name[:_SHOWN]}`"
    if flow is None:
        names = {one.name: one.name for one in flows}
        close = suggest(name, names)
        hint = f"; {close}" if close else ""
        return Choice(None, f"{path} names the flow {shown}, which is not known here{hint}", tuple(flows))
    if flow.head.state != path:
        why = f"{path} names the flow {shown}, which keeps its state in {flow.head.state}"
        return Choice(None, why, tuple(flows))
    return Choice(flow, f"{path} says so")


def _fits(flow: Flow, seen: Seen) -> bool:
    return _all_hold(flow.head.begins, seen) or _all_hold(flow.head.continues, seen)


def _all_hold(conditions: Sequence[str], seen: Seen) -> bool:
    """A flow that names no conditions is begun by its name, and never by itself."""
    return bool(conditions) and not lacking(conditions, seen)
