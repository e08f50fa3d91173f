"""Fails when a tracked file contains a path or a package index of this machine."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
PUBLIC_HOSTS = {"pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "localhost", "127.0.0.1"}
MAX_BYTES = 4_000_000
_URL = re.compile(r"https?://[^\s'\"]+")


def main() -> int:
    needles = {*_folders(), *_index_hosts()}
    found = [hit for path in _files() for hit in _hits(path, needles)]
    for hit in found:
        print(hit, file=sys.stderr)
    return 1 if found else 0


def _files() -> list[Path]:
    """Tracked files, and untracked ones that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    return [ROOT / os.fsdecode(name) for name in listed.split(b"\0") if name]


def _hits(path: Path, needles: set[str]) -> Iterator[str]:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES:
        return
    text = path.read_text("utf-8", errors="replace")
    for needle in needles:
        if needle in text:
            line = text.count("\n", 0, text.index(needle)) + 1
            yield f"{path.relative_to(ROOT)}:{line}: names this machine: {needle}"


def _folders() -> Iterator[str]:
    home = os.path.expanduser("~")
    if home not in ("/", "~"):
        yield f"{home}/"
    # Not for a repository at `/src`: that text occurs everywhere.
    if len(ROOT.parts) > 2:
        yield str(ROOT)


def _index_hosts() -> Iterator[str]:
    """Host names only; other parts of the URL, such as credentials, are not read."""
    commands = [[sys.executable, "-m", "pip", "config", "list"]]
    if shutil.which("npm"):
        commands.append(["npm", "config", "get", "registry"])
    texts = [subprocess.run(command, capture_output=True, text=True, check=False).stdout for command in commands]
    texts += [value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "NPM_CONFIG_"))]
    for url in _URL.findall("\n".join(texts)):
        host = urlsplit(url).hostname
        if host and host not in PUBLIC_HOSTS:
            yield host


if __name__ == "__main__":
    raise SystemExit(main())
