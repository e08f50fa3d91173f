"""A remote's branches over real git: a lease on a commit, and nobody's work overwritten."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.git import remotes
from bmad_autopilot.git.git import GitError
from bmad_autopilot.git.remotes import Remote, remote_error
from tests.support.repositories import Repository, make_origin

BRANCH = "feature/epic-1"


@pytest.fixture
def bare(repository: Repository, tmp_path: Path) -> Path:
    return make_origin(repository, tmp_path / "origin.git")


@pytest.fixture
def remote(repository: Repository, bare: Path) -> Remote:
    return Remote(repository.git, "origin")


def there(repository: Repository, bare: Path) -> str:
    return repository.run("--git-dir", str(bare), "rev-parse", f"refs/heads/{BRANCH}")


def foreign_commit(repository: Repository, bare: Path) -> str:
    """Somebody else has pushed."""
    there = ("--git-dir", str(bare))
    sha = repository.run(*there, "commit-tree", "-p", BRANCH, "-m", "Theirs", f"{BRANCH}^{{tree}}")
    repository.run(*there, "update-ref", f"refs/heads/{BRANCH}", sha)
    return sha


def hook(bare: Path, name: str, script: str) -> None:
    path = bare / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def trouble(error: pytest.ExceptionInfo[ForgeError]) -> ForgeErrorKind:
    return error.value.kind


def test_heads_are_told_and_fetched_and_forgotten(repository: Repository, remote: Remote, bare: Path) -> None:
    head = repository.head
    assert remote.heads("main", BRANCH) == {"main": head, BRANCH: ""}
    remote.push(BRANCH, head, "")
    new = foreign_commit(repository, bare)
    assert remote.heads(BRANCH) == {BRANCH: new}
    assert remote.fetch("main", BRANCH) == {"main": head, BRANCH: new}
    assert repository.run("rev-parse", f"refs/remotes/origin/{BRANCH}") == new
    assert not (repository.path / ".git/FETCH_HEAD").exists()
    repository.run("--git-dir", str(bare), "update-ref", "-d", f"refs/heads/{BRANCH}")
    assert remote.fetch(BRANCH) == {BRANCH: ""}
    assert repository.run("for-each-ref", f"refs/remotes/origin/{BRANCH}") == ""


def test_a_name_that_is_the_end_of_another_is_not_mistaken(repository: Repository, remote: Remote) -> None:
    repository.run("push", "--quiet", "origin", "HEAD:refs/heads/x/refs/heads/main2", "HEAD:refs/heads/y/main2")
    assert remote.heads("main2") == {"main2": ""}


def test_a_push_makes_moves_and_repeats(repository: Repository, remote: Remote, bare: Path) -> None:
    first = repository.head
    remote.push(BRANCH, first, "")
    second = repository.commit()
    remote.push(BRANCH, second, first)
    remote.push(BRANCH, second, first)  # its answer was lost
    assert there(repository, bare) == second


def test_a_push_never_goes_over_commits_we_do_not_hold(repository: Repository, remote: Remote, bare: Path) -> None:
    first = repository.head
    remote.push(BRANCH, first, "")
    theirs = foreign_commit(repository, bare)
    ours = repository.commit("Ours")
    with pytest.raises(ForgeError) as refused:
        remote.push(BRANCH, ours, first)
    assert trouble(refused) is ForgeErrorKind.REFUSED
    with pytest.raises(ForgeError):
        remote.push(BRANCH, ours, "")
    for fetched in (False, True):  # unknown here, then known and not contained
        if fetched:
            remote.fetch(BRANCH)
        with pytest.raises(ConflictError):
            remote.push(BRANCH, ours, theirs)
    assert there(repository, bare) == theirs


def test_our_hooks_do_not_run_and_tags_stay(repository: Repository, remote: Remote, bare: Path) -> None:
    hook(repository.path / ".git", "pre-push", "exit 1")
    repository.run("config", "push.followTags", "true")
    repository.run("tag", "-a", "-m", "x", "v1")
    remote.push(BRANCH, repository.head, "")
    assert repository.run("--git-dir", str(bare), "tag") == ""


def test_what_the_remote_says_is_told_without_secrets(repository: Repository, remote: Remote, bare: Path) -> None:
    token = "ghp_" + "a1" * 18
    hook(bare, "pre-receive", f"echo 'no, see https://bob:pw@host/x {token}' >&2; exit 1")
    with pytest.raises(ForgeError) as refused:
        remote.push(BRANCH, repository.head, "")
    assert trouble(refused) is ForgeErrorKind.REFUSED
    assert "no, see https://host/x" in refused.value.message
    assert token not in str(refused.value)
    hook(bare, "pre-receive", "echo 'error: GH006: Protected branch update failed' >&2; exit 1")
    with pytest.raises(ForgeError) as denied:
        remote.push(BRANCH, repository.head, "")
    assert trouble(denied) is ForgeErrorKind.DENIED


def test_a_branch_is_deleted_if_it_holds_what_we_think(repository: Repository, remote: Remote, bare: Path) -> None:
    first = repository.head
    remote.push(BRANCH, first, "")
    second = repository.commit()
    with pytest.raises(ForgeError) as refused:
        remote.delete(BRANCH, second)
    assert trouble(refused) is ForgeErrorKind.REFUSED
    assert there(repository, bare) == first
    remote.delete(BRANCH, first)
    remote.delete(BRANCH, first)
    assert remote.heads(BRANCH) == {BRANCH: ""}


def test_a_lease_is_on_full_commit_ids_alone(remote: Remote) -> None:
    for sha, expect in (("HEAD", ""), ("main", ""), ("", ""), ("-x", ""), ("f" * 39, ""), ("0" * 40, "main")):
        with pytest.raises(GitError):
            remote.push(BRANCH, sha, expect)


def test_a_branch_has_a_branchs_name(remote: Remote) -> None:
    for name in ("", "-f", "a:b", "a b", "a..b", "x.lock", "a~1"):
        with pytest.raises(GitError):
            remote.heads(name)
        with pytest.raises(GitError):
            remote.delete(name, "0" * 40)


def test_a_remote_has_a_remotes_name(repository: Repository) -> None:
    for name in ("", "-o", "a b"):
        with pytest.raises(GitError):
            Remote(repository.git, name)


def test_a_remote_that_is_not_there(repository: Repository, bare: Path) -> None:
    with pytest.raises(ForgeError) as missing:
        Remote(repository.git, "nowhere").heads("main")
    assert trouble(missing) is ForgeErrorKind.MISSING


def test_a_host_that_cannot_be_reached(repository: Repository, remote: Remote) -> None:
    repository.run("remote", "set-url", "origin", "git://127.0.0.1:1/x")
    with pytest.raises(ForgeError) as away:
        remote.fetch("main")
    assert trouble(away) is ForgeErrorKind.UNAVAILABLE


def test_ssh_is_run_as_the_user_says_and_bounded(
    repository: Repository, remote: Remote, bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.run("remote", "set-url", "origin", f"somebody@host:{bare}")
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    assert remote.heads("main") == {"main": repository.head}
    ssh.write_text("#!/bin/sh\necho 'git@host: Permission denied (publickey).' >&2\nexit 255\n")
    with pytest.raises(ForgeError) as nobody:
        remote.heads("main")
    assert trouble(nobody) is ForgeErrorKind.LOGIN
    ssh.write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(remotes, "SECONDS", 0.2)
    with pytest.raises(ForgeError) as away:
        remote.heads("main")
    assert trouble(away) is ForgeErrorKind.UNAVAILABLE


@pytest.mark.parametrize("setting", ["remote.origin.receivepack", "remote.origin.uploadpack"])
def test_no_command_of_the_repositorys_settings_is_run(
    repository: Repository, remote: Remote, tmp_path: Path, setting: str
) -> None:
    mark = tmp_path / "ran"
    repository.run("config", setting, f"touch '{mark}'; false")
    remote.fetch("main")
    remote.push(BRANCH, repository.head, "")
    repository.run("config", "protocol.ext.allow", "always")
    repository.run("remote", "set-url", "origin", f"ext::touch {mark}")
    with pytest.raises(ForgeError):
        remote.heads("main")
    assert not mark.exists()


def test_lanes_that_fetch_the_same_branch_at_once_all_have_it(
    repository: Repository, remote: Remote, bare: Path
) -> None:
    """git moves the ref for one of them, and tells the others that it cannot be locked."""
    remote.push(BRANCH, repository.run("rev-parse", "HEAD"), "")
    for _ in range(3):
        moved = foreign_commit(repository, bare)
        with ThreadPoolExecutor(6) as lanes:
            found = list(lanes.map(lambda _: remote.fetch(BRANCH), range(6)))
        assert found == [{BRANCH: moved}] * 6


def test_a_ref_that_stays_locked_is_told(
    repository: Repository, remote: Remote, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.push(BRANCH, repository.run("rev-parse", "HEAD"), "")
    foreign_commit(repository, bare)
    tries = []

    def locked(self: Remote, branches: list[str]) -> None:
        tries.append(branches)
        raise ForgeError(
            ForgeErrorKind.UNAVAILABLE, "origin: fetch: error: cannot lock ref 'refs/remotes/origin/main'"
        )

    monkeypatch.setattr(Remote, "_fetch", locked)
    with pytest.raises(ForgeError, match="cannot lock ref"):
        remote.fetch(BRANCH)
    assert len(tries) == remotes.MAX_FETCH_ROUNDS


# What git and servers really say, by the trouble that it is.

HUNG_UP = (
    "\nfatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\n"
)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (ForgeErrorKind.UNAVAILABLE, "fatal: unable to access 'https://h/x/': Could not resolve host: h"),
        (ForgeErrorKind.UNAVAILABLE, "ssh: connect to host h port 22: Connection refused" + HUNG_UP),
        (
            ForgeErrorKind.UNAVAILABLE,
            "fatal: unable to access 'https://h/x/': The requested URL returned error: 503",
        ),
        (ForgeErrorKind.UNAVAILABLE, "error: RPC failed; curl 56 GnuTLS recv error\nfatal: early EOF"),
        (ForgeErrorKind.UNAVAILABLE, "fatal: the remote end hung up unexpectedly"),
        (
            ForgeErrorKind.UNAVAILABLE,
            "error: cannot lock ref 'refs/remotes/origin/x': Unable to create '/x/.git/x.lock'",
        ),
        (ForgeErrorKind.UNAVAILABLE, "git fetch: did not answer in 180 s"),
        (ForgeErrorKind.LOGIN, "fatal: could not read Username for 'https://h': terminal prompts disabled"),
        (
            ForgeErrorKind.LOGIN,
            "remote: Invalid username or token.\nfatal: Authentication failed for 'https://h/x/'",
        ),
        (ForgeErrorKind.LOGIN, "git@h: Permission denied (publickey)." + HUNG_UP),
        (ForgeErrorKind.LOGIN, "Host key verification failed." + HUNG_UP),
        (
            ForgeErrorKind.DENIED,
            "remote: Permission to a/b.git denied to bob.\nfatal: unable to access: error: 403",
        ),
        (ForgeErrorKind.DENIED, "ERROR: Permission to a/b.git denied to bob." + HUNG_UP),
        (ForgeErrorKind.DENIED, "ERROR: This repository was archived so it is read-only." + HUNG_UP),
        (ForgeErrorKind.DENIED, "remote: error: GH013: Repository rule violations found for refs/heads/x."),
        (
            ForgeErrorKind.DENIED,
            "ERROR: The key you are authenticating with has been marked as read only." + HUNG_UP,
        ),
        (ForgeErrorKind.MISSING, "ERROR: Repository not found." + HUNG_UP),
        (ForgeErrorKind.MISSING, "remote: Not Found\nfatal: repository 'https://h/a/b.git/' not found"),
        (ForgeErrorKind.MISSING, "fatal: 'origin' does not appear to be a git repository" + HUNG_UP),
        (ForgeErrorKind.UNRECOGNIZED, "fatal: something else"),
        (ForgeErrorKind.UNRECOGNIZED, ""),
    ],
)
def test_troubles(trouble: ForgeErrorKind, said: str) -> None:
    error = remote_error("push x", "origin", said)
    assert error.kind is trouble
    assert error.message.startswith("origin: push x: ")
    assert "\n" not in error.message


def test_what_is_told_is_short() -> None:
    error = remote_error("push x", "origin", "remote: a\x1b[31m" + "b" * 5000)
    assert len(error.message) < 600
    assert "\x1b" not in error.message
