"""Trees that no commit has, held against a collection of garbage."""

import pytest

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.github.holding import HELD, hold, let_go
from bmad_autopilot.github.saving import save_all
from bmad_autopilot.github.trees import changes
from tests.github.repositories import Repository


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
    assert hold(repository.git, "run-1", held)
    collect_garbage(repository)
    assert [change.path for change in changes(repository.git, "HEAD", held)] == ["new.txt"]
    assert repository.run("show", f"{held}:new.txt") == "a"
    with pytest.raises(AutopilotError):
        changes(repository.git, "HEAD", loose)


def test_holding_twice_is_holding_once(repository: Repository) -> None:
    tree = loose_tree(repository, "a\n")
    assert hold(repository.git, "run-1", tree)
    assert hold(repository.git, "run-1", tree)
    assert repository.run("for-each-ref", "--format=%(refname)").count(tree) == 1


def test_a_run_lets_go_of_its_own_alone(repository: Repository) -> None:
    trees = [loose_tree(repository, text) for text in ("a\n", "b\n")]
    for run in ("run-1", "run-10"):
        for tree in trees:
            hold(repository.git, run, tree)
    save_all(repository.git, "refs/autopilot/saved/run-1/x", "Saved")
    let_go(repository.git, "run-1")
    let_go(repository.git, "run-1")
    left = repository.run("for-each-ref", "--format=%(refname)", "refs/autopilot").split()
    assert left == [*sorted(f"{HELD}run-10/{tree}" for tree in trees), "refs/autopilot/saved/run-1/x"]


def test_what_is_gone_already_is_said(repository: Repository) -> None:
    assert not hold(repository.git, "run-1", "1234567890" * 4)
    assert repository.run("for-each-ref", HELD) == ""


def test_other_programs_do_not_mind_such_a_ref(repository: Repository) -> None:
    hold(repository.git, "run-1", loose_tree(repository, "a\n"))
    assert repository.run("log", "--all", "--format=%s") == "Begin"
    repository.run("fsck", "--strict")
    repository.run("clone", "--quiet", "--mirror", ".", "../mirror")
