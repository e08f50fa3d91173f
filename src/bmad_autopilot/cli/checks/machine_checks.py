"""Checks of the machine: Python, git, node, uv, the name `bmad`, agent CLIs and the repository."""

import os
import re
import shlex
import shutil
import sys

from ...agents.registry import PACKAGES, PROGRAMS
from ...core.errors import FileError
from ...core.text import printable
from ...io.files import read_bytes, read_text
from ...io.processes import Probe, ProcessOutput, find_all_programs, find_program
from ...project.config import Config, CustomAgent
from ...project.git_excludes import KEPT_CONFIG, STATE_FILES, find_state_file
from ...project.project import Project
from ...project.root import CONFIG_NAME, MAX_GIT_FILE, Root, WorkTree, find_work_tree
from ...views.doctor import CheckState, DoctorCheck
from ...views.terminal import cut
from ...workflows.workflow import Workflow

MIN_PYTHON = (3, 11)
MIN_GIT = (2, 30)

TOOL_QUESTIONS = {
    "git": Probe(("git", "--version"), inherits_environment=True),
    "node": Probe(("node", "--version")),
    "npm": Probe(("npm", "--version")),
    "uv": Probe(("uv", "--version")),
}
Answers = dict[str, ProcessOutput]


def check_tools(answers: Answers, *, needs_uv: bool) -> list[DoctorCheck]:
    checks = [check_python(), check_git(answers), check_node(answers), check_uv(answers, needed=needs_uv)]
    return [check for check in checks if check is not None]


def check_python() -> DoctorCheck:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MIN_PYTHON:
        return DoctorCheck(
            "python", CheckState.FAIL, f"{version}, but 3.11 is needed", "install it with a newer Python"
        )
    return DoctorCheck("python", CheckState.OK, version)


def check_git(answers: Answers) -> DoctorCheck:
    answer = answers.get("git")
    if answer is None:
        return DoctorCheck(
            "git", CheckState.FAIL, "not found on PATH", "install git: https://git-scm.com/downloads"
        )
    version = version_of(answer)
    if not answer.ok or version is None:
        return DoctorCheck(
            "git", CheckState.FAIL, f"{find_program('git')}: {answer_text(answer)}", "git --version"
        )
    if version < MIN_GIT:
        found = f"{answer_text(answer)}, but 2.30 is needed"
        return DoctorCheck("git", CheckState.FAIL, found, "install a newer git: https://git-scm.com/downloads")
    return DoctorCheck("git", CheckState.OK, answer_text(answer))


def check_node(answers: Answers) -> DoctorCheck:
    found = [f"{name} {answer_text(answers[name])}" for name in ("node", "npm") if name in answers]
    if len(found) == 2:
        return DoctorCheck("node", CheckState.NOTE, ", ".join(found))
    lacking = "no npm" if found else "not found on PATH"
    return DoctorCheck(
        "node", CheckState.NOTE, f"{lacking}: BMAD's installer needs it", "install Node: https://nodejs.org"
    )


def check_uv(answers: Answers, *, needed: bool) -> DoctorCheck | None:
    answer = answers.get("uv")
    if answer is not None and answer.ok:
        return DoctorCheck("uv", CheckState.OK if needed else CheckState.NOTE, answer_text(answer))
    if not needed:
        return None
    found = f"uv: {answer_text(answer)}" if answer else "not found on PATH, and bmad-build-auto stops without it"
    return DoctorCheck(
        "uv", CheckState.FAIL, found, "install uv: https://docs.astral.sh/uv/getting-started/installation/"
    )


def answer_text(answer: ProcessOutput) -> str:
    """The first line of a program's output, sanitised and cut, or why there is none."""
    if not answer.ok:
        return cut(printable(answer.reason), 120)
    line = next((line.strip() for line in answer.text.splitlines() if line.strip()), "")
    return cut(printable(line), 80) or "(no version given)"


def version_of(answer: ProcessOutput) -> tuple[int, ...] | None:
    match = re.search(r"(\d{1,4})\.(\d{1,4})", answer.text[:1000])
    return tuple(map(int, match.groups())) if match else None


# The name `bmad`: npm's bmad-method installs a program of the same name.

_HEAD = 4096


