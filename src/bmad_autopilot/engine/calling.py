"""Calling an agent for one step of one story: everything a call needs, gathered, and the attempt started."""

import os
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from ..agents.attempts import Spec, private_folder
from ..agents.environment import Identity, agent_environment
from ..agents.launchers import Launcher, launch, launcher_from, stop_argv
from ..agents.packages import PACKAGES
from ..agents.permissions import permissions_for
from ..agents.protocol import Agent, Call, HasStop, Request
from ..agents.registry import find_agent
from ..agents.shim import work
from ..agents.shim.redaction import secrets_of
from ..agents.starting import Limits, start
from ..core.errors import AutopilotError, Place, UsageError
from ..project.commands import commands_of
from ..project.open import Project
from ..project.programs import Question, ask, find_program, lane_environment
from ..project.skills import Skill
from ..workflows.pipelines import Step
from .callers import parked

# Set for the far side of a launcher too: they say nothing about anybody.
_FAR = ("GIT_TERMINAL_PROMPT", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "NO_COLOR", "TERM")
LOOKS = 3  # at the work tree before a call, where git fails
_AUTHOR = re.compile(r"(?P<name>[^<>\n]+) <(?P<email>[^<>\n]+)> ")


class Job(NamedTuple):
    """One step of one story, for one agent call."""

    id: str  # of the attempt
    project: Project
    step: Step
    story: str
    name: str  # of the instance
    prompt: str = ""
    branch: str = ""
    skill: Skill | None = None
    resume: str | None = None
    seconds: float = 0.0  # time limit; 0: the project's
    dollars: float | None = None  # the most it may cost, where the client can be told
    agent: str = ""  # who is called; empty: whoever the step's role names

    @property
    def called(self) -> str:
        return self.agent or self.project.config.agent_of(self.step.role)

    @property
    def model(self) -> str | None:
        """A role's model is its own agent's: another client would not know it."""
        config, role = self.project.config, self.step.role
        return config.roles[role].model if self.called == config.agent_of(role) else None

    @property
    def private(self) -> str:
        return private_folder(self.id)

    @property
    def scratch(self) -> str:
        return f"{self.private}/tmp"  # noqa: S108 (below a folder of the attempt's own)


class AccountParked(AutopilotError):
    """The agent's account has met its limit; nothing is started before it resets."""

    def __init__(self, agent: str, kind: str, until: float) -> None:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(until))
        super().__init__(f"{agent} has met its {kind} limit, until {when}", hint="wait, or choose another agent")
        self.until = until


def skill_for(project: Project, step: Step, agent: str = "") -> Skill | None:
    """The skill this step needs, as its agent calls it; None for a step with a prompt of our own. Looked for
    before anything is started: an agent that does not know a slash name takes it for plain words."""
    if step.skill is None:
        return None
    agent = agent or project.config.agent_of(step.role)
    skill = project.find_skill(agent, step.skill)
    if skill is None or not skill.usable:
        raise UsageError(f"BMAD's {step.skill} is not installed for {agent}", hint="bmad doctor")
    return skill


def _refuse_while_parked(agent: str) -> None:
    limit = parked(agent)
    if limit is not None:
        raise AccountParked(agent, limit.kind, limit.until)


def begin(folder: str, job: Job, ready: Callable[[], None] | None = None) -> Spec:
    """Start the attempt in `folder`. Whatever refuses it does so before `ready` is called."""
    project, config = job.project, job.project.config
    agent = find_agent(job.called, config.agents)
    _refuse_while_parked(agent.name)
    launcher = _launcher(project, job.step.role, job.called)
    request = _request(job, launcher)
    environment = _environment(job, agent, launcher)
    call, stop = _placed(agent, request, launcher, job.id, environment)

    def last(spec: Spec) -> Spec:
        if ready is not None:
            ready()
        found = _look(spec.worktree, environment, f"{folder}/index")
        return replace(spec, tree=found.tree, head=found.head)

    return start(
        folder,
        _spec(job, agent, request, launcher, stop),
        call,
        environment=environment,
        limits=Limits((job.seconds or config.story_timeout_cap * 60), config.stall_limit * 60),
        prompt=job.prompt,
        secrets=secrets_of(os.environ),
        others=[project.root.path] if project.root.is_linked else [],
        ready=last,
    )


