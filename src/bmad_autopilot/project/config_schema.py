"""The keys of bmad-autopilot.toml as data: the source for validation, for the file `bmad init` writes and for the
table in docs/configuration.md."""

from typing import NamedTuple, TypeAlias

from ..core.statuses import IN_PROGRESS, READY, REVIEW
from ..core.step_output import StepOutput
from .config import ALL, MAX_PARALLEL, ROLES, CommandSettings, Config, GitHubSettings, Role, WorktreeSettings

AGENTS = ("claude", "codex", "opencode", "gemini", "copilot", "cursor")
WORKFLOWS = ("auto", "lean", "full", "build")
KINDS = ("devcontainer", "docker", "ssh")
COMPLETIONS = ("exit", "evidence")
RETROSPECTIVES = ("offer", "run", "never")
DELIVERIES = ("github", "local")
MERGES = ("when-approved", "manual", "auto")
REVIEWS = ("copilot", "human", "none")
DEPENDENCIES = ("order", "declared", "none")
CONFLICTS = ("stop", "agent")
HUMAN_CHECKPOINTS = ("none", "before_dev", "after_each_story", "after_each_epic")
# The statuses a step may set; a verdict, or the end of the workflow, sets a story to done.
STEP_STATUSES = (READY, IN_PROGRESS, REVIEW)
# The built-in steps: their skill and their required output.
STEPS: dict[str, tuple[str | None, StepOutput]] = {
    "create-story": ("create-story", StepOutput.STORY),
    "validate": ("validate", StepOutput.STORY),
    "dev": ("dev-story", StepOutput.CODE),
    "revision": (None, StepOutput.REVISION),
    "code-review": ("code-review", StepOutput.VERDICT),
    "build-auto": ("build-auto", StepOutput.CODE),
}

TEXT = "text"
NUMBER = "whole number"
AMOUNT = "number"
LIST = "list of texts"
BOOL = "true or false"

# Tables whose keys the user names, and the schema's name for an entry.
USER_TABLES = {
    "agents": "agents.NAME",
    "launchers": "launchers.NAME",
    "workflows": "workflows.NAME",
    "steps": "steps.NAME",
    "answers": "answers.SKILL",
    "unattended": "unattended.CAUSE",
    "depends": "depends.EPIC",
}
TABLE_ARRAYS = ("standing_answers",)  # arrays of tables: [[…]]

ConfigRecord: TypeAlias = type[NamedTuple]

_RECORDS: dict[str, ConfigRecord] = {
    "commands": CommandSettings,
    "github": GitHubSettings,
    "worktrees": WorktreeSettings,
    **{f"roles.{role}": Role for role in ROLES},
}
_FIELDS = {
    "permissions.allow": "allowed",
    "environment.pass": "passed",
    "gates.allow": "unprotected",
    "standing_answers.question": "pattern",
    "flows.files": "flow_files",
}


class ConfigKey(NamedTuple):
    table: str  # "" for the top
    name: str
    type: str
    doc: str
    allowed: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    refers_to: str = ""  # the user table whose names are allowed too

    @property
    def default(self) -> str | float | tuple[str, ...] | None:
        """The value of a Config without this key; None: detected from the project, required, or absent."""
        if self.doc.startswith("Needed."):
            return None
        value: str | float | tuple[str, ...] | None = self.record._field_defaults.get(self.field)
        return value if value != "" else None

    @property
    def record(self) -> ConfigRecord:
        """The record that holds the value."""
        if self.table in (*USER_TABLES.values(), *TABLE_ARRAYS):
            from . import config

            return {
                "agents.NAME": config.CustomAgent,
                "launchers.NAME": config.CustomLauncher,
                "workflows.NAME": config.CustomWorkflow,
                "steps.NAME": config.CustomStep,
                "standing_answers": config.StandingAnswer,
            }[self.table]
        return _RECORDS.get(self.table, Config)

    @property
    def full_name(self) -> str:
        return f"{self.table}.{self.name}" if self.table else self.name

    @property
    def field(self) -> str:
        """The name of the record's field."""
        return _FIELDS.get(self.full_name, self.name)


_ROLE_DOCS = {
    "sm": "prepares stories (create-story, validate)",
    "dev": "writes the code",
    "revisor": "goes over the developer's work before the review",
    "qa": "reviews the code",
}


def _role_keys(role: str) -> tuple[ConfigKey, ...]:
    does = _ROLE_DOCS[role]
    return (
        ConfigKey(f"roles.{role}", "agent", TEXT, f"The agent that {does}.", AGENTS, refers_to="agents"),
        ConfigKey(f"roles.{role}", "model", TEXT, f"The model that {does}."),
        ConfigKey(f"roles.{role}", "launcher", TEXT, f"Where the agent runs that {does}.", refers_to="launchers"),
        ConfigKey(
            f"roles.{role}",
            "fallback",
            TEXT,
            f"The agent that {does} while the first one's account has met its limit.",
            AGENTS,
            refers_to="agents",
        ),
    )


