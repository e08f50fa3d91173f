"""The programs around us: Python, git, node, uv."""

import re
import sys

from ...project.programs import Answer, Question, find_program
from ...views.doctor import Check, State
from ...views.terminal import clean, cut

LEAST_PYTHON = (3, 11)
LEAST_GIT = (2, 30)

QUESTIONS = {
    "git": Question(("git", "--version"), own_environment=True),
    "node": Question(("node", "--version")),
    "npm": Question(("npm", "--version")),
    "uv": Question(("uv", "--version")),
}
Answers = dict[str, Answer]


def check_tools(answers: Answers, *, needs_uv: bool) -> list[Check]:
    checks = [python(), git(answers), node(answers), uv(answers, needed=needs_uv)]
    return [check for check in checks if check is not None]


def python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < LEAST_PYTHON:
        return Check("python", State.FAIL, f"{version}, but 3.11 is needed", "install it with a newer Python")
    return Check("python", State.OK, version)


def git(answers: Answers) -> Check:
    answer = answers.get("git")
    if answer is None:
        return Check("git", State.FAIL, "not found on PATH", "install git: https://git-scm.com/downloads")
    version = version_of(answer)
    if not answer.ok or version is None:
        return Check("git", State.FAIL, f"{find_program('git')}: {said(answer)}", "git --version")
    if version < LEAST_GIT:
        found = f"{said(answer)}, but 2.30 is needed"
        return Check("git", State.FAIL, found, "install a newer git: https://git-scm.com/downloads")
    return Check("git", State.OK, said(answer))


def node(answers: Answers) -> Check:
    found = [f"{name} {said(answers[name])}" for name in ("node", "npm") if name in answers]
    if len(found) == 2:
        return Check("node", State.NOTE, ", ".join(found))
    lacking = "no npm" if found else "not found on PATH"
    return Check("node", State.NOTE, f"{lacking}: BMAD's installer needs it", "install Node: https://nodejs.org")


def uv(answers: Answers, *, needed: bool) -> Check | None:
    answer = answers.get("uv")
    if answer is not None and answer.ok:
        return Check("uv", State.OK if needed else State.NOTE, said(answer))
    if not needed:
        return None
    found = f"uv: {said(answer)}" if answer else "not found on PATH, and bmad-build-auto stops without it"
    return Check("uv", State.FAIL, found, "install uv: https://docs.astral.sh/uv/getting-started/installation/")


def said(answer: Answer) -> str:
    """The first line of what a program answered, fit for a terminal, or why there is no answer."""
    if not answer.ok:
        return cut(clean(answer.why), 120)
    line = next((line.strip() for line in answer.out.splitlines() if line.strip()), "")
    return cut(clean(line), 80) or "(no version given)"


def version_of(answer: Answer) -> tuple[int, ...] | None:
    match = re.search(r"(\d{1,4})\.(\d{1,4})", answer.out[:1000])
    return tuple(map(int, match.groups())) if match else None
