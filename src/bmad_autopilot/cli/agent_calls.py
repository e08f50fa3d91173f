"""Agent calls by the names people type: a run, one call of it, or the story it worked on."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import click

from ..agents.attempts import Spec, State, read_spec, state_of
from ..agents.shim import records
from ..core.errors import FileError, UsageError
from ..project.config import Config, load_config
from ..project.root import find_root
from ..runs.layout import Place, find_attempts, runs_folder

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_RECORDS = (records.SPEC, records.STARTED)
LOOK_BACK = 500  # calls that are looked through for a story
MOST_NAMED = 8


class Calls(NamedTuple):
    """What the commands for a call need to know of the project. Its board may be broken: an agent can be watched
    and stopped all the same."""

    config: Config
    places: list[Place]  # the newest first


def read_calls(ctx: click.Context) -> Calls:
    root = find_root(ctx.obj[0])
    config = Config()
    with suppress(FileError):  # `bmad doctor` says what is wrong with it
        config = load_config(root)
    places = find_attempts(runs_folder(root.path))
    # One without a record was refused, or its starter killed, before anything was started.
    begun = [place for place in places if any(os.path.exists(f"{place.folder}/{name}") for name in _RECORDS)]
    return Calls(config, begun)


def newest(calls: Calls) -> Place:
    if not calls.places:
        raise UsageError("no agent has been called in this project yet", hint="bmad agent list")
    return calls.places[0]


def newest_running(calls: Calls) -> Place:
    newest(calls)
    running = (place for place in calls.places[:LOOK_BACK] if state_of(place.folder) is State.RUNNING)
    found = next(running, None)
    if found is None:
        raise UsageError("no agent call is running", hint="see what the last one did: bmad agent logs")
    return found


def find_call(calls: Calls, wanted: str) -> Place:
    """`wanted`: a run (its last call), RUN/STEP/N, the beginning of one of these, or a story (its newest call)."""
    newest(calls)
    named = _named(calls.places, wanted)
    if named:
        return _the_one(wanted, named, lambda place: f"{place.session}/{place.run}")
    stories = _stories(calls.places)
    told = [place for place, key in stories.items() if _is_story(key, wanted)]
    if told:
        return _the_one(wanted, told, lambda place: stories[place])
    raise _unknown(wanted, calls.places, stories)


def _named(places: list[Place], wanted: str) -> list[Place]:
    """By whole parts of the name if there are such, else by its beginning: call 1 is not call 10."""
    whole = wanted.rstrip("/") + "/"
    found = [place for place in places if any(f"{name}/".startswith(whole) for name in _names(place))]
    if found or not wanted:
        return found
    return [place for place in places if any(name.startswith(wanted) for name in _names(place))]


def _names(place: Place) -> tuple[str, str]:
    """With the session's too: two branches may each have a run of the same second."""
    return place.name, f"{place.session}/{place.name}"


def _stories(places: list[Place]) -> dict[Place, str]:
    found = {}
    for place in places[:LOOK_BACK]:
        with suppress(FileError):
            found[place] = read_spec(place.folder).story
    return found


def _is_story(key: str, wanted: str) -> bool:
    """`2-3`, `2.3` and the whole key mean the same story; `2-1` does not mean 2-10."""
    number = wanted.lower().replace(".", "-")
    return key.lower() in (wanted.lower(), number) or key.lower().startswith(f"{number}-")


def _the_one(wanted: str, found: list[Place], what: Callable[[Place], str]) -> Place:
    """The newest of these calls, if they all belong to the same run or story."""
    several = list(dict.fromkeys(map(what, found)))
    if len(several) > 1:
        message = f"{wanted!r} may mean any of {len(several)}"
        raise UsageError(message, expected=_some(several), hint="give more of the name")
    return found[0]


def _unknown(wanted: str, places: list[Place], stories: dict[Place, str]) -> UsageError:
    from difflib import get_close_matches

    names = [name for place in places[:LOOK_BACK] for name in (place.run, place.name)]
    near = get_close_matches(wanted, dict.fromkeys([*names, *stories.values()]), n=3, cutoff=0.5)
    expected = f"did you mean {_some(near)}?" if near else _some(dict.fromkeys(place.run for place in places))
    return UsageError(f"there is no agent call {wanted!r}", expected=expected, hint="bmad agent list")


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f", … {len(listed) - MOST_NAMED} more" if len(listed) > MOST_NAMED else ""
    return ", ".join(listed[:MOST_NAMED]) + more


def complete_call(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Silent, as all completion: whatever is broken completes nothing."""
    from click.shell_completion import CompletionItem

    from ..views.terminal import clean

    start = ctx.find_root().params.get("project") or "."
    try:
        places = find_attempts(runs_folder(find_root(start).path))
        named = [place for place in places if place.name.startswith(incomplete)]
        return [CompletionItem(place.name, help=clean(_story(place))) for place in named[:100]]
    except Exception:
        return []


def _story(place: Place) -> str:
    try:
        spec: Spec = read_spec(place.folder)
    except FileError:
        return ""
    return f"{spec.story} {spec.step}"
