"""Trees that no commit has, held against a collection of garbage."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmad_autopilot.core.errors import AutopilotError, ConflictError, FileError
from bmad_autopilot.git import commits, refs
from bmad_autopilot.git.git import Git, GitError
from bmad_autopilot.git.history import AUTOPILOT_IDENTITY
from bmad_autopilot.git.refs import (
    PINNED,
    delete_run_refs,
    pin_tree,
    restore_paths,
    save_tree,
    save_work_tree,
    unpin_trees,
)
from bmad_autopilot.git.trees import diff_trees
from tests.support.bmad_project import git
from tests.support.repositories import ODD_NAMES, Repository, make_repository, odd_paths

REF = "refs/autopilot/run/1"


def saved(repository: Repository) -> str:
    save_work_tree(repository.git, REF, "Before")
    return REF


def test_changed_added_and_deleted_files_are_as_before(repository: Repository) -> None:
    repository.write("gone", "gone\n")
    repository.write("tool", "tool\n").chmod(0o755)
    before = repository.commit()
    repository.write("readme.txt", "changed\n")
    repository.run("add", "readme.txt")
    (repository.path / "gone").unlink()
    (repository.path / "tool").chmod(0o644)
    repository.write("deep/er/new", "new\n")
    repository.write("mine", "not named\n")
    repository.write("staged", "not named\n")
    repository.run("add", "staged")
    paths = ["readme.txt", "gone", "tool", "deep/er/new", "never-was"]
    changed = restore_paths(repository.git, before, paths, saved_ref=saved(repository))
    assert changed == ["deep/er/new", "gone", "readme.txt", "tool"]
    assert repository.status() == ["?? mine", "A  staged"]
    assert not (repository.path / "deep").exists()
    assert repository.read("readme.txt") == b"hello\n"


def test_committed_work_can_be_put_back_too(repository: Repository) -> None:
    before = repository.head
    repository.write("new", "x\n")
    repository.commit()
    restore_paths(repository.git, before, ["new"], saved_ref=saved(repository))
    assert repository.status() == ["D  new"]


def test_what_was_not_saved_is_not_touched(repository: Repository) -> None:
    repository.write("one", "x\n")
    ref = saved(repository)
    repository.write("one", "changed since\n")
    repository.write("two", "never saved\n")
    repository.write("readme.txt", "changed since\n")
    for name in ("one", "two", "readme.txt"):
        with pytest.raises(ConflictError, match="are not as refs/autopilot"):
            restore_paths(repository.git, "HEAD", ["one", "two", name], saved_ref=ref)
    assert [repository.read(name) for name in ("one", "two")] == [b"changed since\n", b"never saved\n"]


def test_an_ignored_file_is_never_saved_and_so_never_removed(repository: Repository) -> None:
    repository.write(".gitignore", "*.log\n")
    repository.commit()
    repository.write("x.log", "precious\n")
    with pytest.raises(ConflictError):
        restore_paths(repository.git, "HEAD", ["x.log"], saved_ref=saved(repository))
    assert repository.read("x.log") == b"precious\n"


@pytest.mark.parametrize("ref", ["refs/autopilot/none", "HEAD", "refs/heads/main"])
def test_without_a_save_nothing_is_put_back(repository: Repository, ref: str) -> None:
    repository.write("readme.txt", "changed\n")
    with pytest.raises(GitError):
        restore_paths(repository.git, "HEAD", ["readme.txt"], saved_ref=ref)
    assert repository.read("readme.txt") == b"changed\n"


def test_a_folder_in_a_files_place_goes_only_whole(repository: Repository) -> None:
    repository.write("thing", "file\n")
    before = repository.commit()
    (repository.path / "thing").unlink()
    repository.write("thing/a", "a\n")
    repository.write("thing/b", "b\n")
    ref = saved(repository)
    with pytest.raises(ConflictError, match="stands in the way"):
        restore_paths(repository.git, before, ["thing", "thing/a"], saved_ref=ref)
    assert (repository.read("thing/a"), repository.read("thing/b")) == (b"a\n", b"b\n")
    restore_paths(repository.git, before, ["thing", "thing/a", "thing/b"], saved_ref=ref)
    assert repository.read("thing") == b"file\n"
    assert repository.status() == []


def test_a_link_that_nobody_named_leads_nowhere(repository: Repository, tmp_path: Path) -> None:
    repository.write("folder/x", "inside\n")
    before = repository.commit()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("outside\n")
    (repository.path / "folder/x").unlink()
    (repository.path / "folder").rmdir()
    (repository.path / "folder").symlink_to(outside)
    ref = saved(repository)
    with pytest.raises(ConflictError, match="stands in the way"):
        restore_paths(repository.git, before, ["folder/x"], saved_ref=ref)
    restore_paths(repository.git, before, ["folder/x", "folder"], saved_ref=ref)
    assert repository.read("folder/x") == b"inside\n"
    assert not (repository.path / "folder").is_symlink()
    assert (outside / "x").read_text() == "outside\n"


def test_a_file_in_a_folders_place(repository: Repository) -> None:
    repository.write("folder/x", "inside\n")
    before = repository.commit()
    (repository.path / "folder/x").unlink()
    (repository.path / "folder").rmdir()
    repository.write("folder", "a file now\n")
    ref = saved(repository)
    with pytest.raises(ConflictError):
        restore_paths(repository.git, before, ["folder/x"], saved_ref=ref)
    restore_paths(repository.git, before, ["folder", "folder/x"], saved_ref=ref)
    assert repository.status() == []


def test_a_repository_inside_is_left_alone(repository: Repository) -> None:
    inner = make_repository(repository.path / "inner")
    ref = saved(repository)
    restore_paths(repository.git, "HEAD", ["inner", "inner/readme.txt"], saved_ref=ref)
    assert inner.read("readme.txt") == b"hello\n"


def test_a_repository_in_a_files_place_is_not_removed(repository: Repository) -> None:
    repository.write("thing", "file\n")
    before = repository.commit()
    (repository.path / "thing").unlink()
    inner = make_repository(repository.path / "thing")
    with pytest.raises(ConflictError, match="stands in the way"):
        restore_paths(repository.git, before, ["thing"], saved_ref=saved(repository))
    assert inner.read("readme.txt") == b"hello\n"


def test_cut_short_it_goes_on(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.write("a", "a\n")
    repository.write("b", "b\n")
    before = repository.commit()
    repository.write("a", "changed\n")
    repository.write("b", "changed\n")
    repository.write("new", "new\n")
    ref = saved(repository)

    class Killed(BaseException):
        pass

    ask = Git.ask

    def kill(self: Git, *arguments: str, **named: object) -> object:
        if arguments[0] == "checkout-index":
            (repository.path / "a").unlink()  # git takes the old file away before it writes the new one
            raise Killed
        return ask(self, *arguments, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Git, "ask", kill)
        with pytest.raises(Killed):
            restore_paths(repository.git, before, ["a", "b", "new"], saved_ref=ref)
    restore_paths(repository.git, before, ["a", "b", "new"], saved_ref=ref)
    assert repository.status() == []
    assert restore_paths(repository.git, before, ["a", "b", "new"], saved_ref=ref) == []


def test_line_ends_are_the_users(repository: Repository) -> None:
    repository.run("config", "core.autocrlf", "true")
    repository.write("dos.txt", "one\r\n")
    before = repository.commit()
    repository.write("dos.txt", "two\r\n")
    restore_paths(repository.git, before, ["dos.txt"], saved_ref=saved(repository))
    assert repository.read("dos.txt") == b"one\r\n"
    assert repository.status() == []


def test_odd_names_are_put_back(repository: Repository) -> None:
    for name in ODD_NAMES[::2]:
        repository.write(name, "x\n")
    before = repository.commit()
    for name in ODD_NAMES:
        repository.write(name, "y\n")
    repository.write("decoy", "x\n")
    restore_paths(repository.git, before, ODD_NAMES, saved_ref=saved(repository))
    assert repository.status() == ["?? decoy"]


@settings(max_examples=10)
@given(
    st.dictionaries(odd_paths, st.binary(max_size=20), max_size=5),
    st.dictionaries(odd_paths, st.binary(max_size=20), max_size=5),
    st.data(),
)
def test_named_paths_are_as_before_and_all_others_as_they_were(
    old: dict[str, bytes], new: dict[str, bytes], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        repository = make_repository(Path(folder) / "work")
        for name, content in old.items():
            repository.write(name, content)
        before = repository.commit()
        for name in old.keys() - new.keys():
            (repository.path / name).unlink()
        for name, content in new.items():
            repository.write(name, content)
        everything = sorted(old.keys() | new.keys())
        named = data.draw(st.sets(st.sampled_from(everything))) if everything else set()
        restore_paths(repository.git, before, named, saved_ref=saved(repository))
        expected = {n: c for n, c in new.items() if n not in named} | {n: c for n, c in old.items() if n in named}
        found = {
            os.path.relpath(os.path.join(where, name), repository.path)
            for where, _, names in os.walk(repository.path)
            for name in names
            if "/.git" not in where
        }
        assert found - {"readme.txt"} == set(expected)
        assert all(repository.read(name) == content for name, content in expected.items())


def test_a_file_that_cannot_be_removed_is_an_error(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("new", "x\n")
    ref = saved(repository)

    unlink = os.unlink

    def refuse(path: bytes, **named: int) -> None:
        if os.path.basename(path) == b"new":
            raise PermissionError(13, "Permission denied")
        unlink(path, **named)

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(FileError, match="cannot be removed: Permission denied"):
        restore_paths(repository.git, "HEAD", ["new"], saved_ref=ref)


def test_the_whole_work_tree_is_saved_and_stays_as_it_is(repository: Repository) -> None:
    repository.write(".gitignore", "*.log\n")
    repository.write("gone", "x\n")
    repository.commit()
    (repository.path / "gone").unlink()
    repository.write("staged", "x\n")
    repository.run("add", "staged")
    repository.write("x.log", "ignored\n")
    for name in ODD_NAMES:
        repository.write(name, f"{name!a}\n")
    before = repository.status()
    head = repository.head
    made = save_work_tree(repository.git, REF, "Before a restart")
    assert repository.run("rev-parse", REF, f"{REF}^").splitlines() == [made, head]
    assert set(repository.names(REF)) == {".gitignore", "readme.txt", "staged", *ODD_NAMES}
    assert repository.run("show", "--no-patch", "--format=%cn", REF) == AUTOPILOT_IDENTITY.name
    assert (repository.status(), repository.head) == (before, head)


def test_saving_the_same_again_is_no_second_commit(repository: Repository) -> None:
    repository.write("new", "x\n")
    made = save_work_tree(repository.git, REF, "First")
    assert save_work_tree(repository.git, REF, "Again") == made
    assert save_tree(repository.git, REF, repository.tree(made), None, "Again") == made


def test_what_the_ref_held_before_is_not_lost(repository: Repository) -> None:
    repository.write("new", "one\n")
    first = save_work_tree(repository.git, REF, "First")
    repository.write("new", "two\n")
    second = save_work_tree(repository.git, REF, "Second")
    assert repository.run("show", "--no-patch", "--format=%P", second).split() == [repository.head, first]


def test_a_change_in_the_same_tick_as_the_index_is_not_missed(repository: Repository) -> None:
    tick = (1_700_000_000, 1_700_000_000)
    repository.run("config", "core.checkStat", "minimal")
    repository.run("config", "core.trustCtime", "false")
    os.utime(repository.write("quick", "one\n"), tick)
    repository.commit()
    os.utime(repository.path / ".git/index", tick)
    os.utime(repository.write("quick", "two\n"), tick)  # as large and as old as before
    save_work_tree(repository.git, REF, "Saved")
    assert repository.run("show", f"{REF}:quick") == "two"


def test_before_the_first_commit_too(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    repository = Repository(tmp_path / "work")
    repository.run("init", "--quiet")
    repository.write("new", "x\n")
    made = save_work_tree(repository.git, REF, "First")
    assert repository.names(made) == ["new"]
    assert repository.status() == ["?? new"]


@pytest.mark.parametrize("ref", ["refs/heads/main", "HEAD", "refs/autopilotx", "-d"])
def test_only_refs_of_ours(repository: Repository, ref: str) -> None:
    before = repository.head
    with pytest.raises(GitError, match="not a ref of ours"):
        save_tree(repository.git, ref, repository.tree(), None, "x")
    assert repository.head == before


@pytest.mark.parametrize("ref", ["refs/autopilot/../heads/main", "refs/autopilot/a b", "refs/autopilot/*"])
def test_a_ref_that_git_refuses_is_an_error(repository: Repository, ref: str) -> None:
    with pytest.raises(GitError, match="update-ref"):
        save_tree(repository.git, ref, repository.tree(), None, "x")


def test_two_who_save_at_once_do_not_lose_each_other(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = repository.commit()
    make = commits.commit_tree

    def slow(*arguments: object) -> str:
        made = make(*arguments)  # type: ignore[arg-type]
        repository.run("update-ref", REF, other)
        return made

    monkeypatch.setattr(refs, "commit_tree", slow)
    with pytest.raises(ConflictError, match="has moved"):
        save_tree(repository.git, REF, repository.tree(), None, "x")
    assert repository.run("rev-parse", REF) == other


def test_what_cannot_be_saved_whole_is_not_called_saved(repository: Repository) -> None:
    (repository.path / "inner").mkdir()
    Repository(repository.path / "inner").run("init", "--quiet")  # with nothing that could be kept
    with pytest.raises(GitError, match="git add"):
        save_work_tree(repository.git, REF, "x")
    assert repository.run("for-each-ref", "refs/autopilot") == ""


def test_a_repository_inside_is_saved_by_its_commit(repository: Repository) -> None:
    inner = make_repository(repository.path / "inner")
    save_work_tree(repository.git, REF, "x")
    assert repository.run("rev-parse", f"{REF}:inner") == inner.head


def loose_tree(repository: Repository, text: str) -> str:
    """The work tree with one more file, as a tree that nothing leads to."""
    repository.write("new.txt", text)
    repository.run("add", "new.txt")
    tree = repository.run("write-tree")
    repository.run("rm", "--quiet", "--force", "--cached", "new.txt")
    return tree


def collect_garbage(repository: Repository) -> None:
    repository.run("gc", "--quiet", "--prune=now")


def test_a_tree_that_is_held_outlasts_a_collection(repository: Repository) -> None:
    held, loose = loose_tree(repository, "a\n"), loose_tree(repository, "b\n")
    assert pin_tree(repository.git, "run-1", held)
    collect_garbage(repository)
    assert [change.path for change in diff_trees(repository.git, "HEAD", held)] == ["new.txt"]
    assert repository.run("show", f"{held}:new.txt") == "a"
    with pytest.raises(AutopilotError):
        diff_trees(repository.git, "HEAD", loose)


def test_holding_twice_is_holding_once(repository: Repository) -> None:
    tree = loose_tree(repository, "a\n")
    assert pin_tree(repository.git, "run-1", tree)
    assert pin_tree(repository.git, "run-1", tree)
    assert repository.run("for-each-ref", "--format=%(refname)").count(tree) == 1


def test_a_run_lets_go_of_its_own_alone(repository: Repository) -> None:
    trees = [loose_tree(repository, text) for text in ("a\n", "b\n")]
    for run in ("run-1", "run-10"):
        for tree in trees:
            pin_tree(repository.git, run, tree)
    save_work_tree(repository.git, "refs/autopilot/saved/run-1/x", "Saved")
    unpin_trees(repository.git, "run-1")
    unpin_trees(repository.git, "run-1")
    left = repository.run("for-each-ref", "--format=%(refname)", "refs/autopilot").split()
    assert left == [*sorted(f"{PINNED}run-10/{tree}" for tree in trees), "refs/autopilot/saved/run-1/x"]


def test_what_is_gone_already_is_said(repository: Repository) -> None:
    assert not pin_tree(repository.git, "run-1", "1234567890" * 4)
    assert repository.run("for-each-ref", PINNED) == ""


def test_other_programs_do_not_mind_such_a_ref(repository: Repository) -> None:
    pin_tree(repository.git, "run-1", loose_tree(repository, "a\n"))
    assert repository.run("log", "--all", "--format=%s") == "Begin"
    repository.run("fsck", "--strict")
    repository.run("clone", "--quiet", "--mirror", ".", "../mirror")


# A run that is deleted for good leaves no ref, and takes none of another's with it.


def test_its_refs_and_no_other_s(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "Begin")
    own = ["held/lean-1/abc", "checkpoints/lean-1/1", "checkpoints/lean-1/2", "saved/lean-1/1-2-login"]
    others = ["held/lean-10/abc", "checkpoints/lean-10/1", "saved/restart-1-2-login-lean-1-3", "attempts/lean-1"]
    for name in (*own, *others):
        git(tmp_path, "update-ref", f"refs/autopilot/{name}", "HEAD")
    door = Git(str(tmp_path))
    assert delete_run_refs(door, "lean-1") == len(own)
    left = git(tmp_path, "for-each-ref", "--format=%(refname)", "refs/autopilot/").split()
    assert left == sorted(f"refs/autopilot/{name}" for name in others)
    assert delete_run_refs(door, "lean-1") == 0