def _look(worktree: str, environment: dict[str, str], index: str) -> work.Work:
    """The work tree before the call. Without it the call's own changes could not be told from other people's."""
    for _ in range(LOOKS):
        found = work.look(worktree, environment, index)
        if not found.problem:  # without a tree, too: there is no git repository
            return found
    if found.tree is not None:  # all but files that nobody can read
        return found
    raise AutopilotError(
        f"the work tree cannot be recorded before the call: {found.problem}",
        place=Place(worktree),
        hint="git status; is the disk full?",
    )


def _request(job: Job, launcher: Launcher | None) -> Request:
    config, worktree = job.project.config, job.project.root.checkout
    permissions = permissions_for(
        commands_of(worktree, config.commands),
        allow=config.allowed,
        bypass=config.bypass_permissions,
        is_root=os.geteuid() == 0 and launcher is None,
        checkout=worktree,
    )
    return Request(
        prompt=job.prompt,
        session=str(uuid.uuid4()),
        worktree=worktree,
        skill=_listed_name(job.skill) if job.skill else None,
        model=job.model,
        max_dollars=job.dollars,
        resume=job.resume,
        permissions=permissions,
        name=job.name,
        branch=job.branch,
        story=job.story,
        scratch="" if launcher else job.scratch,
    )


def _environment(job: Job, agent: Agent, launcher: Launcher | None) -> dict[str, str]:
    environment = agent_environment(
        os.environ,
        variables=(*agent.variables, *(launcher.variables if launcher else ())),
        passed=job.project.config.passed,
        private=job.private,
        identity=_identity(agent, job.project.root.checkout),
    )
    return lane_environment(environment, job.project.root)


def _spec(job: Job, agent: Agent, request: Request, launcher: Launcher | None, stop: tuple[str, ...]) -> Spec:
    return Spec(
        id=job.id,
        agent=agent.name,
        step=job.step.name,
        story=job.story,
        session=request.resume or request.session,
        worktree=request.worktree,
        argv=(),
        created_at=time.time(),
        name=job.name,
        role=job.step.role,
        model=request.model,
        resume=request.resume,
        launcher=launcher.name if launcher else None,
        skill=request.skill,
        stop=stop,
    )


def _launcher(project: Project, role: str, agent: str) -> Launcher | None:
    name = project.config.launcher_of(role, agent)
    return launcher_from(name, project.config.launchers[name]) if name else None


def _placed(
    agent: Agent, request: Request, launcher: Launcher | None, attempt: str, environment: dict[str, str]
) -> tuple[Call, tuple[str, ...]]:
    """The call as it is really made, its program found, and what stops it beyond a signal."""
    call = agent.call(request)
    stop = agent.stop(request) if isinstance(agent, HasStop) else ()
    argv = call.argv
    if launcher is not None:
        far = {key: environment[key] for key in _FAR if key in environment} | dict(call.environment)
        place = {"worktree": request.worktree, "name": request.name, "attempt": attempt}
        argv = launch(launcher, argv, environment=far, **place)
        stop = launch(launcher, stop, environment={}, **place) if stop else stop_argv(launcher, **place)
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


def _identity(agent: Agent, worktree: str) -> Identity:
    """Who commits. The author stays whoever the user is to git, said outright: Gemini hides their settings."""
    name, email = f"{agent.name} (BMAD Autopilot)", f"{agent.name}@bmad-autopilot.invalid"
    return Identity(name, email, _author(worktree))


@cache
def _author(worktree: str) -> tuple[str, str] | None:
    """Asked once: it does not change between two calls."""
    known = ask(Question(("git", "var", "GIT_AUTHOR_IDENT"), own_environment=True), worktree)
    author = _AUTHOR.match(known.out) if known is not None and known.ok else None
    return (author["name"], author["email"]) if author else None


def _listed_name(skill: Skill) -> str:
    """The name clients list a skill by: `/bmad-dev-story`, `$bmad-dev-story`, `Use the skill bmad-dev-story:`."""
    words = skill.invocation.split()
    named = (word[1:] for word in words if word[0] in "/$")
    return next(named, words[-1].rstrip(":"))
