"""What must be true once the demo is over, read from the project itself and from nobody's words."""

import os
from typing import NamedTuple

from ..agents.attempts import State, read_result, read_spec, state_of
from ..agents.shim import records
from ..agents.verdicts import read_verdict
from ..board.sprint import read_board
from ..core.errors import AutopilotError
from ..core.statuses import DONE
from ..engine.delivery.real_lines import DELIVERED
from ..github.git import Git
from ..runs.layout import Place, find_attempts, runs_folder
from .sample import BOARD, story_keys

# One call more of 1-1's dev and review after the changes, one more of 1-3's dev after the answer.
CALLS = {
    "1-1": {"create-story": 1, "dev": 2, "code-review": 2},
    "1-2": {"create-story": 1, "dev": 1, "code-review": 1},
    "1-3": {"create-story": 1, "dev": 2, "code-review": 1},
    "epic-1.pr": {"fix-issues": 1},
}


BRANCH = f"{DELIVERED}feature/epic-1"


class Facts(NamedTuple):
    stories: int
    commits: int
    calls: int
    dollars: float


def is_under_way(root: str, story: str, step: str) -> bool:
    """An agent works on it, and has said a first word."""
    for place in find_attempts(runs_folder(root)):
        if state_of(place.folder) is State.RUNNING and _has_spoken(place):
            spec = read_spec(place.folder)
            return (spec.story, spec.step) == (story, step)
    return False


def _has_spoken(place: Place) -> bool:
    events = f"{place.folder}/{records.EVENTS}"
    return os.path.exists(events) and os.path.getsize(events) > 0


def check(root: str, stories: int) -> Facts:
    """Of the first epic; an error that names what is not as it should be."""
    keys = story_keys(1, stories)
    _check_board(root, keys)
    calls, dollars = _check_calls(root)
    return Facts(len(keys), _check_commits(root, keys), calls, dollars)


def _check_board(root: str, keys: list[str]) -> None:
    rows = read_board(os.path.join(root, BOARD)).rows
    for key in (*keys, "epic-1"):
        _same(f"{key} on the board", rows[key].meaning, DONE)


def _check_commits(root: str, keys: list[str]) -> int:
    """One for each story, one for the round that was sent back, one for the epic, one for what reviewers found. On
    the base branch, here and on the remote, they are one."""
    git = Git(root)
    made = git.ask("log", "--format=%s", "--reverse", BRANCH, "--not", "main").text.splitlines()
    expected = [
        f"Story {keys[0]}: round 1, changes requested",
        *(f"Story {key}" for key in keys),
        "Close epic-1",
        "Mend what was found in the pull request of epic-1, round 1",
    ]
    _same("the commits", made, expected)
    _same("the base branch", git.ask("log", "--format=%s", "main").text.splitlines()[0], "Epic 1: Accounts (#1)")
    _same("what was merged", git.ask("diff", "--name-only", "main", BRANCH).text, "")
    heads = git.ask("for-each-ref", "--format=%(objectname)", "refs/heads/main", "refs/remotes/origin/main")
    _same("whether the remote has it", len(set(heads.text.splitlines())), 1)
    _same("what is not committed", git.ask("status", "--porcelain").text, "")
    return len(made)


def _check_calls(root: str) -> tuple[int, float]:
    """Each was made once, the one whose run was killed too, and each has its price."""
    found: dict[str, dict[str, int]] = {}
    dollars = 0.0
    places = [place for place in find_attempts(runs_folder(root)) if state_of(place.folder) is not State.NEW]
    for place in places:
        spec, result, verdict = read_spec(place.folder), read_result(place.folder), read_verdict(place.folder)
        _same(f"the end of {place.name}", (result.by, result.exit) if result else None, ("exit", 0))
        _same(f"whether {place.name} has a price", bool(verdict and verdict.spend.dollars), True)
        dollars += verdict.spend.dollars or 0.0 if verdict else 0.0
        steps = found.setdefault("-".join(spec.story.split("-")[:2]), {})
        steps[spec.step] = steps.get(spec.step, 0) + 1
    _same("the agent calls", found, CALLS)
    return len(places), dollars


def _same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise AutopilotError(
            f"the demo went wrong: {what}", found=str(found) or "(nothing)", expected=str(expected)
        )
