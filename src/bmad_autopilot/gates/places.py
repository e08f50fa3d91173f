"""Where the work went: the branch, the history, the inside of the work tree."""

from collections.abc import Iterator

from ..core.changes import Change, Kind
from ..project.state_files import owner_of
from .asked import names_path
from .globs import matches
from .look import WorkLook
from .objections import SHOWN, Objection, foul, listed

LINK = "120000"
SUBMODULE = "160000"
MAX_LINK = 4096


def misplaced(look: WorkLook) -> Iterator[Objection]:
    if not look.same_branch:
        yield foul("wrong-branch", "The work tree is on another branch than at the start. Go back to that branch.")
    if not look.descends:
        yield foul(
            "history-rewritten",
            "HEAD no longer descends from the story's baseline commit: commits were undone or rewritten.",
        )
    if look.outside:
        yield foul("outside-worktree", f"Files outside this work tree were changed: {listed(look.outside)}.")
    if look.users_files:
        yield foul(
            "users-files-committed",
            f"Commits of this attempt hold {listed(look.users_files)}, which had changes of the user's before it "
            "began. Take them out of the commits and leave them in the work tree as they are.",
        )
    links = [change.path for change in look.changes if change.mode == LINK and _leads_out(look, change)]
    if links:
        yield foul("link-outside", f"{listed(links)} is a link that leads out of the work tree.")
    if look.replaced:
        what = "; ".join(f"{listed([path])} was {found}" for path, found in look.replaced[:SHOWN])
        yield foul(
            "file-replaced",
            f"Files were replaced by something else: {what}. They were put back as they were before this call. "
            "Write into the file itself, and leave its folder in place.",
        )
    nested = [change.path for change in look.changes if _is_nested(look, change)]
    if nested:
        yield foul("nested-repository", f"{listed(nested)} is a git repository inside this one, new or moved.")
    tracked = [change.path for change in look.changes if _is_state(look, change)]
    if tracked:
        yield foul(
            "state-file-tracked",
            f"{listed(tracked)} is state of a run and must not be in git: `git rm --cached` it and leave it be.",
        )


def _leads_out(look: WorkLook, change: Change) -> bool:
    raw = look.contents(change.path, True)
    if raw is None or len(raw) > MAX_LINK:
        return True
    target = raw.decode("utf-8", "surrogateescape").replace("\\", "/")
    if target.startswith("/") or target[1:2] == ":":
        return True
    up = 0
    names = False
    for part in target.split("/"):
        if part == "..":
            # Behind a name it may be the parent of wherever that leads, as another link: who knows.
            if names:
                return True
            up += 1
        elif part == ".git":
            return True
        elif part not in ("", "."):
            names = True
    return up > change.path.count("/")


def _is_nested(look: WorkLook, change: Change) -> bool:
    if ".git" in change.path.lower().split("/"):
        return True
    if change.mode != SUBMODULE:
        return False
    return not matches(change.path, look.allowed) and not names_path(look.asked, change.path)


def _is_state(look: WorkLook, change: Change) -> bool:
    """New in git. A project may have committed such files before us: those may change."""
    if change.kind not in (Kind.ADDED, Kind.RENAMED):
        return False
    path = look.in_project(change.path)
    return owner_of(path) is not None and path != ".autopilot/config"
