"""bmad doctor: run all checks of the machine and the project."""

import os

import click

from ..core.errors import EXIT_DONE, EXIT_FAILED, EXIT_UNREADABLE, FileError
from ..core.json_types import pick
from ..io.processes import PROBE_SECONDS, Probe, run_probes
from ..project.bmad_install import Era
from ..project.project import Project
from ..views.doctor import CheckRow, CheckState, DoctorCheck, DoctorReport, render
from ..workflows.selection import select_workflow
from ..workflows.workflow import BUILD
from .checks import github_checks, machine_checks, project_checks
from .checks import project_checks as skills
from .context import open_tolerant, print_json, terminal


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Is everything here that is needed? Each line with its fix."""
    checks = run_checks(ctx.obj[0])
    if as_json:
        print_json("doctor", DoctorReport([pick(CheckRow, check) for check in checks]))
    else:
        click.echo("\n".join(render(checks, terminal(ctx))))
    ctx.exit(exit_code(checks))


def exit_code(checks: list[DoctorCheck]) -> int:
    if any(check.unreadable for check in checks):
        return EXIT_UNREADABLE
    return EXIT_FAILED if any(check.state is CheckState.FAIL for check in checks) else EXIT_DONE


def run_checks(start: str, *, seconds: float = PROBE_SECONDS) -> list[DoctorCheck]:
    """Run every check for the project at `start`; each program has `seconds` to answer."""
    try:
        project, broken = open_tolerant(start)
    except FileError as error:
        if not os.path.isdir(start):
            raise
        answers = run_probes(
            {**machine_checks.TOOL_QUESTIONS, **machine_checks.AGENT_QUESTIONS}, start, seconds=seconds
        )
        return [
            *machine_checks.check_tools(answers, needs_uv=False),
            machine_checks.check_name(),
            project_checks.failed_check("project", error),
        ]
    failures = {item.part: project_checks.failed_check(item.part, item.error, project) for item in broken}
    # An unreadable part was replaced by an empty one: drop the check of that, show the failure.
    return [
        *(check for check in _check_project(project, seconds) if check.name not in failures),
        *failures.values(),
    ]


def _check_project(project: Project, seconds: float) -> list[DoctorCheck]:
    workflow = select_workflow(project.config, only_build=project.bmad.era is Era.BUILD)
    called = skills.skills_called(project, workflow)
    route = github_checks.github_route(project)
    asked = _questions(project, called) | github_checks.delivery_questions(route)
    answers = run_probes(asked, project.root.checkout, seconds=seconds)
    return [
        *machine_checks.check_tools(answers, needs_uv=any(step.skill == BUILD.skill for step in workflow.steps)),
        machine_checks.check_name(),
        *machine_checks.check_repository(project.root, answers),
        *github_checks.check_delivery(route, answers),
        *github_checks.check_auto_approve(project.root, answers),
        *machine_checks.check_agents(answers, machine_checks.agents_needed(project.config, workflow), project),
        skills.check_bmad(project),
        *skills.check_skills(project, workflow, called),
        *machine_checks.check_ignored(answers.get("ignored")),
        project_checks.check_config(project),
        project_checks.check_commands(project),
        *project_checks.check_folders(project),
        project_checks.check_board(project),
        *project_checks.check_diagnostics(project),
        *project_checks.check_locks(project),
    ]


def _questions(project: Project, called: list[skills.CalledSkill]) -> dict[str, Probe]:
    questions = {
        **machine_checks.TOOL_QUESTIONS,
        **machine_checks.AGENT_QUESTIONS,
        **machine_checks.REPOSITORY_QUESTIONS,
    }
    questions |= github_checks.auto_approve_questions(project.root)
    inside = [item.skill.path for item in called if item.skill is not None]
    inside += [project.bmad.folder] if project.bmad.folder else []
    names_inside = [
        os.path.relpath(path, project.root.checkout)
        for path in inside
        if path.startswith(project.root.checkout + os.sep)
    ]
    if names_inside:
        questions["ignored"] = machine_checks.ignored_question(names_inside)
    return questions
