"""Planning folder, implementation folder and board, for every layout BMAD has had."""

from pathlib import Path

import pytest

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.project.folders import MAX_DEPTH, BoardOrigin, search_boards
from bmad_autopilot.project.project import Project
from tests.project.trees import BOARD, IMPLEMENTATION, codes, inside, lay, opened, settings, write
from tests.support.bmad_project import ERAS, ProjectMaker

ROOTED = "{project-root}"


def board_of(project: Project) -> tuple[str | None, BoardOrigin]:
    return inside(project, project.folders.board), project.folders.board_origin


@pytest.mark.parametrize("era", ["alpha", "commands", "classic", "build", "shims"])
def test_every_era_finds_its_board_and_folders(project: ProjectMaker, era: str) -> None:
    found = opened(project(era=era).root)
    layout = ERAS[era]
    assert board_of(found) == (f"{layout.implementation}/sprint-status.yaml", BoardOrigin.CONFIGURED)
    assert inside(found, found.folders.implementation) == layout.implementation
    assert found.diagnostics == ()


def test_the_first_alphas_kept_the_board_in_the_output_folder(tmp_path: Path) -> None:
    text = settings(output_folder=f"{ROOTED}/docs", dev_story_location=f"{ROOTED}/docs/stories")
    write(lay(tmp_path, "docs/sprint-status.yaml"), "bmad/bmm/config.yaml", text)
    found = opened(tmp_path)
    assert board_of(found) == ("docs/sprint-status.yaml", BoardOrigin.CONFIGURED)
    assert inside(found, found.folders.stories) == "docs/stories"
    assert inside(found, found.folders.planning) == "docs"


def test_middle_alphas_name_sprint_artifacts(tmp_path: Path) -> None:
    text = settings(output_folder=f"{ROOTED}/docs", sprint_artifacts=f"{ROOTED}/docs/sprint-artifacts")
    write(lay(tmp_path, "docs/sprint-artifacts/sprint-status.yaml"), ".bmad/bmm/config.yaml", text)
    found = opened(tmp_path)
    assert board_of(found) == ("docs/sprint-artifacts/sprint-status.yaml", BoardOrigin.CONFIGURED)
    assert inside(found, found.folders.planning) == "docs"


def test_v4_has_stories_and_no_board(tmp_path: Path) -> None:
    text = "markdownExploder: true\nprd:\n  prdFile: docs/prd.md\ndevStoryLocation: docs/stories\n"
    write(tmp_path, ".bmad-core/core-config.yaml", text)
    found = opened(tmp_path)
    assert board_of(found) == (None, BoardOrigin.NONE)
    assert inside(found, found.folders.stories) == "docs/stories"
    assert inside(found, found.folders.planning) == "docs"


@pytest.mark.parametrize(
    ("written", "folder"),
    [
        ("{project-root}/work", "work"),
        ("work", "work"),
        ("./work", "work"),
        ("{project-root}\\work\\deep", "work/deep"),
        ("work/", "work"),
        ("{output_folder}/work", "out/work"),
        ("{project-root}/{output_folder}/work", "out/work"),
        ("{project-root}", "."),
        ("{project-root}//work", "work"),
    ],
)
@pytest.mark.parametrize("output", ["out", "{project-root}/out", "./out"])
def test_all_ways_to_write_a_folder(tmp_path: Path, written: str, folder: str, output: str) -> None:
    text = f"output_folder: '{output}'\nimplementation_artifacts: '{written}'\n"
    write(lay(tmp_path, f"{folder}/sprint-status.yaml"), "_bmad/bmm/config.yaml", text)
    found = opened(tmp_path)
    assert found.folders.board == str(tmp_path / folder / "sprint-status.yaml")
    assert found.folders.board_origin is BoardOrigin.CONFIGURED


def test_the_output_folder_may_be_the_cores(tmp_path: Path) -> None:
    write(tmp_path, "_bmad/core/config.yaml", settings(output_folder="out"))
    write(tmp_path, "_bmad/bmm/config.yaml", settings(implementation_artifacts="{output_folder}/work"))
    assert inside(opened(tmp_path), opened(tmp_path).folders.implementation) == "out/work"


