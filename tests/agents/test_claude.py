"""How Claude Code is called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.claude import CLAUDE
from bmad_autopilot.agents.protocol import Agent, Guard, Permissions, Request
from bmad_autopilot.core.errors import UsageError
from tests.agents.claude_events import SESSION

REQUEST = Request("/bmad-dev-story 1-1\n\nThe contract.", SESSION, "/somewhere/tree", skill="bmad-dev-story")


def after(argv: tuple[str, ...], option: str) -> list[str]:
    """The words an option takes."""
    rest = argv[argv.index(option) + 1 :]
    return list(rest[: next((at for at, word in enumerate(rest) if word.startswith("--")), len(rest))])


def test_it_is_an_agent() -> None:
    agent: Agent = CLAUDE
    assert (agent.name, agent.program) == ("claude", "claude")


def test_a_new_conversation() -> None:
    call = CLAUDE.call(REQUEST)
    assert call.argv[:5] == ("claude", "-p", "--output-format", "stream-json", "--verbose")
    assert after(call.argv, "--permission-mode") == ["acceptEdits"]
    assert after(call.argv, "--session-id") == [SESSION]
    assert not {"--resume", "--model", "--max-budget-usd"} & set(call.argv)


def test_the_prompt_goes_in_on_stdin_and_nowhere_else() -> None:
    call = CLAUDE.call(REQUEST)
    assert call.stdin == REQUEST.prompt
    assert not any("contract" in word for word in call.argv)


def test_a_resumed_conversation_does_not_name_a_new_one() -> None:
    argv = CLAUDE.call(REQUEST._replace(resume="earlier")).argv
    assert after(argv, "--resume") == ["earlier"]
    assert "--session-id" not in argv


@pytest.mark.parametrize(("dollars", "word"), [(2.5, "2.5000"), (0.0, "0.0001"), (0.000001, "0.0001")])
def test_model_and_budget(dollars: float, word: str) -> None:
    argv = CLAUDE.call(REQUEST._replace(model="opus", max_dollars=dollars)).argv
    assert after(argv, "--model") == ["opus"]
    assert after(argv, "--max-budget-usd") == [word]


def test_commands_become_rules() -> None:
    permissions = Permissions(("git commit", " npm test "), denied=("git push",), rules=("Bash(make:*)",))
    argv = CLAUDE.call(REQUEST._replace(permissions=permissions)).argv
    assert {"Bash(git commit:*)", "Bash(npm test:*)", "Bash(make:*)"} <= set(after(argv, "--allowedTools"))
    assert "Bash(git push:*)" in after(argv, "--disallowedTools")


def test_a_script_is_allowed_with_quotes_and_without() -> None:
    permissions = Permissions(("uv run /p/_bmad/scripts/x.py", "./gradlew"))
    argv = CLAUDE.call(REQUEST._replace(permissions=permissions)).argv
    assert after(argv, "--allowedTools")[-3:] == [
        "Bash(uv run /p/_bmad/scripts/x.py:*)",
        'Bash(uv run "/p/_bmad/scripts/x.py":*)',
        "Bash(./gradlew:*)",
    ]


def test_what_a_skill_needs_is_allowed_and_no_more() -> None:
    argv = CLAUDE.call(REQUEST).argv
    assert after(argv, "--allowedTools") == ["Read(~/.claude/skills/**)", "WebSearch"]


@pytest.mark.parametrize("rule", ["WebFetch", "WebFetch(domain:example.com)"])
def test_a_rule_of_the_users_opens_what_is_withheld(rule: str) -> None:
    assert "WebFetch" in after(CLAUDE.call(REQUEST).argv, "--disallowedTools")
    argv = CLAUDE.call(REQUEST._replace(permissions=Permissions(rules=(rule,)))).argv
    assert "WebFetch" not in after(argv, "--disallowedTools")
    assert "EnterWorktree" in after(argv, "--disallowedTools")
    assert rule in after(argv, "--allowedTools")


def test_bypass_still_denies_what_is_denied() -> None:
    argv = CLAUDE.call(REQUEST._replace(permissions=Permissions(bypass=True, denied=("git push",)))).argv
    assert after(argv, "--permission-mode") == ["bypassPermissions"]
    assert "Bash(git push:*)" in after(argv, "--disallowedTools")


@pytest.mark.parametrize("command", ["x:*),Bash(rm", "a\nb", "", "  ", "echo $(id)", "a,b", "a\x00b"])
def test_a_command_that_would_be_another_rule(command: str) -> None:
    for permissions in (Permissions(commands=(command,)), Permissions(denied=(command,))):
        with pytest.raises(UsageError, match="as a permission"):
            CLAUDE.call(REQUEST._replace(permissions=permissions))


@pytest.mark.parametrize("rule", ["--dangerously-skip-permissions", " -p", "", "Bash(a)\nBash(b)"])
def test_a_rule_that_would_be_an_option(rule: str) -> None:
    with pytest.raises(UsageError, match="no rule of Claude Code"):
        CLAUDE.call(REQUEST._replace(permissions=Permissions(rules=(rule,))))


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_no_permission_ever_becomes_an_option(commands: list[str], denied: list[str], rules: list[str]) -> None:
    try:
        call = CLAUDE.call(REQUEST._replace(permissions=Permissions(tuple(commands), tuple(denied), tuple(rules))))
    except UsageError:
        return
    options = {word for word in call.argv if word.startswith("-")}
    known = {word for word in CLAUDE.call(REQUEST).argv if word.startswith("-")}
    assert options == known


def test_the_guard_looks_where_skills_and_commands_are_listed() -> None:
    guard = CLAUDE.call(REQUEST).guard
    assert guard == Guard({"type": "system", "subtype": "init"}, ("skills", "slash_commands"), "bmad-dev-story")
    assert CLAUDE.call(REQUEST._replace(skill=None)).guard is None


def test_nothing_runs_in_the_background() -> None:
    assert CLAUDE.call(REQUEST).environment["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] == "1"


@pytest.mark.parametrize(
    "name",
    ["CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "AWS_KEY"],
)
def test_a_call_from_inside_claude_code_hands_nothing_of_the_outer_one_down(name: str) -> None:
    for known in CLAUDE.variables:
        assert not (name.startswith(known[:-1]) if known.endswith("*") else name == known)
