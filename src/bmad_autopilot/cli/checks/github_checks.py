"""Checks of GitHub delivery: the remote, gh, its login, and the auto-approve workflow. The host is judged by its
name and by gh's configuration: no host is contacted that may not be a GitHub."""

import json
import os
from typing import NamedTuple

from ...core.errors import AutopilotError, FileError
from ...git.git import Git
from ...github.gh_forge import SETTING, Address, find_address
from ...io.files import read_bytes
from ...io.processes import Probe, ProcessOutput, find_program
from ...project.project import Project
from ...project.root import Root, find_work_tree
from ...views.doctor import CheckState, DoctorCheck
from .machine_checks import answer_text, version_of

MIN_GH = (2, 23)
_INSTALL = "install gh: https://cli.github.com"


class GithubRoute(NamedTuple):
    """The remote finished epics are pushed to, as far as it can be resolved locally."""

    remote: str
    address: Address | None = None
    problem: AutopilotError | None = None


def github_route(project: Project) -> GithubRoute | None:
    """None: delivery is local."""
    if project.config.delivery == "local":
        return None
    route = GithubRoute(project.config.github.remote)
    git = Git(project.root.checkout)
    try:
        return route if git.work_tree is None else route._replace(address=find_address(git, route.remote))
    except AutopilotError as problem:
        return route._replace(problem=problem)


def delivery_questions(route: GithubRoute | None) -> dict[str, Probe]:
    if route is None:
        return {}
    host = ("--hostname", route.address.host) if route.address else ()
    return {
        "gh": Probe(("gh", "--version"), inherits_environment=True),
        "gh auth": Probe(("gh", "auth", "status", *host), inherits_environment=True),
    }


def check_delivery(route: GithubRoute | None, answers: dict[str, ProcessOutput]) -> list[DoctorCheck]:
    """Only warnings: everything except delivery works without GitHub."""
    return [] if route is None else [*_remote(route), *_gh(route, answers.get("gh"), answers.get("gh auth"))]


def _remote(route: GithubRoute) -> list[DoctorCheck]:
    if route.problem is not None:
        return [DoctorCheck("remote", CheckState.WARN, route.problem.message, route.problem.hint)]
    if route.address is None:
        return []  # no repository: reported by its own check
    host, owner, name = route.address
    return [DoctorCheck("remote", CheckState.OK, f"{route.remote} is {owner}/{name} on {host}")]


def _gh(route: GithubRoute, answer: ProcessOutput | None, auth: ProcessOutput | None) -> list[DoctorCheck]:
    if answer is None or auth is None:
        return [DoctorCheck("gh", CheckState.WARN, "not found on PATH: no pull requests without it", _INSTALL)]
    version = version_of(answer)
    if not answer.ok or version is None:
        return [DoctorCheck("gh", CheckState.WARN, f"{find_program('gh')}: {answer_text(answer)}", "gh --version")]
    if version < MIN_GH:
        return [DoctorCheck("gh", CheckState.WARN, f"{answer_text(answer)}, but 2.23 is needed", _INSTALL)]
    return [
        DoctorCheck("gh", CheckState.OK, answer_text(answer)),
        _login(route.address.host if route.address else "", auth),
    ]


def _login(host: str, auth: ProcessOutput) -> DoctorCheck:
    """Uses only the exit code: gh's output may contain parts of a token."""
    to = f" to {host}" if host else ""
    if auth.problem:
        return DoctorCheck("gh login", CheckState.WARN, f"gh auth status: {auth.problem}", "gh auth status")
    if auth.ok:
        return DoctorCheck("gh login", CheckState.OK, f"logged in{to}")
    fix = "gh auth login" if host in ("", "github.com") else f"gh auth login --hostname {host}\n{SETTING}"
    return DoctorCheck("gh login", CheckState.WARN, f"not logged in{to}", fix)


# The auto-approve workflow, if installed: its files, and GitHub's permission to approve.

SETTING_QUESTION = "auto-approve setting"
_WORKFLOW = ".github/workflows/auto-approve.yml"
# gh fills in the repository from the remotes of its working folder.
_SETTING_COMMAND = ("gh", "api", "repos/{owner}/{repo}/actions/permissions/workflow")


def auto_approve_questions(root: Root) -> dict[str, Probe]:
    return {SETTING_QUESTION: Probe(_SETTING_COMMAND, inherits_environment=True)} if _work_tree_top(root) else {}


def check_auto_approve(root: Root, answers: dict[str, ProcessOutput]) -> list[DoctorCheck]:
    top = _work_tree_top(root)
    if not top:
        return []
    return [_files(top), *_setting(answers.get(SETTING_QUESTION))]


def _work_tree_top(root: Root) -> str:
    """The top of a work tree that has our workflow; empty if it has none or a foreign one."""
    try:
        tree = find_work_tree(root.checkout)
        if tree is None or not os.path.isfile(f"{tree.top}/{_WORKFLOW}"):
            return ""
        from ...github.auto_approve import is_generated

        return tree.top if is_generated(read_bytes(f"{tree.top}/{_WORKFLOW}")) else ""
    except FileError:
        return ""


def _files(top: str) -> DoctorCheck:
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
        return DoctorCheck("auto-approve", CheckState.WARN, found, "bmad init --github")
    return DoctorCheck("auto-approve", CheckState.OK, "workflow and gate script are there")


def _setting(answer: ProcessOutput | None) -> list[DoctorCheck]:
    from ...github.auto_approve import SETTING

    name = "auto-approve setting"
    if answer is None:
        return []  # no gh: reported by its own check
    if not answer.ok:
        # Only an administrator may read this setting.
        return [DoctorCheck(name, CheckState.NOTE, f"not known: {answer_text(answer)}", f"on GitHub: {SETTING}")]
    try:
        allowed = json.loads(answer.text)["can_approve_pull_request_reviews"]
    except (ValueError, KeyError, TypeError):
        return [
            DoctorCheck(name, CheckState.NOTE, "not known: gh's answer is not understood", f"on GitHub: {SETTING}")
        ]
    if allowed is True:
        return [DoctorCheck(name, CheckState.OK, "GitHub Actions may approve pull requests")]
    found = "GitHub Actions may not approve pull requests: the workflow fails"
    return [DoctorCheck(name, CheckState.WARN, found, f"on GitHub: {SETTING}")]