def test_the_installers_literal_output_folder_means_the_default(tmp_path: Path) -> None:
    text = settings(implementation_artifacts="{project-root}/{output_folder}/implementation-artifacts")
    write(lay(tmp_path, f"{IMPLEMENTATION}/sprint-status.yaml"), "_bmad/bmm/config.yaml", text)
    (tmp_path / "{output_folder}").mkdir()
    assert board_of(opened(tmp_path)) == (f"{IMPLEMENTATION}/sprint-status.yaml", BoardOrigin.CONFIGURED)


def test_a_board_in_the_literal_folder_is_found_too(tmp_path: Path) -> None:
    text = settings(implementation_artifacts="{project-root}/{output_folder}/implementation-artifacts")
    write(tmp_path, "_bmad/bmm/config.yaml", text)
    lay(tmp_path, "{output_folder}/implementation-artifacts/sprint-status.yaml")
    assert opened(tmp_path).folders.board_origin is BoardOrigin.SEARCHED


def test_an_absolute_path_into_this_project_is_used(tmp_path: Path) -> None:
    write(lay(tmp_path, "work/sprint-status.yaml"), "_bmad/bmm/config.yaml", "")
    write(tmp_path, "_bmad/bmm/config.yaml", settings(implementation_artifacts=f"{tmp_path}/work"))
    assert board_of(opened(tmp_path)) == ("work/sprint-status.yaml", BoardOrigin.CONFIGURED)


def test_an_absolute_path_by_another_name_of_this_project_is_used(tmp_path: Path) -> None:
    base = lay(tmp_path / "real", "work/sprint-status.yaml")
    (tmp_path / "alias").symlink_to(base)
    write(base, "_bmad/bmm/config.yaml", settings(implementation_artifacts=f"{tmp_path}/alias/work"))
    assert board_of(opened(base)) == ("work/sprint-status.yaml", BoardOrigin.CONFIGURED)


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("/Users/somebody/project/work", "foreign-path"),
        ("C:/Users/somebody/work", "foreign-path"),
        ("~/work", "foreign-path"),
        ("../elsewhere", "outside-project"),
        ("{project-root}/../elsewhere", "outside-project"),
        ("a/../../elsewhere", "outside-project"),
        ("{nobody_fills_this}/work", "unknown-placeholder"),
    ],
)
def test_a_path_that_leaves_the_project_is_refused_and_said(tmp_path: Path, written: str, code: str) -> None:
    lay(tmp_path / "elsewhere", "sprint-status.yaml")
    base = lay(tmp_path / "project", f"{IMPLEMENTATION}/sprint-status.yaml")
    path = write(base, "_bmad/bmm/config.yaml", settings(implementation_artifacts=written))
    found = opened(base)
    assert board_of(found) == (f"{IMPLEMENTATION}/sprint-status.yaml", BoardOrigin.DEFAULT)
    assert [(note.code, note.location) for note in found.diagnostics] == [(code, (str(path), 2, None))]
    assert written in found.diagnostics[0].message


def test_a_nul_in_a_toml_setting_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "_bmad/config.toml", '[modules.bmm]\nimplementation_artifacts = "a\\u0000b"\n')
    assert codes(opened(tmp_path)) == ["bad-path"]


def test_leftovers_of_an_upgrade_are_found_and_said(tmp_path: Path) -> None:
    lay(tmp_path, "docs/sprint-artifacts/sprint-status.yaml")
    write(tmp_path, "_bmad/bmm/config.yaml", settings(implementation_artifacts=f"{ROOTED}/{IMPLEMENTATION}"))
    found = opened(tmp_path)
    assert board_of(found) == ("docs/sprint-artifacts/sprint-status.yaml", BoardOrigin.LEGACY_FOLDER)
    assert codes(found) == ["board-elsewhere"]


def test_the_configured_board_wins_and_the_other_is_named(tmp_path: Path) -> None:
    lay(tmp_path, f"{IMPLEMENTATION}/sprint-status.yaml", "docs/sprint-status.yaml", "_bmad/core/config.yaml")
    found = opened(tmp_path)
    assert board_of(found) == (f"{IMPLEMENTATION}/sprint-status.yaml", BoardOrigin.DEFAULT)
    assert found.folders.other_boards == (str(tmp_path / "docs/sprint-status.yaml"),)
    assert codes(found) == ["other-board"]
    assert 'board = "docs/sprint-status.yaml"' in str(found.diagnostics[0])


