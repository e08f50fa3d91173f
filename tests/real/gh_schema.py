"""GitHub's schema as npm has it, pinned: older than GitHub's own, and there for everybody."""

import os
import shutil
from pathlib import Path

import pytest

from tests.real.clients import _npm, installing

PACKAGE = "@octokit/graphql-schema"
VERSION = "15.26.1"


def npm_schema(real: Path) -> Path:
    """Fetched on first use."""
    folder = real / f"graphql-schema-{VERSION}"
    entry = folder / "node_modules" / PACKAGE / "schema.graphql"
    if entry.exists():
        return entry
    if not (shutil.which("npm") and shutil.which("node")):
        pytest.skip(f"npm and node are needed for {PACKAGE}")
    with installing(real):
        if not entry.exists():
            partial = real / f"{folder.name}.{os.getpid()}.partial"
            partial.mkdir()
            options = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(partial)]
            _npm(["install", *options, f"{PACKAGE}@{VERSION}"], partial, real)
            shutil.rmtree(folder, ignore_errors=True)
            partial.rename(folder)  # whole or not at all, should somebody stop us
    return entry
