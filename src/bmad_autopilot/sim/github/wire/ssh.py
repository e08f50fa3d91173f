"""What the real gh and the real git need to find the simulated GitHub under its own name."""

import shlex
import sys
from pathlib import Path

PUSHED = "/simulator/pushed"

# Told at once, so that a push has its own time; a simulator that is gone is no reason for git to fail.
_NUDGE = (
    "import socket, sys; line = socket.socket(socket.AF_UNIX); line.settimeout(10); line.connect(sys.argv[1]); "
    f"line.sendall(b'GET {PUSHED} HTTP/1.0\\r\\nAuthorization: token x\\r\\n\\r\\n'); line.recv(64)"
)


def fake_ssh(root: Path, socket: Path | None = None) -> Path:
    """For GIT_SSH_COMMAND: `git@github.com:acme/widgets.git` is the bare repository `root/acme/widgets.git`.
    `socket`: where the simulator hears of pushes; without one it sees them when it next looks."""
    nudge = [sys.executable, "-ISc", _NUDGE, str(socket)]
    told = f"{shlex.join(nudge)} 2>/dev/null" if socket else ":"
    lines = [
        "#!/bin/sh",
        "for last; do :; done",
        f"cd {shlex.quote(str(root))} || exit 1",
        'eval "$last"',
        "code=$?",
        f'case "$last" in git-receive-pack*) {told} ;; esac',
        "exit $code",
    ]
    script = root / "fake-ssh"
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    script.chmod(0o755)
    return script


def gh_config(folder: Path, socket: Path) -> dict[str, str]:
    """The environment with which gh talks to the socket instead of to the network."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["version: 1", f"http_unix_socket: {socket}", "prompt: disabled", ""]
    (folder / "config.yml").write_text("\n".join(lines), encoding="utf-8")
    return {"GH_CONFIG_DIR": str(folder), "GH_TOKEN": "simulated", "XDG_CACHE_HOME": str(folder / "cache")}


def ssh_environment(root: Path, socket: Path | None = None) -> dict[str, str]:
    return {"GIT_SSH_COMMAND": shlex.quote(str(fake_ssh(root, socket))), "GIT_SSH_VARIANT": "simple"}
