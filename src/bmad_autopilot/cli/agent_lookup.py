"""Finds agent calls by run, call or story name, and lists the agents a project knows."""

import os
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import click

from ..agents.adapter import Agent
from ..agents.attempt import AttemptResult, AttemptState, CallSpec, attempt_state, read_call_spec, read_result
from ..agents.rate_limits import limits_file, limits_folder, read_parked
from ..agents.registry import PACKAGES, PROGRAMS, find_recorded_agent
from ..agents.shim import attempt_files
from ..agents.verdicts import judge_attempt, read_verdict
from ..core.errors import FileError, UsageError
from ..io.processes import Probe, ProcessOutput, find_program, run_probes
from ..project.config import ROLES, Config, CustomAgent, load_config
from ..project.root import Root, find_root
from ..runs.layout import AttemptLocation, find_attempts, runs_folder
from ..views.agents import AccountLimit, CallEndView, CallView, KnownAgent
from .checks.machine_checks import answer_text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


_RECORDS = (attempt_files.SPEC, attempt_files.STARTED)
MAX_SCANNED_CALLS = 500  # newest calls searched for a story
MAX_NAMED = 8


class ProjectCalls(NamedTuple):
    """The configuration and recorded calls of a project. The board is not read: a broken one must not prevent
    watching or cancelling an agent."""

    config: Config
    locations: list[AttemptLocation]  # newest first


def read_calls(ctx: click.Context) -> ProjectCalls:
    root = find_root(ctx.obj[0])
    config = Config()
    with suppress(FileError):  # `bmad doctor` reports it
        config = load_config(root)
    locations = find_attempts(runs_folder(root.path))
    # An attempt without a record never started: it was refused, or its starter was killed first.
    begun = [
        location for location in locations if any(os.path.exists(f"{location.folder}/{name}") for name in _RECORDS)
    ]
    return ProjectCalls(config, begun)


def newest_call(calls: ProjectCalls) -> AttemptLocation:
    if not calls.locations:
        raise UsageError("no agent has been called in this project yet", hint="bmad agent list")
    return calls.locations[0]


def newest_running_call(calls: ProjectCalls) -> AttemptLocation:
    newest_call(calls)
    running = (
        location
        for location in calls.locations[:MAX_SCANNED_CALLS]
        if attempt_state(location.folder) is AttemptState.RUNNING
    )
    found = next(running, None)
    if found is None:
        raise UsageError("no agent call is running", hint="see what the last one did: bmad agent logs")
    return found


def find_call(calls: ProjectCalls, wanted: str) -> AttemptLocation:
    """`wanted`: a run (its last call), RUN/STEP/N, the beginning of one of these, or a story (its newest call)."""
    newest_call(calls)
    named = _calls_by_name(calls.locations, wanted)
    if named:
        return _newest_unambiguous(wanted, named, lambda location: f"{location.session}/{location.run}")
    stories = _story_keys(calls.locations)
    matching = [location for location, key in stories.items() if _is_story(key, wanted)]
    if matching:
        return _newest_unambiguous(wanted, matching, lambda location: stories[location])
    raise _unknown_call_error(wanted, calls.locations, stories)


def _calls_by_name(locations: list[AttemptLocation], wanted: str) -> list[AttemptLocation]:
    """Match whole name components first, then prefixes: call 1 is not call 10."""
    whole = wanted.rstrip("/") + "/"
    found = [
        location for location in locations if any(f"{name}/".startswith(whole) for name in _run_names(location))
    ]
    if found or not wanted:
        return found
    return [location for location in locations if any(name.startswith(wanted) for name in _run_names(location))]


def _run_names(location: AttemptLocation) -> tuple[str, str]:
    """Also with the session: two sessions may each have a run of the same second."""
    return location.name, f"{location.session}/{location.name}"


def _story_keys(locations: list[AttemptLocation]) -> dict[AttemptLocation, str]:
    found = {}
    for location in locations[:MAX_SCANNED_CALLS]:
        with suppress(FileError):
            found[location] = read_call_spec(location.folder).story
    return found


def _is_story(key: str, wanted: str) -> bool:
    """`2-3`, `2.3` and the whole key mean the same story; `2-1` does not mean 2-10."""
    number = wanted.lower().replace(".", "-")
    return key.lower() in (wanted.lower(), number) or key.lower().startswith(f"{number}-")


def _newest_unambiguous(
    wanted: str, found: list[AttemptLocation], what: Callable[[AttemptLocation], str]
) -> AttemptLocation:
    """The newest of these calls, if all belong to the same run or story; else an error."""
    several = list(dict.fromkeys(map(what, found)))
    if len(several) > 1:
        message = f"{wanted!r} may mean any of {len(several)}"
        raise UsageError(message, expected=_name_list(several), hint="give more of the name")
    return found[0]


def _unknown_call_error(
    wanted: str, locations: list[AttemptLocation], stories: dict[AttemptLocation, str]
) -> UsageError:
    from difflib import get_close_matches

    names = [name for location in locations[:MAX_SCANNED_CALLS] for name in (location.run, location.name)]
    near = get_close_matches(wanted, dict.fromkeys([*names, *stories.values()]), n=3, cutoff=0.5)
    expected = (
        f"did you mean {_name_list(near)}?"
        if near
        else _name_list(dict.fromkeys(location.run for location in locations))
    )
    return UsageError(f"there is no agent call {wanted!r}", expected=expected, hint="bmad agent list")


