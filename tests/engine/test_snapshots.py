"""What stood there before a call, compared with what it left."""

from pathlib import Path

from bmad_autopilot.engine.snapshots import SETTINGS_AFTER, SETTINGS_BEFORE, _keep_settings, settings_changed
from tests.github.repositories import make_repository

HOOK = ".git/hooks/pre-push"


def call(folder: Path, before: dict[str, str], after: dict[str, str] | None = None) -> str:
    folder.mkdir()
    _keep_settings(f"{folder}/{SETTINGS_BEFORE}", before)
    if after is not None:
        _keep_settings(f"{folder}/{SETTINGS_AFTER}", after)
    return str(folder)


def test_what_an_earlier_call_changed_counts_until_it_is_put_back(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "work")
    checkout = str(repository.path)
    settings_changed([first := call(tmp_path / "1", {})], checkout)
    clean = (tmp_path / "1" / SETTINGS_AFTER).read_text()
    (tmp_path / "1" / SETTINGS_BEFORE).write_text(clean)
    assert settings_changed([first], checkout) == []
    repository.write(HOOK, "x\n")
    (tmp_path / "1" / SETTINGS_AFTER).unlink()
    assert settings_changed([first], checkout) == [HOOK]
    second = str(tmp_path / "2")
    (tmp_path / "2").mkdir()
    (tmp_path / "2" / SETTINGS_BEFORE).write_text((tmp_path / "1" / SETTINGS_AFTER).read_text())
    assert settings_changed([first, second], checkout) == [HOOK]
    (repository.path / HOOK).unlink()
    assert settings_changed([first, second], checkout) == []


def test_what_changed_between_two_calls_is_a_persons(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "work")
    checkout = str(repository.path)
    settings_changed([first := call(tmp_path / "1", {})], checkout)
    clean = (tmp_path / "1" / SETTINGS_AFTER).read_text()
    (tmp_path / "1" / SETTINGS_BEFORE).write_text(clean)
    repository.write(HOOK, "a person's\n")
    settings_changed([second := call(tmp_path / "2", {})], checkout)
    theirs = (tmp_path / "2" / SETTINGS_AFTER).read_text()
    (tmp_path / "2" / SETTINGS_BEFORE).write_text(theirs)
    assert settings_changed([first, second], checkout) == []


def test_a_call_that_nobody_looked_at_before_is_not_blamed(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "work")
    repository.write(HOOK, "x\n")
    (tmp_path / "1").mkdir()
    assert settings_changed([str(tmp_path / "1")], str(repository.path)) == []
    (tmp_path / "1" / SETTINGS_BEFORE).write_text("not JSON")
    assert settings_changed([str(tmp_path / "1")], str(repository.path)) == []
