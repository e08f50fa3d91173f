"""The gate script's hands: look, judge, approve or take back, wait, within bounds. See docs/security.md.

Copied into the gate script behind gate_reading.py: the standard library alone, no syntax newer than Python 3.9."""

import os
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from .approval import APPROVE, REFUSE, WAIT, Rules, Ruling, judge, plain
from .gate_reader import GateTrouble, Place, call, look

WORKFLOW_FILE = "auto-approve.yml"
MARK = "<!-- bmad-autopilot:auto-approve -->"
MOST_TROUBLES = 5  # one after another
NOT_ALLOWED = "not permitted to approve"


class Pace(NamedTuple):
    poll: float = 30.0
    most_looks: int = 60  # in one run: half an hour
    most_runs: int = 6  # that hand on to each other


def watch(
    place: Place,
    rules: Rules,
    pace: Pace,
    *,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Look until there is nothing more to do. False: what is missing may still come by itself."""
    seen: dict[str, float] = {}
    until = clock() + pace.poll * pace.most_looks
    troubles = 0
    for _ in range(pace.most_looks):
        try:
            situation = look(place, clock(), seen)
            ruling = judge(situation, rules)
            _say(f"{ruling.word}: {'; '.join(ruling.reasons) or 'all conditions are met'}")
            if is_finished(ruling):
                return True
            _act(place, situation.head, ruling)
            troubles = 0
        except GateTrouble as trouble:
            troubles += 1
            _say(f"GitHub: {plain(str(trouble), 300)}")
            if troubles >= MOST_TROUBLES or NOT_ALLOWED in str(trouble):
                raise
            ruling = Ruling(WAIT)
        left = until - clock()
        if left <= 0:
            break
        sleep(min(left, max(ruling.again_at - clock(), pace.poll)))
    return False


def is_finished(ruling: Ruling) -> bool:
    if ruling.word == APPROVE:
        return ruling.is_standing  # seen on GitHub, after any head that came in between
    return ruling.word == REFUSE or ruling.needs_people


def _act(place: Place, head: str, ruling: Ruling) -> None:
    """Not repeated by itself: an answer may be lost although the thing was done, and the next look shows that."""
    reviews = f"repos/{place.repository}/pulls/{place.number}/reviews"
    if ruling.word == APPROVE:
        body = f"Reviewed, no thread open, checks passed, nothing new for ten minutes.\n\n{MARK}"
        call(reviews, method="POST", body={"event": "APPROVE", "commit_id": head, "body": body})
    for number in ruling.dismissals:
        body = f"Taken back: {'; '.join(ruling.reasons)}."
        call(f"{reviews}/{number}/dismissals", method="PUT", body={"message": body, "event": "DISMISS"})


def hand_on(place: Place, branch: str, attempt: int) -> None:
    """Start this workflow again: a dispatch is one of the two events that a workflow's own token may cause."""
    inputs = {"pr_number": str(place.number), "attempt": str(attempt + 1)}
    path = f"repos/{place.repository}/actions/workflows/{WORKFLOW_FILE}/dispatches"
    call(path, method="POST", body={"ref": branch, "inputs": inputs})


def main(rules: Rules, pace: Pace) -> int:
    values = {name: os.environ.get(name, "") for name in ("PR_NUMBER", "ATTEMPT", "GITHUB_RUN_ID")}
    if any(value and not (value.isascii() and value.isdigit() and len(value) < 16) for value in values.values()):
        _say("the number of the pull request must be a number")
        return 2
    number, attempt, run = (int(value or 0) for value in values.values())
    place = Place(os.environ.get("GITHUB_REPOSITORY", ""), number, run)
    try:
        if watch(place, rules, pace):
            return 0
        if attempt + 1 >= pace.most_runs:
            _say("it has waited long enough; run this workflow by hand when there is something new")
            return 0
        hand_on(place, os.environ.get("DEFAULT_BRANCH", ""), attempt)
        _say("time is up; another run goes on")
        return 0
    except GateTrouble as trouble:
        _say(plain(str(trouble), 300))
        if NOT_ALLOWED in str(trouble):
            _say("Settings, Actions, General: allow GitHub Actions to create and approve pull requests")
        return 1


def _say(text: str) -> None:
    sys.stdout.write(f"gate, {text}\n")
    sys.stdout.flush()
