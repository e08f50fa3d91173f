"""Find the project from a sub-folder, a linked worktree, a sub-module, a monorepo, and without git."""

import os
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.project.root import Root, find_root
from tests.support.bmad_project import ProjectMaker, git


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "Begin")
    return folder


def at(path: Path, common: Path | None = None) -> Root:
    return Root(str(path), str(path), str(common or path / ".git"))


def test_a_sub_folder_finds_the_project(project: ProjectMaker) -> None:
    sample = project()
    deep = sample.root / "src" / "deep"
    deep.mkdir(parents=True)
    assert find_root(str(deep)) == at(sample.root)


def test_bmads_own_folders_find_the_project(project: ProjectMaker) -> None:
    sample = project(era="alpha")
    for folder in (".bmad/bmm", "docs/sprint-artifacts", ".git"):
        assert find_root(str(sample.root / folder)).path == str(sample.root)


def test_a_link_into_the_project_finds_its_real_place(project: ProjectMaker, tmp_path: Path) -> None:
    sample = project()
    (tmp_path / "link").symlink_to(sample.root / "_bmad-output")
    assert find_root(str(tmp_path / "link")).path == str(sample.root)


def test_a_linked_worktree_finds_its_owner(project: ProjectMaker, tmp_path: Path) -> None:
    sample = project()
    sample.git("worktree", "add", "--quiet", str(tmp_path / "lane"))
    root = find_root(str(tmp_path / "lane" / "_bmad-output"))
    assert root == Root(str(sample.root), str(tmp_path / "lane"), str(sample.root / ".git"))
    assert root.search_folders == (str(tmp_path / "lane"), str(sample.root))


def test_a_worktree_inside_the_project_is_not_taken_for_a_sub_folder(project: ProjectMaker) -> None:
    sample = project()
    lane = sample.root / ".autopilot" / "worktrees" / "1"
    sample.git("worktree", "add", "--quiet", str(lane))
    assert find_root(str(lane)).checkout == str(lane)
    assert find_root(str(lane)).path == str(sample.root)


@pytest.mark.parametrize("name", ["project.git", ".git"])
def test_a_worktree_of_a_bare_repository_owns_itself(tmp_path: Path, name: str) -> None:
    source = repository(tmp_path / "source")
    bare = tmp_path / "home" / name
    git(tmp_path, "clone", "--quiet", "--bare", str(source), str(bare))
    git(bare, "worktree", "add", "--quiet", str(tmp_path / "lane"))
    lane = tmp_path / "lane"
    assert find_root(str(lane)) == at(lane, bare)


def test_a_bare_setting_with_a_comment_is_seen(tmp_path: Path) -> None:
    bare = tmp_path / "home" / ".git"
    git(tmp_path, "clone", "--quiet", "--bare", str(repository(tmp_path / "source")), str(bare))
    (bare / "config").write_text("[CORE]\n\trepositoryformatversion = 0\n\tBare = true ; no work tree\n")
    git(bare, "worktree", "add", "--quiet", str(tmp_path / "lane"))
    assert find_root(str(tmp_path / "lane")).path == str(tmp_path / "lane")


def test_a_bare_setting_kept_per_worktree_is_seen(tmp_path: Path) -> None:
    source = repository(tmp_path / "source")
    bare = tmp_path / "home" / ".git"
    git(tmp_path, "clone", "--quiet", "--bare", str(source), str(bare))
    git(bare, "config", "extensions.worktreeConfig", "true")
    git(bare, "config", "--unset", "core.bare")
    git(bare, "config", "--worktree", "core.bare", "true")
    git(bare, "worktree", "add", "--quiet", str(tmp_path / "lane"))
    assert find_root(str(tmp_path / "lane")).path == str(tmp_path / "lane")


def test_a_separate_git_folder_leaves_the_checkout_its_own_owner(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "--quiet", "--separate-git-dir", str(tmp_path / "elsewhere"))
    assert find_root(str(work)) == at(work, tmp_path / "elsewhere")


def test_a_monorepo_gives_the_nearest_part_with_bmad(tmp_path: Path) -> None:
    top = repository(tmp_path / "mono")
    (top / "apps" / "shop" / "_bmad").mkdir(parents=True)
    (top / "apps" / "shop" / "src").mkdir()
    (top / "apps" / "blog").mkdir()
    assert find_root(str(top / "apps" / "shop" / "src")) == at(top / "apps" / "shop", top / ".git")
    assert find_root(str(top / "apps" / "blog")) == at(top)


