"""The settings files of public projects, each laid out as it was and opened."""

import re
from pathlib import Path

import pytest

from bmad_autopilot.project.bmad_install import Era
from bmad_autopilot.project.folders import BoardOrigin
from tests.project.trees import codes, inside, opened, write

PLACES = re.compile(
    r"--(_bmad|\.bmad-core|\.bmad|bmad|_kdbp)_(?:(bmm|core|custom)_)?((?:core-)?config\.(?:yaml|toml))$"
)
OUTPUT = "_bmad-output"
USUAL = (OUTPUT, f"{OUTPUT}/planning-artifacts", f"{OUTPUT}/implementation-artifacts", None)

# Read by hand: output, planning, implementation and story folders.
EXPECTED = {
    "1987-Dmytro__Mail-Agent": ("docs", "docs", "docs", "docs/stories"),
    "AXOVIA-ASPEN__flipper-ai": USUAL,
    "Alberto-Codes__docvet": USUAL,
    "Andy-ZhangZilin__BI-DW-song-Request": USUAL,  # a literal {output_folder}, which nothing sets
    "Axl59110__linktracker": (OUTPUT, "docs", "docs/stories", "docs/stories"),
    "Brownbull__gmni_boletapp": USUAL,
    "Casys-AI__casys-pml": USUAL,  # core settings only
    "ClaudioSBezerra__FB_SMARTPICK": USUAL,
    "Fledgely__fledgely": ("docs", "docs", "docs/sprint-artifacts", None),
    "JeiKeiLim__vibe-dash": ("docs", "docs", "docs/sprint-artifacts", None),
    "LeafLIU210__autoBMAD": (OUTPUT, "docs", "docs/stories", "docs/stories"),
    "PaulKnauer__bmad-dag-automator": (
        "project-docs",
        "project-docs/planning-artifacts",
        "project-docs/implementation-artifacts",
        None,
    ),
    "diegosramirez__bmad-orchestrator": USUAL,  # a bare relative output folder
    "keliihall__ScholarSense-bmad-method": USUAL,
    "stavatar__bmad-ralph": ("docs", "docs", "docs/sprint-artifacts", None),
}
V4 = {"Axl59110__linktracker", "LeafLIU210__autoBMAD"}


def lay_out(corpus: Path, target: Path) -> dict[str, list[str]]:
    """Every project of the corpus in a folder of its own; by project, the files it has."""
    projects: dict[str, list[str]] = {}
    for source in sorted((corpus / "config").iterdir()):
        match = PLACES.search(source.name)
        assert match is not None, source.name
        name = source.name[: match.start()]
        path = "/".join(part for part in match.groups() if part)
        write(target / name, path, "")
        (target / name / path).write_bytes(source.read_bytes())
        projects.setdefault(name, []).append(path)
    return projects


def test_every_file_of_the_corpus_is_opened_without_a_complaint(corpus: Path, tmp_path: Path) -> None:
    projects = lay_out(corpus, tmp_path)
    assert sum(map(len, projects.values())) >= 50
    for name, files in projects.items():
        found = opened(tmp_path / name)
        assert codes(found) == [], name
        assert found.bmad.folder == str(tmp_path / name / files[0].split("/")[0]), name
        assert found.bmad.era is (Era.V4 if name in V4 else Era.CLASSIC), name
        assert found.folders.board_origin is BoardOrigin.NONE, name


@pytest.mark.parametrize("name", EXPECTED)
def test_the_folders_are_those_read_by_hand(corpus: Path, tmp_path: Path, name: str) -> None:
    if name not in lay_out(corpus, tmp_path):
        pytest.skip("not in this corpus")
    found = opened(tmp_path / name)
    folders = found.folders
    paths = (folders.output, folders.planning, folders.implementation, folders.stories)
    assert tuple(inside(found, path) for path in paths) == EXPECTED[name]


def test_a_renamed_folder_speaks_where_the_usual_one_is_missing(corpus: Path, tmp_path: Path) -> None:
    source = corpus / "config" / "Brownbull__gmni_boletapp--_kdbp_core_config.yaml"
    if not source.is_file():
        pytest.skip("not in this corpus")
    write(tmp_path, "_kdbp/core/config.yaml", source.read_text())
    write(tmp_path, "_kdbp/_config/manifest.yaml", "installation:\n  version: 6.0.0\n")
    found = opened(tmp_path)
    assert inside(found, found.folders.implementation) == "_kdbp-output/implementation-artifacts"
