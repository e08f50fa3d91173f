"""Conditions: what they may say, and when they hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.workflows.flow_rules import (
    ARTEFACTS,
    WORDS,
    asks_record,
    fault_of,
    globs_of,
    holds,
    lacking,
    terms_of,
)


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
    assert holds(condition, Folder("a/b.md", sources=True)) is expected


def test_what_the_state_file_says() -> None:
    assert holds("recorded", Folder(), recorded=True)
    assert lacking(["recorded", "x/y", "!x/y"], Folder()) == ("recorded", "x/y")
    assert asks_record(["x/y", "z/ | recorded"])
    assert not asks_record(["x/recorded"])


def test_what_is_to_be_looked_for() -> None:
    assert globs_of(["a/b | !c/*.md", "sources", "artefact prd", "a/b", "recorded", "{output}/x.md"]) == [
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
    fault = fault_of(condition)
    assert fault is not None
    assert (fault.message, fault.hint) == (message, hint)
    assert terms_of(condition) == ()


def test_where_nothing_is_recorded() -> None:
    fault = fault_of("a/b | recorded", recorded=False)
    assert fault is not None
    assert fault.message == "`recorded` does not fit here"


pieces = st.sampled_from([*WORDS, *(f"artefact {name}" for name in ARTEFACTS), "a/*.md", "b/", "x.md"])


@given(st.lists(st.tuples(pieces, st.booleans()), min_size=1, max_size=10))
def test_one_that_is_well_formed_is_read_whole(parts: list[tuple[str, bool]]) -> None:
    condition = " | ".join(f"!{part}" if negated and part != "recorded" else part for part, negated in parts)
    assert fault_of(condition) is None
    terms = terms_of(condition)
    assert [term.negated for term in terms] == [negated and part != "recorded" for part, negated in parts]


@given(st.text(max_size=40))
def test_anything_has_an_answer(condition: str) -> None:
    holds(condition, Folder())
    assert fault_of(condition) is None or not holds(condition, Folder(), recorded=True)
