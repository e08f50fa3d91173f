"""What stood there before a call, compared with what it left."""

from pathlib import Path

from bmad_autopilot.engine.snapshots import (
    SETTINGS_BEFORE,
    _keep_settings,
    _settings_now,
    settings_changed,
)
from tests.github.repositories import make_repository

HOOK = ".git/hooks/pre-push"


def call(folder: Path, checkout: Path) -> str:
    """A call before which the repository's settings were as they are now."""
    folder.mkdir()
    _keep_settings(f"{folder}/{SETTINGS_BEFORE}", _settings_now(str(checkout)))
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
