"""Starts an agent for one step: chooses the agent, builds prompt, request and environment, starts the attempt."""

import os
import re
import time
import uuid
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from ..agents.adapter import Agent, AgentCommand, AgentRequest, HasStopCommand
from ..agents.attempt import CallSpec, attempt_temp_folder
from ..agents.environment import AgentIdentity, agent_environment
from ..agents.launchers import Launcher, launch_argv, launcher_from_settings, stop_argv
from ..agents.permissions import permissions_for
from ..agents.rate_limits import ParkedAccount, limits_file, limits_folder, read_parked
from ..agents.registry import PACKAGES, find_agent
from ..agents.shim import tree_snapshot
from ..agents.shim.redact import environment_secrets
from ..agents.start import AttemptClaim, TimeLimits, start_attempt
from ..core.errors import AutopilotError, Location, UsageError
from ..io.processes import Probe, find_program, run_probe
from ..project.commands import resolve_commands
from ..project.config import Config
from ..project.lane_venv import lane_environment
from ..project.project import Project
from ..project.root import Root
from ..project.skills import Skill
from ..workflows.agent_call import AgentCall, PromptContext
from ..workflows.prompts import build_prompt as build_story_prompt
from ..workflows.workflow import BUILD, Step
from .ports import AgentChoice
from .story_paths import StoryPaths

# The agent of a step: its role's agent, or the fallback while that one's account is rate-limited.


def account_limit(agent: str) -> ParkedAccount | None:
    """The rate limit that this agent's account has reached, if any."""
    return read_parked(limits_file(limits_folder(os.environ), agent, os.environ), time.time()).parked


def choose_agent(project: Project, step: Step) -> AgentChoice:
    """Evaluated before each call: once its limit is over, the first choice is used again."""
    agent, second = project.config.agent_of(step.role), project.config.fallback_of(step.role)
    limit = account_limit(agent)
    if limit is None:
        return AgentChoice(agent)
    if second is None:
        return AgentChoice(agent, limit.until)
    lacks = _fallback_problem(project, step, second)
    if lacks:
        return AgentChoice(agent, limit.until, lacks)
    other = account_limit(second)
    return AgentChoice(second) if other is None else AgentChoice(agent, min(limit.until, other.until))


def has_usable_agents(project: Project, steps: Iterable[Step]) -> bool:
    """Whether none of these steps has to wait for a rate limit."""
    return not any(choose_agent(project, step).until for step in steps)


def _fallback_problem(project: Project, step: Step, agent: str) -> str:
    """Why the agent cannot do the step; empty: it can."""
    if step.skill is not None:
        skill = project.find_skill(agent, step.skill)
        if skill is None or not skill.is_usable:
            return f"{agent} cannot stand in: BMAD's {step.skill} is not installed for it"
    if project.config.launcher_of(step.role, agent) is not None:
        return ""  # its program is on the launcher's side
    program = find_agent(agent, project.config.agents).program
    found = os.path.join(project.root.checkout, program) if "/" in program else find_program(program)
    if found is None or not os.access(found, os.X_OK):
        return f"{agent} cannot stand in: {program} is not installed, or not on PATH"
    return ""


# Also set on the remote side of a launcher: they contain nothing private.
_REMOTE_VARIABLES = ("GIT_TERMINAL_PROMPT", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "NO_COLOR", "TERM")
SNAPSHOT_TRIES = 3  # tries to read the work tree before a call, if git fails
_AUTHOR = re.compile(r"(?P<name>[^<>\n]+) <(?P<email>[^<>\n]+)> ")


def scratch_folder(attempt: str) -> str:
    """The folder for the agent's temporary files, below the attempt's own."""
    return f"{attempt_temp_folder(attempt)}/tmp"  # noqa: S108 (below a folder of the attempt's own)


class AccountParked(AutopilotError):
    """The agent's account has reached its limit; nothing is started before the reset."""

    def __init__(self, agent: str, kind: str, until: float) -> None:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(until))
        super().__init__(f"{agent} has met its {kind} limit, until {when}", hint="wait, or choose another agent")
        self.until = until


def skill_for(project: Project, step: Step, agent: str = "") -> Skill | None:
    """The skill this step needs, as installed for its agent; None for a step with our own prompt. Checked before
    the start: an agent that does not know a slash command treats it as plain text."""
    if step.skill is None:
        return None
    agent = agent or project.config.agent_of(step.role)
    skill = project.find_skill(agent, step.skill)
    if skill is None or not skill.is_usable:
        raise UsageError(f"BMAD's {step.skill} is not installed for {agent}", hint="bmad doctor")
    return skill


