"""bmad doctor: is everything here that is needed? One line per check, each with its fix."""

import os

import click

from ..core.errors import EXIT_DONE, EXIT_FAILED, EXIT_UNREADABLE, FileError
from ..project.bmad import Era
from ..project.open import Project
from ..project.programs import SECONDS, Question, ask_all
from ..views.doctor import Check, State, document, render
from ..workflows.own import workflow_for
from ..workflows.pipelines import BUILD
from .checks import agents, auto_approve, board, delivery, names, repository, tools
from .checks import bmad as skills
from .facts import print_json, terminal
from .opening import open_in_parts


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Is everything here that is needed? Each line with its fix."""
    checks = examine(ctx.obj[0])
    if as_json:
        print_json(document(checks))
    else:
        click.echo("\n".join(render(checks, terminal(ctx))))
    ctx.exit(exit_code(checks))


def exit_code(checks: list[Check]) -> int:
    if any(check.unreadable for check in checks):
        return EXIT_UNREADABLE
    return EXIT_FAILED if any(check.state is State.FAIL for check in checks) else EXIT_DONE


def examine(start: str, *, seconds: float = SECONDS) -> list[Check]:
    """Every check of the project at `start`; each program is given `seconds` to answer."""
    try:
        project, broken = open_in_parts(start)
    except FileError as error:
        if not os.path.isdir(start):
            raise
        answers = ask_all({**tools.QUESTIONS, **agents.QUESTIONS}, start, seconds=seconds)
        return [*tools.check_tools(answers, needs_uv=False), names.check_name(), board.failure("project", error)]
    failures = {item.part: board.failure(item.part, item.error, project) for item in broken}
    # A part that cannot be read was replaced by an empty one, about which there is nothing to say.
    return [*(check for check in _examine(project, seconds) if check.name not in failures), *failures.values()]


def _examine(project: Project, seconds: float) -> list[Check]:
    workflow = workflow_for(project.config, only_build=project.bmad.era is Era.BUILD)
    called = skills.skills_called(project, workflow)
    way = delivery.way_of(project)
    asked = _questions(project, called) | delivery.questions(way)
    answers = ask_all(asked, project.root.checkout, seconds=seconds)
    return [
        *tools.check_tools(answers, needs_uv=any(step.skill == BUILD.skill for step in workflow.steps)),
        names.check_name(),
        *repository.check_repository(project.root, answers),
        *delivery.check_delivery(way, answers),
        *auto_approve.check_auto_approve(project.root, answers),
        *agents.check_agents(answers, agents.agents_needed(project.config, workflow), project),
        skills.check_bmad(project),
        *skills.check_skills(project, workflow, called),
        *repository.check_ignored(answers.get("ignored")),
        board.check_config(project),
        board.check_commands(project),
        *board.check_folders(project),
        board.check_board(project),
        *board.check_diagnostics(project),
        *board.check_locks(project),
    ]


def _questions(project: Project, called: list[skills.Called]) -> dict[str, Question]:
    questions = {**tools.QUESTIONS, **agents.QUESTIONS, **repository.QUESTIONS}
    questions |= auto_approve.questions(project.root)
    inside = [item.skill.path for item in called if item.skill is not None]
    inside += [project.bmad.folder] if project.bmad.folder else []
    names_inside = [
        os.path.relpath(path, project.root.checkout)
        for path in inside
        if path.startswith(project.root.checkout + os.sep)
    ]
    if names_inside:
        questions["ignored"] = repository.ask_ignored(names_inside)
    return questions
