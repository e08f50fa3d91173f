import pytest

from bmad_autopilot.agents.adapter import AgentRequest
from bmad_autopilot.agents.registry import AGENT_NAMES, PACKAGES, PROGRAMS, find_agent, find_recorded_agent
from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.project.config import CustomAgent
from bmad_autopilot.project.config_schema import AGENTS
from bmad_autopilot.project.skills import CLIENTS


@pytest.mark.parametrize("name", AGENT_NAMES)
def test_every_agent_is_known_everywhere(name: str) -> None:
    agent = find_agent(name, {})
    assert (agent.name, agent.program) == (name, PROGRAMS[name])
    request = AgentRequest("hello", "00000000-0000-0000-0000-000000000000", "/w")
    assert agent.call(request).argv[0] == agent.program
    assert name in PACKAGES
    assert name in CLIENTS


def test_the_tables_name_the_same_agents() -> None:
    assert set(AGENT_NAMES) == set(PACKAGES) == set(CLIENTS) == set(AGENTS)


def test_a_command_of_the_project_is_an_agent() -> None:
    assert find_agent("mine", {"mine": CustomAgent(("run", "{prompt}"))}).program == "run"


def test_an_unknown_name_is_refused_but_its_records_can_be_read() -> None:
    with pytest.raises(UsageError, match="no agent 'gone'"):
        find_agent("gone", {})
    assert find_recorded_agent("gone", {}).name == "gone"
    assert find_recorded_agent("codex", {}).name == "codex"
