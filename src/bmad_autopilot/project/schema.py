"""The keys of bmad-autopilot.toml, as data: validation, the file `bmad init` writes and the table in
docs/configuration.md are all made from here."""

from typing import NamedTuple

from .config import ROLES, Commands, Config, Role

AGENTS = ("claude", "codex", "opencode", "gemini", "copilot", "cursor")
WORKFLOWS = ("auto", "lean", "full", "build")

TEXT = "text"
NUMBER = "whole number"
LIST = "list of texts"


class Key(NamedTuple):
    table: str  # "" for the top
    name: str
    type: str
    doc: str
    allowed: tuple[str, ...] = ()
    least: int = 0
    most: int = 0

    @property
    def default(self) -> str | int | tuple[str, ...] | None:
        """What a Config without this key holds; None: worked out from the project."""
        owner: type[NamedTuple] = {"": Config, "commands": Commands}.get(self.table, Role)
        value: str | int | tuple[str, ...] | None = owner._field_defaults[self.name]
        return value

    @property
    def full_name(self) -> str:
        return f"{self.table}.{self.name}" if self.table else self.name


_ROLE_DOCS = {
    "sm": "prepares stories (create-story, validate)",
    "dev": "writes the code",
    "revisor": "goes over the developer's work before the review",
    "qa": "reviews the code",
}

KEYS: tuple[Key, ...] = (
    Key("", "board", TEXT, "Path of the sprint-status.yaml to use, where there are several."),
    Key("", "workflow", TEXT, "The steps a story goes through.", WORKFLOWS),
    Key("", "agent", TEXT, "The coding agent that does the work.", AGENTS),
    Key("", "base_branch", TEXT, "The branch that finished work is merged into."),
    Key("", "stale_days", NUMBER, "Days without a change after which the board is called stale.", (), 1, 3650),
    *(
        key
        for role in ROLES
        for key in (
            Key(f"roles.{role}", "agent", TEXT, f"The agent that {_ROLE_DOCS[role]}.", AGENTS),
            Key(f"roles.{role}", "model", TEXT, f"The model that {_ROLE_DOCS[role]}."),
        )
    ),
    Key("commands", "install", TEXT, "Installs what the project needs, in a fresh worktree."),
    Key("commands", "check", LIST, "Linters and type checkers, one command each."),
    Key("commands", "test", LIST, "The project's tests."),
    Key("commands", "build", LIST, "What must still build."),
)

TABLES = tuple(dict.fromkeys(key.table for key in KEYS))
