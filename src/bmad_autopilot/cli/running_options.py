"""The options that every command shares which starts agents."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import click

from ..runs.layout import SESSION

F = TypeVar("F", bound=Callable[..., Any])


class RunOptions(NamedTuple):
    """What the command line says about one run."""

    as_json: bool = False
    max_cost: float | None = None
    max_hours: float | None = None
    allow_dirty: bool = False
    retrospective: str | None = None  # None: as in the settings
    unattended: Mapping[str, str] = MappingProxyType({})  # as in the settings: cause, or `all`, and choice
    session: str = SESSION
    adopt: bool = False  # also what another tool has left running


class _Cap(click.FloatRange):
    """Above zero, and one that can be reached: nothing is ever more than `nan` or `inf`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no cap: leave the option out where there is none.", param, ctx)
        return number


def _policy(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """`skip`, or `timeout=extend`: a cause and its choice."""
    from ..core.causes import ALL, OFFERS, choices

    policy: dict[str, str] = {}
    for value in values:
        cause, _, choice = (part.strip().lower() for part in value.rpartition("="))
        cause = cause or ALL
        if cause != ALL and cause not in OFFERS:
            raise click.BadParameter(f"{cause!r} is no cause: {', '.join(OFFERS)}.", ctx, param)
        if choice not in choices(cause):
            of = "" if cause == ALL else f" of {cause}"
            raise click.BadParameter(f"{choice!r} is no choice{of}: {', '.join(choices(cause))}.", ctx, param)
        policy[cause] = choice
    return policy


on_blocked = click.option(
    "--on-blocked",
    "unattended",
    multiple=True,
    callback=_policy,
    metavar="[CAUSE=]CHOICE",
    help="What to choose where nobody is there: ask, retry, skip, extend, abort; for one cause, or for all.",
)

_SHARED = ("as_json", "max_cost", "max_hours", "allow_dirty", "unattended", "session")
ABOVE_ZERO = _Cap(min=0, min_open=True)


def run_options(command: F) -> F:
    """Hands `options: RunOptions` to the command."""
    return _with_options(command, (*_CAPS, _ALLOW_DIRTY, *_OTHERS))


def file_options(command: F) -> F:
    """The same for a workflow's own file, which commits nothing."""
    return _with_options(command, (*_CAPS, *_OTHERS))


def pilot_options(command: F) -> F:
    """The same for many runs at once: what they may cost together is another matter."""
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
