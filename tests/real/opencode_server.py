"""opencode on the scripted Messages API that Claude Code is tested with."""

import json
from pathlib import Path

from tests.real.claude_server import Server

MODEL = "loopback/m1"

# Nothing is fetched: neither a newer version nor a list of models.
QUIET = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def configure(home: Path, server: Server) -> None:
    """A home folder that knows one provider, ours, with a price for its tokens."""
    model = {"name": "m1", "limit": {"context": 100_000, "output": 8_000}, "cost": {"input": 3, "output": 15}}
    provider = {
        "npm": "@ai-sdk/anthropic",
        "options": {"baseURL": f"{server.url}/v1", "apiKey": "sk-dummy"},
        "models": {"m1": model},
    }
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"model": MODEL, "small_model": MODEL, "provider": {"loopback": provider}}
    (folder / "opencode.json").write_text(json.dumps(settings))
