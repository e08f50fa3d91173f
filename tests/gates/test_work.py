"""The judge as a whole: what it must bear, and how fast."""

import time

import pytest

from bmad_autopilot.core.owes import Owes
from bmad_autopilot.gates.failures import kind_of
from bmad_autopilot.gates.work import judge_work
from tests.gates.looks import STORY, codes, look

ENDLESS = [
    "a",
    " ",
    "\n",
    "\t",
    "(",
    '"',
    "/*",
    "@Test ",
    "[Fact]",
    "#[test]",
    "def test_a(",
    "=begin\n",
    ": ",
    "0",
    "a: b\n",
]
SUFFIXES = ["py", "js", "go", "rs", "java", "rb", "php", "cs", "exs", "swift", "dart", "cpp", "feature"]


@pytest.mark.parametrize("piece", ENDLESS)
def test_no_text_holds_the_judge_up(piece):
    text = piece * (20_000 // len(piece))
    paths = [*(f"tests/test_a.{suffix}" for suffix in SUFFIXES), "package.json", "Makefile", "pyproject.toml"]
    before = dict.fromkeys(paths, text)
    after = dict.fromkeys(paths, f"{text} ")
    began = time.monotonic()
    judge_work(look(before, after, story=text, story_before=text, asked=text, commands=("make a", "npm test")))
    kind_of(1, text)
    assert time.monotonic() - began < 20


def test_several_objections_are_told_together():
    before = {"tests/test_a.py": "def test_a():\n    assert f() == 1\n"}
    found = codes(look(before, {".mcp.json": "{}"}, story=STORY.replace("[x]", "[ ]"), same_branch=False))
    assert found == ["tasks-open", "wrong-branch", "protected-path", "test-deleted"]


@pytest.mark.parametrize("owes", Owes)
def test_a_claim_on_the_board_is_no_objection(owes):
    rows = {"1-2-sign-in": "ready-for-dev"}
    assert codes(look(owes=owes, rows_before=rows, rows_after={"1-2-sign-in": "done"})) == []


@pytest.mark.parametrize("owes", [Owes.VERDICT, Owes.REVISION, Owes.NOTHING, Owes.STORY])
def test_whoever_the_agent_is_tests_are_left_alone(owes):
    before = {"tests/test_a.py": "def test_a():\n    assert f() == 1\n"}
    assert codes(look(before, {}, owes=owes)) == ["test-deleted"]


def test_a_reviewer_may_mend_what_he_finds():
    before = {"src/a.py": "x = 1\n", "tests/test_a.py": "def test_a():\n    assert f() == 1\n"}
    after = {"src/a.py": "x = 2\n", "tests/test_a.py": "def test_a():\n    assert f() == 2\n"}
    assert codes(look(before, after, owes=Owes.VERDICT)) == []
