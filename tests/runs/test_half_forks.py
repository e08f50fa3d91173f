"""The note of a fork that was cut short."""

from pathlib import Path

import pytest

from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.runs.half_forks import NAME, HalfFork, forget_half, half_fork, keep_half, refuse_half
from tests.cli.shipped import validated

HALF = HalfFork("ab" * 32, "main", "epic-1-20260101-120000", "main-ababab", "refs/autopilot/saved/x/before")


def test_it_is_kept_in_its_documented_form_until_it_is_forgotten(tmp_path: Path) -> None:
    git, runs = str(tmp_path / ".git"), str(tmp_path / "runs")
    refuse_half(str(tmp_path), runs)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    refuse_half(str(tmp_path), runs)
    keep_half(git, HALF)
    validated("half-fork", (tmp_path / ".git" / NAME).read_text())
    assert half_fork(git, runs) == HALF
    with pytest.raises(ConflictError, match="was cut short in this work tree"):
        refuse_half(str(tmp_path), runs)
    forget_half(git)
    forget_half(git)
    assert half_fork(git, runs) is None


def test_a_fork_that_is_whole_is_no_half_one(tmp_path: Path) -> None:
    keep_half(str(tmp_path), HALF)
    folder = Path(HALF.folder(str(tmp_path)))
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").write_text("")
    assert half_fork(str(tmp_path), str(tmp_path)) is None


@pytest.mark.parametrize("name", ["../elsewhere", "/etc", "", "a/b"])
def test_names_that_lead_elsewhere_are_none(tmp_path: Path, name: str) -> None:
    keep_half(str(tmp_path), HALF._replace(run=name))
    assert half_fork(str(tmp_path), str(tmp_path)) is None
    (tmp_path / NAME).write_text("{")
    assert half_fork(str(tmp_path), str(tmp_path)) is None
