"""Launchers run an agent's command in a container or on another machine, and stop it there."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..core.errors import UsageError
from ..io.patterns import fill_placeholders
from ..project.config import CustomLauncher
from .shim.process_tree import MARKER

MAX_ARGUMENT = 128 * 1024 - 1  # Linux: the longest single argument

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_ATTEMPT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Launcher(NamedTuple):
    name: str
    argv: tuple[str, ...]
    stop: tuple[str, ...] = ()  # (): our own script, started through the launcher
    quote: bool = False  # arguments are joined for a shell on the remote side
    variables: tuple[str, ...] = ()  # of the user's environment, only for the launcher's program
    target: str = ""


# Ends every process whose environment contains the call's marker, in any group or session: SIGTERM first, SIGKILL
# after five seconds. The script spares its own ancestors, which carry the marker if the remote side is this
# machine. A first grep selects candidates, because busybox's grep cannot match lines that end in NUL.
_STOP_SCRIPT = """\
[ -r /proc/self/environ ] || { echo "no /proc to look into" >&2; exit 1; }
mine=" "
pid=$$
while [ "${pid:-0}" -gt 1 ]; do
  mine="$mine$pid "
  pid=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$pid/status")
done
tell() {
  found=
  for file in $(LC_ALL=C grep -lF -e "$marker" /proc/[0-9]*/environ 2>/dev/null); do
    pid=${file#/proc/}
    pid=${pid%/environ}
    case $mine in *" $pid "*) continue ;; esac
    if { tr '\\n\\0' ' \\n' <"$file" | grep -qxF -e "$marker"; } 2>/dev/null; then
      found=1
      kill -s "$1" "$pid" 2>/dev/null
    fi
  done
}
marker=$1
tell TERM
for second in 1 2 3 4 5; do
  [ "$found" ] || exit 0
  sleep 1
  tell 0
done
for round in 1 2 3 4 5; do
  tell KILL
  [ "$found" ] || exit 0
done
sleep 1
tell 0
[ ! "$found" ]
"""

_IN_FOLDER = ("--workspace-folder", "{worktree}", "--mount-git-worktree-common-dir")
# Each worktree has its own container, which `exec` alone would not start. Standard input and output belong to the
# agent.
_UP_THEN_EXEC = 'devcontainer up "$1" "$2" "$3" </dev/null >&2 && exec devcontainer exec "$@"'
_DEVCONTAINER = ("sh", "-c", _UP_THEN_EXEC, "devcontainer", *_IN_FOLDER)
_DOCKER = ("docker", "exec", "-i", "-w", "{worktree}", "{target}")
# No prompts, no terminal, and no forwarding, whatever the user's ssh settings say.
_SSH = ("ssh", "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", "--", "{target}")

_DOCKER_VARIABLES = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")

PRESETS = {
    "devcontainer": Launcher(
        "devcontainer",
        _DEVCONTAINER,
        ("devcontainer", "exec", *_IN_FOLDER, "sh", "-c", _STOP_SCRIPT, "stop", f"{MARKER}={{attempt}}"),
        variables=_DOCKER_VARIABLES,
    ),
    "docker": Launcher("docker", _DOCKER, variables=_DOCKER_VARIABLES),
    "ssh": Launcher("ssh", _SSH, quote=True, variables=("SSH_AUTH_SOCK",)),
}


def launcher_from_settings(name: str, settings: CustomLauncher) -> Launcher:
    """The launcher of a [launchers.NAME] table: the preset of its kind, with the table's overrides."""
    preset = PRESETS[settings.kind] if settings.kind else Launcher(name, ())
    return preset._replace(
        name=name,
        argv=settings.argv or preset.argv,
        # The preset's stop command only fits the preset's argv.
        stop=settings.stop or (() if settings.argv else preset.stop),
        target=settings.target or "",
    )


def launch_argv(
    launcher: Launcher,
    call: Sequence[str],
    *,
    worktree: str,
    name: str,
    attempt: str,
    environment: Mapping[str, str],
) -> tuple[str, ...]:
    """The whole command. `environment` becomes part of the command line, visible to every user who may list
    processes on either side, so it must not contain secrets."""
    values = _placeholder_values(launcher, worktree, name, attempt)
    pairs = []
    for variable, value in {**environment, MARKER: attempt}.items():
        if not _VARIABLE.fullmatch(variable) or "\0" in value:
            raise UsageError("this cannot be an environment variable", found=variable[:60])
        pairs.append(f"{variable}={value}")
    if not call or "=" in call[0]:
        raise UsageError("`env` would not take this for a program", found=str(call[:1]))
    return _wrap(launcher, values, ("env", *pairs, *call))


def stop_argv(launcher: Launcher, *, worktree: str, name: str, attempt: str) -> tuple[str, ...]:
    """The command that stops this call on the remote side. It is idempotent."""
    values = _placeholder_values(launcher, worktree, name, attempt)
    if launcher.stop:
        return _fill_words(launcher.stop, values)
    return _wrap(launcher, values, ("sh", "-c", _STOP_SCRIPT, "stop", f"{MARKER}={attempt}"))


def _wrap(launcher: Launcher, values: Mapping[str, str], words: tuple[str, ...]) -> tuple[str, ...]:
    prefix = _fill_words(launcher.argv, values)
    if not launcher.quote:
        return (*prefix, *words)
    line = f"cd {shlex.quote(values['worktree'])} && exec {shlex.join(words)}"
    if len(line.encode("utf-8", "surrogateescape")) > MAX_ARGUMENT:
        expected = f"at most {MAX_ARGUMENT // 1024} kB in one word"
        raise UsageError(f"the command is too long for {launcher.name}", expected=expected)
    return (*prefix, line)


def _fill_words(words: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(fill_placeholders(word, values.__getitem__) for word in words)


def _placeholder_values(launcher: Launcher, worktree: str, name: str, attempt: str) -> dict[str, str]:
    """The placeholders' values, validated because they become parts of other programs' arguments."""
    if not _NAME.fullmatch(name):
        raise UsageError("the instance has a name that cannot be used", found=name[:60])
    if not _ATTEMPT.fullmatch(attempt):
        raise UsageError("the attempt has an id that cannot be used", found=attempt[:60])
    if not os.path.isabs(worktree) or "\0" in worktree:
        raise UsageError("the worktree must be an absolute path", found=worktree[:60])
    return {"worktree": worktree, "name": name, "attempt": attempt, "target": launcher.target}
