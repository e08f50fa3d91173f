"""Derives which commands an agent may run without approval: enough to develop, but nothing that is ours to do.

Prefixes prevent mistakes, not malice: an agent that may edit the project and run its tests can run anything. A
refusal in the middle of a call ruins the whole call, so whole programs are allowed rather than a guess at their
subcommands, and what they must not do is denied."""

import os
import re
import shlex
from collections.abc import Iterable, Iterator

from ..core.errors import UsageError
from ..project.config import Commands
from .adapter import Permissions
from .command_rules import covers

# The allowed and denied commands as data: prefixes, compared word by word.

# Reading, and committing on the current branch. No other branch, no remote, no settings, nothing that loses work;
# no stash, which all worktrees of a repository share.
GIT_COMMANDS = (
    *("status", "diff", "log", "show", "blame", "grep", "ls-files", "ls-tree", "rev-parse", "rev-list"),
    *("merge-base", "describe", "shortlog", "cat-file", "diff-tree", "diff-index", "name-rev", "check-ignore"),
    *(
        "symbolic-ref --short HEAD",
        "branch --show-current",
        "branch --list",
        "branch -a",
        "branch -v",
        "tag --list",
    ),
    *("add", "commit", "mv", "rm", "restore", "checkout --", "apply", "--version"),
)

# No find, xargs, tee and env: one wrong argument runs, writes or deletes something outside the project.
READ_COMMANDS = (
    *("ls", "cat", "head", "tail", "wc", "grep", "egrep", "rg", "tree", "file", "stat", "du", "df", "pwd", "cd"),
    *(
        "diff",
        "cmp",
        "sort",
        "uniq",
        "cut",
        "tr",
        "nl",
        "comm",
        "column",
        "jq",
        "awk",
        "sed",
        "xxd",
        "od",
        "strings",
    ),
    *("echo", "printf", "true", "test", "seq", "date", "uname", "nproc", "id", "whoami", "printenv", "export"),
    *("which", "command -v", "type", "basename", "dirname", "realpath", "readlink", "sha256sum", "md5sum"),
    *("mkdir", "touch", "mktemp", "chmod +x"),
)

# Files at the top of a project, and the programs they imply.
PROGRAMS_BY_FILE = {
    "package.json": "npm npx node",
    "pnpm-lock.yaml pnpm-workspace.yaml": "pnpm",
    "yarn.lock .yarnrc.yml": "yarn",
    "bun.lock bun.lockb": "bun bunx",
    "tsconfig.json": "tsc",
    "deno.json deno.jsonc": "deno",
    "pyproject.toml setup.py setup.cfg requirements.txt Pipfile tox.ini": (
        "python python3 pip pip3 pytest ruff mypy black tox nox coverage .venv/bin/python .venv/bin/pip "
        ".venv/bin/pytest .venv/bin/ruff .venv/bin/mypy"
    ),
    "uv.lock": "uv",
    "poetry.lock": "poetry",
    "pdm.lock": "pdm",
    "Pipfile": "pipenv",
    "manage.py": "./manage.py",
    "Cargo.toml": "cargo rustc rustfmt",
    "go.mod go.work": "go gofmt golangci-lint",
    "pom.xml": "mvn",
    "mvnw": "./mvnw",
    "build.gradle build.gradle.kts settings.gradle settings.gradle.kts": "gradle",
    "gradlew": "./gradlew",
    "*.sln *.slnx *.csproj *.fsproj": "dotnet",
    "composer.json": "composer php vendor/bin/phpunit vendor/bin/phpstan vendor/bin/pest ./vendor/bin/phpunit",
    "Gemfile": "bundle rake rspec ruby bin/rails",
    "mix.exs": "mix",
    "pubspec.yaml": "dart flutter",
    "Package.swift": "swift",
    "CMakeLists.txt": "cmake ctest",
    "Makefile makefile GNUmakefile": "make",
    "justfile Justfile": "just",
    "Taskfile.yml Taskfile.yaml": "task",
    "nx.json": "nx",
    "turbo.json": "turbo",
}

