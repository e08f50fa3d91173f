"""git's view of the project: the repository, who commits, what is under way, what it should not have."""

import os
import shlex

from ...core.errors import FileError
from ...files import read_text
from ...project.gitdir import MAX_GIT_FILE, WorkTree, find_work_tree
from ...project.programs import Answer, Question
from ...project.root import Root
from ...project.state_files import KEPT, STATE_FILES, owner_of
from ...views.doctor import Check, State
from .tools import said

QUESTIONS = {
    "repository": Question(("git", "rev-parse", "--is-inside-work-tree"), own_environment=True),
    "user.name": Question(("git", "config", "user.name"), own_environment=True),
    "user.email": Question(("git", "config", "user.email"), own_environment=True),
    "state files": Question(
        ("git", "ls-files", "-z", "--", *(entry.pathspec for entry in (*STATE_FILES, KEPT))), own_environment=True
    ),
}
_UNDER_WAY = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
MOST_SHOWN = 5


def ask_ignored(paths: list[str]) -> Question:
    return Question(("git", "-c", "core.quotePath=false", "check-ignore", "--", *paths), own_environment=True)


def check_repository(root: Root, answers: dict[str, Answer]) -> list[Check]:
    try:
        tree = find_work_tree(root.checkout)
    except FileError as error:
        return [Check("repository", State.FAIL, str(error), "git worktree repair")]
    if tree is None:
        found = f"{root.path} is under no git repository"
        return [Check("repository", State.FAIL, found, f"git init {shlex.quote(root.path)}")]
    answer = answers.get("repository")
    if answer is None:
        return []  # no git at all, which has its own line
    if not answer.ok:
        return [_refused(root, answer)]
    return [_head(tree), _identity(answers), *_state_files(answers.get("state files"))]


def _refused(root: Root, answer: Answer) -> Check:
    fix = f"git -C {shlex.quote(root.checkout)} status"
    if "safe.directory" in answer.err:  # another user owns it
        fix = f"git config --global --add safe.directory {shlex.quote(root.checkout)}"
    return Check("repository", State.FAIL, said(answer), fix)


def _head(tree: WorkTree) -> Check:
    for name, what in _UNDER_WAY.items():
        if os.path.lexists(f"{tree.git_dir}/{name}"):
            fix = f"git {what} --continue, or git {what} --abort"
            return Check("repository", State.WARN, f"a {what} is under way in {tree.top}", fix)
    try:
        head = read_text(f"{tree.git_dir}/HEAD", limit=MAX_GIT_FILE).text.strip()
    except FileError as error:
        return Check("repository", State.WARN, str(error), "git status")
    if not head.startswith("ref: "):
        return Check("repository", State.WARN, f"HEAD is detached at {head[:10]}", "git switch BRANCH")
    return Check("repository", State.OK, f"{tree.top} on {head[len('ref: ') :].removeprefix('refs/heads/')}")


def _identity(answers: dict[str, Answer]) -> Check:
    values = {}
    for key, variable in (("user.name", "GIT_COMMITTER_NAME"), ("user.email", "GIT_COMMITTER_EMAIL")):
        answer = answers.get(key)
        values[key] = os.environ.get(variable) or (said(answer) if answer and answer.ok else "")
    missing = [key for key, value in values.items() if not value]
    if missing:
        fix = "\n".join(f'git config --global {key} "…"' for key in missing)
        return Check("git identity", State.FAIL, f"{' and '.join(missing)} not set: commits would fail", fix)
    return Check("git identity", State.OK, f"{values['user.name']} <{values['user.email']}>")


def _state_files(answer: Answer | None) -> list[Check]:
    if answer is None or not answer.ok:
        why = said(answer) if answer else "not asked"
        return [Check("state files", State.WARN, f"git ls-files: {why}", "git status")]
    tracked = [path for path in answer.out.split("\0") if path]
    if not tracked:
        return [Check("state files", State.OK, "none is committed")]
    entries = dict.fromkeys(filter(None, map(owner_of, tracked)))
    specs = [shlex.quote(entry.pathspec) for entry in entries]
    shown = ", ".join(tracked[:MOST_SHOWN]) + (" …" if len(tracked) > MOST_SHOWN else "")
    kept = f" {shlex.quote(KEPT.pathspec)}" if any(entry.pathspec == ".autopilot" for entry in entries) else ""
    fix = f"git rm -r --cached -- {' '.join(specs)}{kept} && bmad init"
    found = f"{len(tracked)} committed, though they belong to one machine: {shown}"
    return [Check("state files", State.WARN, found, fix)]


def check_ignored(answer: Answer | None) -> list[Check]:
    """BMAD's own files that git ignores are missing in each new worktree."""
    if answer is None or not answer.ok:
        return []
    names = dict.fromkeys(path.partition("/")[0] for path in answer.out.splitlines() if path)
    found = f"git ignores BMAD's files in {', '.join(names)}: a new worktree has none of it and must be seeded"
    return [Check("worktrees", State.NOTE, found, "commit them, or copy them into each worktree")]
