import os
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import AutopilotError, ConflictError
from bmad_autopilot.git import git as git_door
from bmad_autopilot.git.commits import commit_paths, stage_paths
from bmad_autopilot.git.git import (
    Git,
    GitError,
    check_revision,
    decode,
    encode,
    error_line,
    format_paths,
    is_inside,
    join_with_nul,
)
from bmad_autopilot.git.history import AUTOPILOT_IDENTITY, commits_between, find_commit
from bmad_autopilot.git.refs import pin_tree, restore_paths, save_work_tree
from bmad_autopilot.git.trees import changed_contents, diff_trees, read_file
from bmad_autopilot.git.worktree_state import read_worktree_state
from bmad_autopilot.io import processes
from tests.support.agent_stubs import is_alive, wait_until
from tests.support.repositories import ODD_NAMES, USER, Repository, make_repository


def use_everything(repository: Repository) -> None:
    git = repository.git
    before = repository.head
    read_worktree_state(git)
    repository.write("new.txt", "new\n")
    stage_paths(git, ["new.txt"])
    made = commit_paths(git, ["new.txt"], "New", {"Autopilot-Step": "r/s/1"}, identity=USER)
    assert find_commit(git, "r/s/1", before) == made
    commits_between(git, before, made)
    diff_trees(git, before, made)
    changed_contents(git, before, made)("new.txt", True)
    read_file(git, made, "new.txt")
    save_work_tree(git, "refs/autopilot/x", "Saved")
    restore_paths(git, before, ["new.txt"], saved_ref="refs/autopilot/x")


def test_nothing_an_agent_set_in_the_repository_runs_with_us(repository: Repository, tmp_path: Path) -> None:
    mark = tmp_path / "it-ran"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho $0 $* >> {mark}\n")
    trap.chmod(0o755)
    for folder in (repository.path / ".git/hooks", tmp_path / "more-hooks"):
        folder.mkdir(exist_ok=True)
        for name in ("pre-commit", "post-commit", "reference-transaction", "post-index-change", "post-checkout"):
            (folder / name).write_text(trap.read_text())
            (folder / name).chmod(0o755)
    for key, value in (
        ("core.hooksPath", str(tmp_path / "more-hooks")),
        ("core.fsmonitor", str(trap)),
        ("core.pager", str(trap)),
        ("core.editor", str(trap)),
        ("diff.external", str(trap)),
        ("diff.trap.textconv", str(trap)),
        ("diff.trap.command", str(trap)),
        ("gpg.program", str(trap)),
        ("commit.gpgSign", "true"),
        ("log.showSignature", "true"),
        *((f"alias.{name}", f"!{trap}") for name in ("status", "log", "commit-tree", "update-index", "diff-tree")),
    ):
        repository.run("config", key, value)
    (repository.path / ".git/info/attributes").write_text("* diff=trap\n")
    use_everything(repository)
    assert not mark.exists(), mark.read_text()


def sign(repository: Repository, value: str) -> str:
    """A commit on top with a signature that is none."""
    head = f"tree {repository.tree()}\nparent {repository.head}\n"
    who = f"{AUTOPILOT_IDENTITY.name} <{AUTOPILOT_IDENTITY.email}> 1700000000 +0000\n"
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n none\n -----END PGP SIGNATURE-----\n"
    raw = f"{head}author {who}committer {who}{signature}\nSigned\n\nAutopilot-Step: {value}\n"
    made = repository.git.ask("hash-object", "-t", "commit", "-w", "--stdin", feed=raw.encode()).text
    repository.run("update-ref", "HEAD", made)
    return made