def _minutes_key(name: str, doc: str, most: int) -> ConfigKey:
    return ConfigKey("", name, NUMBER, f"Minutes {doc}.", (), 1, most)


_DETECTED = "unset: detected from the project's files; `[]`: none"

KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("", "board", TEXT, "Path of the sprint-status.yaml to use, where there are several."),
    ConfigKey("", "workflow", TEXT, "The steps a story goes through.", WORKFLOWS, refers_to="workflows"),
    ConfigKey("", "agent", TEXT, "The coding agent that does the work.", AGENTS, refers_to="agents"),
    ConfigKey(
        "",
        "fallback",
        TEXT,
        "The agent that goes on while the first one's account has met its limit.",
        AGENTS,
        refers_to="agents",
    ),
    ConfigKey("", "base_branch", TEXT, "The branch that finished work is merged into."),
    ConfigKey(
        "",
        "delivery",
        TEXT,
        "Where `bmad autopilot` takes finished epics: pull requests, or a local merge.",
        DELIVERIES,
    ),
    ConfigKey(
        "",
        "merge",
        TEXT,
        "When a pull request is merged: once it is approved, by a person, or once green.",
        MERGES,
    ),
    ConfigKey("", "require_review", TEXT, "Whose review is waited for before that.", REVIEWS),
    ConfigKey("", "require_checks", BOOL, "A pull request without any checks is not merged."),
    ConfigKey(
        "",
        "dependencies",
        TEXT,
        "What an epic waits for: the one before it, those declared, or nothing.",
        DEPENDENCIES,
    ),
    ConfigKey(
        "",
        "parallel",
        NUMBER,
        "Agents of `bmad autopilot` at once, each epic in a worktree; 0: one epic at a time, in the checkout.",
        (),
        0,
        MAX_PARALLEL,
    ),
    ConfigKey(
        "", "stale_days", NUMBER, "Days without a change after which the board is called stale.", (), 1, 3650
    ),
    _minutes_key("story_timeout", "an agent may work on a step before a person is asked", 1440),
    _minutes_key("story_timeout_cap", "it may work at most, where nobody is there to ask", 10080),
    _minutes_key("stall_limit", "without any progress after which an agent is stopped", 1440),
    _minutes_key("check_timeout", "each of the project's checks may take", 1440),
    ConfigKey(
        "", "max_review_rounds", NUMBER, "Review rounds of a story, after which a person is asked.", (), 1, 10
    ),
    ConfigKey(
        "", "max_check_fixes", NUMBER, "Calls to mend failing checks, after which a person is asked.", (), 0, 10
    ),
    ConfigKey("", "max_cost", AMOUNT, "Dollars a run may cost before a person is asked.", (), 0, 100_000),
    ConfigKey("", "max_hours", AMOUNT, "Hours a run may take before a person is asked.", (), 0, 8760),
    ConfigKey(
        "", "retrospective", TEXT, "What becomes of an epic's retrospective once it is over.", RETROSPECTIVES
    ),
    ConfigKey("", "human_checkpoint", TEXT, "Where a person is asked before a run goes on.", HUMAN_CHECKPOINTS),
    ConfigKey("", "bypass_permissions", BOOL, "Let agents do anything without asking. Only inside a sandbox."),
    *(key for role in ROLES for key in _role_keys(role)),
    ConfigKey("commands", "install", TEXT, "Installs what the project needs, in a fresh worktree."),
    ConfigKey("commands", "check", LIST, f"Linters and type checkers, one command each; {_DETECTED}."),
    ConfigKey("commands", "test", LIST, f"The project's tests; {_DETECTED}."),
    ConfigKey("commands", "build", LIST, f"What must still build; {_DETECTED}."),
    ConfigKey(
        "github", "check_interval", NUMBER, "Seconds between two looks at pending pull requests.", (), 5, 3600
    ),
    ConfigKey("github", "check_grace", NUMBER, "Seconds that checks have to appear after a push.", (), 0, 3600),
    ConfigKey(
        "github", "review_patience", NUMBER, "Minutes a review may take before a person is asked.", (), 1, 10080
    ),
    ConfigKey(
        "github", "check_patience", NUMBER, "Minutes checks may take before a person is asked.", (), 1, 10080
    ),
    ConfigKey("github", "approval_patience", NUMBER, "Hours an approval is waited for, at most.", (), 1, 720),
    ConfigKey(
        "github",
        "max_rounds",
        NUMBER,
        "Rounds of mending a pull request, after which a person is asked.",
        (),
        1,
        50,
    ),
    ConfigKey(
        "github", "max_pending", NUMBER, "Pull requests that may be open before another epic is begun.", (), 1, 100
    ),
    ConfigKey(
        "github", "rerun_failed", BOOL, "Run failed checks once more as they are, before an agent mends anything."
    ),
    ConfigKey(
        "github", "mend_first", BOOL, "A pull request that needs mending gets an agent before new work does."
    ),
    ConfigKey("github", "conflicts", TEXT, "What becomes of a conflict with the base branch.", CONFLICTS),
    ConfigKey("github", "trusted", LIST, "Logins whose review comments count, beside collaborators and Copilot."),
    ConfigKey("github", "labels", LIST, "Labels of a pull request, beside the epic's own."),
    ConfigKey("github", "remote", TEXT, "The git remote that pull requests go to."),
    ConfigKey(
        "depends",
        "EPIC",
        LIST,
        'The epics that this one waits for, where `dependencies = "declared"`, beside those its epics file names.',
    ),
    ConfigKey(
        "worktrees", "folder", TEXT, "Where lanes work; unset: `<repository>.worktrees` beside the checkout."
    ),
    ConfigKey("worktrees", "copy", LIST, "Ignored files that each of them needs, such as `.env`, as globs."),
    ConfigKey(
        "worktrees",
        "post_create",
        LIST,
        "Commands that make a new one ready, in order; unset: `commands.install`.",
    ),
    ConfigKey("worktrees", "keep", BOOL, "Keep those of finished epics."),
    ConfigKey("permissions", "allow", LIST, "More that an agent may do, in its own client's words."),
    ConfigKey(
        "environment", "pass", LIST, "Further environment variables that agents get to see: names, or `PREFIX_*`."
    ),
    ConfigKey("gates", "allow", LIST, "Protected files that an agent may change all the same, as globs."),
    ConfigKey(
        "answers",
        "SKILL",
        LIST,
        f"Standing answers of your own, told to whoever works with this skill; `{ALL}`: to everybody.",
    ),
    ConfigKey(
        "unattended",
        "CAUSE",
        TEXT,
        "What is chosen where nobody is there to ask, by why one would be asked; `all`: for whatever offers it.",
    ),
    ConfigKey(
        "standing_answers", "question", TEXT, "Needed. A regular expression that is looked for in a question."
    ),
    ConfigKey("standing_answers", "answer", TEXT, "Needed. The answer to such a question."),
    ConfigKey("standing_answers", "story", TEXT, "Only for stories with such keys, as a glob; unset: for all."),
    ConfigKey("flows", "files", LIST, "Files with flows of your own, by their paths from the top of the project."),
    ConfigKey("workflows.NAME", "steps", LIST, "Needed. The names of its steps, in order."),
    ConfigKey("steps.NAME", "role", TEXT, "Who does it.", ROLES),
    ConfigKey("steps.NAME", "skill", TEXT, "BMAD's skill that does it, without `bmad-`."),
    ConfigKey("steps.NAME", "prompt", TEXT, "What the agent is told, after the skill's call or in place of it."),
    ConfigKey("steps.NAME", "prompt_file", TEXT, "The file that holds the prompt, in place of `prompt`."),
    ConfigKey("steps.NAME", "owes", TEXT, "What it must leave.", tuple(StepOutput)),
    ConfigKey(
        "steps.NAME", "before", TEXT, "What the board says before it; unset: by what it owes.", STEP_STATUSES
    ),
    ConfigKey("steps.NAME", "after", TEXT, "What the board says after it; unset: by what it owes.", STEP_STATUSES),
    ConfigKey("steps.NAME", "clean", BOOL, "It needs a work tree without changes."),
    ConfigKey("agents.NAME", "command", LIST, "Needed. The command that does a step, word by word."),
    ConfigKey("agents.NAME", "stop", LIST, "The command that ends what the first one has started."),
    ConfigKey("agents.NAME", "shell", BOOL, "The command is one text for `sh`."),
    ConfigKey(
        "agents.NAME",
        "completion",
        TEXT,
        "What ends a step: the command's end, or what it leaves.",
        COMPLETIONS,
    ),
    ConfigKey("agents.NAME", "skills", TEXT, "The client whose skill invocations it understands.", AGENTS),
    ConfigKey("agents.NAME", "launcher", TEXT, "Where it runs.", refers_to="launchers"),
    ConfigKey("launchers.NAME", "kind", TEXT, "What it is, if one of the known ones.", KINDS),
    ConfigKey("launchers.NAME", "target", TEXT, "The container, or the host as `ssh` is told it."),
    ConfigKey("launchers.NAME", "argv", LIST, "The words put before the agent's, in place of the kind's own."),
    ConfigKey("launchers.NAME", "stop", LIST, "The command that ends an agent over there, in place of our own."),
)

TABLES = tuple(dict.fromkeys(key.table for key in KEYS))
