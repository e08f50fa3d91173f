"""The way of finished epics to GitHub: the remote, the host that it is on, gh and its login. The host is judged by
its name and by what gh knows: nobody is contacted who may have nothing to do with GitHub."""

from typing import NamedTuple

from ...core.errors import AutopilotError
from ...github.gh_remote import SETTING, Address, find_address
from ...github.git import Git
from ...project.open import Project
from ...project.programs import Answer, Question, find_program
from ...views.doctor import Check, State
from .tools import said, version_of

LEAST_GH = (2, 23)
_INSTALL = "install gh: https://cli.github.com"


class Way(NamedTuple):
    """How far it can be told from here."""

    remote: str
    address: Address | None = None
    problem: AutopilotError | None = None


def way_of(project: Project) -> Way | None:
    """None: finished epics are merged here."""
    if project.config.delivery == "local":
        return None
    way = Way(project.config.github.remote)
    git = Git(project.root.checkout)
    try:
        return way if git.work_tree is None else way._replace(address=find_address(git, way.remote))
    except AutopilotError as problem:
        return way._replace(problem=problem)


def questions(way: Way | None) -> dict[str, Question]:
    if way is None:
        return {}
    host = ("--hostname", way.address.host) if way.address else ()
    return {
        "gh": Question(("gh", "--version"), own_environment=True),
        "gh auth": Question(("gh", "auth", "status", *host), own_environment=True),
    }


def check_delivery(way: Way | None, answers: dict[str, Answer]) -> list[Check]:
    """Only what goes to GitHub needs any of it: warnings, no failures."""
    return [] if way is None else [*_remote(way), *_gh(way, answers.get("gh"), answers.get("gh auth"))]


def _remote(way: Way) -> list[Check]:
    if way.problem is not None:
        return [Check("remote", State.WARN, way.problem.message, way.problem.hint)]
    if way.address is None:
        return []  # no repository, which has its own line
    host, owner, name = way.address
    return [Check("remote", State.OK, f"{way.remote} is {owner}/{name} on {host}")]


def _gh(way: Way, answer: Answer | None, auth: Answer | None) -> list[Check]:
    if answer is None or auth is None:
        return [Check("gh", State.WARN, "not found on PATH: no pull requests without it", _INSTALL)]
    version = version_of(answer)
    if not answer.ok or version is None:
        return [Check("gh", State.WARN, f"{find_program('gh')}: {said(answer)}", "gh --version")]
    if version < LEAST_GH:
        return [Check("gh", State.WARN, f"{said(answer)}, but 2.23 is needed", _INSTALL)]
    return [Check("gh", State.OK, said(answer)), _login(way.address.host if way.address else "", auth)]


def _login(host: str, auth: Answer) -> Check:
    """gh's words may hold parts of a token: only the exit code is used."""
    to = f" to {host}" if host else ""
    if auth.problem:
        return Check("gh login", State.WARN, f"gh auth status: {auth.problem}", "gh auth status")
    if auth.ok:
        return Check("gh login", State.OK, f"logged in{to}")
    fix = "gh auth login" if host in ("", "github.com") else f"gh auth login --hostname {host}\n{SETTING}"
    return Check("gh login", State.WARN, f"not logged in{to}", fix)
