"""bmad plan: schedule the open epics and estimate duration and cost."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import click

from ..board.epic_dependencies import DECLARED, ORDER, dependency_graph
from ..board.epics_file import find_epics_files, read_all_epics
from ..board.overview import EpicView
from ..core.dependency_graph import DependencyGraph, Edge, EdgeFault, EdgeProblem, critical_path
from ..core.errors import EXIT_DONE, UsageError
from ..core.estimates import Range, sum_ranges
from ..core.scheduling import EpicCandidate, Schedule, makespan, matches_epic, schedule_calls
from ..engine.autopilot.scheduler import EpicEstimates, load_estimates
from ..project.config import MAX_PARALLEL
from ..runs.layout import SESSION, find_runs, runs_folder
from ..views.plan import DeclaredGain, DependencyProblem, EpicPlan, EpicWait, PlanView
from .context import ProjectFacts, display_path


@click.command()
@click.argument("patterns", nargs=-1, metavar="[PATTERN]…")
@click.option(
    "--parallel",
    type=click.IntRange(0, MAX_PARALLEL),
    default=None,
    metavar="N",
    help="As if up to N agents were at work at a time; 0 and 1: one after another. Unset: as in the settings.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def plan(ctx: click.Context, patterns: tuple[str, ...], parallel: int | None, as_json: bool) -> None:
    """Which epics run when, what each waits for and why, how long all of it takes and what it costs. Nothing is
    begun.

    PATTERN: a regular expression, in any case, that an epic's number or title must hold; several: one of them."""
    from ..views.plan import epic_schedule, render
    from .context import gather_facts_to_act, print_json, terminal

    facts = gather_facts_to_act(ctx)
    at_once = facts.project.config.parallel if parallel is None else parallel
    view = epic_plan(facts, patterns, max(1, at_once))
    if as_json:
        print_json("schedule", epic_schedule(view))
    else:
        for line in render(view, terminal(ctx)):
            click.echo(line)
    ctx.exit(EXIT_DONE)


PARALLEL_TRIED = (2, 3, 4, 6, 8)  # agents at a time, for the advice on more parallelism
DEFAULT_PARALLEL = 3  # agents at a time, for the comparison with declared dependencies
WORTHWHILE_RATIO = 0.97  # of the time: smaller gains are not mentioned


class _EpicWork(NamedTuple):
    """The remaining work of one epic."""

    epic: EpicView
    number: str
    title: str
    stories: int
    calls: tuple[Range, ...]  # seconds per call
    dollars: Range | None


def epic_plan(facts: ProjectFacts, patterns: tuple[str, ...], parallel: int) -> PlanView:
    files = find_epics_files(facts.project.folders.planning)
    titles = {epic.number: epic.title for epic in read_all_epics(files).epics}
    sizes = load_estimates(facts.project)
    pending = _pending(facts)
    work = _open_work(facts, titles, patterns, [key for key, _ in pending], sizes)
    numbers = [one.number for one in work]
    over = [epic.number for epic in facts.epics if epic.number and epic.key in dict(pending)]

    def graph_by(mode: str) -> DependencyGraph:
        return dependency_graph(facts.project, facts.epics, numbers, satisfied=over, mode=mode, files=files)

    mode = facts.project.config.dependencies
    graph = graph_by(mode)
    times = [{one.number: [call[part] for call in one.calls] for one in work} for part in range(3)]
    tables = [schedule_calls(graph, each, parallel) for each in times]
    seconds = Range(*(table.length for table in tables))
    names = {epic.number: epic.key for epic in facts.epics if epic.number}
    return PlanView(
        _epics(facts, work, graph, tables[1], names),
        mode,
        parallel,
        seconds,
        _sum_of_dollars(work),
        sizes.figures.calls,
        len(names),
        tuple(pending),
        _count_skipped(facts, titles, patterns, {one.epic.key for one in work} | dict(pending).keys()),
        _declared(graph_by(DECLARED), times[1], parallel, seconds.middle) if mode == ORDER else None,
        tuple(_by_parallel(graph, times[1], parallel, seconds.middle)),
        tuple(_dependency_problem(facts, problem, names) for problem in graph.problems),
    )


def _pending(facts: ProjectFacts) -> list[tuple[str, int]]:
    """Epics in delivery: they have no work left to plan."""
    runs = runs_folder(facts.project.root.path)
    if not find_runs(runs):
        return []
    from ..runs.index import unfinished_runs

    if not unfinished_runs(runs):
        return []
    from ..engine.autopilot.lanes import unfinished_lanes  # imported late: slower than all other imports here

    lane_states = unfinished_lanes(runs, SESSION, resume_all=False)
    return [(one.lane.key, one.pull) for one in lane_states if one.is_delivered]


def _open_work(
    facts: ProjectFacts,
    titles: Mapping[str, str],
    patterns: tuple[str, ...],
    pending_keys: Sequence[str],
    sizes: EpicEstimates,
) -> list[_EpicWork]:
    from ..engine.autopilot.epics import check_patterns, open_epics

    check_patterns(patterns)
    _refuse_unknown(facts, titles, patterns)
    chosen = {one.key for one in open_epics(facts.board, titles, patterns, pending_keys)}
    found = sizes.figures
    work = []
    for epic in facts.epics:
        if epic.key not in chosen or epic.number is None:
            continue
        left = sizes.remaining_steps(epic)
        steps = [step for steps in left for step in steps]
        prices = [price for price in map(found.dollars_of, steps) if price is not None]
        work.append(
            _EpicWork(
                epic,
                epic.number,
                titles.get(epic.number, ""),
                sum(map(bool, left)),
                tuple(map(found.seconds_of, steps)),
                sum_ranges(prices) if len(prices) == len(steps) else None,
            )
        )
    return work


