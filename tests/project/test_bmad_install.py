"""Which BMAD is installed: folder, version, modules, era."""

from pathlib import Path

import pytest

from bmad_autopilot.core.errors import AutopilotError, FileError
from bmad_autopilot.project.bmad_install import Era, Tickets, TicketState
from bmad_autopilot.project.project import open_project
from tests.project.trees import codes, lay, opened, write
from tests.support.bmad_project import ProjectMaker

SKILL = ".claude/skills/bmad-{}/SKILL.md"
MANIFEST = "installation:\n  version: {}\n  installDate: 2026-01-01T00:00:00.000Z\nmodules:\n  - name: core\n"


@pytest.mark.parametrize(
    ("era", "expected", "version", "build"),
    [
        ("v4", Era.V4, None, False),
        ("alpha", Era.CLASSIC, "6.0.0-alpha.12", False),
        ("commands", Era.CLASSIC, "6.0.4", False),
        ("classic", Era.CLASSIC, "6.10.0", False),
        ("build", Era.BUILD, "6.12.0", True),
        ("shims", Era.CLASSIC, "6.12.0", True),
    ],
)
def test_each_era_is_told(
    project: ProjectMaker, era: str, expected: Era, version: str | None, build: bool
) -> None:
    bmad = opened(project(era=era).root).bmad
    assert (bmad.era, bmad.version, bmad.has_build) == (expected, version, build)


def test_no_bmad_at_all(tmp_path: Path) -> None:
    bmad = opened(tmp_path).bmad
    assert (bmad.era, bmad.version, bmad.folder, bmad.modules) == (Era.NONE, None, None, ())


@pytest.mark.parametrize("folder", ["_bmad", ".bmad", "bmad", "_kdbp", "method"])
def test_the_folder_is_known_by_what_it_holds(tmp_path: Path, folder: str) -> None:
    lay(tmp_path, f"{folder}/bmm/config.yaml", "bmad-docs/notes.md", "_other/core/readme.md")
    assert opened(tmp_path).bmad.folder == str(tmp_path / folder)


def test_a_renamed_folder_with_core_settings_needs_a_manifest(tmp_path: Path) -> None:
    lay(tmp_path, "_kdbp/core/config.yaml")
    assert opened(tmp_path).bmad.folder is None
    write(tmp_path, "_kdbp/_cfg/manifest.yaml", MANIFEST.format("6.0.0-alpha.20"))
    assert opened(tmp_path).bmad.folder == str(tmp_path / "_kdbp")


def test_a_project_that_may_not_be_listed_is_no_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.scandir", refuse)
    assert opened(tmp_path).bmad.folder is None


def test_an_ordinary_folder_called_bmad_is_not_taken(tmp_path: Path) -> None:
    lay(tmp_path, "bmad/main.py", "bmad/config.toml", "_bmad/_memory/notes.md")
    assert opened(tmp_path).bmad.folder is None


def test_the_newest_folder_counts_and_leftovers_are_said(tmp_path: Path) -> None:
    lay(tmp_path, "_bmad/bmm/config.yaml", ".bmad/bmm/config.yaml", ".bmad-core/core-config.yaml")
    found = opened(tmp_path)
    assert found.bmad.folder == str(tmp_path / "_bmad")
    assert codes(found) == ["old-bmad-folder", "old-bmad-folder"]


