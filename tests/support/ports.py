"""Ports for doubles: one object in the place of all of them."""

from typing import Any, cast

from bmad_autopilot.engine.ports import Ports


def ports_of(double: object) -> Ports:
    """Ports whose methods are all the double's own."""
    one = cast(Any, double)
    return Ports(clock=one, records=one, board=one, worktree=one, agents=one, people=one, delivery=one, flow=one)