def test_a_lane_of_a_monorepo_finds_the_part_even_where_git_ignores_bmad(tmp_path: Path) -> None:
    top = repository(tmp_path / "mono")
    shop = top / "shop"
    shop.mkdir()
    (shop / "main.py").write_text("")
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "Add the shop")
    (shop / "_bmad").mkdir()
    git(top, "worktree", "add", "--quiet", str(tmp_path / "lane"))
    root = find_root(str(tmp_path / "lane" / "shop"))
    assert root == Root(str(shop), str(tmp_path / "lane" / "shop"), str(top / ".git"))


def test_traces_above_gits_top_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "_bmad").mkdir()
    inner = repository(tmp_path / "inner")
    assert find_root(str(inner)) == at(inner)


@pytest.fixture
def superproject(project: ProjectMaker, tmp_path: Path) -> Path:
    library = repository(tmp_path / "library")
    sample = project()
    sample.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    sample.commit("Add a sub-module")
    return sample.root


def test_a_sub_module_without_bmad_belongs_to_its_project(superproject: Path) -> None:
    assert find_root(str(superproject / "lib")) == at(superproject)


def test_a_sub_module_with_bmad_is_a_project(superproject: Path) -> None:
    (superproject / "lib" / "_bmad").mkdir()
    module = superproject / ".git" / "modules" / "lib"
    assert find_root(str(superproject / "lib")) == at(superproject / "lib", module)


def test_a_lane_of_a_sub_module_finds_the_sub_module(superproject: Path, tmp_path: Path) -> None:
    (superproject / "lib" / "_bmad").mkdir()
    git(superproject / "lib", "worktree", "add", "--quiet", str(tmp_path / "lane"))
    assert find_root(str(tmp_path / "lane")).path == str(superproject / "lib")


@pytest.mark.parametrize(
    "trace",
    [
        *("_bmad/", ".bmad/", "bmad/bmm/", "bmad/_cfg/", ".bmad-core/", "_bmad-output/", "bmad-autopilot.toml"),
        *("docs/sprint-status.yaml", "docs/sprint-artifacts/sprint-status.yaml"),
    ],
)
def test_without_git_each_trace_makes_a_project(tmp_path: Path, trace: str) -> None:
    target = tmp_path / "project" / trace
    target.mkdir(parents=True) if trace.endswith("/") else target.parent.mkdir(parents=True)
    if not trace.endswith("/"):
        target.write_text("")
    deep = tmp_path / "project" / "a" / "b"
    deep.mkdir(parents=True)
    project = str(tmp_path / "project")
    assert find_root(str(deep)) == Root(project, project, None)


def test_nothing_at_all_is_a_project_of_its_own(tmp_path: Path) -> None:
    assert find_root(str(tmp_path)) == Root(str(tmp_path), str(tmp_path), None)


def test_an_empty_git_folder_is_no_repository(project: ProjectMaker) -> None:
    sample = project()
    (sample.root / "sub" / ".git").mkdir(parents=True)
    assert find_root(str(sample.root / "sub")) == at(sample.root)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "an empty file"),
        (b"gitdir /nowhere\n", "not a git file"),
        (b"gitdir: /no/such/place\n", "not there"),
        (b"gitdir: \xff\n", "not UTF-8"),
        (b"gitdir: a\0b\n", "NUL"),
        (b"x" * 100_000, "too large"),
    ],
)
def test_a_broken_git_file_is_an_error_with_its_place(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / ".git").write_bytes(content)
    with pytest.raises(FileError) as caught:
        find_root(str(tmp_path))
    assert words in str(caught.value)
    assert str(tmp_path / ".git") in str(caught.value)
    assert caught.value.exit_code == 4


def test_a_pruned_common_folder_is_an_error_that_says_what_helps(tmp_path: Path) -> None:
    own = tmp_path / "gone" / "worktrees" / "lane"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../../missing\n")
    (tmp_path / "lane").mkdir()
    (tmp_path / "lane" / ".git").write_text(f"gitdir: {own}\n")
    with pytest.raises(FileError, match="git worktree repair"):
        find_root(str(tmp_path / "lane"))


def test_a_fifo_called_git_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert find_root(str(tmp_path)).path == str(tmp_path)


@pytest.mark.parametrize("start", ["missing", "a\0b", "file"])
def test_a_start_that_is_no_folder_is_an_error(tmp_path: Path, start: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"no such folder|not a folder"):
        find_root(f"{tmp_path}/{start}")
