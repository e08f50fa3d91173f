"""The project's settings, from bmad-autopilot.toml, then the bash autopilot's old file, then defaults."""

import os
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import NamedTuple

from ..core.errors import Diagnostic
from .bmad_settings import Setting
from .root import CONFIG_NAME, Root

ROLES = ("sm", "dev", "revisor", "qa")
MAX_PARALLEL = 50  # agents
ALL = "all"  # key of the answers for every skill, and of the choice for every cause


class Role(NamedTuple):
    """The agent and model for one kind of step; None: the project's agent, the agent's own model."""

    agent: str | None = None
    model: str | None = None
    launcher: str | None = None  # None: the agent's own, else this machine
    fallback: str | None = None  # None: the project's


class Commands(NamedTuple):
    """The project's own commands, as a person would type them."""

    install: str | None = None
    check: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    build: tuple[str, ...] = ()


class CommandSettings(NamedTuple):
    """The `[commands]` table. None: the key is not set, and the commands are detected."""

    install: str | None = None
    check: tuple[str, ...] | None = None
    test: tuple[str, ...] | None = None
    build: tuple[str, ...] | None = None


class GitHubSettings(NamedTuple):
    """How the autopilot watches and answers pull requests."""

    check_interval: int = 10  # seconds between two polls
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
    """The lanes' worktrees, beside the checkout."""

    folder: str | None = None  # None: `<repository>.worktrees` beside the checkout
    copy: tuple[str, ...] = ()  # globs
    post_create: tuple[str, ...] | None = None  # None: the project's install command
    keep: bool = False


class Config(NamedTuple):
    """Every setting with its default; config_schema.py describes them, config_reader.py reads them."""

    path: str | None = None  # None: there is no file
    board: Setting | None = None
    workflow: str = "auto"
    agent: str = "claude"
    base_branch: str | None = None  # None: determined by git
    stale_days: int = 7
    fallback: str | None = None  # None: wait until the limit of the agent's account is over
    delivery: str = "github"
    merge: str = "when-approved"
    require_review: str = "copilot"
    require_checks: bool = True
    dependencies: str = "order"
    parallel: int = 0  # agents at once, each in a worktree; 0: one epic at a time, in the checkout
    github: GitHubSettings = GitHubSettings()
    worktrees: WorktreeSettings = WorktreeSettings()
    roles: Mapping[str, Role] = MappingProxyType(dict.fromkeys(ROLES, Role()))
    commands: CommandSettings = CommandSettings()
    story_timeout: int = 30  # minutes, as all times here
    story_timeout_cap: int = 120
    stall_limit: int = 15
    check_timeout: int = 20
    max_review_rounds: int = 3
    max_check_fixes: int = 3
    max_cost: float | None = None  # dollars per run; None: no cap
    max_hours: float | None = None  # per run; None: no cap
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
    flows: "tuple[FlowFile, ...]" = ()  # their content
    answers: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    standing: "tuple[StandingAnswer, ...]" = ()
    unattended: Mapping[str, str] = MappingProxyType({})  # cause, or `all`: the choice when no user is present
    depends: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # epic number: epics it waits for
    diagnostics: tuple[Diagnostic, ...] = ()

    def agent_of(self, role: str) -> str:
        return self.roles[role].agent or self.agent

    def fallback_of(self, role: str) -> str | None:
        """The agent to call while the account of the role's agent is at its limit; never the same agent."""
        named = self.roles[role].fallback or self.fallback
        return named if named != self.agent_of(role) else None

    def agents_of(self, role: str) -> tuple[str, ...]:
        """The agents that may be called for the role, the first choice first."""
        return tuple(filter(None, (self.agent_of(role), self.fallback_of(role))))

    def launcher_of(self, role: str, agent: str = "") -> str | None:
        """The role's launcher, else its agent's; None: no launcher. `agent`: called in place of the role's."""
        custom = self.agents.get(agent or self.agent_of(role))
        return self.roles[role].launcher or (custom.launcher if custom else None)

    def client_of(self, agent: str) -> str:
        """The client whose skills and invocations an agent understands: itself, unless the project defines it."""
        custom = self.agents.get(agent)
        return custom.skills if custom else agent

    def answers_of(self, skill: str | None) -> tuple[str, ...]:
        """The project's standing answers for a skill, the most specific first."""
        return (*self.answers.get(skill or ALL, ()), *(self.answers.get(ALL, ()) if skill else ()))

    def standing_answer(self, question: str, story: str = "") -> str | None:
        """The user's first standing answer that matches the question."""
        return next((one.answer for one in self.standing if one.matches(question, story)), None)

    def unattended_choice(self, cause: str) -> str:
        """The choice when no user is present; `ask`: wait for one."""
        from ..core.stop_causes import choose_by_policy

        return choose_by_policy(self.unattended, cause)

    def with_unattended(self, unattended: Mapping[str, str]) -> "Config":
        """The config with the command line's choices. Its choice for `all` overrides every cause in the config."""
        kept = {} if ALL in unattended else self.unattended
        return self._replace(unattended={**kept, **unattended})