def test_no_program_is_asked_about_signatures(repository: Repository, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/it-ran\n")
    trap.chmod(0o755)
    repository.run("config", "gpg.program", str(trap))
    repository.run("config", "log.showSignature", "true")
    made = sign(repository, "r/s/1")
    assert find_commit(repository.git, "r/s/1", None) == made
    assert not (tmp_path / "it-ran").exists()
    repository.run("log", "-1")
    assert (tmp_path / "it-ran").exists()  # it would run with any other git


def test_looking_writes_nothing(repository: Repository) -> None:
    index = repository.path / ".git/index"
    os.utime(repository.path / "readme.txt", (1, 1))  # git would note that it is unchanged all the same
    before = index.read_bytes()
    assert read_worktree_state(repository.git).dirty == ()
    assert index.read_bytes() == before


def test_the_callers_own_git_variables_do_not_lead_us_astray(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_repository(tmp_path / "other")
    before = other.head
    with monkeypatch.context() as patch:
        patch.setenv("GIT_DIR", str(other.path / ".git"))
        patch.setenv("GIT_WORK_TREE", str(other.path))
        patch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
        patch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "objects"))
        patch.setenv("GIT_CONFIG_PARAMETERS", "'core.worktree'='/'")
        patch.setenv("GIT_TRACE", "1")
        git = Git(str(repository.path))
    repository.write("new", "new\n")
    made = commit_paths(git, ["new"], "Here", {}, identity=USER)
    assert repository.head == made
    assert other.head == before
    assert not (tmp_path / "index").exists()


