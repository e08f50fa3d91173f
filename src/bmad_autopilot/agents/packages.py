"""How to get each agent CLI, and what BMAD's installer calls it."""

from typing import NamedTuple


class Package(NamedTuple):
    install: str  # what a person types
    tool: str  # for the installer's --tools


PACKAGES = {
    "claude": Package("npm install -g @anthropic-ai/claude-code", "claude-code"),
    "codex": Package("npm install -g @openai/codex", "codex"),
    "opencode": Package("npm install -g opencode-ai", "opencode"),
    "gemini": Package("npm install -g @google/gemini-cli", "gemini"),
    "copilot": Package("npm install -g @github/copilot", "github-copilot"),
    # The npm package of that name is somebody else's.
    "cursor": Package("see https://cursor.com/cli", "cursor"),
}
