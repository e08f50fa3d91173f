"""The delivery side of git's door."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.github.branches import MOST_NAMED, Branches
from bmad_autopilot.github.commits import commit
from bmad_autopilot.github.git import Git, GitError
from bmad_autopilot.github.history import base_branch
from tests.github.origins import make_origin
from tests.github.repositories import USER, Repository


@pytest.fixture
def bare(repository: Repository, tmp_path: Path) -> Path:
    return make_origin(repository, tmp_path / "origin.git")


@pytest.fixture
def branches(repository: Repository) -> Branches:
    return Branches(repository.git)


def ours(repository: Repository) -> str:
    return commit(repository.git, [], "Ours", {}, identity=USER)


def test_remotes_and_where_they_lie(repository: Repository, branches: Branches, tmp_path: Path) -> None:
    assert (branches.remotes(), branches.remote_url()) == ([], "")
    repository.run("remote", "add", "origin", str(tmp_path))
    assert (branches.remotes(), branches.remote_url()) == (["origin"], str(tmp_path))


def test_the_remote_is_asked_for_its_own_branch_and_that_is_remembered(
    repository: Repository, branches: Branches, bare: Path
) -> None:
    repository.run("push", "--quiet", "origin", "main", "main:trunk/all")
    repository.run("--git-dir", str(bare), "symbolic-ref", "HEAD", "refs/heads/trunk/all")
    assert branches.base_branch("develop") == "develop"
    assert base_branch(repository.git, None) == "main"  # as far as one can tell from here
    assert branches.base_branch(None) == "trunk/all"
    assert base_branch(repository.git, None) == "trunk/all"
    bare.rename(bare.with_name("away"))
    assert branches.base_branch(None) == "trunk/all"


def test_the_base_branch_of_a_remote_without_any(repository: Repository, branches: Branches, bare: Path) -> None:
    repository.run("--git-dir", str(bare), "update-ref", "-d", "refs/heads/main")
    assert branches.base_branch(None) == "main"
    repository.run("branch", "--move", "main", "topic")
    assert branches.base_branch(None) is None


def test_the_base_branch_without_a_remote(repository: Repository, branches: Branches) -> None:
    repository.run("branch", "--move", "main", "master")
    assert branches.base_branch(None) == "master"


def test_a_branch_there_and_back(repository: Repository, branches: Branches, bare: Path) -> None:
    head = repository.head
    branches.push("feature/epic-1", head, "")
    assert branches.heads("feature/epic-1") == branches.fetch("feature/epic-1") == {"feature/epic-1": head}
    branches.delete("feature/epic-1", head)
    assert branches.fetch("feature/epic-1") == {"feature/epic-1": ""}


def test_what_a_history_holds(repository: Repository, branches: Branches) -> None:
    first = repository.head
    second = repository.commit()
    assert branches.contains(second, first)
    assert not branches.contains(first, second)
    assert not branches.contains(second, "f" * 40)  # never fetched
    with pytest.raises(GitError):
        branches.contains("f" * 40, second)
    assert branches.tree_of(second) == repository.tree(second)
    assert (branches.head_of("main"), branches.head_of("none")) == (second, "")


def test_foreign_commits_are_told_from_ours(repository: Repository, branches: Branches) -> None:
    start = repository.head
    base = repository.commit("On the base")
    repository.run("switch", "--quiet", "--create", "topic")
    ours(repository)
    foreign = repository.commit("A person's")
    ours(repository)
    assert [found.sha for found in branches.foreign_commits(base, "HEAD")] == [foreign]
    assert [found.sha for found in branches.foreign_commits(start, "HEAD")] == [foreign, base]
    assert [found.sha for found in branches.foreign_commits(start, "HEAD", base)] == [foreign]


def test_a_squash_is_the_heads_tree_on_its_base(repository: Repository, branches: Branches) -> None:
    base = repository.head
    repository.write("a", "1\n")
    repository.commit()
    repository.write("b", "1\n")
    head = repository.commit()
    made = branches.squash(base, head, "Epic 1\n\nAutopilot-Step: x\nAutopilot-Step: y\n", USER)
    assert repository.tree(made) == repository.tree(head)
    assert repository.run("show", "-s", "--format=%P %an", made) == f"{base} {USER.name}"
    assert repository.run("show", "-s", "--format=%(trailers)", made).count("Autopilot-Step") == 2
    with pytest.raises(ConflictError):
        branches.squash(head, base, "x", USER)


def in_conflict(repository: Repository, branches: Branches, name: str) -> str:
    """Two sides of one file, ours pushed and checked out nowhere; the base's head."""
    repository.write(name, "0\n")
    start = repository.commit()
    repository.run("switch", "--quiet", "--create", "feature/epic-1")
    repository.write(name, "ours\n")
    branches.push("feature/epic-1", repository.commit(), "")
    repository.run("switch", "--quiet", "--detach", start)
    repository.write(name, "theirs\n")
    base = repository.commit()
    repository.run("push", "--quiet", "origin", f"{base}:refs/heads/main")
    return base


def test_the_steps_for_a_person_can_be_typed(
    repository: Repository, branches: Branches, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "it's $(odd) name"
    monkeypatch.setenv("PATH", f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
    base = in_conflict(repository, branches, name)
    steps = branches.conflict_steps("feature/epic-1", "main", [name])
    fetch, switch, merge, resolve, *rest, resume = steps.split("\n")
    for step in (fetch, switch):
        subprocess.run(["sh", "-c", step], cwd=repository.path, check=True, capture_output=True)
    merged = subprocess.run(["sh", "-c", merge], cwd=repository.path, capture_output=True, check=False)
    assert (merged.returncode, b"CONFLICT" in merged.stdout) == (1, True)
    assert resolve.startswith("# ")
    repository.write(name, "both\n")
    for step in rest:
        subprocess.run(["sh", "-c", step], cwd=repository.path, check=True, capture_output=True)
    assert branches.heads("feature/epic-1") == {"feature/epic-1": repository.head}
    assert branches.contains(repository.head, base)
    assert merge == "bmad merge-driver run -- git merge origin/main"
    assert resume == "bmad autopilot --continue"


def test_the_steps_lead_into_the_worktree_that_has_the_branch(
    repository: Repository, branches: Branches, bare: Path, tmp_path: Path
) -> None:
    """git refuses to switch to it anywhere else."""
    in_conflict(repository, branches, "file")
    lane = tmp_path / "it's a lane"
    repository.run("worktree", "add", "--quiet", str(lane), "feature/epic-1")
    steps = Branches(Git(str(lane))).conflict_steps("feature/epic-1", "main", ["file"]).split("\n")
    there = "\n".join((*steps[:2], "git branch --show-current", *steps[-2:-1], "pwd"))
    typed = subprocess.run(["sh", "-c", there], cwd=repository.path, check=True, capture_output=True, text=True)
    assert typed.stdout.split("\n")[0] == "feature/epic-1"
    assert typed.stdout.rstrip().split("\n")[-1] == str(repository.path)


def test_the_steps_name_no_path_that_cannot_be_typed(branches: Branches) -> None:
    many = branches.conflict_steps("b", "main", [*(f"f{n}" for n in range(MOST_NAMED)), "more"])
    odd = branches.conflict_steps("b", "main", ["a\nrm -rf x", "\udcff"])
    for steps in (many, odd):
        assert "git add --update" in steps
        assert "rm" not in steps
