"""What a lane's worktree is called, and where it lies: never inside the checkout, where tools would walk into it
and take the packages of the folder above."""

import os
import re
from hashlib import sha256

from ...core.errors import AutopilotError, Place
from ...project.gitdir import WorkTree

_PLAIN = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,58}[a-z0-9_-])?")
_DIGEST = 8
_DIGESTED = re.compile(rf".*-[0-9a-f]{{{_DIGEST}}}", re.DOTALL)
_SLUG = 48


def folder_name(epic: str, part: str = ".") -> str:
    """No two epics have the same, whatever their keys hold, also where capitals count for nothing. `part`: the
    project's folder below git's top, because another project of the repository has an epic 1 as well."""
    key = epic if part == "." else f"{part}/{epic}"
    if _PLAIN.fullmatch(key) and not _DIGESTED.fullmatch(key):
        return key
    slug = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:_SLUG].strip("-")
    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{slug or 'epic'}-{digest}"


def worktrees_folder(tree: WorkTree, setting: str | None) -> str:
    """Beside the main checkout, or where the settings say."""
    named = os.path.expanduser(setting) if setting is not None else f"{tree.top}.worktrees"
    folder = os.path.realpath(os.path.join(tree.top, named))
    for inside in (tree.top, tree.common_dir):
        if folder == inside or folder.startswith(f"{inside}/"):
            raise AutopilotError(
                "`worktrees.folder` lies inside the checkout",
                place=Place(folder),
                expected="a folder beside it",
                hint="take the setting out, or name a folder elsewhere",
            )
    return folder