# Interpreters: allowing the bare program would allow everything.
INTERPRETERS = frozenset(
    "python node ruby perl php bash sh zsh dash fish pwsh java tsx ts-node xargs parallel watch dotenv".split()
)
# Programs that only wrap another command, and the number of words they take.
WRAPPERS = {"env": 1, "time": 1, "nice": 1, "nohup": 1, "xvfb-run": 1, "timeout": 2}

# How many words identify what a command does, if it is more than the first.
PREFIX_LENGTHS = {
    **dict.fromkeys(
        "npm pnpm yarn bun npx pnpx bunx deno uv poetry pdm pipenv pip pip3 hatch cargo go".split(), 2
    ),
    **dict.fromkeys("mvn mvnw gradle gradlew dotnet composer mix bundle rake swift dart flutter".split(), 2),
    **dict.fromkeys("git gem lerna make just task nx turbo docker podman terraform".split(), 2),
    **{
        f"{program} run": 3 for program in ("npm", "pnpm", "yarn", "bun", "uv", "poetry", "pdm", "pipenv", "hatch")
    },
    **{f"{program} exec": 3 for program in ("npm", "pnpm", "yarn", "bundle")},
    **dict.fromkeys(("deno task", "docker compose", "corepack pnpm", "corepack yarn"), 3),
}

# Always denied, even under a bypass.
DENIED_COMMANDS = (
    *("git push", "git fetch", "git pull", "git remote", "git config", "git worktree", "git update-ref"),
    *("git reset --hard", "git clean", "git stash", "git switch", "git rebase", "git filter-branch", "git reflog"),
    *("git credential", "git submodule", "git send-email", "gh", "glab", "hub"),
    *("sudo", "su", "doas", "ssh", "scp", "sftp", "ssh-add"),
    *(
        f"{program} {verb}"
        for program in ("npm", "pnpm", "yarn", "bun")
        for verb in ("publish", "login", "logout")
    ),
    *("npm adduser", "npm unpublish", "npm token", "npm owner", "npm access", "npm dist-tag", "npm deprecate"),
    *("yarn npm publish", "yarn npm login", "deno publish", "lerna publish", "npx lerna publish"),
    *("uv publish", "uv auth", "poetry publish", "poetry config", "pdm publish", "hatch publish", "twine"),
    *("python -m twine", "python3 -m twine", "pip config", "pip3 config"),
    *("cargo publish", "cargo login", "cargo logout", "cargo owner", "cargo yank"),
    *("mvn deploy", "./mvnw deploy", "gradle publish", "./gradlew publish", "dotnet nuget push"),
    *("gem push", "gem signin", "mix hex.publish", "mix hex.user", "dart pub publish", "flutter pub publish"),
    *("docker push", "docker login", "podman push", "podman login"),
)


MAX_COMMAND = 4000
MAX_ENTRIES = 5000
MAX_SCRIPTS = 100

_OPERATORS = frozenset("();<>|&")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_PLAIN = re.compile(r"[\w@%+:./~=-]+", re.ASCII)  # a word without a special meaning in any client's rules
# Where the versions of BMAD put the scripts of their skills.
_SCRIPT_FOLDERS = ("_bmad/scripts",)
_SKILL_FOLDERS = (".claude/skills", ".agents/skills", ".opencode/skills", ".cursor/skills", ".gemini/skills")
# BMAD 6.4 to 6.10 use python3, 6.11 and later `uv run`.
_SCRIPT_RUNNERS = ("python3", "uv run", "uv run --no-cache")


def permissions_for(
    commands: Commands, *, allow: Iterable[str], bypass: bool, is_root: bool, checkout: str
) -> Permissions:
    """`commands` are the project's, `allow` the user's own rules in the client's syntax."""
    if bypass and is_root:
        raise UsageError(
            "bypass_permissions does not work as root",
            found="bypass_permissions = true, and this is root",
            expected="an ordinary user, or a container around the agent",
            hint="run bmad as another user, give the role a launcher, or name commands in permissions.allow",
        )
    own = [prefix for command in _project_commands(commands) for prefix in command_prefixes(command)]
    allowed = (
        *_git_prefixes(checkout),
        *READ_COMMANDS,
        *own,
        *_language_tools(checkout),
        *_skill_scripts(checkout),
    )
    return Permissions(tuple(dict.fromkeys(allowed)), DENIED_COMMANDS, tuple(allow), bypass)


