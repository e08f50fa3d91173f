from pathlib import Path

import pytest

from bmad_autopilot.github import blobs
from bmad_autopilot.github.blobs import contents
from bmad_autopilot.github.git import Git
from bmad_autopilot.github.trees import MAX_FILE
from tests.github.repositories import ODD_NAMES, Repository, make_repository


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
    read = contents(repository.git, before, after)
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
    read = contents(repository.git, before, repository.commit())
    assert [read(name, True) for name in ODD_NAMES] == [f"{name!a}\n".encode() for name in ODD_NAMES]


def test_a_file_too_large_is_not_looked_at(repository: Repository) -> None:
    repository.write("unchanged", b"u" * (MAX_FILE + 1))
    before = repository.commit()
    repository.write("large", b"x" * (MAX_FILE + 1))
    repository.write("just", b"x" * MAX_FILE)
    read = contents(repository.git, before, repository.commit())
    assert read("large", True) is None
    assert read("unchanged", True) is None
    assert len(read("just", True) or b"") == MAX_FILE


def test_a_submodule_has_no_content(repository: Repository, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other")
    before = repository.head
    repository.run("update-index", "--add", "--cacheinfo", f"160000,{other.head},sub")
    repository.run("commit", "--quiet", "-m", "Sub")
    assert contents(repository.git, before, "HEAD")("sub", True) is None


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
    read = contents(repository.git, before, after)
    assert asked == []
    assert [read(name, True) for name in names] == [f"{name}\n".encode() * 10 for name in names]
    assert len(asked) == 3


@pytest.mark.parametrize("order", [1, -1])
def test_more_than_goes_into_one_window(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, order: int
) -> None:
    monkeypatch.setattr(blobs, "WINDOW", 100)
    before = repository.head
    names = [f"f{number:03}" for number in range(30)][::order]
    for name in names:
        repository.write(name, name.encode() * 10)
    repository.write("wide", b"w" * 500)  # wider than the window itself
    read = contents(repository.git, before, repository.commit())
    assert [read(name, True) for name in names] == [name.encode() * 10 for name in names]
    assert read("wide", True) == b"w" * 500
