"""The end of what an agent printed."""

import json
from pathlib import Path

from bmad_autopilot.engine.progress import MAX_LINE, MAX_LINES, MAX_READ, last_lines
from bmad_autopilot.project.config import Config
from tests.support.agent_stubs import begin, finish, init_repository


def test_only_the_last_lines_and_each_of_them_bounded(tmp_path: Path) -> None:
    folder = tmp_path / "attempt"
    folder.mkdir()
    begin(folder, init_repository(tmp_path / "r"), "for n in range(30): print(f'line {n}' + 'x' * 500)")
    finish(folder)
    lines = last_lines(str(folder), Config()).split("\n")
    assert [line.split("x")[0] for line in lines] == [f"line {n}" for n in range(30 - MAX_LINES, 30)]
    assert all(len(line) <= MAX_LINE for line in lines)


def test_of_a_long_record_only_the_end_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "attempt"
    folder.mkdir()
    begin(folder, init_repository(tmp_path / "r"), "print('first')")
    finish(folder)
    events = folder / "events.jsonl"
    long = json.dumps({"at": 1.0, "text": "y" * MAX_READ}) + "\n"
    events.write_text(long + json.dumps({"at": 2.0, "text": "last"}) + "\n")
    assert last_lines(str(folder), Config()) == "last"


def test_a_call_that_left_nothing(tmp_path: Path) -> None:
    assert last_lines(str(tmp_path), Config()) == ""
