"""What stood there before a call, compared with what it left."""

import json
import os
from pathlib import Path

import pytest

from bmad_autopilot.engine.story_paths import (
    OLD_VERDICT,
    SETTINGS_BEFORE,
    STATE,
    StoryPaths,
    _settings_now,
    _write_json,
    changed_settings,
    find_review,
    misnamed_reviews,
    save_agent_state,
    save_before_call,
)
from tests.agents.shim.test_redact import SHAPES
from tests.support.repositories import make_repository

HOOK = ".git/hooks/pre-push"


def call(folder: Path, checkout: Path) -> str:
    """A call before which the repository's settings were as they are now."""
    folder.mkdir()
    _write_json(f"{folder}/{SETTINGS_BEFORE}", _settings_now(str(checkout)))
    return str(folder)


def test_what_an_earlier_call_changed_counts_until_it_is_put_back(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "work")
    checkout = str(repository.path)
    first = call(tmp_path / "1", repository.path)
    repository.write(HOOK, "x\n")
    assert changed_settings([first], checkout) == [HOOK]
    second = call(tmp_path / "2", repository.path)
    assert changed_settings([first, second], checkout) == [HOOK]
    (repository.path / HOOK).unlink()
    assert changed_settings([first, second], checkout) == []


def test_a_call_that_changes_nothing_is_told_nothing(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "work")
    repository.write(HOOK, "was there\n")
    assert changed_settings([call(tmp_path / "1", repository.path)], str(repository.path)) == []


def test_what_changed_between_two_calls_is_a_persons(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "work")
    checkout = str(repository.path)
    first = call(tmp_path / "1", repository.path)
    assert changed_settings([first], checkout) == []
    repository.write(HOOK, "a person's\n")
    second = call(tmp_path / "2", repository.path)
    assert changed_settings([first, second], checkout) == []


def test_a_call_that_nobody_looked_at_before_is_not_blamed(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "work")
    repository.write(HOOK, "x\n")
    (tmp_path / "1").mkdir()
    assert changed_settings([str(tmp_path / "1")], str(repository.path)) == []
    (tmp_path / "1" / SETTINGS_BEFORE).write_text("not JSON")
    assert changed_settings([str(tmp_path / "1")], str(repository.path)) == []


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_verdict_and_a_state_are_kept_without_secrets(tmp_path: Path, form: str) -> None:
    repository = make_repository(tmp_path / "work")
    said = "\n".join("".join(parts) for parts in SHAPES.values())
    text = json.dumps({"reviewResult": "approved", "summary": said}) if form == "json" else said
    board = repository.write("sprint-status.yaml", "development_status:\n  1-1-a: review\n")
    review, state = repository.path / "1-1-a.review.json", repository.path / "1-1-a.agent-state.json"
    review.write_text(text)
    state.write_text(text)
    story_paths = StoryPaths(str(board), None, None, str(tmp_path / "none"), str(state), str(review))
    folder = tmp_path / "attempt"
    save_before_call(str(folder), story_paths, str(repository.path))
    save_agent_state(str(folder), story_paths)
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
    story_paths = StoryPaths(str(board), None, None, str(tmp_path / "none"), str(tmp_path / "state"), str(review))
    save_before_call(str(tmp_path / "attempt"), story_paths, str(repository.path))
    assert (tmp_path / "attempt" / OLD_VERDICT).read_text() == '{ "reviewResult":"approved",\n"summary": "Fine." }'


# A verdict under another slug of the same story counts; one of another story never does.

BOARD = """\
development_status:
  epic-1: in-progress
  1-5-verification-de-la-stack-docker: review
  1-50-another: review
  epic-0-5: in-progress
  0-5-1-first: review
  0-5-2-second: review
"""


def story_paths(tmp_path: Path, key: str = "1-5-verification-de-la-stack-docker") -> StoryPaths:
    (tmp_path / "sprint-status.yaml").write_text(BOARD)
    return StoryPaths(
        str(tmp_path / "sprint-status.yaml"),
        None,
        None,
        str(tmp_path / "deferred-work.md"),
        str(tmp_path / f"{key}.agent-state.json"),
        str(tmp_path / f"{key}.review.json"),
    )


def wrote(tmp_path: Path, key: str, at: float = 100.0) -> str:
    path = tmp_path / f"{key}.review.json"
    path.write_text("{}")
    os.utime(path, (at, at))
    return str(path)


def test_under_another_slug_of_the_same_number(tmp_path: Path) -> None:
    theirs = wrote(tmp_path, "1-5-verification-stack-docker")
    assert find_review(story_paths(tmp_path)) == theirs


def test_its_own_name_comes_first_then_the_newest(tmp_path: Path) -> None:
    wrote(tmp_path, "1-5-old", 100.0)
    new = wrote(tmp_path, "1-5-new", 200.0)
    assert find_review(story_paths(tmp_path)) == new
    own = wrote(tmp_path, "1-5-verification-de-la-stack-docker", 50.0)
    assert find_review(story_paths(tmp_path)) == own


def test_never_another_story_s(tmp_path: Path) -> None:
    for key in ("1-50-another", "1-50-odd", "2-5-verification-de-la-stack-docker", "notes"):
        wrote(tmp_path, key)
    assert misnamed_reviews(story_paths(tmp_path)) == []
    wrote(tmp_path, "0-5-2-second")
    wrote(tmp_path, "0-5-2-zwei")
    assert misnamed_reviews(story_paths(tmp_path, "0-5-1-first")) == []


def test_what_was_there_before_the_call_is_moved_aside(tmp_path: Path) -> None:
    kept = tmp_path / "attempt-1"
    for key in ("1-5-one", "1-5-two", "1-5-verification-de-la-stack-docker", "1-50-another"):
        wrote(tmp_path, key)
    save_before_call(str(kept), story_paths(tmp_path), str(tmp_path))
    assert [path.name for path in tmp_path.glob("*.review.json")] == ["1-50-another.review.json"]
    assert len(list(kept.glob("*review-before.json"))) == 3


def test_a_folder_or_a_board_that_cannot_be_read(tmp_path: Path) -> None:
    wrote(tmp_path, "1-5-other")
    own = story_paths(tmp_path)
    (tmp_path / "sprint-status.yaml").write_text("\0")
    assert find_review(own) == own.review
    assert misnamed_reviews(own._replace(review=str(tmp_path / "nowhere" / "x.review.json"))) == []
