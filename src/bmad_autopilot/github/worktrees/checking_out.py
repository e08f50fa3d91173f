"""The files of a new worktree: those of its commit, those that LFS keeps, those of submodules."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from ...core.errors import AutopilotError
from ...project.programs import find_program
from ..git import Git
from ..paths import is_inside

SECONDS = 600.0

_GLOBS = {"GIT_LITERAL_PATHSPECS": "0"}
_POINTERS = ("filter.lfs.smudge=", "filter.lfs.process=", "filter.lfs.required=false")


def check_out(git: Git, held: int) -> list[str]:
    """All files of HEAD, and what there is to tell about them. `held`: a lock that git keeps while it writes."""
    without_lfs = _uses_lfs(git) and find_program("git-lfs") is None
    settings = _POINTERS if without_lfs else ()
    words = ("reset", "--hard", "--quiet", "--no-recurse-submodules")
    git.ask(*words, settings=settings, seconds=SECONDS, held=(held,))
    told = "git-lfs is not installed: the files that it keeps are pointers only"
    return [told] if without_lfs else []


def _uses_lfs(git: Git) -> bool:
    where = ("HEAD", "--", ":(glob)**/.gitattributes")
    return git.ask("grep", "-q", "-e", "filter=lfs", *where, codes=(0, 1), environment=_GLOBS).code == 0


class Submodule(NamedTuple):
    name: str
    path: str
    kept: str  # its repository in the main checkout's, where it is initialised there

    @property
    def is_kept(self) -> bool:
        return os.path.isfile(os.path.join(self.kept, "HEAD"))


def has_submodules(git: Git) -> bool:
    modules = os.path.join(git.top, ".gitmodules")
    return os.path.isfile(modules) and not os.path.islink(modules)


def submodules(git: Git) -> Iterator[Submodule]:
    """As `.gitmodules` names them. It is part of the tree, so anything may stand in it."""
    tree = git.work_tree
    if tree is None or not has_submodules(git):
        return
    ask = (
        "config",
        "-z",
        "--file",
        os.path.join(git.top, ".gitmodules"),
        "--get-regexp",
        r"^submodule\..*\.path$",
    )
    for field in git.ask(*ask, codes=(0, 1, 128)).fields:
        key, _, path = field.partition("\n")
        name = key.removeprefix("submodule.").removesuffix(".path")
        # In `-c submodule.NAME.url=…` the first = ends the name.
        if is_inside(name) and is_inside(path) and "=" not in name and "\n" not in name:
            yield Submodule(name, path, os.path.join(tree.common_dir, "modules", name))


def fill_submodules(git: Git, held: int) -> list[str]:
    """From the main checkout's own copies, without the network. What cannot be had so is told."""
    notes = []
    for module in submodules(git):
        if not module.is_kept:
            notes.append(f"submodule {module.path}: not initialised in the main checkout, so left empty")
            continue
        try:
            _fill(git, module, held)
        except AutopilotError as error:
            notes.append(f"submodule {module.path}: left as it is: {error.message}")
            continue
        if os.path.isfile(os.path.join(git.top, module.path, ".gitmodules")):
            notes.append(f"submodule {module.path}: its own submodules are left empty")
    return notes


def _fill(git: Git, module: Submodule, held: int) -> None:
    settings = ("protocol.file.allow=always", f"submodule.{module.name}.url={module.kept}")
    # Borrowed objects would be gone with the main checkout's next clean-up, hence --dissociate.
    options = ("--init", "--checkout", "--quiet", "--reference", module.kept, "--dissociate")
    update = ("submodule", *("update", *options), "--", module.path)
    git.ask(*update, settings=settings, pinned=False, seconds=SECONDS, held=(held,))
    config = os.path.join(module.kept, "config")
    url = git.ask("config", "--file", config, "remote.origin.url", codes=(0, 1)).text
    if url:
        Git(os.path.join(git.top, module.path)).ask("config", "remote.origin.url", url)


def lost_commits(git: Git) -> list[str]:
    """The submodules whose commits would be gone with the worktree: no copy in the main checkout has them."""
    return [module.path for module in submodules(git) if _holds_more(git, module)]


def _holds_more(git: Git, module: Submodule) -> bool:
    folder = os.path.join(git.top, module.path)
    if not os.path.lexists(os.path.join(folder, ".git")):
        return False
    own = Git(folder)
    heads = own.ask("for-each-ref", "--format=%(objectname)", "refs/heads/", "refs/stash").text.split()
    heads += own.ask("rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)).text.split()
    if not heads:
        return False
    if not module.is_kept:
        return True
    # Told apart by `missing`: what is not there is no error.
    ask = ("--git-dir", module.kept, "cat-file", "--batch-check")
    answer = git.ask(*ask, feed="".join(f"{sha}\n" for sha in heads).encode(), pinned=False)
    return any(line.endswith(" missing") for line in answer.text.splitlines())
