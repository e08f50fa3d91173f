"""What is shown of an agent's doings is short and printable."""

from bmad_autopilot.agents.telling import MAX_LINE, MAX_LINES, failed, gist, prose, tool


def test_a_long_message_is_cut() -> None:
    lines = prose("\n\n".join(f"line {number}" for number in range(20)))
    assert lines == [*(f"line {number}" for number in range(MAX_LINES)), f"… {20 - MAX_LINES} more lines"]
    assert len(prose("x" * 10_000)[0]) == MAX_LINE


def test_what_says_most_about_a_tool_is_shown() -> None:
    assert tool("bash", {"description": "run the tests", "command": "npm test"}) == "bash  npm test"
    assert tool("edit", {"filePath": "a.py", "oldString": "x"}) == "edit  a.py"
    assert tool("todo", {"todos": []}) == "todo"
    assert tool(None, {}) == "tool"
    assert gist({"command": "a\x1b[31m\nb"}) == "a [31m b"


def test_a_failure_may_be_without_a_reason() -> None:
    assert failed("no such file") == "  failed: no such file"
    assert failed(None) == "  failed"