@pytest.mark.parametrize(
    "boards",
    [
        ("docs/sprint-status.yaml", "docs/sprint-artifacts/sprint-status.yaml"),
        ("packages/a/sprint-status.yaml", "packages/b/sprint-status.yaml"),
    ],
)
def test_two_boards_and_nothing_decides(tmp_path: Path, boards: tuple[str, str]) -> None:
    write(lay(tmp_path, *boards), "_bmad/bmm/config.yaml", settings(implementation_artifacts="work"))
    found = opened(tmp_path)
    assert board_of(found) == (None, BoardOrigin.SEVERAL)
    with pytest.raises(FileError) as caught:
        found.require_board()
    assert caught.value.exit_code == 4
    for board in boards:
        assert f'board = "{board}"' in str(caught.value)


def test_our_own_setting_chooses_between_two_boards(tmp_path: Path) -> None:
    lay(tmp_path, "a/sprint-status.yaml", "b/sprint-status.yaml", "_bmad/core/config.yaml")
    write(tmp_path, "bmad-autopilot.toml", 'board = "b/sprint-status.yaml"\n')
    assert board_of(opened(tmp_path)) == ("b/sprint-status.yaml", BoardOrigin.CHOSEN)


def test_a_chosen_board_that_is_not_there_is_said_with_its_line(tmp_path: Path) -> None:
    lay(tmp_path, "docs/sprint-status.yaml")
    write(tmp_path, "bmad-autopilot.toml", '# mine\nboard = "b.yaml"\n')
    found = opened(tmp_path)
    assert board_of(found) == ("b.yaml", BoardOrigin.CHOSEN)
    assert [(note.code, note.location.line) for note in found.diagnostics] == [("board-missing", 2)]


@pytest.mark.parametrize("board", ["../b.yaml", "/etc/passwd", "a/../../b.yaml"])
def test_a_chosen_board_outside_the_project_is_an_error(tmp_path: Path, board: str) -> None:
    write(tmp_path, "bmad-autopilot.toml", f'board = "{board}"\n')
    with pytest.raises(FileError, match="inside the project"):
        opened(tmp_path)


def test_no_board_is_a_state_and_an_error_only_when_one_is_needed(project: ProjectMaker) -> None:
    found = opened(project(board=None).root)
    assert board_of(found) == (None, BoardOrigin.NONE)
    with pytest.raises(FileError, match="sprint-planning"):
        found.require_board()


def test_something_else_in_the_boards_place_is_not_called_no_board(tmp_path: Path) -> None:
    (tmp_path / IMPLEMENTATION / "sprint-status.yaml").mkdir(parents=True)
    assert opened(tmp_path).folders.board is not None


def test_a_unique_board_somewhere_else_is_found(tmp_path: Path) -> None:
    lay(tmp_path, "plans/sprint/sprint-status.yaml", "_bmad/core/config.yaml")
    assert board_of(opened(tmp_path)) == ("plans/sprint/sprint-status.yaml", BoardOrigin.SEARCHED)


@pytest.mark.parametrize(
    "folder",
    ["archive", "Archive", "fixtures", "node_modules", ".git", "vendor", "worktrees", "x.worktrees", "_bmad"],
)
def test_copies_are_no_boards(tmp_path: Path, folder: str) -> None:
    lay(tmp_path, f"a/{folder}/b/sprint-status.yaml", "c/sprint-status.yaml", "_bmad/core/config.yaml")
    assert search_boards(str(tmp_path)).boards == (str(tmp_path / "c/sprint-status.yaml"),)


def test_a_checkout_inside_the_project_is_not_searched(tmp_path: Path) -> None:
    lay(tmp_path, "lanes/one/.git", "lanes/one/sprint-status.yaml")
    assert search_boards(str(tmp_path)).boards == ()


def test_the_search_does_not_follow_links(tmp_path: Path) -> None:
    lay(tmp_path / "outside", "sprint-status.yaml")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "loop").symlink_to(tmp_path)
    assert search_boards(str(tmp_path / "project")).boards == ()


def test_the_search_is_bounded_in_depth_and_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, "/".join("d" * MAX_DEPTH) + "/sprint-status.yaml")
    assert search_boards(str(tmp_path)).boards == ()
    lay(tmp_path, *(f"wide/{count}" for count in range(30)), "_bmad/core/config.yaml")
    monkeypatch.setattr("bmad_autopilot.project.folders.MAX_ENTRIES", 10)
    assert not search_boards(str(tmp_path)).is_complete
    assert codes(opened(tmp_path)) == ["search-cut"]


