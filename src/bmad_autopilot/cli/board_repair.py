"""bmad board repair: what board and story files disagree on, and bringing them together."""

import click

from ..board.repair import Repair, plan_repairs, repair_story_file
from ..board.store import set_status
from ..views.listing import Item, listing
from .facts import Facts, all_files, all_stories, drift_in, gather_to_act, print_json, shown_path, terminal


@click.command(short_help="Bring board and story files together.")
@click.option("--apply", is_flag=True, help="Make the changes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def repair(ctx: click.Context, apply: bool, as_json: bool) -> None:
    """What board and story files disagree on, and what would bring them together. Nothing ever goes back."""
    facts = gather_to_act(ctx)
    repairs = plan_repairs(facts.board, facts.epics, drift_in(facts, all_stories(facts), all_files(facts)))
    if apply:
        _apply(facts, repairs)
    if as_json:
        print_json({"version": 1, "kind": "board-repair", "applied": apply, "repairs": _rows(facts, repairs)})
        return
    for line in listing([_item(facts, item) for item in repairs], terminal(ctx)):
        click.echo(line)
    noun = "change" if len(repairs) == 1 else "changes"
    if not repairs:
        click.echo("nothing to repair")
    elif apply:
        click.echo(f"{len(repairs)} {noun} made")
    else:
        click.echo(f"{len(repairs)} {noun} to make: bmad board repair --apply")


def _item(facts: Facts, item: Repair) -> Item:
    place = item.place._replace(file=shown_path(facts.project, item.place.file))
    return Item(place, f"{item.key}: {item.before or '(empty)'} → {item.after} ({item.why})")


def _apply(facts: Facts, repairs: list[Repair]) -> None:
    state, inside = facts.project.state_folder, facts.project.inside
    for item in repairs:
        if item.file is not None:
            repair_story_file(item.place.file, item.file, item.after, state=state, inside=inside)
        else:
            set_status(facts.board.path, item.key, item.after, state=state, inside=inside, expect=item.before)


def _rows(facts: Facts, repairs: list[Repair]) -> list[dict[str, object]]:
    return [
        {
            "key": item.key,
            "before": item.before,
            "after": item.after,
            "why": item.why,
            "file": shown_path(facts.project, item.place.file),
            "line": item.place.line,
        }
        for item in repairs
    ]
