"""The auto-approve workflow, where a project has it: is it whole, and does GitHub let it approve?"""

import json
import os

from ...core.errors import FileError
from ...files import read_bytes
from ...project.gitdir import find_work_tree
from ...project.programs import Answer, Question
from ...project.root import Root
from ...views.doctor import Check, State
from .tools import said

SETTING_QUESTION = "auto-approve setting"
_WORKFLOW = ".github/workflows/auto-approve.yml"
# gh fills in the repository, from the remotes of the folder it runs in.
_ASK = ("gh", "api", "repos/{owner}/{repo}/actions/permissions/workflow")


def questions(root: Root) -> dict[str, Question]:
    return {SETTING_QUESTION: Question(_ASK, own_environment=True)} if _top(root) else {}


def check_auto_approve(root: Root, answers: dict[str, Answer]) -> list[Check]:
    top = _top(root)
    if not top:
        return []
    return [_files(top), *_setting(answers.get(SETTING_QUESTION))]


def _top(root: Root) -> str:
    """Of a work tree with our workflow; empty where there is none, or somebody's own."""
    try:
        tree = find_work_tree(root.checkout)
        if tree is None or not os.path.isfile(f"{tree.top}/{_WORKFLOW}"):
            return ""
        from ...github.auto_approve import is_ours

        return tree.top if is_ours(read_bytes(f"{tree.top}/{_WORKFLOW}")) else ""
    except FileError:
        return ""


def _files(top: str) -> Check:
    from ...github.auto_approve import auto_approve_files

    old = []
    for file in auto_approve_files():
        try:
            if read_bytes(f"{top}/{file.path}") != file.text.encode():
                old.append(file.path)
        except FileError:
            old.append(file.path)
    if old:
        found = f"{' and '.join(old)} {'is' if len(old) == 1 else 'are'} not as this version has it"
        return Check("auto-approve", State.WARN, found, "bmad init --github")
    return Check("auto-approve", State.OK, "workflow and gate script are there")


def _setting(answer: Answer | None) -> list[Check]:
    from ...github.auto_approve import SETTING

    name = "auto-approve setting"
    if answer is None:
        return []  # no gh, which has its own line
    if not answer.ok:
        # Only an administrator may read it.
        return [Check(name, State.NOTE, f"not known: {said(answer)}", f"on GitHub: {SETTING}")]
    try:
        allowed = json.loads(answer.out)["can_approve_pull_request_reviews"]
    except (ValueError, KeyError, TypeError):
        return [Check(name, State.NOTE, "not known: gh's answer is not understood", f"on GitHub: {SETTING}")]
    if allowed is True:
        return [Check(name, State.OK, "GitHub Actions may approve pull requests")]
    found = "GitHub Actions may not approve pull requests: the workflow fails"
    return [Check(name, State.WARN, found, f"on GitHub: {SETTING}")]
