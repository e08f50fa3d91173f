"""bmad simulate: run the real loop with scripted agents in memory."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import click

from ..core.errors import EXIT_DONE, EXIT_FAILED, UsageError
from ..core.json_types import ABSENT, Absent, Count, Figure, Keywords, Positive
from ..sim.effect_log import EffectActor
from .context import current_project, print_json

if TYPE_CHECKING:
    from ..project.config import Config
    from ..sim.scenario import SimulationOptions
    from ..sim.simulate import SimulationReport
    from ..workflows.workflow import Workflow

    Play = Callable[[int], SimulationReport]

MAX_SEEDS = 1_000_000
EPICS, STORIES = 3, 4
SHOWN = 5  # failing seeds printed in full


@click.command()
@click.option("--seed", default=1, type=click.IntRange(0, 2**63 - 1), help="Which world; the first of several.")
@click.option("--seeds", default=1, type=click.IntRange(1, MAX_SEEDS), metavar="COUNT", help="How many worlds.")
@click.option("--epics", type=click.IntRange(1, 20), help="How many (3; of a delivery the seed says).")
@click.option("--stories", type=click.IntRange(1, 20), help="Of each epic (4; of a delivery the seed says).")
@click.option("--delivery", is_flag=True, help="Epics to merged pull requests, on a GitHub that is made up too.")
@click.option("--workflow", metavar="NAME", help="lean, full, build, or one of the project's own.")
@click.option("--crashes/--no-crashes", default=True, help="Let the supervisor die now and then (default).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("-v", "--verbose", is_flag=True, help="Show every entry of the journal, too.")
@click.pass_context
def simulate(
    ctx: click.Context,
    seed: int,
    seeds: int,
    epics: int | None,
    stories: int | None,
    delivery: bool,
    workflow: str | None,
    crashes: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Rehearse before you spend tokens: made-up epics, run by the real loop in a world in memory.

    Scripted agents do well, fail, ask, run into limits and lie; people answer late, oddly or never and edit the
    board; the supervisor dies in between. Then it is checked that nothing was lost, done twice or paid for twice,
    and that no lie was believed. Nothing outside is read or written but the settings: inside a project its own
    workflow, rounds and caps are rehearsed, elsewhere the lean workflow. A seed always plays the same."""
    gc.enable()
    if delivery:
        play = _play_delivery(epics, stories, workflow, crashes)
    else:
        play = _play_runs(_options(ctx, epics or EPICS, stories or STORIES, workflow, crashes))
    began = time.monotonic()
    reports = []
    for number in range(seed, seed + seeds):
        report = play(number)
        reports.append(report if seeds == 1 or report.broken else report._replace(effects=[]))
    took = time.monotonic() - began
    if as_json:
        print_json("simulation", _simulation(reports, with_effects=seeds == 1))
    else:
        _show(reports, took, verbose=verbose)
    ctx.exit(EXIT_FAILED if any(report.broken for report in reports) else EXIT_DONE)


def _play_runs(options: "SimulationOptions") -> "Play":
    from ..sim.simulate import simulate as play

    return lambda seed: play(seed, options)


def _play_delivery(epics: int | None, stories: int | None, workflow: str | None, crashes: bool) -> "Play":
    from ..sim.delivery_scenario import MAX_EPICS, DeliveryOptions
    from ..sim.simulate import simulate_delivery

    if workflow is not None:
        raise UsageError("--delivery plays the lean workflow", found=f"--workflow {workflow}")
    if epics is not None and epics > MAX_EPICS:
        raise UsageError("too many epics for a delivery", found=str(epics), expected=f"at most {MAX_EPICS}")
    options = DeliveryOptions(epics, stories) if crashes else DeliveryOptions(epics, stories, crash_rate=0.0)
    return lambda seed: simulate_delivery(seed, options)


def _options(ctx: click.Context, epics: int, stories: int, name: str | None, crashes: bool) -> "SimulationOptions":
    from ..project.bmad_install import Era
    from ..sim.scenario import SimulationOptions
    from .next_step import workflow_of

    options = SimulationOptions(epics, stories) if crashes else SimulationOptions(epics, stories, crash_rate=0.0)
    project = current_project(ctx)
    config = project.config
    if name is not None:
        options = options._replace(workflow=_find_workflow(config, name))
    if config.path is None and project.bmad.era is Era.NONE:
        return options
    endless = float("inf")
    return options._replace(
        workflow=options.workflow if name else workflow_of(project),
        max_rounds=config.max_review_rounds,
        max_fixes=config.max_check_fixes,
        max_cost=endless if config.max_cost is None else config.max_cost,
        max_hours=endless if config.max_hours is None else config.max_hours,
        retrospective=config.retrospective,
    )


