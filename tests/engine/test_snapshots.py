"""What stood there before a call, compared with what it left."""

import json
from pathlib import Path

import pytest

from bmad_autopilot.engine.books import Books
from bmad_autopilot.engine.snapshots import (
    OLD_VERDICT,
    SETTINGS_BEFORE,
    STATE,
    _keep_json,
    _settings_now,
    keep_before,
    keep_state,
    settings_changed,
)
from tests.agents.shim.test_redaction import SHAPES
from tests.github.repositories import make_repository

HOOK = ".git/hooks/pre-push"


def call(folder: Path, checkout: Path) -> str:
    """A call before which the repository's settings were as they are now."""
    folder.mkdir()
    _keep_json(f"{folder}/{SETTINGS_BEFORE}", _settings_now(str(checkout)))
    return str(folder)


def test_what_an_earlier_call_changed_counts_until_it_is_put_back(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "work")
    checkout = str(repository.path)
    first = call(tmp_path / "1", repository.path)
    repository.write(HOOK, "x\n")
    assert settings_changed([first], checkout) == [HOOK]
    second = call(tmp_path / "2", repository.path)
    assert settings_changed([first, second], checkout) == [HOOK]
    (repository.path / HOOK).unlink()
    assert settings_changed([first, second], checkout) == []


def test_a_call_that_changes_nothing_is_told_nothing(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "work")
    repository.write(HOOK, "was there\n")
    assert settings_changed([call(tmp_path / "1", repository.path)], str(repository.path)) == []


def test_what_changed_between_two_calls_is_a_persons(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "work")
    checkout = str(repository.path)
    first = call(tmp_path / "1", repository.path)
    assert settings_changed([first], checkout) == []
    repository.write(HOOK, "a person's\n")
    second = call(tmp_path / "2", repository.path)
    assert settings_changed([first, second], checkout) == []


def test_a_call_that_nobody_looked_at_before_is_not_blamed(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "work")
    repository.write(HOOK, "x\n")
    (tmp_path / "1").mkdir()
    assert settings_changed([str(tmp_path / "1")], str(repository.path)) == []
    (tmp_path / "1" / SETTINGS_BEFORE).write_text("not JSON")
    assert settings_changed([str(tmp_path / "1")], str(repository.path)) == []


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_verdict_and_a_state_are_kept_without_secrets(tmp_path: Path, form: str) -> None:
    repository = make_repository(tmp_path / "work")
    said = "\n".join("".join(parts) for parts in SHAPES.values())
    text = json.dumps({"reviewResult": "approved", "summary": said}) if form == "json" else said
    board = repository.write("sprint-status.yaml", "development_status:\n  1-1-a: review\n")
    review, state = repository.path / "1-1-a.review.json", repository.path / "1-1-a.agent-state.json"
    review.write_text(text)
    state.write_text(text)
    books = Books(str(board), None, None, str(tmp_path / "none"), str(state), str(review))
    folder = tmp_path / "attempt"
    keep_before(str(folder), books, str(repository.path))
    keep_state(str(folder), books)
    assert not review.exists()
    for name in (OLD_VERDICT, STATE):
        kept = (folder / name).read_text()
        assert not [kind for kind, (_, secret, _) in SHAPES.items() if secret in kept], name
        if form == "json":
            assert json.loads(kept)["reviewResult"] == "approved"


def test_a_verdict_without_secrets_is_moved_as_it_is(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "work")
    board = repository.write("sprint-status.yaml", "development_status:\n  1-1-a: review\n")
    review = repository.path / "1-1-a.review.json"
    review.write_text('{ "reviewResult":"approved",\n"summary": "Fine." }')
    books = Books(str(board), None, None, str(tmp_path / "none"), str(tmp_path / "state"), str(review))
    keep_before(str(tmp_path / "attempt"), books, str(repository.path))
    assert (tmp_path / "attempt" / OLD_VERDICT).read_text() == '{ "reviewResult":"approved",\n"summary": "Fine." }'
