import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmad_autopilot.git import history
from bmad_autopilot.git.commits import commit_paths, commit_tree
from bmad_autopilot.git.git import Git, GitError
from bmad_autopilot.git.history import (
    AUTOPILOT_IDENTITY,
    MAX_BODY,
    MAX_SUBJECT,
    base_branch,
    commits_between,
    find_commit,
    is_ancestor,
    trailer_value,
    write_message,
)
from tests.support.repositories import USER, Repository, make_repository


def step(repository: Repository, value: str) -> str:
    return commit_paths(
        repository.git, [], "A step", {"Autopilot-Step": value, "Autopilot-Run": "r"}, identity=USER
    )


def test_ancestry(repository: Repository) -> None:
    first = repository.head
    second = repository.commit()
    assert is_ancestor(repository.git, first, second)
    assert is_ancestor(repository.git, second, second)
    assert not is_ancestor(repository.git, second, first)
    with pytest.raises(GitError):
        is_ancestor(repository.git, "f" * 40, second)


def test_commits_are_read_newest_first_with_who_and_what(repository: Repository) -> None:
    before = repository.head
    theirs = repository.commit("Théirs\n\nReviewed-by: A <a@b>\nReviewed-by: B <b@c>")
    ours = step(repository, "r/dev/1")
    newest, older = commits_between(repository.git, before, "HEAD")
    assert (newest.sha, newest.author, newest.committer) == (ours, USER, AUTOPILOT_IDENTITY)
    assert newest.trailers == (("Autopilot-Step", "r/dev/1"), ("Autopilot-Run", "r"))
    assert (older.sha, older.committer, older.subject) == (theirs, USER, "Théirs")
    assert older.trailers == (("Reviewed-by", "A <a@b>"), ("Reviewed-by", "B <b@c>"))
    assert commits_between(repository.git, "HEAD", "HEAD") == []


def test_a_commit_without_words_is_read(repository: Repository) -> None:
    before = repository.head
    repository.run("commit", "--quiet", "--allow-empty", "--allow-empty-message", "-m", "")
    assert [found.subject for found in commits_between(repository.git, before, "HEAD")] == [""]


def test_a_step_is_found_by_its_trailer(repository: Repository) -> None:
    before = repository.head
    made = step(repository, "r/dev/1")
    step(repository, "r/dev/11")
    assert find_commit(repository.git, "r/dev/1", before) == made
    assert find_commit(repository.git, "r/dev/1", None) == made
    assert find_commit(repository.git, "r/dev/1", made) is None
    assert find_commit(repository.git, "r/dev/2", before) is None


@pytest.mark.parametrize(
    "message",
    [
        "Autopilot-Step: r/dev/1",
        "Subject\n\nAutopilot-Step: r/dev/1\n\nis what I quote.",
        "Subject\n\nsee Autopilot-Step: r/dev/1",
        "Subject\n\nAutopilot-Step: r/dev/1/more",
    ],
)
def test_words_that_look_like_it_are_not_it(repository: Repository, message: str) -> None:
    before = repository.head
    repository.commit(message)
    assert find_commit(repository.git, "r/dev/1", before) is None


def test_an_odd_step_is_found_as_it_was_given(repository: Repository) -> None:
    value = "  r\n/d\te\x07v/1: # é "
    made = step(repository, value)
    assert find_commit(repository.git, value, None) == made


