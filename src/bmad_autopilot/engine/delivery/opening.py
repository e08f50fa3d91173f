"""Opening a round of mending: what an agent is told of reviewers' points, failed checks, or a conflict."""

import os
from typing import Any, NamedTuple

from ...agents.shim.redaction import Redactor, secrets_of
from ...core.rules import Rule
from ...github.forge import ForgeError
from ...github.pulls import RemoteCheck
from ..beginning import begin_story
from ..looking import DeliveryLook, Look
from ..loop_state import Loop
from .rounds import CHECKS, CONFLICT, POINTS, RED, round_key
from .telling import log_of, told_conflicts, told_points

MAX_LOGS = 5

Told = list[dict[str, Any]]


class _Work(NamedTuple):
    why: str
    points: Told
    logs: Told


def open_round(loop: Loop, look: Look, rule: Rule) -> None:
    assert look.delivery is not None
    work = _work(loop, look.delivery, rule.name)
    key = round_key(loop.lane.key, len(loop.run.delivery.rounds) + 1)
    begin_story(loop, key, "")
    about = {"base": look.delivery.seen.base} if work.why == CONFLICT else {}
    loop.note("pull-round", story=key, **work._asdict(), **about)


def _work(loop: Loop, found: DeliveryLook, rule: str) -> _Work:
    seen = found.seen
    if rule == "conflict-mendable" and seen.taken is not None:
        texts = loop.doors.lines().conflict_texts(loop.run.delivery.head, seen.base, seen.taken)
        return _Work(CONFLICT, told_conflicts(texts), [])
    if rule == "unfit":
        excerpt = seen.check.excerpt if seen.check else ""
        return _Work(CHECKS, [], [{"title": "What the project's own checks printed:", "text": excerpt}])
    logs = [log_of(one, _tail(loop, one)) for one in seen.broken[:MAX_LOGS]]
    points = told_points(found.points, loop.run)
    return _Work(POINTS if points and not logs else RED, points, logs)


def _tail(loop: Loop, check: RemoteCheck) -> str:
    """Without it an agent still knows which one failed."""
    try:
        return Redactor(secrets_of(os.environ)).text(loop.doors.forge().log_tail(check))
    except ForgeError:
        return ""
