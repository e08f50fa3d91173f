"""The project's own commands for a new worktree, such as `npm ci`: run until they have come to their end once."""

import os
import shlex
import shutil

from ...core.commands import command as bmad
from ...core.errors import AutopilotError, Place
from ...files import write_atomic
from ...project.programs import (
    Venv,
    find_program,
    installs_python_packages,
    read_venv,
    venv_places,
    write_venv,
)
from .marks import Mark, write_mark
from .site import Site

LOGS = "bmad-autopilot-post-create"  # a folder in the worktree's own git folder
MAX_SAID = 2000


def prepare(site: Site, folder: str, admin: str, mark: Mark) -> Mark:
    commands = site.settings.post_create or ()
    checkout = site.root_in(folder).checkout
    needs_venv = installs_python_packages(commands, site.others, checkout)
    is_new = needs_venv and _make_venv(site, checkout, admin, mark)
    if (mark.prepared == commands and not is_new) or not commands:
        return mark
    for number, line in enumerate(commands, 1):
        logs = os.path.join(admin, LOGS, f"{number:02}")
        ran = site.run(shlex.split(line), checkout, logs)
        if ran.code != 0:
            how = "was stopped at its time limit" if ran.code is None else f"ended with exit code {ran.code}"
            raise AutopilotError(
                f"`{line}` {how} in the worktree of {mark.epic}\n{_indented(ran.said)}".rstrip(),
                place=Place(ran.log),
                hint=f"mend it, or change `[worktrees] post_create`, then {bmad('autopilot')}",
            )
    prepared = mark._replace(prepared=commands)
    write_mark(admin, prepared)
    return prepared


def lacks_venv(site: Site, folder: str, admin: str) -> bool:
    """Whether the worktree needs a virtual environment and has none: an earlier version made it, or an agent has
    removed it."""
    checkout = site.root_in(folder).checkout
    if not installs_python_packages(site.settings.post_create or (), site.others, checkout):
        return False
    return not _is_there(read_venv(admin, checkout))


def _is_there(venv: Venv | None) -> bool:
    return venv is not None and venv.is_whole and os.path.isfile(os.path.join(venv.folder, "pyvenv.cfg"))


def _make_venv(site: Site, checkout: str, admin: str, mark: Mark) -> bool:
    """Make the worktree's own virtual environment; False: it is there. Without one, the commands would install
    into the environment that is active: the user's, and the same for all lanes. The record is written first and
    completed last, so that half of one is made anew."""
    known, (inside, apart) = read_venv(admin, checkout), venv_places(admin, checkout)
    if _is_there(known):
        return False
    if known is not None and os.path.isdir(known.folder) and not os.path.islink(known.folder):
        shutil.rmtree(known.folder)
    # Something of that name that is not ours, such as a copy of the user's, is left alone.
    venv = Venv(apart if os.path.lexists(inside) else inside, False)
    write_venv(admin, checkout, venv)
    python = find_program("python3") or find_program("python")
    if python is None:
        raise _no_venv(mark, "    python3 is not installed, or not on PATH", None)
    ran = site.run((python, "-m", "venv", venv.folder), checkout, os.path.join(admin, LOGS, "venv"))
    if ran.code != 0:
        raise _no_venv(mark, _indented(ran.said), ran.log)
    write_atomic(os.path.join(venv.folder, ".gitignore"), b"*\n", durable=False)
    write_venv(admin, checkout, venv._replace(is_whole=True))
    return True


def _no_venv(mark: Mark, why: str, log: str | None) -> AutopilotError:
    return AutopilotError(
        f"no virtual environment could be made for the worktree of {mark.epic}, and nothing was installed\n{why}",
        place=Place(log) if log else None,
        hint="install the venv module (Debian and Ubuntu: apt install python3-venv), then "
        f"{bmad('autopilot')}; or set `[worktrees] post_create = []` to install nothing",
    )


def _indented(said: str) -> str:
    lines = [line.rstrip() for line in said[-MAX_SAID:].splitlines() if line.strip()]
    return "\n".join(f"    {line}" for line in lines[-5:])