def _refuse_unknown(facts: ProjectFacts, titles: Mapping[str, str], patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        known = (
            EpicCandidate(epic.key, epic.number, titles.get(epic.number, ""))
            for epic in facts.epics
            if epic.number
        )
        if not any(matches_epic((pattern,), one) for one in known):
            raise UsageError(f"no epic's number or title holds {pattern[:80]}", hint="bmad status lists them")


def _count_skipped(
    facts: ProjectFacts, titles: Mapping[str, str], patterns: tuple[str, ...], planned: set[str]
) -> int:
    return sum(
        not epic.is_closed
        and epic.key not in planned
        and matches_epic(patterns, EpicCandidate(epic.key, epic.number, titles.get(epic.number, "")))
        for epic in facts.epics
        if epic.number
    )


def _epics(
    facts: ProjectFacts,
    work: Sequence[_EpicWork],
    graph: DependencyGraph,
    table: Schedule,
    names: Mapping[str, str],
) -> tuple[EpicPlan, ...]:
    spells: dict[str, list[tuple[float, float]]] = {one.number: [] for one in work}
    for spell in table.spans:
        spells[spell.epic].append((spell.start, spell.end))
    chain = critical_path(graph, {one.number: sum_ranges(one.calls).middle for one in work})
    direct = _direct_dependencies(graph)
    waits: dict[str, list[EpicWait]] = {one.number: [] for one in work}
    for edge in graph.edges:
        waits[edge.epic].append(_wait(facts, edge, names, is_direct=edge.depends_on in direct[edge.epic]))
    plans = [
        EpicPlan(
            one.epic.key,
            one.number,
            one.title,
            one.stories,
            len(one.calls),
            tuple(waits[one.number]),
            sum_ranges(one.calls),
            one.dollars,
            tuple(spells[one.number]),
            one.number in chain,
        )
        for one in work
    ]
    return tuple(sorted(plans, key=lambda one: one.intervals[0][0] if one.intervals else 0.0))


def _direct_dependencies(graph: DependencyGraph) -> dict[str, set[str]]:
    """Dependencies of each epic that are not implied by its other dependencies."""
    from ..core.dependency_graph import topological_order

    ons = graph.dependencies()
    above: dict[str, set[str]] = {}
    direct = {}
    for node in topological_order(graph):
        implied = set().union(*(above[on] for on in ons[node]))
        above[node] = implied | set(ons[node])
        direct[node] = set(ons[node]) - implied
    return direct


def _wait(facts: ProjectFacts, edge: Edge, names: Mapping[str, str], *, is_direct: bool = True) -> EpicWait:
    place = edge.location
    if place is not None:
        place = place._replace(file=display_path(facts.project, place.file))
    return EpicWait(names.get(edge.depends_on, f"epic-{edge.depends_on}"), edge.source.value, place, is_direct)


def _declared(
    graph: DependencyGraph, calls: Mapping[str, Sequence[float]], parallel: int, now: float
) -> DeclaredGain | None:
    at_once = parallel if parallel > 1 else DEFAULT_PARALLEL
    seconds = makespan(graph, calls, at_once)
    return DeclaredGain(at_once, seconds, len(graph.edges)) if seconds < WORTHWHILE_RATIO * now else None


def _by_parallel(
    graph: DependencyGraph, calls: Mapping[str, Sequence[float]], parallel: int, now: float
) -> list[tuple[int, float]]:
    found: list[tuple[int, float]] = []
    for slots in PARALLEL_TRIED:
        if slots > parallel:
            seconds = makespan(graph, calls, slots)
            if seconds >= WORTHWHILE_RATIO * (found[-1][1] if found else now):
                break
            found.append((slots, seconds))
    return found


def _dependency_problem(facts: ProjectFacts, problem: EdgeProblem, names: Mapping[str, str]) -> DependencyProblem:
    edge = problem.edge
    wait = _wait(facts, edge, names)
    epic = names.get(edge.epic, f"epic-{edge.epic}")
    fix = f"mend {os.path.basename(wait.location.file)}" if wait.location else "mend it"
    if problem.fault is EdgeFault.SELF:
        message, help_ = f"{epic} is said to wait for itself, which is passed over", fix
    elif problem.fault is EdgeFault.CYCLE:
        ring = " → ".join(names.get(one, one) for one in (*problem.cycle, problem.cycle[0]))
        message, help_ = f"these wait for each other: {ring}; here {epic} does not wait for {wait.epic}", fix
    elif edge.depends_on in names:
        message, help_ = (
            f"{epic} needs {wait.epic}, which is not part of this plan: it is not waited for",
            "bmad status",
        )
    else:
        message, help_ = (
            f"{epic} is said to wait for {wait.epic}, which is not on the board: it is passed over",
            fix,
        )
    return DependencyProblem(
        problem.fault.value, epic, wait, tuple(names.get(one, one) for one in problem.cycle), message, help_
    )


def _sum_of_dollars(work: Sequence[_EpicWork]) -> Range | None:
    prices = [one.dollars for one in work if one.dollars is not None]
    return sum_ranges(prices) if len(prices) == len(work) else None