def _project_commands(commands: Commands) -> tuple[str, ...]:
    return (*((commands.install,) if commands.install else ()), *commands.check, *commands.test, *commands.build)


def _git_prefixes(checkout: str) -> Iterator[str]:
    """Include the forms agents use from another folder (`-C`) and to avoid a pager."""
    ways = ("git", "git --no-pager", *((f"git -C {checkout}",) if _PLAIN.fullmatch(checkout) else ()))
    return (f"{way} {verb}" for way in ways for verb in GIT_COMMANDS)


def command_prefixes(command: str) -> list[str]:
    """The prefixes of the simple commands in a shell line: `npm ci && npm run lint -- --fix` gives `npm ci` and
    `npm run lint`. A part too general to allow on its own (`bash -c`) gives nothing."""
    lexer = shlex.shlex(command[:MAX_COMMAND], posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # a quote without its end
        return []
    simple: list[list[str]] = [[]]
    is_file = False  # the word after a redirection
    for word in words:
        if not _OPERATORS.issuperset(word):
            simple[-1] += [] if is_file else [word]
            is_file = False
        elif "<" in word or ">" in word:
            is_file = True
        else:
            simple.append([])
    prefixes = (_prefix(part) for part in simple)
    return list(dict.fromkeys(prefix for prefix in prefixes if prefix))


def _prefix(words: list[str]) -> str:
    while words and (_ASSIGNMENT.fullmatch(words[0]) or words[0] in WRAPPERS):
        words = words[WRAPPERS.get(words[0], 1) :]
    if not words or words[0] in ("cd", "export", "set", "source", ".") or words[0][:1] in "-0123456789":
        return ""
    prefix = words[: _prefix_length(words)]
    if not all(_PLAIN.fullmatch(word) for word in prefix):
        return ""
    whole = " ".join(words)
    return "" if any(covers(denied, whole) for denied in DENIED_COMMANDS) else " ".join(prefix)


def _prefix_length(words: list[str]) -> int:
    """How many words identify what the command does; 0 if that cannot be determined."""
    program = re.sub(r"(?<=[a-z])[\d.]+$", "", os.path.basename(words[0]))  # python3.12
    second = words[1] if len(words) > 1 else ""
    if program in INTERPRETERS:
        if second == "-m":
            return 3 if len(words) > 2 else 0
        return 2 if second and not second.startswith("-") else 0
    number = PREFIX_LENGTHS.get(f"{program} {second}", PREFIX_LENGTHS.get(program, 1))
    if any(word.startswith("-") for word in words[1:number]):
        return len(words)  # an option before the subcommand: allow exactly this command
    return number


def _language_tools(checkout: str) -> Iterator[str]:
    """The tools of the languages whose files are at the top of the project."""
    names = _entries(checkout)
    endings = {f"*{os.path.splitext(name)[1]}" for name in names}
    for files, programs in PROGRAMS_BY_FILE.items():
        if not endings.union(names).isdisjoint(files.split()):
            yield from programs.split()


def _skill_scripts(checkout: str) -> Iterator[str]:
    """The scripts that BMAD's skills tell an agent to run, by absolute path and relative to the project."""
    scripts = [f"{folder}/{name}" for folder in _SCRIPT_FOLDERS for name in _entries(f"{checkout}/{folder}")]
    for folder in _SKILL_FOLDERS:
        for skill in _entries(f"{checkout}/{folder}"):
            if skill.startswith("bmad-"):
                scripts_folder = f"{folder}/{skill}/scripts"
                scripts += [f"{scripts_folder}/{name}" for name in _entries(f"{checkout}/{scripts_folder}")]
    for script in [script for script in scripts if script.endswith(".py")][:MAX_SCRIPTS]:
        for path in (f"{checkout}/{script}", script):
            if _PLAIN.fullmatch(path):
                yield from (f"{runner} {path}" for runner in _SCRIPT_RUNNERS)


def _entries(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False))
    except OSError:
        return []
