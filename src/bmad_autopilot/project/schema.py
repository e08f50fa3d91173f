"""The keys of bmad-autopilot.toml, as data: validation, the file `bmad init` writes and the table in
docs/configuration.md are all made from here."""

from typing import NamedTuple, TypeAlias

from ..core.owes import Owes
from ..core.statuses import IN_PROGRESS, READY, REVIEW
from .config import ALL, MOST_AT_ONCE, ROLES, CommandSettings, Config, GitHub, Role, WorktreeSettings

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
# What a step may set itself; a story is done by a verdict, or by the end of its workflow.
STEP_STATUSES = (READY, IN_PROGRESS, REVIEW)
# The steps that are known without a word about them: their skill, and what they owe.
STEPS: dict[str, tuple[str | None, Owes]] = {
    "create-story": ("create-story", Owes.STORY),
    "validate": ("validate", Owes.STORY),
    "dev": ("dev-story", Owes.CODE),
    "revision": (None, Owes.REVISION),
    "code-review": ("code-review", Owes.VERDICT),
    "build-auto": ("build-auto", Owes.CODE),
}

TEXT = "text"
NUMBER = "whole number"
AMOUNT = "number"
LIST = "list of texts"
BOOL = "true or false"

# Tables whose names the user chooses, and what the schema calls what stands in them.
OPEN = {
    "agents": "agents.NAME",
    "launchers": "launchers.NAME",
    "workflows": "workflows.NAME",
    "steps": "steps.NAME",
    "answers": "answers.SKILL",
    "unattended": "unattended.CAUSE",
    "depends": "depends.EPIC",
}
ARRAYS = ("standing_answers",)  # tables that may stand there several times: [[…]]

Owner: TypeAlias = type[NamedTuple]

