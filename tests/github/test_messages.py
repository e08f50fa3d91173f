import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmad_autopilot.github.commits import commit_tree
from bmad_autopilot.github.git import Git, GitError
from bmad_autopilot.github.history import commits_between
from bmad_autopilot.github.messages import MAX_BODY, MAX_SUBJECT, trailer_value, write_message
from tests.github.repositories import Repository, make_repository

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