def test_settings_that_disagree_are_said_with_both_places(tmp_path: Path) -> None:
    yaml = write(tmp_path, "_bmad/bmm/config.yaml", settings(implementation_artifacts=IMPLEMENTATION))
    toml = write(tmp_path, "_bmad/custom/config.toml", '[modules.bmm]\nimplementation_artifacts = "work"\n')
    found = opened(lay(tmp_path, "work/sprint-status.yaml"))
    assert board_of(found) == ("work/sprint-status.yaml", BoardOrigin.CONFIGURED)
    note = found.diagnostics[0]
    assert (note.code, note.location) == ("split-settings", (str(yaml), 2, None))
    assert f"{toml}:2" in note.message


def test_settings_that_mean_the_same_are_not_said(tmp_path: Path) -> None:
    lay(tmp_path, f"{IMPLEMENTATION}/sprint-status.yaml")
    write(tmp_path, "_bmad/bmm/config.yaml", settings(implementation_artifacts=f"./{IMPLEMENTATION}/"))
    write(
        tmp_path, "_bmad/config.toml", f'[modules.bmm]\nimplementation_artifacts = "{ROOTED}/{IMPLEMENTATION}"\n'
    )
    assert opened(tmp_path).diagnostics == ()


# In a linked worktree


def test_a_lane_reads_its_own_tracked_board(project: ProjectMaker, tmp_path: Path) -> None:
    sample = project()
    lane = tmp_path / "lane"
    sample.git("worktree", "add", "--quiet", str(lane))
    found = opened(lane)
    assert found.folders.base == str(lane)
    assert found.folders.board == str(lane / IMPLEMENTATION / "sprint-status.yaml")
    assert found.root.path == str(sample.root)


@pytest.mark.parametrize("ignored", [("_bmad", "_bmad-output", ".claude"), ("_bmad-output",)])
def test_a_lane_without_bmads_files_uses_the_owners(
    project: ProjectMaker, tmp_path: Path, ignored: tuple[str, ...]
) -> None:
    sample = project(with_git=False)
    sample.git("init", "--quiet")
    sample.write(".gitignore", "".join(f"/{name}/\n" for name in ignored))
    sample.write("main.py", "")
    sample.commit()
    sample.git("worktree", "add", "--quiet", str(tmp_path / "lane"))
    found = opened(tmp_path / "lane")
    assert found.root.checkout == str(tmp_path / "lane")
    assert found.folders.base == str(sample.root)
    assert found.folders.board == str(sample.board)
    assert found.bmad.version == "6.10.0"


def test_a_lane_with_a_tracked_board_takes_the_owners_settings(project: ProjectMaker, tmp_path: Path) -> None:
    sample = project(with_git=False)
    sample.git("init", "--quiet")
    sample.write(".gitignore", "/_bmad/\n")
    sample.write("_bmad/bmm/config.yaml", settings(implementation_artifacts=f"{sample.root}/work"))
    sample.write("work/sprint-status.yaml", BOARD)
    sample.commit()
    lane = tmp_path / "lane"
    sample.git("worktree", "add", "--quiet", str(lane))
    assert opened(lane).folders.board == str(lane / "work/sprint-status.yaml")


def test_a_chosen_board_that_only_the_owner_has_is_read_there(project: ProjectMaker, tmp_path: Path) -> None:
    sample = project(board=None)
    sample.write(".git/info/exclude", "/private/\n")
    sample.write("private/board.yaml", BOARD)
    sample.write("bmad-autopilot.toml", 'board = "private/board.yaml"\n')
    sample.commit()
    sample.git("worktree", "add", "--quiet", str(tmp_path / "lane"))
    found = opened(tmp_path / "lane")
    assert found.folders.board == str(sample.root / "private/board.yaml")
    assert found.diagnostics == ()


def test_two_boards_in_a_lane_are_not_passed_over_for_the_owners(project: ProjectMaker, tmp_path: Path) -> None:
    sample = project(board=None)
    sample.write("docs/sprint-status.yaml", BOARD)
    sample.commit()
    lane = tmp_path / "lane"
    sample.git("worktree", "add", "--quiet", str(lane))
    lay(lane, "docs/sprint-artifacts/sprint-status.yaml")
    assert opened(sample.root).folders.board_origin is BoardOrigin.LEGACY_FOLDER
    assert opened(lane).folders.board_origin is BoardOrigin.SEVERAL
