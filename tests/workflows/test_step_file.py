"""A file of steps: what can be written, and each mistake with its line."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.io.files import TextFile
from bmad_autopilot.workflows.step_file import StepFile, parse_step_file, read_step_file
from bmad_autopilot.workflows.workflow import Step

WHOLE = """\
name: Architecture review
variables:
  depth: "2"
steps:
  - step: create
    type: generate
    role: qa
    skill: create-architecture
    instructions: |
      Go {depth} levels deep.
    checkpoint:
      save: true
      variables_to_persist: [doc_1, decisions]
  - step: test
    run: ["npm", "test", "--", "{doc_1}"]
    checkpoint:
      save: false
  - step: say
    run: |
      echo {decisions}
"""


def read(text: str, **given: object) -> StepFile:
    return parse_step_file(TextFile("flow.yaml", text.encode()), given)


def refused(text: str, **given: object) -> FileError:
    with pytest.raises(FileError) as caught:
        read(text, **given)
    return caught.value


def test_a_whole_file() -> None:
    found = read(WHOLE)
    assert found.workflow.name == "Architecture-review"
    assert found.variables == {"depth": "2"}
    assert found.notes == ()
    assert found.workflow.steps == (
        Step(
            "create",
            "qa",
            "create-architecture",
            "Go {depth} levels deep.\n",
            persist=("doc_1", "decisions"),
        ),
        Step("test", "command", command=("npm", "test", "--", "{doc_1}"), checkpoint=False),
        Step("say", "command", command=("echo {decisions}\n",), shell=True),
    )


def test_the_bare_list_as_001_shows_it() -> None:
    found = read(
        '- step: "create-architecture"\n  type: generate\n  description: Do it.\n  checkpoint:\n    save: true\n'
    )
    assert found.workflow.name == "flow"
    assert found.workflow.steps == (Step("create-architecture", "dev", None, "Do it."),)


def test_variables_of_the_command_line_stand_in_for_the_files() -> None:
    text = "variables:\n  a: 1\n  b:\nsteps:\n- step: x\n  prompt: Do {a} {b} {c}.\n"
    assert read(text, b="2", c="3").variables == {"a": "1", "b": "2", "c": "3"}
    error = refused(text, c="3")
    assert (error.message, error.location and error.location.line) == ("the variable b has no value", 2)
    assert error.hint == "give it: --var b=…"


def test_an_unknown_key_is_a_warning_with_its_line() -> None:
    found = read("stps: 1\nsteps:\n- step: x\n  promt: y\n  prompt: z\n  checkpoint:\n    safe: true\n")
    assert [(note.location.line, note.hint) for note in found.notes] == [
        (1, "did you mean `steps`?"),
        (4, "did you mean `prompt`?"),
        (7, "did you mean `save`?"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "there are no steps"),
        ("steps: []\n", 1, "there are no steps"),
        ("name: x\n", 1, "there are no steps"),
        ("just words\n", 1, "there are no steps"),
        ("\nsteps:\n  a: b\n", 2, "there are no steps"),
        ("- x\n", 1, "step 1 is not a mapping"),
        ("- prompt: x\n", 1, "step 1 has no name"),
        ("- step: x\n", 1, 'the step "x" has nothing to do'),
        ("- step: x\n  prompt: ''\n", 1, 'the step "x" has nothing to do'),
        ("- step: x\n  prompt: [a]\n", 2, "`prompt` is not a text"),
        ("- step: x\n  prompt: a\n- step: x\n  prompt: b\n", 3, "two steps have one name"),
        ("- step: x\n  prompt: a\n  prompt: b\n", 3, "a key stands twice in step 1"),
        ("- step: x\n  prompt: a\n  instructions: b\n", 2, 'the step "x" has both `instructions` and a `prompt`'),
        ("- step: x\n  prompt: --help\n", 2, "the instructions begin like an option"),
        ("- step: x\n  prompt: a\n  role: dvp\n", 3, "this is no role"),
        ("- step: x\n  skill: bmad-x\n", 2, "this is no skill's name"),
        ("- step: x\n  skill: ../x\n", 2, "this is no skill's name"),
        ("- step: x\n  type: command\n", 1, 'the step "x" has no command'),
        ("- step: x\n  run: []\n", 2, 'the step "x" has no command'),
        ("- step: x\n  run: {a: b}\n", 2, 'the step "x" has no command'),
        ("- step: x\n  run: [a, [b]]\n", 2, "a word of `run` is not a text"),
        ("- step: x\n  run: a\n  prompt: b\n", 3, 'the step "x" is a command, and has `prompt`'),
        ("- step: x\n  prompt: a\n  checkpoint: [b]\n", 3, "`checkpoint` is not a mapping"),
        ("- step: x\n  prompt: a\n  checkpoint: maybe\n", 3, "`checkpoint` is neither true nor false"),
        (
            "- step: x\n  prompt: a\n  checkpoint:\n    variables_to_persist: b\n",
            4,
            "`variables_to_persist` is not a list",
        ),
        (
            "- step: x\n  prompt: a\n  checkpoint:\n    variables_to_persist: [A]\n",
            4,
            "this is no variable's name",
        ),
        ("variables: [a]\nsteps:\n- step: x\n  prompt: a\n", 1, "`variables` is not a mapping"),
        ("variables:\n  a-b: 1\nsteps:\n- step: x\n  prompt: a\n", 2, "this is no variable's name"),
        ("- step: x\n  prompt: |\n    one\n    two {who}\n", 4, "nobody gives the variable who"),
        ("- step: x\n  run: [echo, '{who}']\n", 2, "nobody gives the variable who"),
        ('- step: x\n  run: |\n    echo "{who}"\n', 3, "a variable stands inside quotes"),
        ('- step: x\n  prompt: "a\\a"\n', 2, "`prompt` holds a control character"),
        ("- step: x\n  prompt: a\n b: c\n", 3, "is not valid YAML"),
        ("- step: &a x\n  prompt: *a\n", 2, "uses a YAML alias"),
        (f"name: '..'\nsteps:\n- step: x\n  prompt: {'a' * 9}\n", 1, "the workflow has no name"),
        (f"- step: x\n  prompt: {'a' * 20_001}\n", 2, "`prompt` is too long"),
        ("".join(f"- step: s{n}\n  prompt: a\n" for n in range(101)), 1, "there are too many steps"),
    ],
)
def test_mistakes_have_a_line(text: str, line: int, message: str) -> None:
    error = refused(text)
    assert error.message.startswith(message)
    assert error.location is not None
    assert (error.location.file, error.location.line) == ("flow.yaml", line)


def test_a_variable_is_there_only_for_the_steps_after_it() -> None:
    first = (
        "- step: a\n  prompt: Use {doc}.\n- step: b\n  prompt: x\n  checkpoint: {variables_to_persist: [doc]}\n"
    )
    assert refused(first).location == ("flow.yaml", 2, None)
    assert read(first + "- step: c\n  prompt: Use {doc}.\n", doc="x").workflow.steps[2].prompt == "Use {doc}."


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("workflow.xml", "<task/>", "XML"),
        ("workflow.md", "# x", "Markdown"),
        ("workflow.yaml", 'name: x\ninstalled_path: "{project-root}/_bmad"\ninstructions: a.md\n', "BMAD's own"),
    ],
)
def test_bmads_own_files_are_called_by_their_name(tmp_path: Path, name: str, text: str, what: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FileError, match="is no file of steps") as caught:
        read_step_file(str(path))
    assert what in (caught.value.found or "")
    assert "skill" in (caught.value.hint or "")


def test_a_file_that_is_too_large_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    with pytest.raises(FileError):
        read_step_file(str(path))
    path.write_text("# " + "x" * 70_000)
    with pytest.raises(FileError):
        read_step_file(str(path))


words = st.sampled_from(
    "steps step name prompt instructions run role skill checkpoint save variables_to_persist variables type "
    "command dev true false {a} a".split()
)
anything = st.recursive(
    st.none() | words | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words | st.text(max_size=4), inner, max_size=5),
    max_leaves=20,
)


@given(anything.map(repr) | anything.map(json.dumps) | st.text(max_size=60))
def test_any_yaml_is_a_workflow_or_an_error_with_a_line(text: str) -> None:
    line: int | None = 1
    try:
        assert read(text).workflow.steps
    except FileError as error:
        line = error.location.line if error.location else None
    assert line is not None
    assert line >= 1
