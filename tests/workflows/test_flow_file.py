"""Flow files: what can be written, and each mistake with its line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.io.files import TextFile
from bmad_autopilot.workflows.flow_file import (
    ARTEFACTS,
    CONDITION_WORDS,
    STATE_FILE,
    FlowHead,
    condition_globs,
    condition_holds,
    find_condition_fault,
    needs_record,
    parse_condition,
    unmet_conditions,
)
from bmad_autopilot.workflows.step_file import StepFile, parse_step_file
from bmad_autopilot.workflows.workflow import DecisionGate, FlowPart, Step, workflow_from_json, workflow_to_json

WHOLE = """\
name: release
description: >
  From a tag
  to people
flow:
  state: docs/_state.md
  begins: [sources, "!docs/release/"]
  continues: docs/release/
steps:
  - step: Notes
    role: sm
    skills: [release-notes, changelog]
    sub_steps: [1 — Collect, 2 — Write]
    done_when: [docs/release/notes*.md, "{output}/x.md | recorded"]
    optional: yes
    only: ui | board
    loops: true
    checks: true
    tries: 5
    gate:
      ask: Good enough?
      again: Once more
      go_on: Publish
      recommended: again
      because: it is read by many
      passed_when: [docs/release/published.md]
    instructions: |
      Write them into {planning}/notes.md.
  - step: Cut
    boundary: Notes
    run: [git, tag]
  - step: Do
    tasks: features
    role: qa