def load_config(root: Root) -> Config:
    """Read the settings of the main checkout: an agent in a worktree cannot change the rules it is judged by."""
    config = Config()
    path = f"{root.path}/{CONFIG_NAME}"
    if not os.path.lexists(path):
        return add_legacy_settings(root, config, frozenset)
    from .config_reader import read_config, read_set_keys

    return add_legacy_settings(root, read_config(path), lambda: read_set_keys(path))


def add_legacy_settings(root: Root, config: Config, read_set_keys: Callable[[], frozenset[str]]) -> Config:
    """Add the settings of the bash autopilot's file that the settings file does not set. `read_set_keys` returns
    the full names of the keys in the settings file, including those set to their default."""
    old = f"{root.path}/.autopilot/config"
    if not os.path.lexists(old):
        return config
    from .legacy_config import read_legacy_config

    return read_legacy_config(old).apply_to(config, read_set_keys())


# Defined by the project: agents (any command), launchers (run an agent elsewhere), steps and workflows.

EXIT = "exit"
EVIDENCE = "evidence"

MAX_STEPS = 20  # of a workflow
# Standing answers per agent call, and characters of each.
MAX_ANSWERS = 12
MAX_ANSWER = 500
MAX_QUESTION = 4000  # characters of a question that a pattern is matched against


class CustomAgent(NamedTuple):
    """One [agents.NAME] table."""

    command: tuple[str, ...]  # a single string if `shell` is set
    stop: tuple[str, ...] = ()
    shell: bool = False
    completion: str = EXIT  # EVIDENCE: the command returns before the work is done
    skills: str = "claude"  # the client whose skill invocations it understands
    launcher: str | None = None


class CustomLauncher(NamedTuple):
    """One [launchers.NAME] table."""

    kind: str | None = None
    target: str | None = None
    argv: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()


class CustomStep(NamedTuple):
    """One [steps.NAME] table."""

    role: str = "dev"
    skill: str | None = None
    prompt: str | None = None  # the content of `prompt_file` if that is set
    prompt_file: str | None = None
    owes: str = "nothing"
    before: str | None = None
    after: str | None = None
    clean: bool = False


class CustomWorkflow(NamedTuple):
    """One [workflows.NAME] table."""

    steps: tuple[str, ...] = ()


class FlowFile(NamedTuple):
    """The unparsed content of one file that [flows] names; workflows/flows.py parses it."""

    path: str  # relative to the project's top
    raw: bytes


class StandingAnswer(NamedTuple):
    """One [[standing_answers]] table."""

    pattern: str = ""  # a regular expression, searched in the question, ignoring case
    answer: str = ""
    story: str | None = None  # a glob of story keys; None: all

    def matches(self, question: str, story: str) -> bool:
        if self.story is not None and not fnmatchcase(story, self.story):
            return False
        return re.search(self.pattern, question[:MAX_QUESTION], re.IGNORECASE) is not None
