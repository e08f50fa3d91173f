"""What an agent may run without asking: enough to really develop, and not what is ours to do.

Prefixes keep an agent from slips, not from malice: whoever may edit the project and run its tests can run
anything. A refusal in the middle of a call spoils the whole call, so whole programs are allowed rather than
a guess at their verbs, and what they must not do is denied."""

import os
import re
import shlex
from collections.abc import Iterable, Iterator

from ..core.errors import UsageError
from ..project.config import Commands
from .allowed_programs import DENIED, GIT, NUMBER_OF_WORDS, PROGRAMS_OF, READERS, RUNNERS, WRAPPERS
from .command_rules import covers
from .protocol import Permissions

MAX_COMMAND = 4000
MAX_ENTRIES = 5000
MAX_SCRIPTS = 100

_SIGNS = frozenset("();<>|&")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_PLAIN = re.compile(r"[\w@%+:./~=-]+", re.ASCII)  # a word that means itself in any client's rule
# The skills of ours that bring scripts: every version has them somewhere here.
_SCRIPT_FOLDERS = ("_bmad/scripts",)
_SKILL_FOLDERS = (".claude/skills", ".agents/skills", ".opencode/skills", ".cursor/skills", ".gemini/skills")
# 6.4 to 6.10 say python3, 6.11 and later `uv run`.
_SCRIPT_RUNNERS = ("python3", "uv run", "uv run --no-cache")


def permissions_for(
    commands: Commands, *, allow: Iterable[str], bypass: bool, is_root: bool, checkout: str
) -> Permissions:
    """`commands` are the project's, `allow` the user's own rules in the client's words."""
    if bypass and is_root:
        raise UsageError(
            "bypass_permissions does not work as root",
            found="bypass_permissions = true, and this is root",
            expected="an ordinary user, or a container around the agent",
            hint="run bmad as another user, give the role a launcher, or name commands in permissions.allow",
        )
    own = [prefix for command in _all(commands) for prefix in command_prefixes(command)]
    allowed = (*_git(checkout), *READERS, *own, *_programs(checkout), *_scripts(checkout))
    return Permissions(tuple(dict.fromkeys(allowed)), DENIED, tuple(allow), bypass)


def _all(commands: Commands) -> tuple[str, ...]:
    return (*((commands.install,) if commands.install else ()), *commands.check, *commands.test, *commands.build)


def _git(checkout: str) -> Iterator[str]:
    """Also as agents call it from elsewhere, and where they fear a pager."""
    ways = ("git", "git --no-pager", *((f"git -C {checkout}",) if _PLAIN.fullmatch(checkout) else ()))
    return (f"{way} {verb}" for way in ways for verb in GIT)


def command_prefixes(command: str) -> list[str]:
    """The beginnings of the simple commands in a line a person typed: `npm ci && npm run lint -- --fix` gives
    `npm ci` and `npm run lint`. A part that says too little to stand alone (`bash -c`) gives nothing."""
    lexer = shlex.shlex(command[:MAX_COMMAND], posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # a quote without its end
        return []
    simple: list[list[str]] = [[]]
    is_file = False  # the word behind a redirection
    for word in words:
        if not _SIGNS.issuperset(word):
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
    taken = words[: _number_of_words(words)]
    if not all(_PLAIN.fullmatch(word) for word in taken):
        return ""
    whole = " ".join(words)
    return "" if any(covers(denied, whole) for denied in DENIED) else " ".join(taken)


def _number_of_words(words: list[str]) -> int:
    """How many say what the command does; 0 where that cannot be told."""
    program = re.sub(r"(?<=[a-z])[\d.]+$", "", os.path.basename(words[0]))  # python3.12
    second = words[1] if len(words) > 1 else ""
    if program in RUNNERS:
        if second == "-m":
            return 3 if len(words) > 2 else 0
        return 2 if second and not second.startswith("-") else 0
    number = NUMBER_OF_WORDS.get(f"{program} {second}", NUMBER_OF_WORDS.get(program, 1))
    if any(word.startswith("-") for word in words[1:number]):
        return len(words)  # an option before the verb: only just this
    return number


def _programs(checkout: str) -> Iterator[str]:
    """The tools of the languages whose files lie at the top of the project."""
    names = _entries(checkout)
    endings = {f"*{os.path.splitext(name)[1]}" for name in names}
    for files, programs in PROGRAMS_OF.items():
        if not endings.union(names).isdisjoint(files.split()):
            yield from programs.split()


def _scripts(checkout: str) -> Iterator[str]:
    """What BMAD's skills tell an agent to run, by its full path and from the project's folder."""
    scripts = [f"{folder}/{name}" for folder in _SCRIPT_FOLDERS for name in _entries(f"{checkout}/{folder}")]
    for folder in _SKILL_FOLDERS:
        for skill in _entries(f"{checkout}/{folder}"):
            if skill.startswith("bmad-"):
                place = f"{folder}/{skill}/scripts"
                scripts += [f"{place}/{name}" for name in _entries(f"{checkout}/{place}")]
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