def check_name() -> DoctorCheck:
    found = find_all_programs("bmad")
    if not found:
        return DoctorCheck("name bmad", CheckState.NOTE, "not on PATH", "put the folder of our scripts on PATH")
    theirs = [path for path in found if not _is_ours(path)]
    if theirs and theirs[0] == found[0]:
        owner = "npm's bmad-method" if _is_npm(theirs[0]) else "another program"
        return DoctorCheck("name bmad", CheckState.WARN, f"{theirs[0]} is {owner}", "call ours bmad-autopilot")
    if theirs:
        what = f"{found[0]} is ours and hides {theirs[0]}"
        return DoctorCheck("name bmad", CheckState.NOTE, what, "for that one: npx bmad-method")
    return DoctorCheck("name bmad", CheckState.OK, found[0])


def _is_ours(path: str) -> bool:
    """Installers generate scripts that import our package in their first lines."""
    try:
        return b"bmad_autopilot" in read_bytes(path, head=_HEAD)
    except FileError:
        return False


def _is_npm(path: str) -> bool:
    real = os.path.realpath(path)
    return "bmad-method" in real or "node_modules" in real


# Agent CLIs: those the workflow's steps use are required, others are only listed.

AGENT_QUESTIONS = {program: Probe((program, "--version")) for program in PROGRAMS.values()}


def agents_needed(config: Config, workflow: Workflow) -> list[str]:
    """The agents of the workflow's steps and their fallbacks, without duplicates."""
    steps = (*workflow.steps, workflow.fix)
    return list(dict.fromkeys(agent for step in steps for agent in config.agents_of(step.role)))


def check_agents(answers: dict[str, ProcessOutput], needed: list[str], project: Project) -> list[DoctorCheck]:
    custom = project.config.agents
    here = [agent for agent, program in PROGRAMS.items() if program in answers and answers[program].ok]
    others = [agent for agent, program in PROGRAMS.items() if agent not in needed and program in answers]
    return [
        *(
            _check_custom_agent(agent, custom[agent], project.root.path)
            if agent in custom
            else _check_builtin_agent(agent, answers.get(PROGRAMS[agent]), here)
            for agent in needed
        ),
        *(
            DoctorCheck(f"agent {agent}", CheckState.NOTE, answer_text(answers[PROGRAMS[agent]]))
            for agent in others
        ),
    ]


def _check_custom_agent(agent: str, settings: CustomAgent, folder: str) -> DoctorCheck:
    """Only looks for the program. A custom command is not started: it may do anything."""
    name = f"agent {agent}"
    program = "sh" if settings.shell else settings.command[0]
    found = shutil.which(os.path.join(folder, program)) if os.sep in program else find_program(program)
    if found is None:
        where = f"in {folder}" if os.sep in program else "on PATH"
        return DoctorCheck(
            name, CheckState.FAIL, f"{program} not found {where}", f"see [agents.{agent}] in {CONFIG_NAME}"
        )
    return DoctorCheck(name, CheckState.OK, found)


def _check_builtin_agent(agent: str, answer: ProcessOutput | None, here: list[str]) -> DoctorCheck:
    name = f"agent {agent}"
    if answer is None:
        fix = PACKAGES[agent].install
        if here:
            fix += f'\nor use the one that is here: agent = "{here[0]}" in {CONFIG_NAME}'
        return DoctorCheck(name, CheckState.FAIL, f"{PROGRAMS[agent]} not found on PATH", fix)
    if not answer.ok:
        found = f"{find_program(PROGRAMS[agent])}: {answer_text(answer)}"
        return DoctorCheck(name, CheckState.FAIL, found, f"{PROGRAMS[agent]} --version")
    return DoctorCheck(name, CheckState.OK, answer_text(answer))


# The git repository: identity, operations in progress, committed state files.

REPOSITORY_QUESTIONS = {
    "repository": Probe(("git", "rev-parse", "--is-inside-work-tree"), inherits_environment=True),
    "user.name": Probe(("git", "config", "user.name"), inherits_environment=True),
    "user.email": Probe(("git", "config", "user.email"), inherits_environment=True),
    "state files": Probe(
        ("git", "ls-files", "-z", "--", *(entry.pathspec for entry in (*STATE_FILES, KEPT_CONFIG))),
        inherits_environment=True,
    ),
}
_GIT_OPERATIONS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
MOST_SHOWN = 5


def ignored_question(paths: list[str]) -> Probe:
    return Probe(("git", "-c", "core.quotePath=false", "check-ignore", "--", *paths), inherits_environment=True)


