import re
from collections import Counter
from pathlib import Path

from benchmarks.generate import BOARD, IMPLEMENTATION, generate


def rows(project: Path) -> dict[str, str]:
    found = re.findall(r"^  (\d+-\d+-[\w-]+): ([\w-]+)", (project / BOARD).read_text(), re.MULTILINE)
    return dict(found)


def test_every_story_has_a_file_that_agrees_with_the_board(tmp_path: Path) -> None:
    generate(tmp_path / "p", 105, seed=1)
    board = rows(tmp_path / "p")
    assert len(board) == 105
    for key, status in board.items():
        assert f"\nStatus: {status}\n" in (tmp_path / "p" / IMPLEMENTATION / f"{key}.md").read_text()


def test_the_first_half_is_done_and_three_epics_are_under_way(tmp_path: Path) -> None:
    generate(tmp_path / "p", 200, seed=1)
    text = (tmp_path / "p" / BOARD).read_text()
    epics = Counter(re.findall(r"^  epic-\d+: ([\w-]+)", text, re.MULTILINE))
    assert epics == {"done": 10, "in-progress": 3, "backlog": 7}
    assert set(rows(tmp_path / "p").values()) == {"done", "review", "in-progress", "ready-for-dev", "backlog"}


def test_the_same_seed_gives_the_same_project(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        generate(tmp_path / name, 30, seed=seed)
    a, b, c = ((tmp_path / name / BOARD).read_bytes() for name in "abc")
    assert a == b != c
