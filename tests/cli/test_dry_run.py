"""Dry runs: the plan, each step with the agent call it would make."""

import json
from importlib.resources import files

import jsonschema
import pytest

from tests.support.bmad_project import ProjectMaker
from tests.support.cli_projects import finished_project, mixed_project
from tests.support.terminals import assert_golden, run_in_terminal, run_piped, strip_colors


def prompts(output: str) -> list[str]:
    return [step["prompt"] for step in json.loads(output)["steps"]]


@pytest.mark.parametrize("name", ["next", "run-story 2-3", "run-epic 2"])
def test_transcripts(project: ProjectMaker, name: str) -> None:
    shown = run_in_terminal(*name.split(), "--dry-run", cwd=mixed_project(project).root, columns=80)
    assert_golden(f"plan-{name.replace(' ', '-')}", strip_colors(shown))


def test_a_story_from_the_backlog_takes_all_steps(project: ProjectMaker) -> None:
    done = run_piped("run-story", "2.10", "--dry-run", "--json", cwd=mixed_project(project).root)
    assert done.returncode == 0
    assert prompts(done.stdout) == [
        "/bmad-create-story 2-10-archive",
        "/bmad-dev-story 2-10-archive",
        "/bmad-code-review 2-10-archive",
    ]


def test_the_full_pipeline_has_five_steps_and_roles_choose_their_agents(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    sample.write("bmad-autopilot.toml", 'workflow = "full"\n[roles.qa]\nmodel = "opus"\n')
    document = json.loads(run_piped("run-story", "2-10", "--dry-run", "--json", cwd=sample.root).stdout)
    assert [(step["step"], step["role"]) for step in document["steps"]] == [
        ("create-story", "sm"),
        ("validate", "sm"),
        ("dev", "dev"),
        ("revision", "revisor"),
        ("code-review", "qa"),
    ]
    assert document["steps"][1]["prompt"] == "/bmad-create-story validate 2-10-archive"
    assert (document["steps"][4]["agent"], document["steps"][4]["model"]) == ("claude", "opus")


def test_only_build_installed(project: ProjectMaker) -> None:
    sample = project(era="build")
    document = json.loads(run_piped("run-story", "2-1", "--dry-run", "--json", cwd=sample.root).stdout)
    assert document["pipeline"] == "build"
    assert [step["prompt"] for step in document["steps"]] == [
        "/bmad-build-auto 2-1-search",
        "/bmad-code-review 2-1-search",
    ]


def test_the_alphas_say_it_with_colons(project: ProjectMaker) -> None:
    sample = project(era="alpha")
    ran = run_piped("next", "--dry-run", "--json", cwd=sample.root)
    assert prompts(ran.stdout) == ["/bmad:bmm:workflows:code-review 1-2-sign-in"]


def test_the_plan_keeps_its_schema(project: ProjectMaker) -> None:
    schema = json.loads(files("bmad_autopilot").joinpath("schemas/plan.schema.json").read_text())
    for arguments in (["next"], ["run-epic", "1"], ["run-story", "1-1"]):
        document = json.loads(run_piped(*arguments, "--dry-run", "--json", cwd=project().root).stdout)
        jsonschema.Draft202012Validator(schema).validate(document)


def test_a_missing_skill_is_said_before_anything_starts(project: ProjectMaker) -> None:
    sample = project(era="build")
    sample.write("bmad-autopilot.toml", 'workflow = "lean"\n')
    done = run_piped("run-story", "2-1", "--dry-run", cwd=sample.root)
    assert done.returncode == 1
    assert "BMAD's create-story is not installed for claude: bmad doctor" in done.stderr


def test_nothing_left(project: ProjectMaker) -> None:
    sample = finished_project(project)
    assert run_piped("next", "--dry-run", cwd=sample.root).stdout.startswith("all 2 stories are done")
    assert "nothing to do" in run_piped("run-epic", "1", "--dry-run", cwd=sample.root).stdout
    assert prompts(run_piped("next", "--dry-run", "--json", cwd=sample.root).stdout) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run-story", "9-9", "--dry-run"], "no story 9-9 on the board"),
        (["run-story", "2-", "--dry-run"], "names several stories"),
        (["run-story", "epic-2", "--dry-run"], "no story epic-2 on the board"),
        (["run-epic", "77", "--dry-run"], "no epic 77 on the board"),
    ],
)
def test_what_cannot_be_planned(project: ProjectMaker, arguments: list[str], says: str) -> None:
    done = run_piped(*arguments, cwd=mixed_project(project).root)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_a_disagreement_is_said_with_the_plan(project: ProjectMaker) -> None:
    done = run_piped("run-story", "2-2", "--dry-run", cwd=mixed_project(project).root)
    assert "! 2-2-search is review on the board, done in its story file (bmad board repair)" in done.stdout


