import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmad_autopilot.core.changes import ChangeKind, FileChange
from bmad_autopilot.git import trees
from bmad_autopilot.git.git import Git, GitError
from bmad_autopilot.git.trees import MAX_FILE, changed_contents, diff_trees, read_file, read_versions
from tests.support.repositories import ODD_NAMES, Repository, make_repository, odd_paths


def test_each_kind_of_change_is_told(repository: Repository) -> None:
    body = "".join(f"line {number}\n" for number in range(20))
    for name in ("changed", "deleted", "old", "mode", "typed"):
        repository.write(name, f"{name}\n{body}")
    repository.write("image", b"\0\1\2")
    before = repository.commit()
    repository.write("changed", f"changed\n{body}more\n")
    (repository.path / "deleted").unlink()
    (repository.path / "old").rename(repository.path / "new")
    (repository.path / "mode").chmod(0o755)
    (repository.path / "typed").unlink()
    (repository.path / "typed").symlink_to("changed")
    repository.write("image", b"\0\1\2\3")
    repository.write("added", "one\ntwo\n")
    repository.commit()
    assert diff_trees(repository.git, before, "HEAD") == [
        FileChange("added", ChangeKind.ADDED, "", "100644", 2, 0),
        FileChange("changed", ChangeKind.MODIFIED, "", "100644", 1, 0),
        FileChange("deleted", ChangeKind.DELETED, "", "", 0, 21),
        FileChange("image", ChangeKind.MODIFIED, "", "100644", None, None),
        FileChange("mode", ChangeKind.MODIFIED, "", "100755", 0, 0),
        FileChange("new", ChangeKind.RENAMED, "old", "100644", 0, 0),
        FileChange("typed", ChangeKind.TYPE_CHANGED, "", "120000", 1, 21),
    ]


def test_trees_and_commits_can_be_compared(repository: Repository) -> None:
    before = repository.tree()
    repository.write("new", "x\n")
    after = repository.commit()
    for one, other in ((before, after), (before, repository.tree())):
        assert [change.path for change in diff_trees(repository.git, one, other)] == ["new"]
    assert diff_trees(repository.git, after, after) == []


