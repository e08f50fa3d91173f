"""Whose work it is: what calls changed, and what a person left who took the story over."""

import re
from pathlib import Path

import pytest

from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.question import By
from bmad_autopilot.runs.questions import all_open, answer
from tests.engine.laning import Person, Sample, changed_by

STORY = "_bmad-output/implementation-artifacts/1-1-list-accounts.md"
CODE = "src/ledger/list_accounts.py"


def take_over(sample: Sample) -> None:
    """What a person does who was handed the story: the code, its tasks, its row, and a setting besides."""
    sample.write(CODE, "def list_accounts(amounts: list[int]) -> int:\n    return sum(amounts)\n")
    page = sample.root / STORY
    page.write_text(page.read_text().replace("- [ ]", "- [x]"))
    sample.board.write_text(re.sub(r"(  1-1-\S+:) \S+", r"\1 review", sample.board.read_text()))
    settings = sample.root / "bmad-autopilot.toml"
    settings.write_text(f"{settings.read_text()}\n# mine\n")


@pytest.mark.parametrize("where", ["at the terminal", "while nobody is at work"])
def test_what_a_person_left_who_took_over_is_the_storys_work(tmp_path: Path, where: str) -> None:
    sample = Sample(tmp_path / "p", "no-change")
    if where == "at the terminal":
        assert sample.run(person=Person("fix")).end.status == "handed-over"
    else:
        sample.run()
        (asked,) = all_open(runs_folder(str(sample.root))).asked
        answer(asked.path, "fix", By.HUMAN)
    take_over(sample)
    ran = sample.run()
    assert (ran.end.status, ran.questions) == ("completed", [])
    assert [entry["step"] for entry in ran.entries("call")] == ["code-review"]
    assert CODE in changed_by(sample, ["HEAD~1"])
    assert sample.git("status", "--porcelain") == "M bmad-autopilot.toml", "settings are theirs to commit"


@pytest.mark.real
def test_what_a_person_writes_besides_is_not(tmp_path: Path) -> None:
    """Nobody has handed the story over: an edit beside a question makes no work of nothing."""
    sample = Sample(tmp_path / "p", "no-change")
    sample.run()
    sample.write("notes.txt", "mine\n")
    ran = sample.run(person=Person("retry"))
    assert (ran.end.status, ran.questions) == ("waiting", ["failed"])
    assert "no-change" in ran.entries("ended")[-1]["objections"]
