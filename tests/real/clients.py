"""Real agent CLIs by npm, pinned, each in a folder of its own under the one that BMAD_REAL names."""

import os
import shutil
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from bmad_autopilot.io.files import hold_lock

CLAUDE = "@anthropic-ai/claude-code@2.1.325"
CODEX = "@openai/codex@0.166.0"
OPENCODE = "opencode-ai@1.18.33"
GEMINI = "@google/gemini-cli@0.61.0"
COPILOT = "@github/copilot@1.0.102"

INSTALL_SECONDS = 300


def install(real: Path, package: str, program: str) -> Path:
    """The program of a package such as `@openai/codex@0.166.0`, fetched on first use."""
    folder = real / f"{program}-{package.rpartition('@')[2]}"
    entry = folder / "node_modules" / ".bin" / program
    if entry.exists():
        return entry
    if not (shutil.which("npm") and shutil.which("node")):
        pytest.skip(f"npm and node are needed for a real install of {package}")
    with installing(real):
        if not entry.exists():
            partial = real / f"{folder.name}.{os.getpid()}.partial"
            partial.mkdir()
            # With the package's scripts: Claude Code's puts the program where its wrapper stands.
            _npm(["install", "--no-audit", "--no-fund", "--prefix", str(partial), package], partial, real)
            assert (partial / entry.relative_to(folder)).exists(), f"{package} brought no program {program}"
            shutil.rmtree(folder, ignore_errors=True)
            partial.rename(folder)  # whole or not at all, should somebody stop us
    return entry


def installing(real: Path) -> AbstractContextManager[int]:
    """One worker at a time; what another has brought meanwhile is there afterwards."""
    return hold_lock(str(real / "install.lock"), seconds=6 * INSTALL_SECONDS)


def _npm(arguments: list[str], folder: Path, real: Path) -> None:
    environment = {
        **os.environ,
        "npm_config_cache": str(real / "npm-cache"),
        "npm_config_update_notifier": "false",
    }
    done = subprocess.run(
        ["npm", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"npm {' '.join(arguments)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
