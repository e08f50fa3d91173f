"""What `bmad autopilot --parallel N` says of itself: how many agents, where they work, and what holds them up."""

import os

from ..board.dependencies import ORDER
from ..engine.autopilot.budgets import Bounds
from ..engine.autopilot.wishes import Wishes
from ..github.git import Git
from ..github.worktrees.naming import worktrees_folder
from ..project.open import Project
from .facts import Facts


def at_once(facts: Facts, wishes: Wishes) -> str:
    """`facts`: with the settings that count."""
    if not wishes.parallel:
        return ""
    project = facts.project
    many = "one agent" if wishes.parallel == 1 else f"up to {wishes.parallel} agents at once"
    told = f"{many}, each epic in a worktree below {_folder(project)}"
    if wishes.parallel == 1 or project.config.dependencies != ORDER:
        return told
    return f'{told}; dependencies = "order": one epic is developed at a time{_gain(facts, wishes)}'


def _folder(project: Project) -> str:
    own = project.config.worktrees.folder
    tree = Git(project.root.checkout).work_tree
    if own is not None or tree is None:
        return own or "the checkout's neighbour"
    return os.path.relpath(worktrees_folder(tree, own), project.root.path)


def _gain(facts: Facts, wishes: Wishes) -> str:
    from ..core.commands import command
    from ..views.plan import duration
    from .epic_plan import epic_plan

    view = epic_plan(facts, wishes.patterns, wishes.parallel)
    asks = command("plan", "--parallel", str(wishes.parallel), *wishes.patterns)
    if view.declared is None:
        return f" ({asks})"
    seconds = duration(view.declared.seconds), duration(view.seconds.middle)
    return f'; with "declared" about {seconds[0]} instead of {seconds[1]} ({asks})'


def bounds_told(bounds: Bounds) -> str:
    cost = f"--max-cost {bounds.dollars:g}" if bounds.dollars is not None else ""
    tokens = f"--max-tokens {bounds.tokens}" if bounds.tokens is not None else ""
    named = ", ".join(filter(None, (cost, tokens, bounds.clock)))
    return f"{named}: then no more calls are started, and all is left paused" if named else ""
