"""Environment variables that lead the real gh and the real git to the fake GitHub instead of github.com."""

import shlex
import sys
from pathlib import Path

PUSHED_PATH = "/simulator/pushed"

# Notifies the server at once, so that each push has its own time. A stopped server must not make git fail.
_NOTIFY_SCRIPT = (
    "import socket, sys; line = socket.socket(socket.AF_UNIX); line.settimeout(10); line.connect(sys.argv[1]); "
    f"line.sendall(b'GET {PUSHED_PATH} HTTP/1.0\\r\\nAuthorization: token x\\r\\n\\r\\n'); line.recv(64)"
)


def fake_ssh(root: Path, socket: Path | None = None) -> Path:
    """A script for GIT_SSH_COMMAND: `git@github.com:acme/widgets.git` becomes `root/acme/widgets.git`.
    `socket`: notified of pushes; without it the server sees them at the next request."""
    command = [sys.executable, "-ISc", _NOTIFY_SCRIPT, str(socket)]
    notify = f"{shlex.join(command)} 2>/dev/null" if socket else ":"
    lines = [
        "#!/bin/sh",
        "for last; do :; done",
        f"cd {shlex.quote(str(root))} || exit 1",
        'eval "$last"',
        "code=$?",
        f'case "$last" in git-receive-pack*) {notify} ;; esac',
        "exit $code",
    ]
    script = root / "fake-ssh"
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    script.chmod(0o755)
    return script


def gh_config(folder: Path, socket: Path) -> dict[str, str]:
    """Environment variables that make gh use the socket instead of the network."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["version: 1", f"http_unix_socket: {socket}", "prompt: disabled", ""]
    (folder / "config.yml").write_text("\n".join(lines), encoding="utf-8")
    return {"GH_CONFIG_DIR": str(folder), "GH_TOKEN": "simulated", "XDG_CACHE_HOME": str(folder / "cache")}


def ssh_environment(root: Path, socket: Path | None = None) -> dict[str, str]:
    return {"GIT_SSH_COMMAND": shlex.quote(str(fake_ssh(root, socket))), "GIT_SSH_VARIANT": "simple"}
