"""The verdict of a retrospective."""

import os
from pathlib import Path

import pytest

from bmad_autopilot.board.retrospectives import retrospective_verdict


def page(folder: Path, name: str, verdict: str, at: int = 0) -> None:
    path = folder / name
    path.write_text(f"---\nverdict: {verdict}\n---\n\n# Retrospective\n")
    os.utime(path, (at, at))


def test_the_newest_of_its_own_epic_counts(tmp_path: Path) -> None:
    page(tmp_path, "epic-1-retro-2026-01-02.md", "rejected", 100)
    page(tmp_path, "epic-1-retro-2026-01-31.md", "Accepted-With-Open-Items", 200)
    page(tmp_path, "epic-11-retro-2026-01-31.md", "accepted", 300)
    assert retrospective_verdict(str(tmp_path), "1") == "accepted-with-open-items"
    assert retrospective_verdict(str(tmp_path), "11") == "accepted"


@pytest.mark.parametrize("verdict", ["maybe", "", "[a, b]"])
def test_what_is_no_verdict_says_nothing(tmp_path: Path, verdict: str) -> None:
    page(tmp_path, "epic-2-retro-2026-01-31.md", verdict)
    assert retrospective_verdict(str(tmp_path), "2") == ""


def test_no_file_and_no_folder(tmp_path: Path) -> None:
    assert retrospective_verdict(str(tmp_path), "1") == ""
    assert retrospective_verdict(str(tmp_path / "none"), "1") == ""