@pytest.mark.parametrize(
    "name", ["_bmad/_config/manifest.yaml", ".bmad/_cfg/manifest.yaml", "bmad/_cfg/manifest.yaml"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_version_and_modules_come_from_the_manifest(tmp_path: Path, name: str, end: str) -> None:
    text = (
        MANIFEST.format("6.0.0-alpha.9")
        + "    source: built-in\n  - name: bmm\n    version: 1\nides:\n  - cursor\n"
    )
    write(tmp_path, name, text.replace("\n", end))
    bmad = opened(tmp_path).bmad
    assert (bmad.version, bmad.modules) == ("6.0.0-alpha.9", ("core", "bmm"))


def test_the_alphas_list_modules_by_name_alone(tmp_path: Path) -> None:
    text = 'installation:\n  version: "6.0.0-alpha.3"\nmodules:\n- core\n- bmm\nides: []\n'
    write(tmp_path, "bmad/_cfg/manifest.yaml", text)
    bmad = opened(tmp_path).bmad
    assert (bmad.version, bmad.modules) == ("6.0.0-alpha.3", ("core", "bmm"))


def test_v4_has_a_manifest_of_its_own(tmp_path: Path) -> None:
    write(
        tmp_path,
        ".bmad-core/install-manifest.yaml",
        "version: 4.44.1\ninstalled_at: '2025-09-01'\nfiles:\n  - a\n",
    )
    bmad = opened(tmp_path).bmad
    assert (bmad.era, bmad.version) == (Era.V4, "4.44.1")


@pytest.mark.parametrize("text", ["installation:\n  version: [\n", "\0", "installation:\n  a: b: c\n"])
def test_a_broken_manifest_costs_the_version_only(tmp_path: Path, text: str) -> None:
    lay(tmp_path, "_bmad/bmm/config.yaml")
    write(tmp_path, "_bmad/_config/manifest.yaml", text)
    found = opened(tmp_path)
    assert (found.bmad.version, found.bmad.era) == (None, Era.CLASSIC)
    assert codes(found) == ["unreadable-manifest"]


def test_a_broken_manifest_is_said_with_its_own_line(tmp_path: Path) -> None:
    write(tmp_path, "_bmad/_config/manifest.yaml", "# made\nides: []\ninstallation:\n  version: a: b\n")
    assert [note.location.line for note in opened(tmp_path).diagnostics] == [4]


@pytest.mark.parametrize("text", ["", "installation:\n", "installation: x\n", "modules: 3\n", "version:\n"])
def test_a_manifest_that_says_nothing_gives_nothing(tmp_path: Path, text: str) -> None:
    write(tmp_path, "_bmad/_config/manifest.yaml", text)
    found = opened(tmp_path)
    assert (found.bmad.version, found.bmad.modules, found.diagnostics) == (None, (), ())


@pytest.mark.parametrize(
    ("version", "shims", "era"),
    [
        ("6.12.0", "false", Era.BUILD),
        ("6.12.0", "true", Era.CLASSIC),
        ("6.13.1", None, Era.BUILD),
        ("7.0.0", None, Era.BUILD),
        ("6.11.0", None, Era.CLASSIC),
        ("6.9.0", None, Era.CLASSIC),
        ("6.0.0-alpha.1", None, Era.CLASSIC),
        ("nonsense", None, Era.CLASSIC),
    ],
)
def test_where_git_ignores_the_skills_the_version_decides(
    tmp_path: Path, version: str, shims: str | None, era: Era
) -> None:
    more = f"  installShims: {shims}\n" if shims else ""
    text = f"installation:\n  version: {version}\n{more}modules:\n  - name: bmm\n"
    write(tmp_path, "_bmad/_config/manifest.yaml", text)
    assert opened(tmp_path).bmad.era is era


def test_what_is_on_disk_counts_more_than_the_version(tmp_path: Path) -> None:
    write(tmp_path, "_bmad/_config/manifest.yaml", MANIFEST.format("6.12.0"))
    lay(tmp_path, SKILL.format("dev-story"))
    assert opened(tmp_path).bmad.era is Era.CLASSIC


def test_skills_in_the_home_folder_count(tmp_path: Path) -> None:
    lay(tmp_path / "project", "_bmad/bmm/config.yaml")
    lay(tmp_path / "home", SKILL.format("build-auto"))
    bmad = open_project(str(tmp_path / "project"), home=str(tmp_path / "home")).bmad
    assert (bmad.era, bmad.has_build) == (Era.BUILD, True)


def test_skills_in_the_home_folder_do_not_make_v4_new(tmp_path: Path) -> None:
    lay(tmp_path / "project", ".bmad-core/core-config.yaml")
    lay(tmp_path / "home", SKILL.format("build-auto"))
    assert open_project(str(tmp_path / "project"), home=str(tmp_path / "home")).bmad.era is Era.V4


@pytest.mark.parametrize(
    "path",
    [
        ".agents/skills/bmad-dev-story/SKILL.md",
        ".claude/commands/bmad-bmm-dev-story.md",
        ".claude/commands/bmad_bmm_create-story.md",
        ".claude/commands/bmad/bmm/workflows/dev-story.md",
        ".cursor/commands/bmad-bmm-dev-story.md",
    ],
)
def test_the_classic_workflows_are_seen_in_every_form(tmp_path: Path, path: str) -> None:
    write(tmp_path, "_bmad/_config/manifest.yaml", MANIFEST.format("6.12.0"))
    assert opened(lay(tmp_path, path)).bmad.era is Era.CLASSIC


TREE = "_bmad-output/initiative-shop/tickets.toml"
SKILL_7 = ".claude/skills/bmad-ticket/SKILL.md"
BOARD_6 = "_bmad-output/implementation-artifacts/sprint-status.yaml"
LEFT_6 = ("_bmad/_config/manifest.yaml", "_bmad/bmm/config.yaml")
BACKUP = ".v6-v7-migration-backup-2026-10-06/_bmad-output/implementation-artifacts/sprint-status.yaml"


@pytest.mark.parametrize(
    ("files", "state", "place"),
    [
        ((TREE,), TicketState.TREE, TREE),
        ((TREE, *LEFT_6, BOARD_6), TicketState.TREE, TREE),
        ((TREE, BACKUP), TicketState.TREE, TREE),
        ((TREE, "_bmad-output/initiative-shop/archive-v6/sprint-status.yaml", SKILL_7), TicketState.TREE, TREE),
        (
            ("_bmad-output/preview-ticketing/initiative-shop/tickets.toml",),
            TicketState.TREE,
            "_bmad-output/preview-ticketing/initiative-shop/tickets.toml",
        ),
        (("_bmad-output/initiative-x/epic-a/tickets.toml",), TicketState.TREE, None),
        (("_bmad-output/initiative-x/initiative-x.md",), TicketState.TREE, None),
        ((SKILL_7,), TicketState.EMPTY, SKILL_7),
        ((".agents/skills/bmod-method/bmod.toml",), TicketState.EMPTY, None),
        ((".claude/skills/bmad-preview-ticketing/SKILL.md",), TicketState.EMPTY, None),
        (("_bmad/config.toml", "_bmad/method/scripts/tickets.py"), TicketState.EMPTY, None),
        (("_bmad/custom/ticketing-store-config.toml",), TicketState.EMPTY, None),
        ((SKILL_7, BOARD_6), TicketState.BOARD, SKILL_7),
        ((SKILL_7, BOARD_6, *LEFT_6, SKILL.format("dev-story")), TicketState.BOARD, SKILL_7),
        ((*LEFT_6, BOARD_6, "_bmad-output/migration-v6-v7/migration-v6-v7.md"), TicketState.BOARD, None),
        ((*LEFT_6, BOARD_6, BACKUP), TicketState.BOARD, None),
        ((*LEFT_6, "_bmad-output/migration-v6-v7/migration-v6-v7.md"), TicketState.MIGRATION, None),
        ((*LEFT_6, BACKUP), TicketState.MIGRATION, None),
        ((SKILL_7, "_bmad-output/initiative-shop/archive-v6/sprint-status.yaml"), TicketState.MIGRATION, None),
        (("_bmad-output/inbox/archive-v6/sprint-status.yaml",), TicketState.MIGRATION, None),
    ],
)
def test_each_state_of_bmad_7_is_recognised(
    tmp_path: Path, files: tuple[str, ...], state: TicketState, place: str | None
) -> None:
    project = opened(lay(tmp_path, *files))
    assert project.bmad.tickets is not None
    assert project.bmad.tickets.state is state
    if place is not None:
        assert project.bmad.tickets.path == str(tmp_path / place)
    if state is TicketState.BOARD:
        assert project.require_board() == str(tmp_path / BOARD_6)
        assert codes(project).count("board-of-bmad-6") == 1
    else:
        assert (project.bmad.era, project.folders.board, project.folders.other_boards) == (Era.TICKETS, None, ())
        with pytest.raises(FileError, match="does not support BMAD 7's ticket tree yet"):
            project.require_board()
    with pytest.raises(AutopilotError):
        project.bmad.require_supported()


@pytest.mark.parametrize(
    "files",
    [
        (*LEFT_6, BOARD_6),
        (*LEFT_6, BOARD_6, "_bmad-output/initiative-x/notes.md", "_bmad-output/inbox/idea.md"),
        (*LEFT_6, BOARD_6, SKILL.format("build-auto"), "_bmad/custom/config.user.toml"),
        (*LEFT_6,),
        (),
    ],
)
def test_a_project_without_bmad_7_is_as_before(tmp_path: Path, files: tuple[str, ...]) -> None:
    project = opened(lay(tmp_path, *files))
    assert (project.bmad.tickets, project.bmad.era is Era.TICKETS) == (None, False)
    project.bmad.require_supported()


def test_an_active_initiative_shows_bmad_7(tmp_path: Path) -> None:
    config = write(tmp_path, "_bmad/custom/config.user.toml", '[core]\n# active_initiative = ""\n')
    assert opened(tmp_path).bmad.tickets is None
    config.write_text('[core]\nactive_initiative = "initiative-shop"\n')
    assert opened(tmp_path).bmad.tickets == Tickets(TicketState.EMPTY, str(config))


@pytest.mark.parametrize(
    "output", ["{project-root}/plans", "plans", "{project-root}/../elsewhere", "../elsewhere"]
)
def test_the_tree_is_found_in_the_configured_folder(tmp_path: Path, output: str) -> None:
    root = tmp_path / "project"
    write(root, "_bmad/config.toml", f'[core]\noutput_folder = "{output}"\n')
    top = tmp_path if "elsewhere" in output else root
    tree = write(top, f"{output.rpartition('/')[2]}/initiative-x/tickets.toml", "")
    assert opened(root).bmad.tickets == Tickets(TicketState.TREE, str(tree))


def test_skills_of_the_user_count_unless_the_project_has_its_own_of_bmad_6(tmp_path: Path) -> None:
    home = lay(tmp_path / "home", SKILL_7, SKILL.format("build-auto"))
    for name, files, state in (
        ("fresh", ("_bmad/config.toml",), TicketState.EMPTY),
        ("board", (*LEFT_6, BOARD_6), TicketState.BOARD),
        ("classic", (*LEFT_6, BOARD_6, SKILL.format("dev-story")), None),
        ("build", (*LEFT_6, BOARD_6, SKILL.format("build-auto")), None),
        ("tree", (TREE, SKILL.format("dev-story")), TicketState.TREE),
    ):
        tickets = open_project(str(lay(tmp_path / name, *files)), home=str(home)).bmad.tickets
        assert (tickets.state if tickets else None) is state, name


def test_a_workspace_above_the_repository_is_seen(tmp_path: Path) -> None:
    write(tmp_path, "_bmad/config.toml", "[core]\n")
    tree = write(tmp_path, TREE, "")
    write(tmp_path, "repo/.git/HEAD", "ref: refs/heads/main\n")
    assert opened(tmp_path / "repo").bmad.tickets == Tickets(TicketState.TREE, str(tree))


@pytest.mark.parametrize(
    "folder", ["_bmad-output/initiative-x/archive-v6", ".v6-v7-migration-backup-1/_bmad-output"]
)
def test_a_board_that_a_migration_has_set_aside_is_never_the_projects(tmp_path: Path, folder: str) -> None:
    lay(tmp_path, f"{folder}/sprint-status.yaml", **{"bmad-autopilot.toml": ""})
    for text in ("", f'board = "{folder}/sprint-status.yaml"\n'):
        write(tmp_path, "bmad-autopilot.toml", text)
        project = opened(tmp_path)
        assert project.folders.board is None
        with pytest.raises(FileError, match="migration"):
            project.require_board()


def test_every_public_tree_is_recognised(corpus: Path) -> None:
    trees = corpus.parent / "corpus-v7" / "trees"
    if not trees.is_dir():
        pytest.skip("the collection of public ticket trees is not here")
    roots = [path for path in (*trees.iterdir(), *(trees / "_synthetic").iterdir()) if path.is_dir()]
    plain = {path.name for path in roots if opened(path).bmad.tickets is None}
    assert plain == {"_synthetic", "bmad-code-org__BMAD-METHOD"}  # a collection, and BMAD's own repository
