"""The project's own commands for a new worktree, such as `npm ci`: run until they have come to their end once."""

import os
import shlex

from ...core.commands import command as bmad
from ...core.errors import AutopilotError, Place
from .marks import Mark, write_mark
from .site import Site

LOGS = "bmad-autopilot-post-create"  # a folder in the worktree's own git folder
MAX_SAID = 2000


def prepare(site: Site, folder: str, admin: str, mark: Mark) -> Mark:
    commands = site.settings.post_create or ()
    if mark.prepared == commands or not commands:
        return mark
    for number, line in enumerate(commands, 1):
        logs = os.path.join(admin, LOGS, f"{number:02}")
        ran = site.run(shlex.split(line), site.root_in(folder).checkout, logs)
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


def _indented(said: str) -> str:
    lines = [line.rstrip() for line in said[-MAX_SAID:].splitlines() if line.strip()]
    return "\n".join(f"    {line}" for line in lines[-5:])