def test_settings_from_the_environment_do_not_bring_hooks_back(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = tmp_path / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/it-ran\n")
    hook.chmod(0o755)
    for name, value in (("COUNT", "1"), ("KEY_0", "core.hooksPath"), ("VALUE_0", str(tmp_path))):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    use_everything(Repository(repository.path))
    assert not (tmp_path / "it-ran").exists()
    repository.commit()
    assert (tmp_path / "it-ran").exists()  # it would run with any other git


def test_a_work_tree_that_is_said_to_be_elsewhere_is_not_read(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/readme.txt").write_text("secret\n")
    repository.write("readme.txt", "ours\n")
    repository.run("config", "core.worktree", str(tmp_path / "elsewhere"))
    made = commit_paths(repository.git, ["readme.txt"], "Ours", {}, identity=USER)
    save_work_tree(repository.git, "refs/autopilot/x", "Saved")
    restore_paths(repository.git, f"{made}^", ["readme.txt"], saved_ref="refs/autopilot/x")
    assert read_file(repository.git, made, "readme.txt") == b"ours\n"
    assert read_file(repository.git, "refs/autopilot/x", "readme.txt") == b"ours\n"
    assert repository.read("readme.txt") == b"hello\n"
    assert (tmp_path / "elsewhere/readme.txt").read_text() == "secret\n"


def test_replaced_objects_are_seen_as_they_are(repository: Repository) -> None:
    before = repository.head
    repository.write("bad", "bad\n")
    after = repository.commit()
    repository.run("replace", after, before)
    assert [change.path for change in diff_trees(repository.git, before, after)] == ["bad"]


def test_a_refusal_is_an_error_with_gits_own_words(repository: Repository) -> None:
    with pytest.raises(GitError) as caught:
        repository.git.ask("rev-parse", "no-such-branch")
    assert "unknown revision" in str(caught.value)
    assert str(repository.path) in str(caught.value)
    assert isinstance(caught.value, AutopilotError)


@pytest.mark.parametrize(
    ("err", "said"),
    [
        ("", ""),
        ("warning: x\n", "warning: x"),
        ("fatal: no\n\nAdvice here.\n", "fatal: no"),
        ("error: one\nfatal: two\nhint: three\n", "fatal: two"),
        ("Fataler Fehler\n", "Fataler Fehler"),
    ],
)
def test_the_reason_is_found_among_the_advice(err: str, said: str) -> None:
    assert error_line(err) == said


@pytest.mark.parametrize("revision", ["", "--output=x", "-p", "a\nb"])
def test_what_reads_as_an_option_is_no_revision(revision: str) -> None:
    with pytest.raises(GitError, match="no revision"):
        check_revision("HEAD", revision)


def test_odd_arguments_are_errors_too(repository: Repository) -> None:
    with pytest.raises(GitError, match="NUL"):
        repository.git.ask("rev-parse", "a\0b")
    with pytest.raises(GitError):
        repository.git.ask("cat-file", "-t", "\ud800")


def test_no_repository_has_no_top(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="under no git repository"):
        _ = Git(str(tmp_path)).top


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GitError):
        Git(str(tmp_path / "gone")).ask("status")


def test_no_git_on_the_machine_is_said(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GitError, match="not installed"):
        Git(str(repository.path)).ask("status")


def test_another_users_repository_names_the_way_out(repository: Repository) -> None:
    with pytest.raises(GitError) as caught:
        repository.git.ask("status", environment={"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    assert caught.value.hint == f"git config --global --add safe.directory {repository.path}"


def test_a_lock_that_goes_away_is_waited_for(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_door, "LOCK_SECONDS", 30.0)
    lock = repository.path / ".git/index.lock"
    lock.touch()
    asked = threading.Event()
    talk = processes.run_process

    def tell(*arguments: object, **named: object) -> object:
        heard = talk(*arguments, **named)  # type: ignore[arg-type]
        asked.set()
        return heard

    monkeypatch.setattr(git_door, "run_process", tell)

    def release() -> None:
        asked.wait(30)
        lock.unlink()

    thread = threading.Thread(target=release)
    thread.start()
    repository.write("new", "new\n")
    stage_paths(repository.git, ["new"])
    thread.join(30)
    assert repository.status() == ["A  new"]


def test_a_lock_that_stays_is_named(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_door, "LOCK_SECONDS", 0.1)
    lock = repository.path / ".git/index.lock"
    lock.touch()
    repository.write("new", "new\n")
    before = repository.head
    with pytest.raises(ConflictError) as caught:
        commit_paths(repository.git, ["new"], "New", {}, identity=USER)
    assert str(lock) in str(caught.value)
    assert repository.head == before
    assert lock.exists()


def test_a_lock_is_named_in_a_command_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_door, "LOCK_SECONDS", 0.1)
    repository = make_repository(tmp_path / "Rob's own project")
    lock = repository.path / ".git/index.lock"
    lock.touch()
    repository.write("new", "new\n")
    with pytest.raises(ConflictError) as caught:
        stage_paths(repository.git, ["new"])
    hint = caught.value.hint
    assert hint is not None
    assert shlex.split(hint.partition(": ")[2]) == ["rm", str(lock)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("index.lock", ("update-index", "-q", "--refresh")),
        ("config.lock", ("config", "test.name", "value")),
        ("packed-refs.lock", ("pack-refs", "--all")),
        ("refs/heads/other.lock", ("update-ref", "refs/heads/other", "HEAD")),
        ("HEAD.lock", ("symbolic-ref", "HEAD", "refs/heads/main")),
    ],
)
def test_every_lock_of_the_repository_is_waited_for(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, name: str, words: tuple[str, ...]
) -> None:
    """Lanes share one repository: each may meet the lock of another's git."""
    monkeypatch.setattr(git_door, "LOCK_SECONDS", 30.0)
    lock = repository.path / ".git" / name
    lock.touch()
    os.utime(repository.path / "readme.txt", (1, 1))  # there is something to refresh
    talk = processes.run_process
    asked = []

    def tell(*arguments: object, **named: object) -> object:
        heard = talk(*arguments, **named)  # type: ignore[arg-type]
        asked.append(heard)
        lock.unlink(missing_ok=True)
        return heard

    monkeypatch.setattr(git_door, "run_process", tell)
    repository.git.ask(*words)
    assert len(asked) == 2, "the other git was waited for"

    lock.touch()
    os.utime(repository.path / "readme.txt", (2, 2))
    monkeypatch.setattr(git_door, "run_process", talk)
    monkeypatch.setattr(git_door, "LOCK_SECONDS", 0.1)
    with pytest.raises(ConflictError) as caught:
        repository.git.ask(*words, codes=(0,) if "-q" in words else tuple(range(256)))
    assert str(lock) in str(caught.value)
    assert lock.exists(), "it may be in use"


def test_a_stale_lock_on_a_ref_of_ours_is_removed(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left by a power cut. The user's refs are theirs."""
    monkeypatch.setattr(git_door, "LOCK_SECONDS", 0.1)
    tree = repository.run("rev-parse", "HEAD^{tree}").strip()
    lock = repository.path / f".git/refs/autopilot/held/run/{tree}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    assert pin_tree(repository.git, "run", tree)
    assert not lock.exists()
    assert repository.run("rev-parse", f"refs/autopilot/held/run/{tree}").strip() == tree


def test_a_lock_on_a_ref_of_ours_stays_while_a_git_is_at_work(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_door, "LOCK_SECONDS", 0.1)
    lock = repository.path / ".git/refs/autopilot/x.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    waits = ["git", "-C", str(repository.path), "cat-file", "--batch"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdin.write(b"HEAD\n")
        other.stdin.flush()
        other.stdout.readline()  # it has begun
        with pytest.raises(ConflictError):
            repository.git.ask("update-ref", "refs/autopilot/x", repository.head)
        other.stdin.close()
    assert lock.exists()


def test_reading_needs_no_lock(repository: Repository) -> None:
    (repository.path / ".git/index.lock").touch()
    repository.write("readme.txt", "changed\n")
    assert read_worktree_state(repository.git).dirty == ("readme.txt",)


def test_a_place_that_cannot_hold_a_lock_is_gits_own_error(repository: Repository) -> None:
    refs = repository.path / ".git/refs/autopilot"
    refs.write_text("a file where a folder should be")
    with pytest.raises(GitError, match="update-ref"):
        repository.git.ask("update-ref", "refs/autopilot/x", repository.head)


def slow_filter(repository: Repository, tmp_path: Path) -> Path:
    """A user's filter that never ends; it writes its process id."""
    pid = tmp_path / "pid"
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    repository.run("config", "filter.slow.clean", f'{sys.executable} -c "{code}"')
    repository.write(".gitattributes", "*.slow filter=slow\n")
    repository.commit()
    repository.write("x.slow", "x\n")
    return pid


def test_git_that_does_not_end_is_ended_with_its_children(repository: Repository, tmp_path: Path) -> None:
    pid = slow_filter(repository, tmp_path)
    begun = time.monotonic()
    with pytest.raises(GitError, match="did not answer in 3 s"):
        repository.git.ask("add", "--", "x.slow", seconds=3)
    assert time.monotonic() - begun < 30
    if pid.exists() and pid.read_text():
        wait_until(lambda: not is_alive(int(pid.read_text())), "the filter has ended")
    assert not (repository.path / ".git/index.lock").exists()


def test_too_much_output_is_an_error(repository: Repository) -> None:
    repository.write("large", b"x" * 400_000)
    repository.commit()
    with pytest.raises(GitError, match="said more than"):
        repository.git.ask("cat-file", "blob", "HEAD:large", limit=1000)


def test_a_long_feed_and_a_long_answer_do_not_wait_for_each_other(repository: Repository) -> None:
    feed = (repository.head + "\n").encode() * 20_000
    assert repository.git.ask("cat-file", "--batch-check", feed=feed).out.count(b"\n") == 20_000


def test_a_child_that_does_not_listen_is_heard_all_the_same(repository: Repository) -> None:
    answer = repository.git.ask("rev-parse", "HEAD", feed=b"x" * 1_000_000)
    assert answer.text == repository.head


def test_the_environment_keeps_the_users_home(repository: Repository, home: Path) -> None:
    (home / "filtered").write_text("yes")
    repository.run("config", "filter.home.clean", "cat $HOME/filtered")
    repository.write(".gitattributes", "*.h filter=home\n")
    repository.write("x.h", "no")
    assert os.environ["HOME"] == str(home)
    commit_paths(Git(str(repository.path)), ["x.h"], "Filtered", {}, identity=USER)
    assert repository.run("show", "HEAD:x.h") == "yes"


@given(st.binary())
def test_bytes_come_back_as_they_were(raw: bytes) -> None:
    assert encode(decode(raw)) == raw


@given(st.text())
def test_no_text_is_too_odd_to_be_encoded(text: str) -> None:
    assert isinstance(encode(text), bytes)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_inside(name: str) -> None:
    assert is_inside(name)


@pytest.mark.parametrize(
    "path",
    [
        *("", "/etc/passwd", "..", "../x", "a/../x", "a//b", "./a", "a/", "a\0b", "."),
        *(".git", ".git/config", "sub/.git/hooks/x", ".GIT/x", ".git./x", ".git /x", "git~1/x", ".git::$INDEX/x"),
        "x\\.git\\config",
    ],
)
def test_what_leads_out_or_into_gits_folder_is_not(path: str) -> None:
    assert not is_inside(path)


@pytest.mark.parametrize("path", [".gitignore", ".github/x", "a.git", "git", ".gitmodules"])
def test_names_like_gits_are_inside(path: str) -> None:
    assert is_inside(path)


def test_lists_end_each_path_with_nul() -> None:
    assert join_with_nul(["a", "b\nc"]) == b"a\0b\nc\0"


def test_a_few_are_shown() -> None:
    assert format_paths(["a", "\udcff"]) == "a, \ufffd"
    assert format_paths([str(number) for number in range(8)]) == "0, 1, 2, 3, 4 and 3 more"
