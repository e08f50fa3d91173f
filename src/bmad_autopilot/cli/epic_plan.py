"""From the board, the settings and earlier calls to a plan of epics."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..board.dependencies import DECLARED, ORDER, dependency_graph
from ..board.epics import read_all_epics
from ..board.epics_files import find_epics_files
from ..board.overview import EpicView
from ..core.errors import UsageError
from ..core.estimates import Range, total
from ..core.graph import Edge, Fault, Graph, Problem, critical_path
from ..core.schedule import Candidate, matches
from ..core.slots import Timetable, makespan, timetable
from ..engine.autopilot.sizes import Sizes, sizes_of
from ..runs.layout import SESSION, find_runs, runs_folder
from ..views.plan import Declared, EpicPlan, PlanView, Told, Wait
from .facts import Facts, shown_path

TRIED = (2, 3, 4, 6, 8)  # agents at a time, where a plan says what more of them would bring
USUAL = 3  # agents at a time, where the order leaves work for one only
WORTH = 0.97  # of the time: a smaller gain is not told of


class _Work(NamedTuple):
    """One epic that is left to do."""

    epic: EpicView
    number: str
    title: str
    stories: int
    calls: tuple[Range, ...]  # seconds of each
    dollars: Range | None


def epic_plan(facts: Facts, patterns: tuple[str, ...], parallel: int) -> PlanView:
    files = find_epics_files(facts.project.folders.planning)
    titles = {epic.number: epic.title for epic in read_all_epics(files).epics}
    sizes = sizes_of(facts.project)
    pending = _pending(facts)
    work = _work(facts, titles, patterns, [key for key, _ in pending], sizes)
    numbers = [one.number for one in work]
    over = [epic.number for epic in facts.epics if epic.number and epic.key in dict(pending)]

    def graph_by(mode: str) -> Graph:
        return dependency_graph(facts.project, facts.epics, numbers, over=over, mode=mode, files=files)

    mode = facts.project.config.dependencies
    graph = graph_by(mode)
    times = [{one.number: [call[part] for call in one.calls] for one in work} for part in range(3)]
    tables = [timetable(graph, each, parallel) for each in times]
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
        _left_alone(facts, titles, patterns, {one.epic.key for one in work} | dict(pending).keys()),
        _declared(graph_by(DECLARED), times[1], parallel, seconds.middle) if mode == ORDER else None,
        tuple(_by_parallel(graph, times[1], parallel, seconds.middle)),
        tuple(_told(facts, problem, names) for problem in graph.problems),
    )


def _pending(facts: Facts) -> list[tuple[str, int]]:
    """Epics that wait for their pull requests: nothing of them is left to plan."""
    runs = runs_folder(facts.project.root.path)
    if not find_runs(runs):
        return []
    from ..runs.finding import unfinished

    if not unfinished(runs):
        return []
    from ..engine.autopilot.lanes import held_lanes  # takes longer to import than all else here

    held = held_lanes(runs, SESSION, go_on=False)
    return [(one.lane.key, one.pull) for one in held if one.is_delivered]


def _work(
    facts: Facts, titles: Mapping[str, str], patterns: tuple[str, ...], taken: Sequence[str], sizes: Sizes
) -> list[_Work]:
    from ..engine.autopilot.finding import check_patterns, open_epics

    check_patterns(patterns)
    _refuse_unknown(facts, titles, patterns)
    chosen = {one.key for one in open_epics(facts.board, titles, patterns, taken)}
    found = sizes.figures
    work = []
    for epic in facts.epics:
        if epic.key not in chosen or epic.number is None:
            continue
        left = sizes.steps(epic)
        steps = [step for steps in left for step in steps]
        prices = [price for price in map(found.dollars_of, steps) if price is not None]
        work.append(
            _Work(
                epic,
                epic.number,
                titles.get(epic.number, ""),
                sum(map(bool, left)),
                tuple(map(found.seconds_of, steps)),
                total(prices) if len(prices) == len(steps) else None,
            )
        )
    return work


def _refuse_unknown(facts: Facts, titles: Mapping[str, str], patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        known = (
            Candidate(epic.key, epic.number, titles.get(epic.number, "")) for epic in facts.epics if epic.number
        )
        if not any(matches((pattern,), one) for one in known):
            raise UsageError(f"no epic's number or title holds {pattern[:80]}", hint="bmad status lists them")


def _left_alone(facts: Facts, titles: Mapping[str, str], patterns: tuple[str, ...], planned: set[str]) -> int:
    return sum(
        not epic.is_closed
        and epic.key not in planned
        and matches(patterns, Candidate(epic.key, epic.number, titles.get(epic.number, "")))
        for epic in facts.epics
        if epic.number
    )


def _epics(
    facts: Facts, work: Sequence[_Work], graph: Graph, table: Timetable, names: Mapping[str, str]
) -> tuple[EpicPlan, ...]:
    spells: dict[str, list[tuple[float, float]]] = {one.number: [] for one in work}
    for spell in table.spells:
        spells[spell.epic].append((spell.begins, spell.ends))
    chain = critical_path(graph, {one.number: total(one.calls).middle for one in work})
    plain = _plain(graph)
    waits: dict[str, list[Wait]] = {one.number: [] for one in work}
    for edge in graph.edges:
        waits[edge.epic].append(_wait(facts, edge, names, is_plain=edge.on in plain[edge.epic]))
    plans = [
        EpicPlan(
            one.epic.key,
            one.number,
            one.title,
            one.stories,
            len(one.calls),
            tuple(waits[one.number]),
            total(one.calls),
            one.dollars,
            tuple(spells[one.number]),
            one.number in chain,
        )
        for one in work
    ]
    return tuple(sorted(plans, key=lambda one: one.spells[0][0] if one.spells else 0.0))


def _plain(graph: Graph) -> dict[str, set[str]]:
    """Of those an epic waits for, the ones that none of the others waits for in turn."""
    from ..core.graph import sorted_by_waiting

    ons = graph.waits_for()
    above: dict[str, set[str]] = {}
    plain = {}
    for node in sorted_by_waiting(graph):
        implied = set().union(*(above[on] for on in ons[node]))
        above[node] = implied | set(ons[node])
        plain[node] = set(ons[node]) - implied
    return plain


def _wait(facts: Facts, edge: Edge, names: Mapping[str, str], *, is_plain: bool = True) -> Wait:
    place = edge.place
    if place is not None:
        place = place._replace(file=shown_path(facts.project, place.file))
    return Wait(names.get(edge.on, f"epic-{edge.on}"), edge.source.value, place, is_plain)


def _declared(graph: Graph, calls: Mapping[str, Sequence[float]], parallel: int, now: float) -> Declared | None:
    at_once = parallel if parallel > 1 else USUAL
    seconds = makespan(graph, calls, at_once)
    return Declared(at_once, seconds, len(graph.edges)) if seconds < WORTH * now else None


def _by_parallel(
    graph: Graph, calls: Mapping[str, Sequence[float]], parallel: int, now: float
) -> list[tuple[int, float]]:
    found: list[tuple[int, float]] = []
    for slots in TRIED:
        if slots > parallel:
            seconds = makespan(graph, calls, slots)
            if seconds >= WORTH * (found[-1][1] if found else now):
                break
            found.append((slots, seconds))
    return found


def _told(facts: Facts, problem: Problem, names: Mapping[str, str]) -> Told:
    edge = problem.edge
    wait = _wait(facts, edge, names)
    epic = names.get(edge.epic, f"epic-{edge.epic}")
    mend = f"mend {os.path.basename(wait.place.file)}" if wait.place else "mend it"
    if problem.fault is Fault.ITSELF:
        message, help_ = f"{epic} is said to wait for itself, which is passed over", mend
    elif problem.fault is Fault.CYCLE:
        ring = " → ".join(names.get(one, one) for one in (*problem.cycle, problem.cycle[0]))
        message, help_ = f"these wait for each other: {ring}; here {epic} does not wait for {wait.epic}", mend
    elif edge.on in names:
        message, help_ = (
            f"{epic} needs {wait.epic}, which is not part of this plan: it is not waited for",
            "bmad status",
        )
    else:
        message, help_ = (
            f"{epic} is said to wait for {wait.epic}, which is not on the board: it is passed over",
            mend,
        )
    return Told(
        problem.fault.value, epic, wait, tuple(names.get(one, one) for one in problem.cycle), message, help_
    )


def _sum_of_dollars(work: Sequence[_Work]) -> Range | None:
    prices = [one.dollars for one in work if one.dollars is not None]
    return total(prices) if len(prices) == len(work) else None
