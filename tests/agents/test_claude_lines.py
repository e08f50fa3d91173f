"""Claude Code's events as lines to follow."""

import pytest

from bmad_autopilot.agents.claude import CLAUDE
from bmad_autopilot.agents.events import ERROR, JSON, NOTE, TEXT, Event
from tests.agents.claude_events import Json, answers, init, limit, message, refused, result, says, uses

RETRY = {"attempt": 1, "max_retries": 10, "retry_delay_ms": 564, "error_status": 529, "error": "overloaded"}


def lines(data: Json) -> list[str]:
    return CLAUDE.lines(Event(0.0, JSON, data))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (says("One.\n\nTwo."), ["One.", "Two."]),
        (uses("Bash", command="npm test", description="Run"), ["Bash  npm test"]),
        (uses("Edit", file_path="src/a.py", old_string="x"), ["Edit  src/a.py"]),
        (uses("Skill", skill="bmad-dev-story"), ["Skill  bmad-dev-story"]),
        (uses("Agent", description="review", prompt="…"), ["Agent  review"]),
        (uses("Odd"), ["Odd"]),
        (uses("Bash", command="cat <<EOF\nx\nEOF"), ["Bash  cat <<EOF x EOF"]),
        (message({"type": "thinking", "thinking": "hm"}), []),
        (says("inner", parent="toolu_1"), ["  inner"]),
        (answers("fine"), []),
        (answers("Exit code 1\nAssertionError", is_error=True), ["  failed: Exit code 1 AssertionError"]),
        (answers([{"type": "text", "text": "no"}], is_error=True), ["  failed: no"]),
        ({"type": "system", "subtype": "api_retry", **RETRY}, ["retry 1 of 10 in 0.6 s: 529 overloaded"]),
        (limit(), ["limit reached: five_hour, resets 2026-11-16 02:22 UTC"]),
        (limit("allowed_warning", utilization=0.92, resets_at=None), ["limit near: five_hour, 92% used"]),
        (limit("allowed"), []),
        (result(), ["completed: 3 turns, $0.02 so far, 9 s"]),
        (result(num_turns=1, total_cost_usd=None), ["completed: 1 turn, 9 s"]),
        (refused(401), ["failed (api_error): 3 turns, $0.02 so far, 9 s"]),
        ({"type": "system", "subtype": "task_started"}, []),
        ({"type": "something new"}, []),
    ],
)
def test_an_event(data: Json, expected: list[str]) -> None:
    assert lines(data) == expected


def test_the_start_names_version_model_and_session() -> None:
    [line] = lines(init())
    assert all(part in line for part in ("2.1.325", "claude-opus-5-5", "3ebfecc5"))


@pytest.mark.parametrize(("kind", "line"), [(TEXT, "plain"), (ERROR, "[error] plain"), (NOTE, "[note] plain")])
def test_what_is_no_json(kind: str, line: str) -> None:
    assert CLAUDE.lines(Event(0.0, kind, "plain\n")) == [line]
    assert CLAUDE.lines(Event(0.0, kind, "\n")) == []


def test_a_long_message_is_cut() -> None:
    found = lines(says("\n".join(["x" * 1000] * 10)))
    assert len(found) == 7
    assert found[-1] == "… 4 more lines"
    assert max(map(len, found)) == 160


def test_no_number_makes_a_line_long() -> None:
    [line] = lines({"type": "system", "subtype": "api_retry", **RETRY, "retry_delay_ms": 1e308, "attempt": 1e308})
    assert len(line) == 300


def test_a_terminal_is_not_written_to_by_the_agent() -> None:
    assert "\x1b" not in "".join(lines(says("\x1b[2Jgone")) + lines(uses("Bash", command="\x1b]0;x\x07")))
