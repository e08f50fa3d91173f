"""The project's settings: bmad-autopilot.toml, then the bash autopilot's old file, then defaults."""

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..core.diagnostics import Diagnostic
from .layers import Setting
from .root import Root
from .traces import CONFIG_NAME

if TYPE_CHECKING:
    from .custom import CustomAgent, CustomLauncher, CustomStep, CustomWorkflow, FlowFile, StandingAnswer

ROLES = ("sm", "dev", "revisor", "qa")
MOST_AT_ONCE = 50  # agents
ALL = "all"  # the answers that hold for every skill, the choice that holds for every cause


class Role(NamedTuple):
    """Who does one kind of step; None stands for the project's agent and the agent's own model."""

    agent: str | None = None
    model: str | None = None
    launcher: str | None = None  # None: the agent's own, else here on this machine
    fallback: str | None = None  # None: the project's


class Commands(NamedTuple):
    """The project's own commands, as a person would type them."""

    install: str | None = None
    check: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    build: tuple[str, ...] = ()


class CommandSettings(NamedTuple):
    """`[commands]` as the settings file has it. None: the key is not set, and the detected commands count."""

    install: str | None = None
    check: tuple[str, ...] | None = None
    test: tuple[str, ...] | None = None
    build: tuple[str, ...] | None = None


class GitHub(NamedTuple):
    """How pull requests are watched and answered."""

    check_interval: int = 10  # seconds between two looks
    check_grace: int = 120  # seconds
    review_patience: int = 30  # minutes
    check_patience: int = 60  # minutes
    approval_patience: int = 24  # hours
    max_rounds: int = 5
    max_pending: int = 5
    rerun_failed: bool = True
    mend_first: bool = True
    conflicts: str = "stop"
    trusted: tuple[str, ...] = ()  # logins
    labels: tuple[str, ...] = ("epic", "automated")
    remote: str = "origin"


class WorktreeSettings(NamedTuple):
    """The folders that lanes work in, beside the checkout."""

    folder: str | None = None  # None: `<repository>.worktrees` beside the checkout
    copy: tuple[str, ...] = ()  # globs
    post_create: tuple[str, ...] | None = None  # None: the project's install command
    keep: bool = False


class Config(NamedTuple):
    """Every setting with its default; schema.py describes them, settings_file.py reads them."""

    path: str | None = None  # None: there is no file
    board: Setting | None = None
    workflow: str = "auto"
    agent: str = "claude"
    base_branch: str | None = None  # None: asked of git
    stale_days: int = 7
    fallback: str | None = None  # None: a limit of the agent's account is waited for
    delivery: str = "github"
    merge: str = "when-approved"
    require_review: str = "copilot"
    require_checks: bool = True
    dependencies: str = "order"
    parallel: int = 0  # agents at once, each in a worktree; 0: one epic at a time, in the checkout
    github: GitHub = GitHub()
    worktrees: WorktreeSettings = WorktreeSettings()
    roles: Mapping[str, Role] = MappingProxyType(dict.fromkeys(ROLES, Role()))
    commands: CommandSettings = CommandSettings()
    story_timeout: int = 30  # minutes, as all times here
    story_timeout_cap: int = 120
    stall_limit: int = 15
    check_timeout: int = 20
    max_review_rounds: int = 3
    max_check_fixes: int = 3
    max_cost: float | None = None  # dollars a run; None: no cap
    max_hours: float | None = None  # a run; None: no cap
    retrospective: str = "offer"
    human_checkpoint: str = "none"
    bypass_permissions: bool = False
    unprotected: tuple[str, ...] = ()  # globs
    allowed: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    agents: "Mapping[str, CustomAgent]" = MappingProxyType({})
    launchers: "Mapping[str, CustomLauncher]" = MappingProxyType({})
    workflows: "Mapping[str, CustomWorkflow]" = MappingProxyType({})
    steps: "Mapping[str, CustomStep]" = MappingProxyType({})
    flow_files: tuple[str, ...] = ()
    flows: "tuple[FlowFile, ...]" = ()  # what they hold
    answers: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    standing: "tuple[StandingAnswer, ...]" = ()
    unattended: Mapping[str, str] = MappingProxyType({})  # cause, or `all`: what is chosen where nobody is there
    depends: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # epic: those it waits for, by number
    diagnostics: tuple[Diagnostic, ...] = ()

    def agent_of(self, role: str) -> str:
        return self.roles[role].agent or self.agent

    def fallback_of(self, role: str) -> str | None:
        """Who is called while the account of the role's agent rests. Nobody stands in for themselves."""
        named = self.roles[role].fallback or self.fallback
        return named if named != self.agent_of(role) else None

    def agents_of(self, role: str) -> tuple[str, ...]:
        """All that may be called for it, the first choice first."""
        return tuple(filter(None, (self.agent_of(role), self.fallback_of(role))))

    def launcher_of(self, role: str, agent: str = "") -> str | None:
        """The role's, else its agent's; None: no launcher. `agent`: who is called for it, if not its own."""
        custom = self.agents.get(agent or self.agent_of(role))
        return self.roles[role].launcher or (custom.launcher if custom else None)

    def client_of(self, agent: str) -> str:
        """The client whose skills and invocations an agent understands: itself, unless the project made it."""
        custom = self.agents.get(agent)
        return custom.skills if custom else agent

    def answers_of(self, skill: str | None) -> tuple[str, ...]:
        """The project's own standing answers for a skill, the most particular first."""
        return (*self.answers.get(skill or ALL, ()), *(self.answers.get(ALL, ()) if skill else ()))

    def standing_answer(self, question: str, story: str = "") -> str | None:
        """The first of the user's own that fits what is asked."""
        return next((one.answer for one in self.standing if one.fits(question, story)), None)

    def choice_for(self, cause: str) -> str:
        """What is chosen where nobody is there; `ask`: to wait for somebody."""
        from ..core.causes import chosen

        return chosen(self.unattended, cause)

    def overruled(self, unattended: Mapping[str, str]) -> "Config":
        """With what the command line chooses; what it says of all causes is the last word on each."""
        kept = {} if ALL in unattended else self.unattended
        return self._replace(unattended={**kept, **unattended})


def load_config(root: Root) -> Config:
    """The settings of the project's owner: an agent in a worktree cannot change what it is judged by."""
    config = Config()
    path = f"{root.path}/{CONFIG_NAME}"
    if not os.path.lexists(path):
        return with_legacy(root, config, frozenset)
    from .settings_file import keys_set, read_config

    return with_legacy(root, read_config(path), lambda: keys_set(path))


def with_legacy(root: Root, config: Config, given: Callable[[], frozenset[str]]) -> Config:
    """With what the bash autopilot's own file sets and the settings file does not. `given`: the full names of the
    keys that the settings file sets, also those that it sets to their default."""
    old = f"{root.path}/.autopilot/config"
    if not os.path.lexists(old):
        return config
    from .autopilot_config import read_autopilot_config

    return read_autopilot_config(old).added_to(config, given())