def test_a_submodule_cannot_be_hidden(repository: Repository, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other")
    before = repository.head
    repository.write(".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = x\n\tignore = all\n')
    repository.run("config", "diff.ignoreSubmodules", "all")
    repository.run("add", ".gitmodules")
    repository.run("update-index", "--add", "--cacheinfo", f"160000,{other.head},sub")
    repository.run("commit", "--quiet", "-m", "Hidden")
    found = {change.path: change.mode for change in diff_trees(repository.git, before, "HEAD")}
    assert found == {".gitmodules": "100644", "sub": "160000"}


@settings(max_examples=10)
@given(st.dictionaries(odd_paths, st.binary(max_size=30), max_size=8), st.data())
def test_changes_are_what_was_done(files: dict[str, bytes], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        repository = make_repository(Path(folder) / "work")
        for name, content in files.items():
            repository.write(name, content)
        before = repository.commit()
        names = sorted(files)
        gone = data.draw(st.sets(st.sampled_from(names))) if names else set()
        for name in gone:
            (repository.path / name).unlink()
        added = data.draw(st.sets(odd_paths.map(lambda path: f"more/{path}"), max_size=4))
        for name in added:
            repository.write(name, os.urandom(40))  # too unlike anything to be a rename
        repository.commit()
        found = diff_trees(repository.git, before, "HEAD")
        assert {change.path for change in found if change.kind is ChangeKind.ADDED} == added
        assert {change.path for change in found if change.kind is ChangeKind.DELETED} == gone
        assert len(found) == len(added) + len(gone)


def test_an_odd_name_renamed(repository: Repository) -> None:
    for name in ODD_NAMES:
        repository.write(f"old/{name}", f"{name!a}\n" * 30)
    before = repository.commit()
    (repository.path / "old").rename(repository.path / "new")
    repository.commit()
    found = diff_trees(repository.git, before, "HEAD")
    assert {(change.renamed_from, change.path) for change in found} == {
        (f"old/{n}", f"new/{n}") for n in ODD_NAMES
    }
    assert {change.kind for change in found} == {ChangeKind.RENAMED}


def test_a_file_is_read_from_a_commit(repository: Repository) -> None:
    before = repository.head
    for name in ODD_NAMES:
        repository.write(name, b"\0\r\n" + os.fsencode(name))
    repository.commit()
    tree = repository.tree()
    for name in ODD_NAMES:
        repository.write(name, "changed since")
        assert read_file(repository.git, tree, name) == b"\0\r\n" + os.fsencode(name)
    assert read_file(repository.git, "HEAD", ODD_NAMES[0]) is not None
    assert read_file(repository.git, before, ODD_NAMES[0]) is None


def test_what_is_no_file_is_none(repository: Repository) -> None:
    repository.write("folder/x", "x\n")
    repository.commit()
    for path in ("folder", "nothing", "../readme.txt", "./readme.txt", "", "folder/"):
        assert read_file(repository.git, "HEAD", path) is None


def test_a_file_too_large_is_not_taken_for_missing(repository: Repository) -> None:
    repository.write("large", b"x" * (MAX_FILE + 1))
    repository.write("just", b"x" * MAX_FILE)
    repository.commit()
    with pytest.raises(GitError, match="too large"):
        read_file(repository.git, "HEAD", "large")
    assert len(read_file(repository.git, "HEAD", "just") or b"") == MAX_FILE


def test_a_revision_that_is_none_is_an_error(repository: Repository) -> None:
    with pytest.raises(GitError):
        read_file(repository.git, "no-such-branch", "x")
    with pytest.raises(GitError):
        diff_trees(repository.git, "HEAD", "no-such-branch")


@pytest.mark.parametrize("name", ["plain", *ODD_NAMES])
def test_one_file_is_read_from_many_commits_at_once(repository: Repository, name: str) -> None:
    repository.write("other", "x")
    without_it = repository.commit()
    repository.write(name, b"one missing\n\n")
    first = repository.commit()
    repository.write(name, b"")
    second = repository.commit()
    (repository.path / name).unlink()
    repository.write(f"{name}/inside", "a folder now")
    folder = repository.commit()
    asked = (second, without_it, folder, first, "refs/heads/nowhere")
    found = read_versions(repository.git, name, asked)
    assert found == ({} if "\n" in name else {second: b"", first: b"one missing\n\n"})
    assert read_versions(repository.git, name, ()) == {}
    with pytest.raises(GitError):
        read_versions(repository.git, name, ["--all"])


def test_a_version_too_large_is_left_out(repository: Repository) -> None:
    repository.write("file", b"x" * (MAX_FILE + 1))
    large = repository.commit()
    repository.write("file", "small")
    assert read_versions(repository.git, "file", (large, repository.commit())) == {repository.head: b"small"}


def test_both_sides_of_each_change(repository: Repository) -> None:
    repository.write("changed", "before\n")
    repository.write("gone", "gone\n")
    repository.write("old", "moved\n")
    before = repository.commit()
    repository.write("changed", "after\n")
    (repository.path / "gone").unlink()
    (repository.path / "old").rename(repository.path / "new")
    repository.write("empty", "")
    (repository.path / "link").symlink_to("readme.txt")
    after = repository.commit()
    read = changed_contents(repository.git, before, after)
    assert (read("changed", False), read("changed", True)) == (b"before\n", b"after\n")
    assert (read("gone", False), read("gone", True)) == (b"gone\n", None)
    assert (read("old", False), read("new", True), read("new", False)) == (b"moved\n", b"moved\n", None)
    assert (read("empty", False), read("empty", True)) == (None, b"")
    assert read("link", True) == b"readme.txt"
    assert read("readme.txt", False) == read("readme.txt", True) == b"hello\n"
    assert read("nothing", True) is None
    assert read("../out", True) is None


def test_odd_names(repository: Repository) -> None:
    before = repository.head
    for name in ODD_NAMES:
        repository.write(name, f"{name!a}\n")
    read = changed_contents(repository.git, before, repository.commit())
    assert [read(name, True) for name in ODD_NAMES] == [f"{name!a}\n".encode() for name in ODD_NAMES]


def test_a_file_too_large_is_not_looked_at(repository: Repository) -> None:
    repository.write("unchanged", b"u" * (MAX_FILE + 1))
    before = repository.commit()
    repository.write("large", b"x" * (MAX_FILE + 1))
    repository.write("just", b"x" * MAX_FILE)
    read = changed_contents(repository.git, before, repository.commit())
    assert read("large", True) is None
    assert read("unchanged", True) is None
    assert len(read("just", True) or b"") == MAX_FILE


def test_a_submodule_has_no_content(repository: Repository, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other")
    before = repository.head
    repository.run("update-index", "--add", "--cacheinfo", f"160000,{other.head},sub")
    repository.run("commit", "--quiet", "-m", "Sub")
    assert changed_contents(repository.git, before, "HEAD")("sub", True) is None


def test_many_files_take_few_processes(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    before = repository.head
    names = [f"f{number:03}" for number in range(100)]
    for name in names:
        repository.write(name, f"{name}\n" * 10)
    after = repository.commit()
    asked: list[str] = []
    ask = Git.ask

    def count(self: Git, *arguments: str, **named: object) -> object:
        asked.append(arguments[0])
        return ask(self, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "ask", count)
    read = changed_contents(repository.git, before, after)
    assert asked == []
    assert [read(name, True) for name in names] == [f"{name}\n".encode() * 10 for name in names]
    assert len(asked) == 3


@pytest.mark.parametrize("order", [1, -1])
def test_more_than_goes_into_one_window(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, order: int
) -> None:
    monkeypatch.setattr(trees, "WINDOW", 100)
    before = repository.head
    names = [f"f{number:03}" for number in range(30)][::order]
    for name in names:
        repository.write(name, name.encode() * 10)
    repository.write("wide", b"w" * 500)  # wider than the window itself
    read = changed_contents(repository.git, before, repository.commit())
    assert [read(name, True) for name in names] == [name.encode() * 10 for name in names]
    assert read("wide", True) == b"w" * 500
