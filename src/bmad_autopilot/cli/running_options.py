"""The options that every command shares which starts agents."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class RunOptions(NamedTuple):
    """What the command line says about one run."""

    as_json: bool = False
    max_cost: float | None = None
    max_hours: float | None = None
    allow_dirty: bool = False
    retrospective: str | None = None  # None: as in the settings


class _Cap(click.FloatRange):
    """Above zero, and one that can be reached: nothing is ever more than `nan` or `inf`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no cap: leave the option out where there is none.", param, ctx)
        return number


_SHARED = ("as_json", "max_cost", "max_hours", "allow_dirty")
_ABOVE_ZERO = _Cap(min=0, min_open=True)


def run_options(command: F) -> F:
    """Hands `options: RunOptions` to the command."""

    def gathered(*args: Any, **given: Any) -> Any:
        own = {name: given.pop(name) for name in _SHARED}
        return command(*args, options=RunOptions(**own), **given)

    gathered.__doc__, gathered.__name__ = command.__doc__, command.__name__
    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


_OPTIONS = (
    click.option("--max-cost", type=_ABOVE_ZERO, metavar="DOLLARS", help="Ask before it costs more than that."),
    click.option("--max-hours", type=_ABOVE_ZERO, metavar="HOURS", help="Ask before it takes longer than that."),
    click.option("--allow-dirty", is_flag=True, help="Go on with changed files; they are never committed."),
    click.option("--json", "as_json", is_flag=True, help="Print events, one JSON object a line (a plan: one)."),
)
