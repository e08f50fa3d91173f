"""What running a story would do, with a workflow of the project's own."""

from bmad_autopilot.board.sprint_status import Row, read_board
from bmad_autopilot.project.config import Config, CustomStep, CustomWorkflow, Role
from bmad_autopilot.project.skills import Skill
from bmad_autopilot.workflows.plan import missing_skills, plan_story, plan_workflow
from bmad_autopilot.workflows.selection import get_workflow
from bmad_autopilot.workflows.workflow import FIX, Step, Workflow
from tests.support.bmad_project import ProjectMaker

OWN = Config(
    workflows={"mine": CustomWorkflow(("dev", "security", "e2e"))},
    steps={
        "security": CustomStep("qa", prompt="Look for holes in {story}.\nThen stop.", owes="verdict"),
        "e2e": CustomStep(skill="qa-e2e"),
    },
)


def row(project: ProjectMaker) -> Row:
    sample = project(board="development_status:\n  epic-1: in-progress\n  1-1-a: ready-for-dev\n", stories={})
    return read_board(str(sample.board)).rows["1-1-a"]


def test_own_steps_are_planned_by_skill_or_by_prompt(project: ProjectMaker) -> None:
    def find(agent: str, name: str) -> Skill | None:
        return Skill(name, f"/bmad-{name}", "x") if name == "dev-story" else None

    plan = plan_story(row(project), get_workflow(OWN, "mine"), OWN, find)
    assert [step.prompt for step in plan] == ["/bmad-dev-story 1-1-a", "Look for holes in 1-1-a.", None]
    assert missing_skills(plan) == [("claude", "qa-e2e")]


# What running a workflow's own file would do.

CONFIG = Config(roles={"dev": Role(), "qa": Role("codex", "big")})
STEPS = (
    Step("list", "command", command=("ls", "{folder}")),
    Step("say", "command", command=("echo {folder}",), shell=True),
    Step("look", "qa", prompt="Look into {folder} for {later}.\nAnd more."),
    Step("draw", "dev", "create-architecture"),
)


def test_agents_commands_and_what_is_known_of_their_words() -> None:
    plan = plan_workflow(Workflow("w", STEPS, FIX), {"folder": "a b"}, CONFIG, lambda agent, name: None)
    assert [(one.agent, one.model, one.prompt) for one in plan] == [
        ("command", None, "ls a b"),
        ("command", None, "echo {folder}"),
        ("codex", "big", "Look into a b for {later}."),
        ("claude", None, None),
    ]
    assert missing_skills(plan) == [("claude", "create-architecture")]


def test_a_skill_is_shown_as_its_agent_calls_it() -> None:
    def find(agent: str, name: str) -> Skill:
        return Skill(name, f"/bmad-{name}", "/skills/it")

    plan = plan_workflow(Workflow("w", STEPS[3:], FIX), {}, CONFIG, find)
    assert [one.prompt for one in plan] == ["/bmad-create-architecture"]