def check_repository(root: Root, answers: dict[str, ProcessOutput]) -> list[DoctorCheck]:
    try:
        tree = find_work_tree(root.checkout)
    except FileError as error:
        return [DoctorCheck("repository", CheckState.FAIL, str(error), "git worktree repair")]
    if tree is None:
        found = f"{root.path} is under no git repository"
        return [DoctorCheck("repository", CheckState.FAIL, found, f"git init {shlex.quote(root.path)}")]
    answer = answers.get("repository")
    if answer is None:
        return []  # no git: reported by its own check
    if not answer.ok:
        return [_repository_refused(root, answer)]
    return [_check_head(tree), _identity(answers), *_state_files(answers.get("state files"))]


def _repository_refused(root: Root, answer: ProcessOutput) -> DoctorCheck:
    fix = f"git -C {shlex.quote(root.checkout)} status"
    if "safe.directory" in answer.err:  # another user owns it
        fix = f"git config --global --add safe.directory {shlex.quote(root.checkout)}"
    return DoctorCheck("repository", CheckState.FAIL, answer_text(answer), fix)


def _check_head(tree: WorkTree) -> DoctorCheck:
    for name, what in _GIT_OPERATIONS.items():
        if os.path.lexists(f"{tree.git_dir}/{name}"):
            fix = f"git {what} --continue, or git {what} --abort"
            return DoctorCheck("repository", CheckState.WARN, f"a {what} is under way in {tree.top}", fix)
    try:
        head = read_text(f"{tree.git_dir}/HEAD", limit=MAX_GIT_FILE).text.strip()
    except FileError as error:
        return DoctorCheck("repository", CheckState.WARN, str(error), "git status")
    if not head.startswith("ref: "):
        return DoctorCheck("repository", CheckState.WARN, f"HEAD is detached at {head[:10]}", "git switch BRANCH")
    return DoctorCheck(
        "repository", CheckState.OK, f"{tree.top} on {head[len('ref: ') :].removeprefix('refs/heads/')}"
    )


def _identity(answers: dict[str, ProcessOutput]) -> DoctorCheck:
    values = {}
    for key, variable in (("user.name", "GIT_COMMITTER_NAME"), ("user.email", "GIT_COMMITTER_EMAIL")):
        answer = answers.get(key)
        values[key] = os.environ.get(variable) or (answer_text(answer) if answer and answer.ok else "")
    missing = [key for key, value in values.items() if not value]
    if missing:
        fix = "\n".join(f'git config --global {key} "…"' for key in missing)
        return DoctorCheck(
            "git identity", CheckState.FAIL, f"{' and '.join(missing)} not set: commits would fail", fix
        )
    return DoctorCheck("git identity", CheckState.OK, f"{values['user.name']} <{values['user.email']}>")


def _state_files(answer: ProcessOutput | None) -> list[DoctorCheck]:
    if answer is None or not answer.ok:
        why = answer_text(answer) if answer else "not asked"
        return [DoctorCheck("state files", CheckState.WARN, f"git ls-files: {why}", "git status")]
    tracked = [path for path in answer.text.split("\0") if path]
    if not tracked:
        return [DoctorCheck("state files", CheckState.OK, "none is committed")]
    entries = dict.fromkeys(filter(None, map(find_state_file, tracked)))
    specs = [shlex.quote(entry.pathspec) for entry in entries]
    shown = ", ".join(tracked[:MOST_SHOWN]) + (" …" if len(tracked) > MOST_SHOWN else "")
    kept = (
        f" {shlex.quote(KEPT_CONFIG.pathspec)}" if any(entry.pathspec == ".autopilot" for entry in entries) else ""
    )
    fix = f"git rm -r --cached -- {' '.join(specs)}{kept} && bmad init"
    found = f"{len(tracked)} committed, though they belong to one machine: {shown}"
    return [DoctorCheck("state files", CheckState.WARN, found, fix)]


def check_ignored(answer: ProcessOutput | None) -> list[DoctorCheck]:
    """Ignored BMAD files are missing in every new worktree."""
    if answer is None or not answer.ok:
        return []
    names = dict.fromkeys(path.partition("/")[0] for path in answer.text.splitlines() if path)
    found = f"git ignores BMAD's files in {', '.join(names)}: a new worktree has none of it and must be seeded"
    return [DoctorCheck("worktrees", CheckState.NOTE, found, "commit them, or copy them into each worktree")]
