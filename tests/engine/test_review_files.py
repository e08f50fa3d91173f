"""A verdict under another slug of the same story counts; one of another story never does."""

import os
from pathlib import Path

from bmad_autopilot.engine.books import Books
from bmad_autopilot.engine.review_files import misnamed_reviews, review_of
from bmad_autopilot.engine.snapshots import keep_before

BOARD = """\
development_status:
  epic-1: in-progress
  1-5-verification-de-la-stack-docker: review
  1-50-another: review
  epic-0-5: in-progress
  0-5-1-first: review
  0-5-2-second: review
"""


def books(tmp_path: Path, key: str = "1-5-verification-de-la-stack-docker") -> Books:
    (tmp_path / "sprint-status.yaml").write_text(BOARD)
    return Books(
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
    assert review_of(books(tmp_path)) == theirs


def test_its_own_name_comes_first_then_the_newest(tmp_path: Path) -> None:
    wrote(tmp_path, "1-5-old", 100.0)
    new = wrote(tmp_path, "1-5-new", 200.0)
    assert review_of(books(tmp_path)) == new
    own = wrote(tmp_path, "1-5-verification-de-la-stack-docker", 50.0)
    assert review_of(books(tmp_path)) == own


def test_never_another_story_s(tmp_path: Path) -> None:
    for key in ("1-50-another", "1-50-odd", "2-5-verification-de-la-stack-docker", "notes"):
        wrote(tmp_path, key)
    assert misnamed_reviews(books(tmp_path)) == []
    wrote(tmp_path, "0-5-2-second")
    wrote(tmp_path, "0-5-2-zwei")
    assert misnamed_reviews(books(tmp_path, "0-5-1-first")) == []


def test_what_was_there_before_the_call_is_moved_aside(tmp_path: Path) -> None:
    kept = tmp_path / "attempt-1"
    for key in ("1-5-one", "1-5-two", "1-5-verification-de-la-stack-docker", "1-50-another"):
        wrote(tmp_path, key)
    keep_before(str(kept), books(tmp_path), str(tmp_path))
    assert [path.name for path in tmp_path.glob("*.review.json")] == ["1-50-another.review.json"]
    assert len(list(kept.glob("*review-before.json"))) == 3


def test_a_folder_or_a_board_that_cannot_be_read(tmp_path: Path) -> None:
    wrote(tmp_path, "1-5-other")
    own = books(tmp_path)
    (tmp_path / "sprint-status.yaml").write_text("\0")
    assert review_of(own) == own.review
    assert misnamed_reviews(own._replace(review=str(tmp_path / "nowhere" / "x.review.json"))) == []
