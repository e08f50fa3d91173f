"""Batches delivered as epics are: a branch each, side by side where asked for, merged as the settings say."""

import os

from ...board.sprint import board_from_text, read_board
from ...core.errors import EXIT_DONE, EXIT_FAILED, EXIT_HUMAN, EXIT_INTERRUPTED, AutopilotError
from ...core.statuses import DONE, PARKED, UNKNOWN
from ...files import Text
from ...github.branches import Branches
from ...github.git import Git
from ...github.history import branch_of
from ...github.trees import read_file
from ...project.open import Project
from ..autopilot.preflight import base_of
from ..autopilot.supervising import autopilot
from ..autopilot.wishes import Wishes
from ..delivery.plan import LOCAL
from ..onlookers import Human, Told
from ..policy import with_policy
from ..world.delivery import ForgeMaker

_STATUSES = {EXIT_FAILED: "failed", EXIT_HUMAN: "waiting", EXIT_INTERRUPTED: "left"}


def deliver_batches(
    project: Project, wishes: Wishes, *, told: Told, human: Human | None, forge: ForgeMaker | None
) -> tuple[str, str]:
    """How it ended before its end, and why; empty: all that could be delivered is in the base, and checked out."""
    project = with_policy(project, told)
    git = Git(project.root.checkout)
    branches = Branches(git, project.config.github.remote)
    base = base_of(branches, project.config)
    missing = _not_there(project, git, branches, base)
    if missing:
        return "waiting", missing
    end = autopilot(project, wishes, told=told, human=human, forge=forge)
    if end.exit_code != EXIT_DONE:
        asked = next((f"{held.lane.key}: {held.why}" for held in end.lanes if held.why), "")
        return _STATUSES.get(end.exit_code, "failed"), end.met or end.why or asked
    return _brought_here(project, git, branches, base)


def _head(project: Project, branches: Branches, base: str) -> str:
    """Where the next batch would begin."""
    return branches.head_of(base) if project.config.delivery == LOCAL else branches.fetch(base)[base]


def _not_there(project: Project, git: Git, branches: Branches, base: str) -> str:
    """Batches begin from the base: rows that it does not have yet would never be begun."""
    path = os.path.relpath(os.path.realpath(project.require_board()), git.top)
    head = _head(project, branches, base)
    raw = read_file(git, head, path) if head else None
    there = board_from_text(Text(path, raw)).rows if raw is not None else {}
    here = read_board(project.require_board()).rows
    missing = [key for key, row in here.items() if key not in there and row.meaning not in (DONE, PARKED, UNKNOWN)]
    if not missing:
        return ""
    where = base if project.config.delivery == LOCAL else f"{project.config.github.remote}/{base}"
    return f"the plan of the tasks is not on {where} yet ({missing[0]} …): merge or push this branch, then go on"


def _brought_here(project: Project, git: Git, branches: Branches, base: str) -> tuple[str, str]:
    """The base is checked out with what was merged, so that the tasks' files and report come on top of it."""
    head, here = _head(project, branches, base), branches.head_of(base)
    try:
        if head != here and branches.contains(head, here):
            branches.move(base, head, here)
        if branch_of(git) != base:
            branches.switch(base)
    except AutopilotError as error:
        return "waiting", f"all is merged; bring {base} here, then go on: {error.message}"
    if not branches.contains(branches.head_of(base), head):
        return "waiting", f"all is merged; {base} here has commits of its own: git pull, then go on"
    return "", ""
