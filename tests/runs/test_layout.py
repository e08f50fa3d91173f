import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.runs.layout import attempt_folder, find_attempts, folder_name, make_run, runs_folder


@pytest.mark.parametrize(
    ("branch", "folder"),
    [
        ("main", "main"),
        ("feature/auth", "feature-auth"),
        ("archive", "archive-branch"),
        ("Archive", "Archive-branch"),
        ("../../etc", "etc"),
        ("..", "-branch"),
        ("fix #12: it's", "fix-12-it-s"),
        ("größe", "größe"),
    ],
)
def test_branches_become_folder_names_by_one_rule(branch: str, folder: str) -> None:
    assert folder_name(branch) == folder


@given(st.text())
def test_no_name_leads_out_of_the_folder(branch: str) -> None:
    name = folder_name(branch)
    assert name
    assert name not in (".", "..")
    assert "/" not in name
    assert "\0" not in name


def test_runs_of_one_second_have_names_of_their_own(tmp_path: Path) -> None:
    names = [os.path.basename(make_run(str(tmp_path), "main", "dev-story", 1_800_000_000.0)) for _ in range(3)]
    assert names == [names[0], f"{names[0]}-2", f"{names[0]}-3"]
    assert names[0].startswith("dev-story-2027")


def test_attempts_are_found_newest_first(tmp_path: Path) -> None:
    runs = runs_folder(str(tmp_path))
    old = make_run(runs, "main", "dev-story", 1_800_000_000.0)
    new = make_run(runs, "feature/auth", "code-review", 1_800_000_600.0)
    for run, number, step, attempt in (
        (old, 1, "dev", 1),
        (old, 1, "dev", 10),
        (old, 1, "dev", 2),
        (new, 2, "qa", 1),
    ):
        os.makedirs(attempt_folder(run, number, step, attempt))
    os.makedirs(f"{runs}/archive/dev-story-20200101-000000/steps/01-dev/attempt-1")
    os.makedirs(f"{old}/steps/notes")
    found = find_attempts(runs)
    assert [(place.session, place.step, place.number) for place in found] == [
        ("feature-auth", "02-qa", 1),
        ("main", "01-dev", 10),
        ("main", "01-dev", 2),
        ("main", "01-dev", 1),
    ]
    assert found[1].name == f"{os.path.basename(old)}/01-dev/10"


def test_no_runs_are_no_trouble(tmp_path: Path) -> None:
    assert find_attempts(str(tmp_path / "nothing")) == []
