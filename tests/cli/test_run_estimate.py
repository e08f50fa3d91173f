"""What a run may cost, by earlier calls."""

import json
from pathlib import Path

import pytest

from bmad_autopilot.cli.run_session import MAX_CALLS, estimate_cost

SPEC = {
    "id": "a",
    "agent": "claude",
    "story": "1-1",
    "session": "s",
    "worktree": "/x",
    "argv": [],
    "created_at": 1.0,
}


def earlier(runs: Path, number: int, step: str, dollars: float | None) -> Path:
    folder = runs / "main" / f"dev-20260101-{number:06}" / "steps" / f"01-{step}" / "attempt-1"
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text(json.dumps({**SPEC, "step": step}))
    verdict = {"outcome": "completed", "spend": {"dollars": dollars}}
    (folder / "verdict.json").write_text(json.dumps(verdict))
    return folder


def test_each_step_as_it_was_before(tmp_path: Path) -> None:
    earlier(tmp_path, 1, "dev", 1.0)
    earlier(tmp_path, 2, "dev", 3.0)
    earlier(tmp_path, 3, "code-review", 0.5)
    found = estimate_cost(str(tmp_path), ["dev", "code-review"])
    assert found is not None
    assert (found.dollars, found.calls, found.earlier) == (2.5, 2, 3)


def test_a_step_never_made_before_is_taken_for_an_average_one(tmp_path: Path) -> None:
    earlier(tmp_path, 1, "dev", 1.0)
    found = estimate_cost(str(tmp_path), ["create-story"])
    assert found is not None
    assert found.dollars == 1.0


@pytest.mark.parametrize("steps", [[], ["dev"]])
def test_none_where_nothing_is_known(tmp_path: Path, steps: list[str]) -> None:
    earlier(tmp_path, 1, "dev", None)
    assert estimate_cost(str(tmp_path), steps) is None
    assert estimate_cost(str(tmp_path / "none"), ["dev"]) is None


def test_broken_records_are_passed_over(tmp_path: Path) -> None:
    (earlier(tmp_path, 1, "dev", 5.0) / "spec.json").write_text("{")
    (earlier(tmp_path, 2, "dev", 5.0) / "verdict.json").write_text("[]")
    earlier(tmp_path, 3, "dev", 2.0)
    found = estimate_cost(str(tmp_path), ["dev"])
    assert found is not None
    assert (found.dollars, found.earlier) == (2.0, 1)


def test_only_the_newest_are_read(tmp_path: Path) -> None:
    for number in range(MAX_CALLS + 5):
        earlier(tmp_path, number, "dev", 1.0)
    found = estimate_cost(str(tmp_path), ["dev"])
    assert found is not None
    assert found.earlier == MAX_CALLS
