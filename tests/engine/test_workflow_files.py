"""What a step of a workflow file leaves: read from its own folder, bounded, and never believed blindly."""

import json
from pathlib import Path

import pytest

from bmad_autopilot.engine.workflow_files import (
    MAX_OUTPUT,
    OUTPUT,
    VARIABLES,
    VARIABLES_IN,
    collect_output,
    has_output,
    write_inputs,
)
from bmad_autopilot.workflows.step_entry import MAX_VALUE
from bmad_autopilot.workflows.workflow import Step

AGENT = Step("write", "dev", prompt="Write.")
COMMAND = Step("test", "command", command=("npm", "test"))


def events(folder: Path, *lines: object) -> None:
    kinds = ({"at": 0, "event" if isinstance(line, dict) else "text": line} for line in lines)
    (folder / "events.jsonl").write_text("".join(f"{json.dumps(kind)}\n" for kind in kinds))


def test_what_an_attempt_of_the_same_name_left_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / VARIABLES).write_text('{"a": 1}')
    (tmp_path / OUTPUT).symlink_to("/etc/passwd")
    write_inputs(str(tmp_path), {"depth": "2"})
    assert json.loads((tmp_path / VARIABLES_IN).read_text()) == {"depth": "2"}
    assert collect_output(str(tmp_path), AGENT, {}, "Done.") == ({}, "Done.", ())


def test_only_what_is_to_persist_goes_on(tmp_path: Path) -> None:
    (tmp_path / VARIABLES).write_text('{"a": 1, "b": [2]}')
    assert collect_output(str(tmp_path), AGENT, {}, "").variables == {"a": 1, "b": [2]}
    left = collect_output(str(tmp_path), AGENT._replace(persist=("b", "c")), {}, "")
    assert left.variables == {"b": [2]}
    assert left.missing == ("the variable `c` is not in `variables.json`",)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{", "not valid JSON"),
        ("[1]", "not a JSON object"),
        ('{"Big": 1}', "no variable's name"),
        (json.dumps({"a": "x" * MAX_VALUE}), "too long"),
        ("{" + " " * 300_000 + "}", "larger"),
    ],
)
def test_variables_that_cannot_be_used(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / VARIABLES).write_text(text)
    left = collect_output(str(tmp_path), AGENT, {}, "")
    assert left.variables == {}
    assert len(left.missing) == 1
    assert word in left.missing[0] or "too large" in left.missing[0]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "there.json").write_text('{"a": 1}')
    (tmp_path / VARIABLES).symlink_to(tmp_path / "there.json")
    (tmp_path / OUTPUT).symlink_to(tmp_path / "there.json")
    assert collect_output(str(tmp_path), AGENT, {}, "x") == (
        {},
        "x",
        ("`variables.json` cannot be used: it is a link",),
    )


def test_too_much_together_with_the_steps_before(tmp_path: Path) -> None:
    (tmp_path / VARIABLES).write_text(json.dumps({"b": "y" * (MAX_VALUE - 10)}))
    before = dict.fromkeys(("a", "c"), "x" * (MAX_VALUE - 10))
    assert "too long together" in collect_output(str(tmp_path), AGENT, before, "").missing[0]


def test_output_is_the_file_else_the_closing_words_else_what_was_printed(tmp_path: Path) -> None:
    events(tmp_path, "one", {"two": 2}, "three")
    assert collect_output(str(tmp_path), AGENT, {}, "Bye.").output == "Bye."
    assert collect_output(str(tmp_path), COMMAND, {}, "Bye.").output == 'one\n{"two": 2}\nthree\n'
    (tmp_path / OUTPUT).write_bytes(b"# It\xff\n")
    assert collect_output(str(tmp_path), COMMAND, {}, "").output == "# It\ufffd\n"


def test_output_is_bounded_and_says_where_the_rest_is(tmp_path: Path) -> None:
    (tmp_path / OUTPUT).write_text("é" * MAX_OUTPUT)
    output = collect_output(str(tmp_path), AGENT, {}, "").output
    assert output.endswith(f"… [cut: the whole is {tmp_path}/{OUTPUT}]\n")
    assert len(output.encode()) < MAX_OUTPUT + 500
    (tmp_path / OUTPUT).unlink()
    events(tmp_path, *(f"line {number}" for number in range(20_000)))
    printed = collect_output(str(tmp_path), COMMAND, {}, "").output
    assert printed.startswith("line ")
    assert printed.endswith("line 19999\n")
    assert len(printed) <= MAX_OUTPUT


@pytest.mark.parametrize("closing", ["Shall I go on?", "HALT: no brief.", "Select: [A] Dig deeper [C] Continue"])
def test_an_agent_that_ends_with_a_question_and_leaves_nothing_has_not_done_it(
    tmp_path: Path, closing: str
) -> None:
    assert collect_output(str(tmp_path), AGENT, {}, closing).missing == (
        "it ended with a question, and left nothing",
    )
    (tmp_path / OUTPUT).write_text("It is done.")
    assert collect_output(str(tmp_path), AGENT, {}, "Anything else?").missing == ()


def test_whether_the_files_say_that_it_is_done(tmp_path: Path) -> None:
    owing = AGENT._replace(persist=("a",))
    assert not has_output(str(tmp_path), owing)
    assert not has_output(str(tmp_path), AGENT)
    (tmp_path / VARIABLES).write_text('{"a": 1}')
    assert has_output(str(tmp_path), owing)
    (tmp_path / OUTPUT).write_text("x")
    assert has_output(str(tmp_path), AGENT)
