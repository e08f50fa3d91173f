"""The real implementation of a lane's ports: files, git, agents, the project's checks, people, the forge."""

from typing import TYPE_CHECKING, NamedTuple

from ...project.project import Project
from ...runs.journal import Journal
from ..lane import Lane
from ..ports import EventSink, Ports, Prompter
from ..slots import LaneLimits
from ..waiting import Waiter
from .agents import AgentCalls, CallKind, StoryCalls
from .delivery import ForgeFactory, LaneDelivery
from .people import LanePeople
from .records import LaneClock, RunFiles
from .site import BoardFile, LaneSite
from .worktree import GitWorktree

if TYPE_CHECKING:
    from ..flows.model import FlowStore


class LaneContext(NamedTuple):
    """What a run gives to its lane's ports. `on_event` receives every journal entry, and progress."""

    journal: Journal
    waiter: Waiter
    on_event: EventSink
    human: Prompter | None = None
    limits: LaneLimits = LaneLimits()
    make_forge: ForgeFactory | None = None  # None: GitHub, by gh


def build_ports(project: Project, lane: Lane, run: str, context: LaneContext) -> Ports:
    """The ports of a lane whose run folder is `run`."""
    site, worktree, kind, flow = _parts(project, lane, run)
    waiter, on_event, limits = context.waiter, context.on_event, context.limits
    people = LanePeople(site, waiter, on_event, context.human, limits.is_autopilot_paused)
    return Ports(
        clock=LaneClock(run, waiter),
        records=RunFiles(site, context.journal, on_event),
        board=BoardFile(site),
        worktree=worktree,
        agents=AgentCalls(site, kind, people, waiter, limits.slot, on_event),
        people=people,
        delivery=LaneDelivery(
            site, worktree, waiter, limits.merge_turn, limits.find_checkout_blocker, context.make_forge
        ),
        flow=flow,
    )


def _parts(project: Project, lane: Lane, run: str) -> "tuple[LaneSite, GitWorktree, CallKind, FlowStore | None]":
    if not lane.is_workflow:
        site = LaneSite(project, lane, run)
        worktree = GitWorktree(site)
        return site, worktree, StoryCalls(site, worktree), None
    from .workflow import WorkflowCalls, workflow_paths

    site = LaneSite(project, lane, run, workflow_paths(project, lane))
    if not lane.is_flow:
        worktree = GitWorktree(site, any_branch=True)
        return site, worktree, WorkflowCalls(site, worktree), None
    from ..flows.world import FileFlowStore, FlowCalls  # imports the state file reader and the folder scan

    store = FileFlowStore(site)
    worktree = GitWorktree(site, any_branch=True, state_file=store.path)
    return site, worktree, FlowCalls(site, worktree, store), store