def test_a_story_that_stands_twice_is_not_planned(project: ProjectMaker) -> None:
    board = "development_status:\n  epic-1: in-progress\n  1-1-a: done\n  1-1-a: backlog\n"
    done = run_piped("run-story", "1-1", "--dry-run", cwd=project(board=board, stories={}).root)
    assert (done.returncode, "lines 3, 4" in done.stderr) == (4, True)


OWN = """\
workflow = "mine"
[workflows.mine]
steps = ["create-story", "dev", "security", "code-review"]
[steps.security]
role = "qa"
prompt_file = "prompts/security.md"
"""


def test_a_workflow_of_the_projects_own(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    sample.write("bmad-autopilot.toml", OWN)
    sample.write("prompts/security.md", "Look for holes in {story}.\nNothing else.\n")
    ran = run_piped("run-story", "2-10", "--dry-run", "--json", cwd=sample.root)
    document = json.loads(ran.stdout)
    schema = json.loads(files("bmad_autopilot").joinpath("schemas/plan.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    assert document["pipeline"] == "mine"
    assert prompts(ran.stdout)[2] == "Look for holes in 2-10-archive."
    shown = run_piped("run-epic", "2", "--dry-run", cwd=sample.root)
    assert (shown.returncode, "security (qa: claude); board: unchanged" in shown.stdout) == (0, True)


def test_settings_that_name_a_missing_prompt_are_refused(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    sample.write("bmad-autopilot.toml", OWN)
    done = run_piped("next", "--dry-run", cwd=sample.root)
    assert done.returncode == 4
    assert "bmad-autopilot.toml:6: `steps.security.prompt_file`: no such file" in done.stderr


def test_a_workflow_without_a_review(project: ProjectMaker) -> None:
    sample = project(board="development_status:\n  epic-1: in-progress\n  1-1-a: review\n", stories={})
    sample.write("bmad-autopilot.toml", 'workflow = "bare"\n[workflows.bare]\nsteps = ["create-story", "dev"]\n')
    done = run_piped("next", "--dry-run", cwd=sample.root)
    assert (done.returncode, "done once its checks pass" in done.stdout) == (0, True)
    assert "checks of 1-1-a, which is review" in run_piped("status", cwd=sample.root).stdout
    document = json.loads(run_piped("status", "--json", cwd=sample.root).stdout)
    schema = json.loads(files("bmad_autopilot").joinpath("schemas/status.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    assert (document["next"]["step"], document["next"]["agent"]) == (None, None)
    assert "no step of the workflow `bare` reviews" in run_piped("doctor", "--json", cwd=sample.root).stdout


def test_a_step_of_ones_own_that_comes_first(project: ProjectMaker) -> None:
    sample = project(board="development_status:\n  epic-1: in-progress\n  1-1-a: backlog\n", stories={})
    text = (
        'workflow = "w"\n[workflows.w]\nsteps = ["think", "dev"]\n[steps.think]\nprompt = "Think about {story}."\n'
    )
    sample.write("bmad-autopilot.toml", text)
    assert prompts(run_piped("next", "--dry-run", "--json", cwd=sample.root).stdout) == ["Think about 1-1-a."]
    shown = run_piped("status", cwd=sample.root).stdout
    assert "think 1-1-a, which is backlog" in shown
    assert "not installed" not in shown