def _find_workflow(config: "Config", name: str) -> "Workflow":
    from ..workflows.selection import get_workflow
    from ..workflows.workflow import PIPELINES

    known = [*PIPELINES, *config.workflows]
    if name not in known:
        raise UsageError(f"there is no workflow {name}", expected=", ".join(known))
    return get_workflow(config, name)


def _show(reports: "Sequence[SimulationReport]", took: float, *, verbose: bool) -> None:
    from ..sim.effect_log import describe_effect

    for effect in reports[0].effects if len(reports) == 1 else ():
        line = describe_effect(effect, verbose=verbose)
        if line is not None:
            click.echo(line)
    if len(reports) == 1:
        click.echo("")
    broken = [report for report in reports if report.broken]
    for report in broken[:SHOWN]:
        click.echo(report.message)
    if len(broken) > SHOWN:
        click.echo(f"and {len(broken) - SHOWN} more: {', '.join(str(report.seed) for report in broken[SHOWN:30])}")
    for line in _summary(reports, took):
        click.echo(line)


def _summary(reports: "Sequence[SimulationReport]", took: float) -> list[str]:
    total = _totals(reports)
    worlds = "1 world" if len(reports) == 1 else f"{len(reports)} worlds"
    hours, dollars = total["hours"] / len(reports), total["dollars"] / len(reports)
    verdict = "every promise held" if not total["broken"] else f"promises broken in {total['broken']} of {worlds}"
    pulls = [f"{total['pulls']} pull requests: {total['merged']} merged"] if total["pulls"] else []
    return [
        f"{worlds}, {total['stories']} stories: {total['done']} done, {total['left']} with a person",
        *pulls,
        f"{total['calls']} agent calls, {total['commits']} commits, {total['questions']} questions, "
        f"{total['edits']} edits by people, {total['crashes']} crashes survived",
        f"{hours:.1f} hours and ${dollars:.2f} a world, had it been real; {took:.1f} s here",
        verdict,
    ]


_STORY_TOTALS = ("stories", "done", "calls", "commits", "questions", "edits", "crashes", "dollars")


def _totals(reports: "Sequence[SimulationReport]") -> dict[str, float]:
    names = (*_STORY_TOTALS, "pulls", "merged")
    totals: dict[str, float] = {name: sum(getattr(report, name) for report in reports) for name in names}
    totals["dollars"] = round(totals["dollars"], 2)
    totals["left"] = totals["stories"] - totals["done"]
    totals["hours"] = round(sum(report.seconds for report in reports) / 3600, 2)
    totals["broken"] = sum(bool(report.broken) for report in reports)
    return totals


class BrokenSeed(NamedTuple):
    seed: Count
    promises: Annotated[tuple[str, ...], Keywords(minItems=1)]
    command: str


class EffectLine(NamedTuple):
    at: Annotated[Figure, "Virtual seconds since the beginning"]
    by: EffectActor
    kind: str
    told: str


class Simulation(NamedTuple):
    first_seed: Count
    seeds: Positive
    totals: Annotated[Mapping[str, Figure], Keywords(required=[*_STORY_TOTALS, "left", "hours", "broken"])]
    broken: Annotated[list[BrokenSeed], "Seeds in which a promise did not hold"]
    effects: Annotated[list[EffectLine] | Absent, "Of a single seed: what happened, in order"] = ABSENT


def _simulation(reports: "Sequence[SimulationReport]", *, with_effects: bool) -> Simulation:
    broken = [BrokenSeed(one.seed, tuple(one.broken), one.command) for one in reports if one.broken]
    effects = list(_effect_lines(reports[0])) if with_effects else ABSENT
    return Simulation(reports[0].seed, len(reports), _totals(reports), broken, effects)


def _effect_lines(report: "SimulationReport") -> Iterator[EffectLine]:
    from ..sim.effect_log import describe_effect

    for effect in report.effects:
        line = describe_effect(effect)
        if line is not None:
            yield EffectLine(round(effect.at, 2), effect.actor, effect.kind, line[11:])