def _name_list(names: Iterable[str]) -> str:
    listed = list(names)
    more = f", … {len(listed) - MAX_NAMED} more" if len(listed) > MAX_NAMED else ""
    return ", ".join(listed[:MAX_NAMED]) + more


def complete_call(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Completion must be silent: on any error it returns nothing."""
    from click.shell_completion import CompletionItem

    from ..core.text import printable

    start = ctx.find_root().params.get("project") or "."
    try:
        locations = find_attempts(runs_folder(find_root(start).path))
        named = [location for location in locations if location.name.startswith(incomplete)]
        return [
            CompletionItem(location.name, help=printable(_completion_help(location))) for location in named[:100]
        ]
    except Exception:
        return []


def _completion_help(location: AttemptLocation) -> str:
    try:
        spec: CallSpec = read_call_spec(location.folder)
    except FileError:
        return ""
    return f"{spec.story} {spec.step}"


# Read-only access to one agent call. Nothing is written or collected: that is up to the run that started it.


class RecordedCall(NamedTuple):
    location: AttemptLocation
    spec: CallSpec
    agent: Agent

    @property
    def events(self) -> str:
        return f"{self.location.folder}/{attempt_files.EVENTS}"

    @property
    def state(self) -> AttemptState:
        return attempt_state(self.location.folder)


def read_call(location: AttemptLocation, config: Config) -> RecordedCall:
    if not os.path.exists(f"{location.folder}/{attempt_files.SPEC}"):
        raise UsageError(f"{location.name} was never started", hint="bmad agent list")
    spec = read_call_spec(location.folder)
    return RecordedCall(location, spec, find_recorded_agent(spec.agent, config.agents))


def call_view(call: RecordedCall) -> CallView:
    spec, state = call.spec, call.state
    return CallView(call.location.name, spec.story, spec.step, spec.agent, spec.model, state, seconds_so_far(call))


def seconds_so_far(call: RecordedCall) -> float:
    """Its run time, so far or in total."""
    result = _result(call)
    if result is not None:
        return result.seconds
    started = attempt_files.read_started(call.location.folder)
    return max(0.0, time.time() - (started[1] if started else call.spec.created_at))


def call_ending(call: RecordedCall) -> CallEndView | None:
    """Its verdict and result; None while it runs or if no result was recorded."""
    result = _result(call)
    if result is None:
        return None
    verdict = read_verdict(call.location.folder) or judge_attempt(call.location.folder, call.agent)[2]
    return CallEndView(verdict, result)


def _result(call: RecordedCall) -> AttemptResult | None:
    return read_result(call.location.folder)


# Built-in agents and the project's own: installed version, roles and usage limits.


def known_agents(root: Root, config: Config, *, in_project: bool) -> list[KnownAgent]:
    """Built-in agents first, then the project's own. Outside a project, agents have no roles."""
    answers = _versions(PROGRAMS, root.checkout)
    roles = {name: roles_of(config, name) if in_project else () for name in (*PROGRAMS, *config.agents)}
    ours = [_builtin_agent(name, answers.get(name), roles[name]) for name in PROGRAMS]
    return [
        *ours,
        *(_custom_agent(name, config.agents[name], root.checkout, roles[name]) for name in config.agents),
    ]


def find_known_agent(name: str, root: Root, config: Config) -> KnownAgent:
    if name in config.agents:
        return _custom_agent(name, config.agents[name], root.checkout, roles_of(config, name))
    return _builtin_agent(name, _versions([name], root.checkout).get(name), roles_of(config, name))


def _versions(names: Iterable[str], folder: str) -> dict[str, ProcessOutput]:
    return run_probes({name: Probe((PROGRAMS[name], "--version")) for name in names}, folder)


def roles_of(config: Config, agent: str) -> tuple[str, ...]:
    return tuple(role for role in ROLES if config.agent_of(role) == agent)


def _program(settings: CustomAgent, folder: str) -> tuple[str, str | None]:
    """A custom agent's program as configured, and its path. Never started: it may do anything."""
    program = "sh" if settings.shell else settings.command[0]
    if os.sep in program:
        return program, shutil.which(os.path.join(folder, program))
    return program, find_program(program)


def _builtin_agent(name: str, answer: ProcessOutput | None, roles: tuple[str, ...]) -> KnownAgent:
    return KnownAgent(
        name,
        PROGRAMS[name],
        is_own=False,
        version=answer_text(answer) if answer is not None and answer.ok else None,
        problem="not installed" if answer is None else None if answer.ok else answer_text(answer),
        roles=roles,
        parked=parked_until(name),
        install=PACKAGES[name].install if answer is None else None,
        installed=answer is not None and answer.ok,
    )


def _custom_agent(name: str, settings: CustomAgent, folder: str, roles: tuple[str, ...]) -> KnownAgent:
    program, found = _program(settings, folder)
    return KnownAgent(
        name,
        program,
        is_own=True,
        version=None,
        problem=None if found else f"{program} not found",
        roles=roles,
        parked=parked_until(name),
        install=None,
        installed=found is not None,
    )


def parked_until(name: str) -> AccountLimit | None:
    """The usage limit its account has reached."""
    path = limits_file(limits_folder(os.environ), name, os.environ)
    parked = read_parked(path, time.time()).parked
    return AccountLimit(parked.kind, parked.until) if parked else None


def complete_agent(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in _agent_names(ctx) if name.startswith(incomplete)]


def _agent_names(ctx: click.Context) -> list[str]:
    start = ctx.find_root().params.get("project") or "."
    try:
        own = load_config(find_root(start)).agents
    except Exception:  # completion must never print an error
        own = {}
    return [*PROGRAMS, *own]