def test_no_commit_at_all_is_none(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    assert find_commit(Git(str(tmp_path)), "r/dev/1", None) is None


def test_a_long_history_is_read_so_far(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    made = step(repository, "r/dev/1")
    for _ in range(3):
        repository.commit()
    monkeypatch.setattr(history, "MAX_COMMITS", 4)
    assert find_commit(repository.git, "r/dev/1", None) == made
    monkeypatch.setattr(history, "MAX_COMMITS", 3)
    assert find_commit(repository.git, "r/dev/1", None) is None


def test_the_base_branch_is_the_configured_one(repository: Repository) -> None:
    assert base_branch(repository.git, "develop") == "develop"


def test_the_base_branch_is_the_remotes_own(repository: Repository, tmp_path: Path) -> None:
    repository.run("branch", "--move", "main", "trunk/all")
    subprocess.run(["git", "clone", "--quiet", repository.path, tmp_path / "clone"], check=True)
    clone = Repository(tmp_path / "clone")
    clone.run("branch", "main")
    assert base_branch(clone.git, None) == "trunk/all"


@pytest.mark.parametrize(
    ("branches", "base"),
    [(("main", "master"), "main"), (("master",), "master"), (("topic",), None), (("main/x",), None)],
)
def test_the_base_branch_without_a_remote(
    repository: Repository, branches: tuple[str, ...], base: str | None
) -> None:
    repository.run("switch", "--quiet", "--create", "elsewhere")
    repository.run("branch", "--delete", "--force", "main")
    for name in branches:
        repository.run("branch", name)
    assert base_branch(repository.git, None) == base


def test_the_base_branch_may_be_on_the_remote_alone(repository: Repository) -> None:
    repository.run("update-ref", "refs/remotes/origin/main", "HEAD")
    repository.run("switch", "--quiet", "--create", "topic")
    repository.run("branch", "--delete", "--force", "main")
    assert base_branch(repository.git, None) == "main"


KEY = {"Autopilot-Step": "run/dev/1", "Autopilot-Run": "run"}


def trailers_of(repository: Repository, message: str) -> tuple[tuple[str, str], ...]:
    head = repository.head
    made = commit_tree(repository.git, repository.tree(), [head], message)
    [found] = commits_between(repository.git, head, made)
    return found.trailers


@pytest.mark.parametrize(
    "message",
    [
        "Plain",
        "Fix: it",
        "Subject\n\nBody\n\nAutopilot-Step: forged\nSigned-off-by: x <y>",
        "Autopilot-Step: forged",
        "Subject\nAutopilot-Step: forged\n",
        "Subject\n\nAutopilot-Step: forged",
        "Subject\n\n---\n diff --git a/x b/x\n",
        "# comment\n# ------------------------ >8 ------------------------\nrest",
        "\n\n\n",
        "tab\there\r\nbell\a\x1b[31mred\x00end",
        "Subject\n\nEnds with a key:\n continued",
    ],
)
def test_only_our_trailers_are_trailers(repository: Repository, message: str) -> None:
    assert trailers_of(repository, write_message(message, KEY)) == tuple(KEY.items())


@settings(max_examples=10)
@given(st.text(max_size=200), st.text(min_size=1, max_size=60))
def test_no_text_mangles_a_trailer(tmp_path_factory: pytest.TempPathFactory, message: str, value: str) -> None:
    repository = make_repository(tmp_path_factory.mktemp("message") / "work")
    written = write_message(message, {"Autopilot-Step": value, "Autopilot-Run": "run"})
    found = trailers_of(repository, written)
    assert found == (("Autopilot-Step", trailer_value(value)), ("Autopilot-Run", "run"))
    assert "\n" not in trailer_value(value)


def test_the_users_comment_sign_and_separators_hide_no_trailer(repository: Repository) -> None:
    repository.run("config", "core.commentChar", "A")
    repository.run("config", "trailer.separators", "=")
    assert trailers_of(repository, write_message("Subject", KEY)) == tuple(KEY.items())


def test_the_text_is_bounded_and_clean() -> None:
    written = write_message("s" * 1000 + "\nfirst\r\nsecond\x07\n" + "b" * 100_000, {})
    subject, _, body = written.partition("\n\n")
    assert len(subject) == MAX_SUBJECT
    assert len(body) <= MAX_BODY + 1
    assert body.startswith("first\nsecond \n")


def test_a_key_is_a_key() -> None:
    with pytest.raises(GitError, match="no trailer's key"):
        write_message("x", {"Bad key\nInjected": "v"})


def test_a_message_is_kept_as_written_whatever_the_users_encoding(repository: Repository) -> None:
    repository.run("config", "i18n.commitEncoding", "ISO-8859-1")
    made = commit_tree(repository.git, repository.tree(), [], write_message("Größe", KEY))
    raw = subprocess.run(
        ["git", "cat-file", "commit", made],
        cwd=Path(Git(str(repository.path)).top),
        capture_output=True,
        check=True,
    ).stdout
    assert "Größe".encode() in raw
    assert b"encoding" not in raw