def _refuse_while_parked(agent: str) -> None:
    limit = account_limit(agent)
    if limit is not None:
        raise AccountParked(agent, limit.kind, limit.until)


class PreparedCall(NamedTuple):
    """A call that nothing in the project's settings or on this machine refuses."""

    spec: CallSpec
    command: AgentCommand
    environment: dict[str, str]
    prompt: str
    limits: TimeLimits
    other_worktrees: tuple[str, ...] = ()


def prepare_call(
    project: Project, call: AgentCall, prompt: str, *, attempt: str, skill: Skill | None = None
) -> PreparedCall:
    """`attempt`: its id. AccountParked, UsageError: it cannot be started."""
    config, root, role = project.config, project.root, call.step.role
    agent = find_agent(call.agent or config.agent_of(role), config.agents)
    _refuse_while_parked(agent.name)
    launcher = _launcher(project, role, agent.name)
    request = _request(project, call, agent, prompt, attempt, skill, launcher)
    environment = _environment(project, agent, attempt, launcher)
    command, stop = _build_call(agent, request, launcher, attempt, environment)
    seconds = (call.seconds or config.story_timeout_cap * 60.0) * call.time_limit_factor
    return PreparedCall(
        _spec(call, attempt, agent, request, launcher, stop),
        command,
        environment,
        prompt,
        TimeLimits(seconds, config.stall_limit * 60),
        (root.path,) if root.is_linked else (),
    )


def start_call(claim: AttemptClaim, prepared: PreparedCall) -> CallSpec:
    """Start the claimed attempt. The work tree is recorded last: what the caller changed is not the agent's."""
    found = _take_snapshot(prepared.spec.worktree, prepared.environment, f"{claim.folder}/index")
    return start_attempt(
        claim,
        replace(prepared.spec, tree=found.tree, head=found.head),
        prepared.command,
        environment=prepared.environment,
        limits=prepared.limits,
        prompt=prepared.prompt,
        secrets=environment_secrets(os.environ),
        other_worktrees=prepared.other_worktrees,
    )


def _take_snapshot(worktree: str, environment: dict[str, str], index: str) -> tree_snapshot.TreeSnapshot:
    """The work tree before the call. Without it the call's changes could not be told from a person's."""
    for _ in range(SNAPSHOT_TRIES):
        found = tree_snapshot.look(worktree, environment, index)
        if not found.problem:  # the tree may be None: no git repository
            return found
    if found.tree is not None:  # complete except for unreadable files
        return found
    raise AutopilotError(
        f"the work tree cannot be recorded before the call: {found.problem}",
        location=Location(worktree),
        hint="git status; is the disk full?",
    )


def _request(
    project: Project,
    call: AgentCall,
    agent: Agent,
    prompt: str,
    attempt: str,
    skill: Skill | None,
    launcher: Launcher | None,
) -> AgentRequest:
    config, worktree, role = project.config, project.root.checkout, call.step.role
    permissions = permissions_for(
        resolve_commands(worktree, config.commands),
        allow=config.allowed,
        bypass=config.bypass_permissions,
        is_root=os.geteuid() == 0 and launcher is None,
        checkout=worktree,
    )
    return AgentRequest(
        prompt=prompt,
        session=str(uuid.uuid4()),
        worktree=worktree,
        skill=_listed_name(skill) if skill else None,
        # A role's model belongs to its own agent: a fallback client would not know it.
        model=config.roles[role].model if agent.name == config.agent_of(role) else None,
        max_dollars=call.dollars,
        permissions=permissions,
        name=call.name,
        branch=call.branch,
        story=call.story,
        scratch="" if launcher else scratch_folder(attempt),
    )


def _environment(project: Project, agent: Agent, attempt: str, launcher: Launcher | None) -> dict[str, str]:
    environment = agent_environment(
        os.environ,
        variables=(*agent.variables, *(launcher.variables if launcher else ())),
        pass_through=project.config.passed,
        temp_folder=attempt_temp_folder(attempt),
        identity=_identity(agent, project.root.checkout),
    )
    return lane_environment(environment, project.root)


