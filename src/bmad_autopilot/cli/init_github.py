"""bmad init --github: the auto-approve workflow and its gate script, at the top of the work tree."""

import os
from collections.abc import Iterator

from ..project.gitdir import find_work_tree
from ..project.root import Root
from .writing import KEPT, REFUSED, Outcome, put


def auto_approve_outcomes(root: Root, *, dry_run: bool) -> Iterator[Outcome]:
    """Both or none: a workflow that runs somebody else's script would be worse than no workflow."""
    from ..github.auto_approve import auto_approve_files

    tree = find_work_tree(root.path)
    if tree is None:
        yield Outcome(REFUSED, os.path.join(root.path, ".github"), "there is no git repository here")
        return
    texts = {os.path.join(tree.top, file.path): file.text.encode() for file in auto_approve_files()}
    planned = [_put(path, text, tree.top, dry_run=True) for path, text in texts.items()]
    in_the_way = [outcome for outcome in planned if outcome.what in (KEPT, REFUSED)]
    if in_the_way or dry_run:
        yield from map(_said, in_the_way or planned)
        return
    for path, text in texts.items():
        yield _said(_put(path, text, tree.top, dry_run=False))


def _put(path: str, text: bytes, top: str, *, dry_run: bool) -> Outcome:
    from ..github.auto_approve import is_ours

    return put(path, lambda _: text, inside=top, ours=is_ours, dry_run=dry_run)


def _said(outcome: Outcome) -> Outcome:
    """It was asked for by name: a file that stays as it is, is no success."""
    why = "it is there and not ours: move it away first"
    return outcome._replace(what=REFUSED, why=why) if outcome.what == KEPT else outcome


def auto_approve_needs() -> str:
    from ..github.auto_approve import SETTING

    place, _, switch = SETTING.rpartition(" → ")
    return (
        "it works once both files are on the default branch, with one setting on GitHub:\n"
        f"  {place} →\n    {switch}\n"
        "it approves pull requests from feature/epic-… that are ten minutes old,\n"
        "reviewed by Copilot, without an open thread, and green; never a change to\n"
        "workflows or to itself. With that setting on, anybody who can push a branch can\n"
        "have it approved: let code owners see .github/ where not all of them are trusted"
    )