_OWNERS: dict[str, Owner] = {
    "commands": CommandSettings,
    "github": GitHub,
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


class Key(NamedTuple):
    table: str  # "" for the top
    name: str
    type: str
    doc: str
    allowed: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    refers: str = ""  # the open table whose names are allowed too

    @property
    def default(self) -> str | float | tuple[str, ...] | None:
        """What a Config without this key holds; None: worked out from the project, or needed, or no such thing."""
        if self.doc.startswith("Needed."):
            return None
        value: str | float | tuple[str, ...] | None = self.owner._field_defaults.get(self.field)
        return value if value != "" else None

    @property
    def owner(self) -> Owner:
        """What its value becomes a part of."""
        if self.table in (*OPEN.values(), *ARRAYS):
            from . import custom

            return {
                "agents.NAME": custom.CustomAgent,
                "launchers.NAME": custom.CustomLauncher,
                "workflows.NAME": custom.CustomWorkflow,
                "steps.NAME": custom.CustomStep,
                "standing_answers": custom.StandingAnswer,
            }[self.table]
        return _OWNERS.get(self.table, Config)

    @property
    def full_name(self) -> str:
        return f"{self.table}.{self.name}" if self.table else self.name

    @property
    def field(self) -> str:
        """What its owner calls it."""
        return _FIELDS.get(self.full_name, self.name)


_ROLE_DOCS = {
    "sm": "prepares stories (create-story, validate)",
    "dev": "writes the code",
    "revisor": "goes over the developer's work before the review",
    "qa": "reviews the code",
}


def _role(role: str) -> tuple[Key, ...]:
    does = _ROLE_DOCS[role]
    return (
        Key(f"roles.{role}", "agent", TEXT, f"The agent that {does}.", AGENTS, refers="agents"),
        Key(f"roles.{role}", "model", TEXT, f"The model that {does}."),
        Key(f"roles.{role}", "launcher", TEXT, f"Where the agent runs that {does}.", refers="launchers"),
        Key(
            f"roles.{role}",
            "fallback",
            TEXT,
            f"The agent that {does} while the first one's account has met its limit.",
            AGENTS,
            refers="agents",
        ),
    )


def _minutes(name: str, doc: str, most: int) -> Key:
    return Key("", name, NUMBER, f"Minutes {doc}.", (), 1, most)


_DETECTED = "unset: detected from the project's files; `[]`: none"

KEYS: tuple[Key, ...] = (
    Key("", "board", TEXT, "Path of the sprint-status.yaml to use, where there are several."),
    Key("", "workflow", TEXT, "The steps a story goes through.", WORKFLOWS, refers="workflows"),
    Key("", "agent", TEXT, "The coding agent that does the work.", AGENTS, refers="agents"),
    Key(
        "",
        "fallback",
        TEXT,
        "The agent that goes on while the first one's account has met its limit.",
        AGENTS,
        refers="agents",
    ),
    Key("", "base_branch", TEXT, "The branch that finished work is merged into."),
    Key(
        "",
        "delivery",
        TEXT,
        "Where `bmad autopilot` takes finished epics: pull requests, or a local merge.",
        DELIVERIES,
    ),
    Key(
        "",
        "merge",
        TEXT,
        "When a pull request is merged: once it is approved, by a person, or once green.",
        MERGES,
    ),
    Key("", "require_review", TEXT, "Whose review is waited for before that.", REVIEWS),
    Key("", "require_checks", BOOL, "A pull request without any checks is not merged."),
    Key(
        "",
        "dependencies",
        TEXT,
        "What an epic waits for: the one before it, those declared, or nothing.",
        DEPENDENCIES,
    ),
    Key(
        "",
        "parallel",
        NUMBER,
        "Agents of `bmad autopilot` at once, each epic in a worktree; 0: one epic at a time, in the checkout.",
        (),
        0,
        MOST_AT_ONCE,
    ),
    Key("", "stale_days", NUMBER, "Days without a change after which the board is called stale.", (), 1, 3650),
    _minutes("story_timeout", "an agent may work on a step before a person is asked", 1440),
    _minutes("story_timeout_cap", "it may work at most, where nobody is there to ask", 10080),
    _minutes("stall_limit", "without any progress after which an agent is stopped", 1440),
    _minutes("check_timeout", "each of the project's checks may take", 1440),
    Key("", "max_review_rounds", NUMBER, "Review rounds of a story, after which a person is asked.", (), 1, 10),
    Key("", "max_check_fixes", NUMBER, "Calls to mend failing checks, after which a person is asked.", (), 0, 10),
    Key("", "max_cost", AMOUNT, "Dollars a run may cost before a person is asked.", (), 0, 100_000),
    Key("", "max_hours", AMOUNT, "Hours a run may take before a person is asked.", (), 0, 8760),
    Key("", "retrospective", TEXT, "What becomes of an epic's retrospective once it is over.", RETROSPECTIVES),
    Key("", "human_checkpoint", TEXT, "Where a person is asked before a run goes on.", HUMAN_CHECKPOINTS),
    Key("", "bypass_permissions", BOOL, "Let agents do anything without asking. Only inside a sandbox."),
    *(key for role in ROLES for key in _role(role)),
    Key("commands", "install", TEXT, "Installs what the project needs, in a fresh worktree."),
    Key("commands", "check", LIST, f"Linters and type checkers, one command each; {_DETECTED}."),
    Key("commands", "test", LIST, f"The project's tests; {_DETECTED}."),
    Key("commands", "build", LIST, f"What must still build; {_DETECTED}."),
    Key("github", "check_interval", NUMBER, "Seconds between two looks at pending pull requests.", (), 5, 3600),
    Key("github", "check_grace", NUMBER, "Seconds that checks have to appear after a push.", (), 0, 3600),
    Key("github", "review_patience", NUMBER, "Minutes a review may take before a person is asked.", (), 1, 10080),
    Key("github", "check_patience", NUMBER, "Minutes checks may take before a person is asked.", (), 1, 10080),
    Key("github", "approval_patience", NUMBER, "Hours an approval is waited for, at most.", (), 1, 720),
    Key(
        "github",
        "max_rounds",
        NUMBER,
        "Rounds of mending a pull request, after which a person is asked.",
        (),
        1,
        50,
    ),
    Key(
        "github", "max_pending", NUMBER, "Pull requests that may be open before another epic is begun.", (), 1, 100
    ),
    Key(
        "github", "rerun_failed", BOOL, "Run failed checks once more as they are, before an agent mends anything."
    ),
    Key("github", "mend_first", BOOL, "A pull request that needs mending gets an agent before new work does."),
    Key("github", "conflicts", TEXT, "What becomes of a conflict with the base branch.", CONFLICTS),
    Key("github", "trusted", LIST, "Logins whose review comments count, beside collaborators and Copilot."),
    Key("github", "labels", LIST, "Labels of a pull request, beside the epic's own."),
    Key("github", "remote", TEXT, "The git remote that pull requests go to."),
    Key(
        "depends",
        "EPIC",
        LIST,
        'The epics that this one waits for, where `dependencies = "declared"`, beside those its epics file names.',
    ),
    Key("worktrees", "folder", TEXT, "Where lanes work; unset: `<repository>.worktrees` beside the checkout."),
    Key("worktrees", "copy", LIST, "Ignored files that each of them needs, such as `.env`, as globs."),
    Key(
        "worktrees",
        "post_create",
        LIST,
        "Commands that make a new one ready, in order; unset: `commands.install`.",
    ),
    Key("worktrees", "keep", BOOL, "Keep those of finished epics."),
    Key("permissions", "allow", LIST, "More that an agent may do, in its own client's words."),
    Key(
        "environment", "pass", LIST, "Further environment variables that agents get to see: names, or `PREFIX_*`."
    ),
    Key("gates", "allow", LIST, "Protected files that an agent may change all the same, as globs."),
    Key(
        "answers",
        "SKILL",
        LIST,
        f"Standing answers of your own, told to whoever works with this skill; `{ALL}`: to everybody.",
    ),
    Key(
        "unattended",
        "CAUSE",
        TEXT,
        "What is chosen where nobody is there to ask, by why one would be asked; `all`: for whatever offers it.",
    ),
    Key("standing_answers", "question", TEXT, "Needed. A regular expression that is looked for in a question."),
    Key("standing_answers", "answer", TEXT, "Needed. The answer to such a question."),
    Key("standing_answers", "story", TEXT, "Only for stories with such keys, as a glob; unset: for all."),
    Key("flows", "files", LIST, "Files with flows of your own, by their paths from the top of the project."),
    Key("workflows.NAME", "steps", LIST, "Needed. The names of its steps, in order."),
    Key("steps.NAME", "role", TEXT, "Who does it.", ROLES),
    Key("steps.NAME", "skill", TEXT, "BMAD's skill that does it, without `bmad-`."),
    Key("steps.NAME", "prompt", TEXT, "What the agent is told, after the skill's call or in place of it."),
    Key("steps.NAME", "prompt_file", TEXT, "The file that holds the prompt, in place of `prompt`."),
    Key("steps.NAME", "owes", TEXT, "What it must leave.", tuple(Owes)),
    Key("steps.NAME", "before", TEXT, "What the board says before it; unset: by what it owes.", STEP_STATUSES),
    Key("steps.NAME", "after", TEXT, "What the board says after it; unset: by what it owes.", STEP_STATUSES),
    Key("steps.NAME", "clean", BOOL, "It needs a work tree without changes."),
    Key("agents.NAME", "command", LIST, "Needed. The command that does a step, word by word."),
    Key("agents.NAME", "stop", LIST, "The command that ends what the first one has started."),
    Key("agents.NAME", "shell", BOOL, "The command is one text for `sh`."),
    Key(
        "agents.NAME",
        "completion",
        TEXT,
        "What ends a step: the command's end, or what it leaves.",
        COMPLETIONS,
    ),
    Key("agents.NAME", "skills", TEXT, "The client whose skill invocations it understands.", AGENTS),
    Key("agents.NAME", "launcher", TEXT, "Where it runs.", refers="launchers"),
    Key("launchers.NAME", "kind", TEXT, "What it is, if one of the known ones.", KINDS),
    Key("launchers.NAME", "target", TEXT, "The container, or the host as `ssh` is told it."),
    Key("launchers.NAME", "argv", LIST, "The words put before the agent's, in place of the kind's own."),
    Key("launchers.NAME", "stop", LIST, "The command that ends an agent over there, in place of our own."),
)

TABLES = tuple(dict.fromkeys(key.table for key in KEYS))
