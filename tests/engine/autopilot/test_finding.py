"""The titles of epics, asked for again and again."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from bmad_autopilot.board.epics import EpicsFile
from bmad_autopilot.engine.autopilot import finding
from bmad_autopilot.project.open import open_project
from bmad_autopilot.sim.sample import PLANNING, make_sample


def test_titles_are_read_again_only_when_an_epics_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_sample(str(tmp_path), 2, 1)
    project = open_project(str(tmp_path))
    reads = 0
    read = vars(finding)["read_all_epics"]

    def counted(paths: Iterable[str]) -> EpicsFile:
        nonlocal reads
        reads += 1
        found: EpicsFile = read(paths)
        return found

    monkeypatch.setattr(finding, "read_all_epics", counted)
    assert finding.epic_titles(project) == {"1": "Accounts", "2": "Payments"}
    assert finding.epic_titles(project)["1"] == "Accounts"
    assert reads == 1
    path = tmp_path / PLANNING / "epics.md"
    kept = path.stat()
    path.write_text(path.read_text().replace("Payments", "Expenses"))
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns + 1))  # of the same length, a moment later
    assert finding.epic_titles(project)["2"] == "Expenses"
    path.unlink()
    assert finding.epic_titles(project) == {}
