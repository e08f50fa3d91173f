"""A run that is deleted for good leaves no ref, and takes none of another's with it."""

from pathlib import Path

from bmad_autopilot.github.forgetting import forget
from bmad_autopilot.github.git import Git
from tests.support import git


def test_its_refs_and_no_other_s(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "Begin")
    own = ["held/lean-1/abc", "checkpoints/lean-1/1", "checkpoints/lean-1/2", "saved/lean-1/1-2-login"]
    others = ["held/lean-10/abc", "checkpoints/lean-10/1", "saved/restart-1-2-login-lean-1-3", "attempts/lean-1"]
    for name in (*own, *others):
        git(tmp_path, "update-ref", f"refs/autopilot/{name}", "HEAD")
    door = Git(str(tmp_path))
    assert forget(door, "lean-1") == len(own)
    left = git(tmp_path, "for-each-ref", "--format=%(refname)", "refs/autopilot/").split()
    assert left == sorted(f"refs/autopilot/{name}" for name in others)
    assert forget(door, "lean-1") == 0
