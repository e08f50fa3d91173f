"""The options that bound a whole `bmad autopilot`: in money, in tokens, in time."""

import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from .running_options import ABOVE_ZERO

if TYPE_CHECKING:
    from ..engine.autopilot.budgets import Bounds

F = TypeVar("F", bound=Callable[..., Any])
MOST_TOKENS = 10**15
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)


class Moment(NamedTuple):
    at: float
    said: str


def _moment(ctx: click.Context, param: click.Parameter, value: str | None) -> Moment | None:
    """A time of day, the next such one; or a date with a time, which must not be over. Local, unless it says
    otherwise."""
    if value is None:
        return None
    now = datetime.now()
    at = next_moment(value.strip(), now)
    if at is None:
        raise click.BadParameter(f"{value[:80]!r} is no time: 07:00, or 2030-01-31 07:00.", ctx, param)
    if at <= now.timestamp():
        raise click.BadParameter(f"{value.strip()} is over.", ctx, param)
    return Moment(at, value.strip())


def next_moment(text: str, now: datetime) -> float | None:
    """Seconds since 1970; None: it is no time."""
    try:
        match = _CLOCK.fullmatch(text)
        if match is None:
            found = datetime.fromisoformat(text)
            return found.timestamp() if len(text) > len("2030-01-31") else None
        today = now.replace(hour=int(match[1]), minute=int(match[2]), second=0, microsecond=0)
        at = today if today > now else today + timedelta(days=1)
        return at.timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def bound_options(command: F) -> F:
    """Hands `bounds: Bounds` to the command."""

    def gathered(
        *args: Any,
        max_cost: float | None,
        max_tokens: int | None,
        max_hours: float | None,
        until: Moment | None,
        **given: Any,
    ) -> Any:
        return command(*args, bounds=_bounds(max_cost, max_tokens, max_hours, until), **given)

    gathered.__dict__.update(command.__dict__)  # click keeps the options there that stand below these
    gathered.__doc__, gathered.__name__ = command.__doc__, command.__name__
    for option in reversed(_BOUNDS):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


def _bounds(cost: float | None, tokens: int | None, hours: float | None, until: Moment | None) -> "Bounds":
    from ..engine.autopilot.budgets import Bounds

    ends = [(until.at, f"--until {until.said}")] if until else []
    ends += [(time.time() + hours * 3600, f"--max-hours {hours:g}")] if hours else []
    at, clock = min(ends, default=(None, ""))
    return Bounds(cost, tokens, at, clock)


_BOUNDS = (
    click.option(
        "--max-cost", type=ABOVE_ZERO, metavar="DOLLARS", help="Start no more calls once all cost that much."
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(1, MOST_TOKENS),
        metavar="N",
        help="Start no more calls once all took that many.",
    ),
    click.option("--max-hours", type=ABOVE_ZERO, metavar="HOURS", help="Start no more calls after that long."),
    click.option(
        "--until",
        callback=_moment,
        metavar="TIME",
        help="Start no more calls from then on: 07:00, or with a date.",
    ),
)
