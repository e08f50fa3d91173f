"""Options shared by all commands that start agents."""

import math
import re
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from ..runs.layout import SESSION

if TYPE_CHECKING:
    from ..engine.autopilot.options import Bounds


F = TypeVar("F", bound=Callable[..., Any])


class RunOptions(NamedTuple):
    """Command line options of one run."""

    as_json: bool = False
    max_cost: float | None = None
    max_hours: float | None = None
    allow_dirty: bool = False
    retrospective: str | None = None  # None: as in the settings
    unattended: Mapping[str, str] = MappingProxyType({})  # cause or `all` → choice
    session: str = SESSION
    adopt: bool = False  # take over a run another tool left


class _Cap(click.FloatRange):
    """A finite number above zero: a limit of `nan` or `inf` is never exceeded."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no cap: leave the option out where there is none.", param, ctx)
        return number


def _parse_policy(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Parse `skip` or `timeout=extend`: a choice, optionally for one cause."""
    from ..core.stop_causes import ALL, CAUSE_MENUS, allowed_choices

    policy: dict[str, str] = {}
    for value in values:
        cause, _, choice = (part.strip().lower() for part in value.rpartition("="))
        cause = cause or ALL
        if cause != ALL and cause not in CAUSE_MENUS:
            raise click.BadParameter(f"{cause!r} is no cause: {', '.join(CAUSE_MENUS)}.", ctx, param)
        if choice not in allowed_choices(cause):
            of = "" if cause == ALL else f" of {cause}"
            raise click.BadParameter(
                f"{choice!r} is no choice{of}: {', '.join(allowed_choices(cause))}.", ctx, param
            )
        policy[cause] = choice
    return policy


on_blocked = click.option(
    "--on-blocked",
    "unattended",
    multiple=True,
    callback=_parse_policy,
    metavar="[CAUSE=]CHOICE",
    help="What to choose where nobody is there: ask, retry, skip, extend, abort; for one cause, or for all.",
)

_SHARED = ("as_json", "max_cost", "max_hours", "allow_dirty", "unattended", "session")
ABOVE_ZERO = _Cap(min=0, min_open=True)


def run_options(command: F) -> F:
    """Pass `options: RunOptions` to the command."""
    return _with_options(command, (*_CAPS, _ALLOW_DIRTY, *_OTHERS))


def file_options(command: F) -> F:
    """Like run_options, for workflow files, which commit nothing."""
    return _with_options(command, (*_CAPS, *_OTHERS))


def pilot_options(command: F) -> F:
    """Like run_options, for many runs at once, whose limits are in bound_options."""
    return _with_options(command, _OTHERS)


def _with_options(command: F, options: tuple[Callable[[Any], Any], ...]) -> F:
    def gathered(*args: Any, **given: Any) -> Any:
        own = {name: given.pop(name) for name in _SHARED if name in given}
        return command(*args, options=RunOptions(**own), **given)

    gathered.__doc__, gathered.__name__ = command.__doc__, command.__name__
    for option in reversed(options):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


_CAPS = (
    click.option("--max-cost", type=ABOVE_ZERO, metavar="DOLLARS", help="Ask before it costs more than that."),
    click.option("--max-hours", type=ABOVE_ZERO, metavar="HOURS", help="Ask before it takes longer than that."),
)
_ALLOW_DIRTY = click.option(
    "--allow-dirty", is_flag=True, help="Go on with changed files; they are never committed."
)
_OTHERS = (
    on_blocked,
    click.option(
        "--session", default=SESSION, metavar="NAME", help="The session branch that its run is kept under."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print events, one JSON object a line (a plan: one)."),
)


# Limits of a whole `bmad autopilot`: cost, tokens, time.

MOST_TOKENS = 10**15
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)


class UntilTime(NamedTuple):
    at: float
    text: str


def _until_option(ctx: click.Context, param: click.Parameter, value: str | None) -> UntilTime | None:
    """Parse --until: the next such time of day, or a future date with a time. Local unless it has a time zone."""
    if value is None:
        return None
    now = datetime.now()
    at = parse_until(value.strip(), now)
    if at is None:
        raise click.BadParameter(f"{value[:80]!r} is no time: 07:00, or 2030-01-31 07:00.", ctx, param)
    if at <= now.timestamp():
        raise click.BadParameter(f"{value.strip()} is over.", ctx, param)
    return UntilTime(at, value.strip())


def parse_until(text: str, now: datetime) -> float | None:
    """Seconds since 1970; None: not a time."""
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
    """Pass `bounds: Bounds` to the command."""

    def gathered(
        *args: Any,
        max_cost: float | None,
        max_tokens: int | None,
        max_hours: float | None,
        until: UntilTime | None,
        **given: Any,
    ) -> Any:
        return command(*args, bounds=_bounds(max_cost, max_tokens, max_hours, until), **given)

    gathered.__dict__.update(command.__dict__)  # click stores the options of the decorators below there
    gathered.__doc__, gathered.__name__ = command.__doc__, command.__name__
    for option in reversed(_BOUNDS):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


def _bounds(cost: float | None, tokens: int | None, hours: float | None, until: UntilTime | None) -> "Bounds":
    from ..engine.autopilot.options import Bounds

    ends = [(until.at, f"--until {until.text}")] if until else []
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
        callback=_until_option,
        metavar="TIME",
        help="Start no more calls from then on: 07:00, or with a date.",
    ),
)
