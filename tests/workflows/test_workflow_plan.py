"""What running a workflow's own file would do."""

from bmad_autopilot.project.config import Config, Role
from bmad_autopilot.project.skills import Skill
from bmad_autopilot.workflows.pipelines import FIX, Step, Workflow
from bmad_autopilot.workflows.plan import missing_skills
from bmad_autopilot.workflows.workflow_plan import plan_workflow

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
