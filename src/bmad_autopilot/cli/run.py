"""bmad run-story, run-epic, next and restart."""

import sys

import click

from ..board.overview import next_action
from ..board.sprint_status import find_row
from ..core.errors import EXIT_DONE, EXIT_HUMAN, UsageError, command
from ..core.lane_scope import LaneScope
from ..core.next_action import Action
from ..core.statuses import DONE
from ..core.text import printable
from ..views.format import pluralize
from .completion import complete_epic, complete_story
from .context import ProjectFacts, find_epic, gather_facts_to_act, has_runs
from .dry_run import show_plan
from .next_step import next_story_step
from .run_options import RunOptions, run_options


@click.command("run-story")
@click.argument("key", shell_complete=complete_story)
@click.option("--dry-run", is_flag=True, help="Only show each step with the agent call it would make.")
@run_options
@click.pass_context
def run_story(ctx: click.Context, key: str, dry_run: bool, options: RunOptions) -> None:
    """Take one story to done. One that was begun before is gone on with."""
    facts = gather_facts_to_act(ctx)
    row = find_row(facts.board, key)
    if dry_run:
        show_plan(ctx, facts, [row], as_json=options.as_json)
        return
    from .run_session import RunRequest, run

    run(ctx, facts, RunRequest(LaneScope.STORY, row.key, f"{row.key}, to done", [row]), options)


# bmad run-epic


@click.command("run-epic")
@click.argument("epic", shell_complete=complete_epic)
@click.option("--dry-run", is_flag=True, help="Only show each step with the agent call it would make.")
@click.option("--retrospective/--no-retrospective", default=None, help="Look back on it once it is over, or not.")
@run_options
@click.pass_context
def run_epic(
    ctx: click.Context, epic: str, dry_run: bool, retrospective: bool | None, options: RunOptions
) -> None:
    """Take one epic to done, story by story. One that was begun before is gone on with."""
    facts = gather_facts_to_act(ctx)
    view = find_epic(facts, epic)
    if dry_run:
        show_plan(ctx, facts, view.stories, as_json=options.as_json)
        return
    from .run_session import RunRequest, run

    if retrospective is not None:
        options = options._replace(retrospective="run" if retrospective else "never")
    left = [row for row in view.stories if row.meaning != DONE]
    looks_back = (options.retrospective or facts.project.config.retrospective) == "run"
    then = ", then its retrospective" if looks_back and view.retrospective else ""
    title = f"{view.key}: {len(left)} of {len(view.stories)} stories left{then}"
    run(ctx, facts, RunRequest(LaneScope.EPIC, view.key, title, left), options)


# bmad next


@click.command("next")
@click.option("--dry-run", is_flag=True, help="Only show what it would do.")
@click.option("-y", "--yes", is_flag=True, help="Do it without asking.")
@run_options
@click.pass_context
def next(ctx: click.Context, dry_run: bool, yes: bool, options: RunOptions) -> None:
    """Do the next thing: one step of the story whose turn it is."""
    facts = _facts_with_lanes(gather_facts_to_act(ctx))
    action = next_action(facts.local_epics)
    if action is None:
        _print_nothing_to_do(ctx, facts, as_json=options.as_json)
    elif dry_run:
        rows = [facts.board.rows[action.story_id]]
        show_plan(ctx, facts, rows, as_json=options.as_json, first_only=True)
    else:
        _run_next_step(ctx, facts, action, yes, options)


def _facts_with_lanes(facts: ProjectFacts) -> ProjectFacts:
    """Mark epics in progress on other branches, so that they are not started here again."""
    if not has_runs(facts):
        return facts
    from .status_lanes import with_lanes
    from .status_runs import unfinished_runs

    return with_lanes(facts, [one.folder for one in unfinished_runs(facts.project)])


def _print_nothing_to_do(ctx: click.Context, facts: ProjectFacts, *, as_json: bool) -> None:
    if as_json:
        show_plan(ctx, facts, [], as_json=True)
    else:
        click.echo(next_story_step(facts).sentence)
    unfinished = any(epic.done_count < len(epic.stories) for epic in facts.epics)
    ctx.exit(EXIT_HUMAN if unfinished else EXIT_DONE)


def _run_next_step(
    ctx: click.Context, facts: ProjectFacts, action: Action, yes: bool, options: RunOptions
) -> None:
    if not yes and (options.as_json or not (sys.stdin.isatty() and sys.stdout.isatty())):
        hint = "bmad next -y, or bmad next --dry-run to see it first"
        raise UsageError("bmad next starts an agent, and there is nobody to ask whether it may", hint=hint)
    from .run_session import RunRequest, run

    rows = [facts.board.rows[action.story_id]]
    run(
        ctx,
        facts,
        RunRequest(LaneScope.STEP, action.story_id, next_story_step(facts).sentence, rows, confirm=not yes),
        options,
    )


# bmad restart

MOST_FILES = 10


@click.command()
@click.argument("story", shell_complete=complete_story)
@click.pass_context
def restart(ctx: click.Context, story: str) -> None:
    """Begin a story anew: its work is saved under a ref of ours, the files it changed are put back as they were
    before it began, and so is its row."""
    from ..engine.restart import restart_story
    from ..git.git import Git
    from ..git.worktree_state import read_worktree_state

    facts = gather_facts_to_act(ctx)
    row = find_row(facts.board, story)
    report = restart_story(facts.project, row.key)
    if report.saved_ref:
        click.echo(f"saved    {printable(report.saved_ref)}   (git show --stat {printable(report.saved_ref)})")
    click.echo(f"files    {pluralize(len(report.files), 'file')} put back")
    for path in report.files[:MOST_FILES]:
        click.echo(f"           {printable(path)}")
    if len(report.files) > MOST_FILES:
        click.echo(f"           … {len(report.files) - MOST_FILES} more")
    click.echo(f"board    {printable(row.key)}: {printable(report.row_before)} → {printable(report.row_after)}")
    if report.epic:
        click.echo(f"         {printable(report.epic)}: done → in-progress")
    first = (
        "commit what was put back, then " if read_worktree_state(Git(facts.project.root.checkout)).dirty else ""
    )
    click.echo(f"next     {first}{command('run-story', row.key)}")
