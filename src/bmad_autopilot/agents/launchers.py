"""Launchers: the words before an agent's own that make it run elsewhere, and the words that stop it there."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..core.errors import UsageError
from ..project.custom import CustomLauncher
from ..project.placeholders import fill
from .shim.children import MARKER

MAX_WORD = 128 * 1024 - 1  # Linux: the longest single argument

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_ATTEMPT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Launcher(NamedTuple):
    name: str
    argv: tuple[str, ...]
    stop: tuple[str, ...] = ()  # (): our own script, started through the launcher
    quote: bool = False  # its words are joined for a shell on the far side
    variables: tuple[str, ...] = ()  # of the user's environment, for the launcher's program alone
    target: str = ""


# Ends every process whose environment holds the call's marker, in whatever group or session it is: asked first,
# killed after five seconds. Its own ancestors may carry the marker where the far side is this machine. One grep
# finds who comes into question, as busybox's cannot match lines that end in NUL.
_STOP = """\
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
# Each worktree has a container of its own, and `exec` alone would not start it. Standard input and output are the
# agent's.
_UP_FIRST = 'devcontainer up "$1" "$2" "$3" </dev/null >&2 && exec devcontainer exec "$@"'
_DEVCONTAINER = ("sh", "-c", _UP_FIRST, "devcontainer", *_IN_FOLDER)
_DOCKER = ("docker", "exec", "-i", "-w", "{worktree}", "{target}")
# No questions, no terminal, and nothing of ours forwarded, whatever the user's settings say.
_SSH = ("ssh", "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", "--", "{target}")

_DOCKER_VARIABLES = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")

PRESETS = {
    "devcontainer": Launcher(
        "devcontainer",
        _DEVCONTAINER,
        ("devcontainer", "exec", *_IN_FOLDER, "sh", "-c", _STOP, "stop", f"{MARKER}={{attempt}}"),
        variables=_DOCKER_VARIABLES,
    ),
    "docker": Launcher("docker", _DOCKER, variables=_DOCKER_VARIABLES),
    "ssh": Launcher("ssh", _SSH, quote=True, variables=("SSH_AUTH_SOCK",)),
}


def launcher_from(name: str, settings: CustomLauncher) -> Launcher:
    """The launcher of a [launchers.NAME] table: its kind's, with what the table replaces."""
    preset = PRESETS[settings.kind] if settings.kind else Launcher(name, ())
    return preset._replace(
        name=name,
        argv=settings.argv or preset.argv,
        # The kind's own stop goes where the kind's own words go.
        stop=settings.stop or (() if settings.argv else preset.stop),
        target=settings.target or "",
    )


def launch(
    launcher: Launcher,
    call: Sequence[str],
    *,
    worktree: str,
    name: str,
    attempt: str,
    environment: Mapping[str, str],
) -> tuple[str, ...]:
    """The whole command. `environment` goes to the far side and is seen by everybody who may list processes, here
    and there: nothing secret."""
    place = _place(launcher, worktree, name, attempt)
    pairs = []
    for variable, value in {**environment, MARKER: attempt}.items():
        if not _VARIABLE.fullmatch(variable) or "\0" in value:
            raise UsageError("this cannot be an environment variable", found=variable[:60])
        pairs.append(f"{variable}={value}")
    if not call or "=" in call[0]:
        raise UsageError("`env` would not take this for a program", found=str(call[:1]))
    return _behind(launcher, place, ("env", *pairs, *call))


def stop_argv(launcher: Launcher, *, worktree: str, name: str, attempt: str) -> tuple[str, ...]:
    """What ends this call on the far side. Doing it twice does no harm."""
    place = _place(launcher, worktree, name, attempt)
    if launcher.stop:
        return _filled(launcher.stop, place)
    return _behind(launcher, place, ("sh", "-c", _STOP, "stop", f"{MARKER}={attempt}"))


def _behind(launcher: Launcher, place: Mapping[str, str], words: tuple[str, ...]) -> tuple[str, ...]:
    before = _filled(launcher.argv, place)
    if not launcher.quote:
        return (*before, *words)
    line = f"cd {shlex.quote(place['worktree'])} && exec {shlex.join(words)}"
    if len(line.encode("utf-8", "surrogateescape")) > MAX_WORD:
        expected = f"at most {MAX_WORD // 1024} kB in one word"
        raise UsageError(f"the command is too long for {launcher.name}", expected=expected)
    return (*before, line)


def _filled(words: tuple[str, ...], place: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(fill(word, place.__getitem__) for word in words)


def _place(launcher: Launcher, worktree: str, name: str, attempt: str) -> dict[str, str]:
    """The values of the placeholders, checked: they become parts of other programs' arguments."""
    if not _NAME.fullmatch(name):
        raise UsageError("the instance has a name that cannot be used", found=name[:60])
    if not _ATTEMPT.fullmatch(attempt):
        raise UsageError("the attempt has an id that cannot be used", found=attempt[:60])
    if not os.path.isabs(worktree) or "\0" in worktree:
        raise UsageError("the worktree must be an absolute path", found=worktree[:60])
    return {"worktree": worktree, "name": name, "attempt": attempt, "target": launcher.target}