def _spec(
    call: AgentCall,
    attempt: str,
    agent: Agent,
    request: AgentRequest,
    launcher: Launcher | None,
    stop: tuple[str, ...],
) -> CallSpec:
    return CallSpec(
        id=attempt,
        agent=agent.name,
        step=call.step.name,
        story=call.story,
        session=request.session,
        worktree=request.worktree,
        argv=(),
        created_at=time.time(),
        name=call.name,
        role=call.step.role,
        model=request.model,
        launcher=launcher.name if launcher else None,
        skill=request.skill,
        stop=stop,
    )


def _launcher(project: Project, role: str, agent: str) -> Launcher | None:
    name = project.config.launcher_of(role, agent)
    return launcher_from_settings(name, project.config.launchers[name]) if name else None


def _build_call(
    agent: Agent, request: AgentRequest, launcher: Launcher | None, attempt: str, environment: dict[str, str]
) -> tuple[AgentCommand, tuple[str, ...]]:
    """The final call, wrapped by the launcher and with its program resolved, and the extra stop command."""
    call = agent.call(request)
    stop = agent.stop_command(request) if isinstance(agent, HasStopCommand) else ()
    argv = call.argv
    if launcher is not None:
        far = {key: environment[key] for key in _REMOTE_VARIABLES if key in environment} | dict(call.environment)
        place = {"worktree": request.worktree, "name": request.name, "attempt": attempt}
        argv = launch_argv(launcher, argv, environment=far, **place)
        stop = launch_argv(launcher, stop, environment={}, **place) if stop else stop_argv(launcher, **place)
    if stop:
        stop = (_program(stop[0], agent, request.worktree), *stop[1:])
    return call._replace(argv=(_program(argv[0], agent, request.worktree), *argv[1:])), stop


def _program(name: str, agent: Agent, worktree: str) -> str:
    found = os.path.join(worktree, name) if "/" in name else find_program(name)
    if found is None or not os.access(found, os.X_OK):
        package = PACKAGES.get(agent.name)
        hint = package.install if package and name == agent.program else "bmad agent list"
        raise UsageError(f"{name} is not installed, or not on PATH", hint=hint)
    return found


def _identity(agent: Agent, worktree: str) -> AgentIdentity:
    """The committer is the agent, the author is git's user. Set explicitly: Gemini hides the user's settings."""
    name, email = f"{agent.name} (BMAD Autopilot)", f"{agent.name}@bmad-autopilot.invalid"
    return AgentIdentity(name, email, _author(worktree))


@cache
def _author(worktree: str) -> tuple[str, str] | None:
    """Cached: it does not change between two calls."""
    known = run_probe(Probe(("git", "var", "GIT_AUTHOR_IDENT"), inherits_environment=True), worktree)
    author = _AUTHOR.match(known.text) if known is not None and known.ok else None
    return (author["name"], author["email"]) if author else None


def _listed_name(skill: Skill) -> str:
    """The name under which clients list a skill: `/bmad-dev-story`, `$bmad-dev-story`, `Use the skill
    bmad-dev-story:`."""
    words = skill.invocation.split()
    named = (word[1:] for word in words if word[0] in "/$")
    return next(named, words[-1].rstrip(":"))


# The prompt of a call, with everything known about its story.


def build_prompt(
    project: Project, call: AgentCall, story_paths: StoryPaths, skill: Skill | None, scratch: str
) -> str:
    is_build = call.step.skill == BUILD.skill
    # The review and the fix of a build use its spec as the story file.
    story = story_paths.story if is_build else story_paths.story or story_paths.spec
    context = prompt_context(project, call, skill, scratch, story_paths.board)
    return build_story_prompt(
        call, context._replace(story_file=story, spec=story_paths.spec if is_build else None)
    )


def prompt_context(
    project: Project, call: AgentCall, skill: Skill | None, scratch: str, board: str = ""
) -> PromptContext:
    return PromptContext(
        project.folders.implementation,
        board,
        scratch=scratch,
        invocation=skill.invocation if skill else None,
        version=project.bmad.version or "",
        language=project.language,
        extra=project.config.answers_of(call.step.skill),
    )


# The environment of the project's own commands: like an agent's, without our tokens.


def command_environment(config: Config, folder: str, root: Root | None = None) -> dict[str, str]:
    """`folder`: holds their private directory, used in place of a home. `root`: where they run; in a lane's
    worktree they get its Python virtual environment."""
    private = os.path.join(folder, "private")
    for name in ("gh", "tmp"):
        os.makedirs(os.path.join(private, name), 0o700, exist_ok=True)
    plain = agent_environment(
        os.environ, variables=(), pass_through=config.passed, temp_folder=private, identity=None
    )
    return lane_environment(plain, root) if root is not None else plain
