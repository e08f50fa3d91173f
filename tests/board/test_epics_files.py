"""Finding the epics: whole, several, sharded, left over."""

import os
from pathlib import Path

import pytest

from bmad_autopilot.board.epics_files import find_epics_files


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# Epic 1: A\n")


def found(root: Path, *others: str) -> list[str]:
    paths = find_epics_files(str(root / "plan"), [str(root / other) for other in others])
    return [os.path.relpath(path, root / "plan") for path in paths]


@pytest.mark.parametrize("name", ["epics.md", "@epics.md", "Epics.md", "epics-002.md", "playground-epics.md"])
def test_one_file(tmp_path: Path, name: str):
    make(tmp_path, f"plan/{name}", "plan/prd.md", "plan/architecture.md")

    assert found(tmp_path) == [name]


def test_several_side_by_side_with_the_main_one_first(tmp_path: Path):
    make(tmp_path, *(f"plan/{name}" for name in ("epics-review.md", "epics.md", "epics-10.md", "epics-2.md")))

    assert found(tmp_path) == ["epics.md", "epics-10.md", "epics-2.md", "epics-review.md"]


@pytest.mark.parametrize(
    "name",
    [
        *("epics-validation-report.md", "epics-template.md", "epic-1-retro-2026-01-02.md", "epic-1-context.md"),
        *(
            "epics-readiness-report-2026-01-02.md",
            "epic-3-tech-spec.md",
            "epics.md.bak",
            "epics.yaml",
            "archive/epics.md",
        ),
    ],
)
def test_what_is_only_about_epics_is_left_out(tmp_path: Path, name: str):
    make(tmp_path, f"plan/{name}")

    assert found(tmp_path) == []


def test_a_sharded_folder_in_natural_order(tmp_path: Path):
    make(tmp_path, *(f"plan/epics/{name}" for name in ("index.md", "epic-10-b.md", "epic-2-a.md", "notes.md")))

    assert found(tmp_path) == ["epics/index.md", "epics/epic-2-a.md", "epics/epic-10-b.md"]


def test_a_whole_file_hides_the_shards(tmp_path: Path):
    make(tmp_path, "plan/epics.md", "plan/epics/index.md", "plan/epics/epic-1.md")

    assert found(tmp_path) == ["epics.md"]


def test_other_folders_count_only_where_the_first_has_none(tmp_path: Path):
    make(tmp_path, "docs/epics.md")
    assert found(tmp_path, "docs") == ["../docs/epics.md"]
    make(tmp_path, "plan/epics.md")
    assert found(tmp_path, "docs") == ["epics.md"]


def test_components_with_an_epics_file_each(tmp_path: Path):
    make(tmp_path, "plan/orchestrator/epics.md", "plan/agent/epics.md")

    assert found(tmp_path) == ["agent/epics.md", "orchestrator/epics.md"]


def test_no_folder_at_all(tmp_path: Path):
    assert found(tmp_path, "gone") == []
