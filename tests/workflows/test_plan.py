"""What running a story would do, with a workflow of the project's own."""

from bmad_autopilot.board.sprint import Row, read_board
from bmad_autopilot.project.config import Config
from bmad_autopilot.project.custom import CustomStep, CustomWorkflow
from bmad_autopilot.project.skills import Skill
from bmad_autopilot.workflows.own import workflow_named
from bmad_autopilot.workflows.plan import missing_skills, plan_story
from tests.support import ProjectMaker

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

    plan = plan_story(row(project), workflow_named(OWN, "mine"), OWN, find)
    assert [step.prompt for step in plan] == ["/bmad-dev-story 1-1-a", "Look for holes in 1-1-a.", None]
    assert missing_skills(plan) == [("claude", "qa-e2e")]
