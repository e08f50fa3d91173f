import os
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.github import commits, saving
from bmad_autopilot.github.git import GitError
from bmad_autopilot.github.identities import OURS
from bmad_autopilot.github.saving import save, save_all
from tests.github.repositories import ODD_NAMES, Repository, make_repository

REF = "refs/autopilot/run/1"


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
    made = save_all(repository.git, REF, "Before a restart")
    assert repository.run("rev-parse", REF, f"{REF}^").splitlines() == [made, head]
    assert set(repository.names(REF)) == {".gitignore", "readme.txt", "staged", *ODD_NAMES}
    assert repository.run("show", "--no-patch", "--format=%cn", REF) == OURS.name
    assert (repository.status(), repository.head) == (before, head)


def test_saving_the_same_again_is_no_second_commit(repository: Repository) -> None:
    repository.write("new", "x\n")
    made = save_all(repository.git, REF, "First")
    assert save_all(repository.git, REF, "Again") == made
    assert save(repository.git, REF, repository.tree(made), None, "Again") == made


def test_what_the_ref_held_before_is_not_lost(repository: Repository) -> None:
    repository.write("new", "one\n")
    first = save_all(repository.git, REF, "First")
    repository.write("new", "two\n")
    second = save_all(repository.git, REF, "Second")
    assert repository.run("show", "--no-patch", "--format=%P", second).split() == [repository.head, first]


def test_a_change_in_the_same_tick_as_the_index_is_not_missed(repository: Repository) -> None:
    tick = (1_700_000_000, 1_700_000_000)
    repository.run("config", "core.checkStat", "minimal")
    repository.run("config", "core.trustCtime", "false")
    os.utime(repository.write("quick", "one\n"), tick)
    repository.commit()
    os.utime(repository.path / ".git/index", tick)
    os.utime(repository.write("quick", "two\n"), tick)  # as large and as old as before
    save_all(repository.git, REF, "Saved")
    assert repository.run("show", f"{REF}:quick") == "two"


def test_before_the_first_commit_too(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    repository = Repository(tmp_path / "work")
    repository.run("init", "--quiet")
    repository.write("new", "x\n")
    made = save_all(repository.git, REF, "First")
    assert repository.names(made) == ["new"]
    assert repository.status() == ["?? new"]


@pytest.mark.parametrize("ref", ["refs/heads/main", "HEAD", "refs/autopilotx", "-d"])
def test_only_refs_of_ours(repository: Repository, ref: str) -> None:
    before = repository.head
    with pytest.raises(GitError, match="not a ref of ours"):
        save(repository.git, ref, repository.tree(), None, "x")
    assert repository.head == before


@pytest.mark.parametrize("ref", ["refs/autopilot/../heads/main", "refs/autopilot/a b", "refs/autopilot/*"])
def test_a_ref_that_git_refuses_is_an_error(repository: Repository, ref: str) -> None:
    with pytest.raises(GitError, match="update-ref"):
        save(repository.git, ref, repository.tree(), None, "x")


def test_two_who_save_at_once_do_not_lose_each_other(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = repository.commit()
    make = commits.commit_tree

    def slow(*arguments: object) -> str:
        made = make(*arguments)  # type: ignore[arg-type]
        repository.run("update-ref", REF, other)
        return made

    monkeypatch.setattr(saving, "commit_tree", slow)
    with pytest.raises(ConflictError, match="has moved"):
        save(repository.git, REF, repository.tree(), None, "x")
    assert repository.run("rev-parse", REF) == other


def test_what_cannot_be_saved_whole_is_not_called_saved(repository: Repository) -> None:
    (repository.path / "inner").mkdir()
    Repository(repository.path / "inner").run("init", "--quiet")  # with nothing that could be kept
    with pytest.raises(GitError, match="git add"):
        save_all(repository.git, REF, "x")
    assert repository.run("for-each-ref", "refs/autopilot") == ""


def test_a_repository_inside_is_saved_by_its_commit(repository: Repository) -> None:
    inner = make_repository(repository.path / "inner")
    save_all(repository.git, REF, "x")
    assert repository.run("rev-parse", f"{REF}:inner") == inner.head
