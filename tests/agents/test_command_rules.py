"""Commands as permissions: a prefix is a whole word, and nothing slips out of its brackets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.adapter import Agent, AgentRequest
from bmad_autopilot.agents.codex import CODEX
from bmad_autopilot.agents.command_rules import covers, normalize_commands, user_rules
from bmad_autopilot.agents.copilot import COPILOT
from bmad_autopilot.agents.cursor import CURSOR
from bmad_autopilot.agents.gemini import GEMINI
from bmad_autopilot.agents.opencode import OPENCODE
from bmad_autopilot.agents.permissions import permissions_for
from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.project.config import Commands


def test_a_prefix_covers_whole_words() -> None:
    assert covers("git", "git push")
    assert covers("git push", "git push")
    assert not covers("git", "gitk")
    assert not covers("git push", "git")


def test_commands_are_named_once_and_evenly_spaced() -> None:
    assert normalize_commands("Gemini", ("npm  test ", "npm test", "make")) == ["npm test", "make"]


@pytest.mark.parametrize("command", ["", " ", "a(b", "a)b", "a*", "a?", "a,b", "a\nb", "a\x1bb"])
def test_a_command_that_could_slip_out_is_refused(command: str) -> None:
    with pytest.raises(UsageError, match="Gemini"):
        normalize_commands("Gemini", (command,))


@pytest.mark.parametrize("rule", ["", "  ", "a\nb", "a\x00b"])
def test_a_rule_is_one_line(rule: str) -> None:
    with pytest.raises(UsageError, match="Codex"):
        user_rules("Codex", (rule,))


@pytest.mark.parametrize("agent", [CODEX, OPENCODE, GEMINI, COPILOT, CURSOR], ids=lambda agent: agent.name)
def test_what_we_allow_by_default_can_be_said_to_every_client(agent: Agent) -> None:
    for bypass in (False, True):
        commands = Commands("npm ci", ("npm run lint",), ("npm test",), ("make all",))
        permissions = permissions_for(commands, allow=(), bypass=bypass, is_root=False, checkout="/w")
        assert agent.call(AgentRequest("Go on.", "0b5e", "/w", permissions=permissions)).argv[0] == agent.program


@given(st.text(max_size=20))
def test_what_passes_is_printable_and_without_brackets(command: str) -> None:
    try:
        (found,) = normalize_commands("x", (command,))
    except UsageError:
        return
    assert found.isprintable()
    assert found == found.strip() != ""
    assert not set(found) & set("()*?,")
