import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmad_autopilot.core.errors import ConflictError, FileError
from bmad_autopilot.github.git import Git, GitError
from bmad_autopilot.github.putting_back import put_back
from bmad_autopilot.github.saving import save_all
from tests.github.repositories import ODD_NAMES, Repository, make_repository, odd_paths

REF = "refs/autopilot/run/1"


def saved(repository: Repository) -> str:
    save_all(repository.git, REF, "Before")
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
    changed = put_back(repository.git, before, paths, saved=saved(repository))
    assert changed == ["deep/er/new", "gone", "readme.txt", "tool"]
    assert repository.status() == ["?? mine", "A  staged"]
    assert not (repository.path / "deep").exists()
    assert repository.read("readme.txt") == b"hello\n"


def test_committed_work_can_be_put_back_too(repository: Repository) -> None:
    before = repository.head
    repository.write("new", "x\n")
    repository.commit()
    put_back(repository.git, before, ["new"], saved=saved(repository))
    assert repository.status() == ["D  new"]


def test_what_was_not_saved_is_not_touched(repository: Repository) -> None:
    repository.write("one", "x\n")
    ref = saved(repository)
    repository.write("one", "changed since\n")
    repository.write("two", "never saved\n")
    repository.write("readme.txt", "changed since\n")
    for name in ("one", "two", "readme.txt"):
        with pytest.raises(ConflictError, match="are not as refs/autopilot"):
            put_back(repository.git, "HEAD", ["one", "two", name], saved=ref)
    assert [repository.read(name) for name in ("one", "two")] == [b"changed since\n", b"never saved\n"]


def test_an_ignored_file_is_never_saved_and_so_never_removed(repository: Repository) -> None:
    repository.write(".gitignore", "*.log\n")
    repository.commit()
    repository.write("x.log", "precious\n")
    with pytest.raises(ConflictError):
        put_back(repository.git, "HEAD", ["x.log"], saved=saved(repository))
    assert repository.read("x.log") == b"precious\n"


@pytest.mark.parametrize("ref", ["refs/autopilot/none", "HEAD", "refs/heads/main"])
def test_without_a_save_nothing_is_put_back(repository: Repository, ref: str) -> None:
    repository.write("readme.txt", "changed\n")
    with pytest.raises(GitError):
        put_back(repository.git, "HEAD", ["readme.txt"], saved=ref)
    assert repository.read("readme.txt") == b"changed\n"


def test_a_folder_in_a_files_place_goes_only_whole(repository: Repository) -> None:
    repository.write("thing", "file\n")
    before = repository.commit()
    (repository.path / "thing").unlink()
    repository.write("thing/a", "a\n")
    repository.write("thing/b", "b\n")
    ref = saved(repository)
    with pytest.raises(ConflictError, match="stands in the way"):
        put_back(repository.git, before, ["thing", "thing/a"], saved=ref)
    assert (repository.read("thing/a"), repository.read("thing/b")) == (b"a\n", b"b\n")
    put_back(repository.git, before, ["thing", "thing/a", "thing/b"], saved=ref)
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
        put_back(repository.git, before, ["folder/x"], saved=ref)
    put_back(repository.git, before, ["folder/x", "folder"], saved=ref)
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
        put_back(repository.git, before, ["folder/x"], saved=ref)
    put_back(repository.git, before, ["folder", "folder/x"], saved=ref)
    assert repository.status() == []


def test_a_repository_inside_is_left_alone(repository: Repository) -> None:
    inner = make_repository(repository.path / "inner")
    ref = saved(repository)
    put_back(repository.git, "HEAD", ["inner", "inner/readme.txt"], saved=ref)
    assert inner.read("readme.txt") == b"hello\n"


def test_a_repository_in_a_files_place_is_not_removed(repository: Repository) -> None:
    repository.write("thing", "file\n")
    before = repository.commit()
    (repository.path / "thing").unlink()
    inner = make_repository(repository.path / "thing")
    with pytest.raises(ConflictError, match="stands in the way"):
        put_back(repository.git, before, ["thing"], saved=saved(repository))
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
            put_back(repository.git, before, ["a", "b", "new"], saved=ref)
    put_back(repository.git, before, ["a", "b", "new"], saved=ref)
    assert repository.status() == []
    assert put_back(repository.git, before, ["a", "b", "new"], saved=ref) == []


def test_line_ends_are_the_users(repository: Repository) -> None:
    repository.run("config", "core.autocrlf", "true")
    repository.write("dos.txt", "one\r\n")
    before = repository.commit()
    repository.write("dos.txt", "two\r\n")
    put_back(repository.git, before, ["dos.txt"], saved=saved(repository))
    assert repository.read("dos.txt") == b"one\r\n"
    assert repository.status() == []


def test_odd_names_are_put_back(repository: Repository) -> None:
    for name in ODD_NAMES[::2]:
        repository.write(name, "x\n")
    before = repository.commit()
    for name in ODD_NAMES:
        repository.write(name, "y\n")
    repository.write("decoy", "x\n")
    put_back(repository.git, before, ODD_NAMES, saved=saved(repository))
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
        put_back(repository.git, before, named, saved=saved(repository))
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
        put_back(repository.git, "HEAD", ["new"], saved=ref)