"""


def read(text: str) -> StepFile:
    return parse_step_file(TextFile("flow.yaml", text.encode()))


def refused(text: str) -> FileError:
    with pytest.raises(FileError) as caught:
        read(text)
    return caught.value


def test_a_whole_file() -> None:
    found = read(WHOLE)
    assert found.notes == ()
    assert found.flow == FlowHead(
        "From a tag to people", "docs/_state.md", ("sources", "!docs/release/"), ("docs/release/",)
    )
    gate = DecisionGate(
        "Good enough?", "Once more", "Publish", "again", "it is read by many", ("docs/release/published.md",)
    )
    notes = FlowPart(
        1,
        ("docs/release/notes*.md", "{output}/x.md | recorded"),
        ("release-notes", "changelog"),
        ("1 — Collect", "2 — Write"),
        True,
        "ui | board",
        gate,
        loops=True,
        checks=True,
        tries=5,
    )
    assert found.workflow.steps == (
        Step("Notes", "sm", None, "Write them into {planning}/notes.md.\n", flow=notes),
        Step("Cut", "command", command=("git", "tag"), flow=FlowPart(2, ("recorded",), boundary="Notes")),
        Step("Do", "qa", flow=FlowPart(3, ("recorded",), tasks="features")),
    )
    assert workflow_from_json(workflow_to_json(found.workflow)) == found.workflow


def test_what_need_not_be_said() -> None:
    found = read("flow:\nsteps:\n- step: A\n  skills: x\n- step: A\n  prompt: b\n  gate:\n  tries:\n  loops:\n")
    assert found.flow == FlowHead("", STATE_FILE)
    assert [step.flow for step in found.workflow.steps] == [
        FlowPart(1, ("recorded",), ("x",)),
        FlowPart(2, ("recorded",)),
    ]


def test_the_keys_belong_to_flows() -> None:
    found = read("steps:\n- step: A\n  prompt: b\n  done_when: [recorded]\n")
    assert found.flow is None
    assert found.workflow.steps[0].flow is None
    assert [note.location.line for note in found.notes] == [4]


def test_an_unknown_key_is_a_warning_with_its_line() -> None:
    found = read(
        "flow:\n  begin: [sources]\nsteps:\n- step: A\n  prompt: b\n  donewhen: x\n"
        "  gate: {ask: a, again: b, go_on: c, recomended: again}\n"
    )
    assert [(note.location.line, note.hint) for note in found.notes] == [
        (2, "did you mean `begins`?"),
        (6, "did you mean `done_when`?"),
        (7, "did you mean `recommended`?"),
    ]


HEAD = "flow:\n  begins: [sources]\nsteps:\n- step: A\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("flow: [a]\nsteps:\n- step: A\n  prompt: b\n", 1, "`flow` is not a mapping"),
        ("flow: yes\nsteps:\n- step: A\n  prompt: b\n", 1, "`flow` is not a mapping"),
        (
            "flow:\n  begins: a/b\n  begins: c/d\nsteps:\n- step: A\n  prompt: b\n",
            3,
            "a key stands twice in `flow`",
        ),
        ("flow:\n  state: /tmp/x.md\nsteps:\n- step: A\n  prompt: b\n", 2, "this is no path of a state file"),
        ("flow:\n  state: a/*.md\nsteps:\n- step: A\n  prompt: b\n", 2, "this is no path of a state file"),
        ("flow:\n  state: a/state.txt\nsteps:\n- step: A\n  prompt: b\n", 2, "this is no path of a state file"),
        ("flow:\n  state: [a]\nsteps:\n- step: A\n  prompt: b\n", 2, "`state` is not a text"),
        (
            "flow:\n  begins:\n  - sources\n  - recorded\nsteps:\n- step: A\n  prompt: b\n",
            4,
            "`recorded` does not fit here",
        ),
        ("flow:\n  continues: [sorces]\nsteps:\n- step: A\n  prompt: b\n", 2, "a condition has an unknown word"),
        ("flow:\n  begins: {a: b}\nsteps:\n- step: A\n  prompt: b\n", 2, "`begins` holds what is no text"),
        ("flow:\nsteps: []\n", 2, "there are no steps"),
        (HEAD, 4, 'the step "A" has nothing to do'),
        (HEAD + "  prompt: b\n  done_when:\n  - a/b\n  - ../c\n", 8, "a condition leads out of the project"),
        (HEAD + "  prompt: b\n  done_when: [a/b, [c]]\n", 6, "`done_when` holds what is no text"),
        (HEAD + "  prompt: b\n  done_when: ['']\n", 6, "`done_when` holds what is no text"),
        (HEAD + f"  prompt: b\n  done_when: [{', '.join(['a/b'] * 21)}]\n", 6, "`done_when` is too long"),
        (HEAD + "  prompt: b\n  only: uy\n", 6, "a condition has an unknown word"),
        (HEAD + "  prompt: b\n  only: recorded\n", 6, "`recorded` does not fit here"),
        (HEAD + "  prompt: b\n  optional: perhaps\n", 6, "`optional` is neither true nor false"),
        (HEAD + "  prompt: b\n  loops: [a]\n", 6, "`loops` is neither true nor false"),
        (HEAD + "  prompt: b\n  tries: 0\n", 6, "`tries` is out of range"),
        (HEAD + "  prompt: b\n  tries: 11\n", 6, "`tries` is out of range"),
        (HEAD + "  prompt: b\n  tries: many\n", 6, "`tries` is out of range"),
        (HEAD + "  prompt: b\n  tries: [3]\n", 6, "`tries` is out of range"),
        (HEAD + "  prompt: b\n  skills: [bmad-x]\n", 6, "this is no skill's name"),
        (HEAD + "  prompt: b\n  skills: [x, ../y]\n", 6, "this is no skill's name"),
        (HEAD + "  prompt: b\n  gate: yes\n", 6, "`gate` is not a mapping"),
        (HEAD + "  prompt: b\n  gate:\n    ask: a\n    go_on: c\n", 6, "the gate has no `again`"),
        (
            HEAD + "  prompt: b\n  gate:\n    ask: a\n    again: b\n    go_on: c\n    recommended: later\n",
            10,
            "`recommended` is none of the two",
        ),
        (
            HEAD + "  prompt: b\n  gate:\n    ask: a\n    again: b\n    go_on: c\n    passed_when: recorded\n",
            10,
            "`recorded` does not fit here",
        ),
        (HEAD + "  tasks: features\n  prompt: b\n", 6, 'the step "A" goes through tasks, and has `prompt`'),
        (HEAD + "  tasks: features\n  skills: b\n", 6, 'the step "A" goes through tasks, and has `skills`'),
        (HEAD + "  tasks: ../x\n", 5, "`tasks` is no name of a report"),
        (HEAD + "  prompt: b\n  boundary: [a]\n", 6, "`boundary` is not a text"),
        (HEAD + f"  prompt: b\n  boundary: {'a' * 301}\n", 6, "`boundary` is too long"),
        (HEAD + "  prompt: Do {this}.\n", 5, "nobody gives the variable this"),
    ],
)
def test_a_mistake_is_refused_with_its_line(text: str, line: int, message: str) -> None:
    error = refused(text)
    assert (error.message, error.location and error.location.line) == (message, line)


values = st.recursive(
    st.sampled_from(["recorded", "sources", "a/b", "true", "3", "", "~", "\u2028", "!", "{x}", "|", "*"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["ask", "again", "x"]), inner),
    max_leaves=6,
)
keys = st.sampled_from([*FlowPart._fields, "done_when", "sub_steps", "prompt", "skill", "run", "role"])


@given(st.dictionaries(keys, values, max_size=5), st.dictionaries(st.sampled_from(["state", "begins"]), values))
def test_whatever_stands_there_is_read_or_refused(step: dict[str, object], head: dict[str, object]) -> None:
    text = json.dumps({"flow": head, "steps": [{"step": "A", **step}]})
    place: object = "none needed"
    try:
        assert read(text).workflow.steps[0].flow is not None
    except FileError as error:
        place = error.location
    assert place is not None


# Conditions: what they may say, and when they hold.


class Folder:
    def __init__(self, *there: str, **flags: bool) -> None:
        self.there = there
        self.sources = flags.get("sources", False)
        self.ui = flags.get("ui", False)
        self.bmad = flags.get("bmad", False)
        self.board = flags.get("board", False)
        self.artefacts = frozenset({"prd"})

    def has(self, glob: str) -> bool:
        return glob in self.there


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a/b.md", True),
        ("./a/b.md", True),
        ("a/c.md", False),
        ("!a/c.md", True),
        ("! a/c.md", True),
        ("!a/b.md", False),
        ("a/c.md | a/b.md", True),
        ("a/c.md|a/b.md", True),
        ("a/c.md | !a/b.md", False),
        ("sources", True),
        ("!sources", False),
        ("bmad", False),
        ("!bmad", True),
        ("ui | board", False),
        ("artefact prd", True),
        ("artefact ux", False),
        ("!artefact ux", True),
        ("recorded", False),
        ("recorded | a/b.md", True),
        ("", False),  # no condition at all never holds
        ("!", False),
        ("sorces", False),
    ],
)
def test_when_it_holds(condition: str, expected: bool) -> None:
    assert condition_holds(condition, Folder("a/b.md", sources=True)) is expected


def test_what_the_state_file_says() -> None:
    assert condition_holds("recorded", Folder(), recorded=True)
    assert unmet_conditions(["recorded", "x/y", "!x/y"], Folder()) == ("recorded", "x/y")
    assert needs_record(["x/y", "z/ | recorded"])
    assert not needs_record(["x/recorded"])


def test_what_is_to_be_looked_for() -> None:
    assert condition_globs(["a/b | !c/*.md", "sources", "artefact prd", "a/b", "recorded", "{output}/x.md"]) == [
        "a/b",
        "c/*.md",
        "{output}/x.md",
    ]


@pytest.mark.parametrize(
    ("condition", "message", "hint"),
    [
        ("", "a condition says nothing", None),
        ("a/b |", "a condition says nothing", None),
        ("!!a/b", "a condition says nothing", None),
        ("sorces", "a condition has an unknown word", "did you mean `sources`?"),
        ("makefile", "a condition has an unknown word", "a file at the top is written ./makefile"),
        ("artefact prt", "this is no artefact", "did you mean `prd`?"),
        ("artefact", "this is no artefact", None),
        ("!recorded", "`recorded` does not fit here", None),
        ("/etc/passwd", "a condition leads out of the project", None),
        ("a/../../b", "a condition leads out of the project", None),
        ("~/x", "a condition leads out of the project", None),
        ("a\\b.md", "a condition leads out of the project", None),
        ("./", "a condition leads out of the project", None),
        ("**", "a condition leads out of the project", None),
        ("{home}/x", "a condition has an unknown placeholder", None),
        ("a/" * 200, "a condition is too long", None),
        (" | ".join(["a/b"] * 11), "a condition is too long", None),
    ],
)
def test_what_is_wrong_with_it(condition: str, message: str, hint: str | None) -> None:
    fault = find_condition_fault(condition)
    assert fault is not None
    assert (fault.message, fault.hint) == (message, hint)
    assert parse_condition(condition) == ()


def test_where_nothing_is_recorded() -> None:
    fault = find_condition_fault("a/b | recorded", recorded=False)
    assert fault is not None
    assert fault.message == "`recorded` does not fit here"


pieces = st.sampled_from([*CONDITION_WORDS, *(f"artefact {name}" for name in ARTEFACTS), "a/*.md", "b/", "x.md"])


@given(st.lists(st.tuples(pieces, st.booleans()), min_size=1, max_size=10))
def test_one_that_is_well_formed_is_read_whole(parts: list[tuple[str, bool]]) -> None:
    condition = " | ".join(f"!{part}" if negated and part != "recorded" else part for part, negated in parts)
    assert find_condition_fault(condition) is None
    terms = parse_condition(condition)
    assert [term.negated for term in terms] == [negated and part != "recorded" for part, negated in parts]


@given(st.text(max_size=40))
def test_anything_has_an_answer(condition: str) -> None:
    condition_holds(condition, Folder())
    assert find_condition_fault(condition) is None or not condition_holds(condition, Folder(), recorded=True)
