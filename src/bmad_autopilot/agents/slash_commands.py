"""Slash commands for the clients that support them; each only calls the `bmad` command line."""

from typing import NamedTuple

FOLDERS = {"claude": ".claude", "cursor": ".cursor"}  # agent → the client's folder in a project
GENERATED_MARK = (
    "<!-- Written by `bmad init`, and written anew by it. Remove this line to keep a text of your own. -->"
)


class SlashCommand(NamedTuple):
    name: str
    summary: str
    arguments: str


SLASH_COMMANDS = (
    SlashCommand("run-epic", "Take one BMAD epic to done", "EPIC [--dry-run]"),
    SlashCommand("run-story", "Take one BMAD story to done", "KEY [--dry-run]"),
    SlashCommand("autopilot", "Take BMAD epics to merged pull requests", "[PATTERN…]"),
)

# Claude Code substitutes $ARGUMENTS with what the user typed; Cursor appends it below the text.
_HEADS = {
    "claude": "---\ndescription: {summary}\nargument-hint: {arguments!r}\n"
    "allowed-tools: Bash(bmad {name}:*), Bash(bmad-autopilot {name}:*)\n---\n",
    "cursor": "# {summary}\n\n",
}
_NOTES = {"claude": "", "cursor": "In place of $ARGUMENTS comes what was typed after the command's name.\n"}


def command_path(command: SlashCommand, agent: str) -> str:
    """Relative to the project."""
    return f"{FOLDERS[agent]}/commands/{command.name}.md"


def command_text(command: SlashCommand, agent: str) -> str:
    return (
        f"{_HEADS[agent].format(**command._asdict())}{GENERATED_MARK}\n\n"
        "Run this in the project's folder, wait for it to end, and report what it printed. Do nothing else:\n\n"
        f"```\nbmad {command.name} $ARGUMENTS\n```\n\n{_NOTES[agent]}"
        "If `bmad` turns out to be the installer from npm, the same program is there as `bmad-autopilot`.\n"
    )


def is_generated(text: bytes) -> bool:
    return GENERATED_MARK.encode() in text
