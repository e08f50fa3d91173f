"""The scripted agent as a program: `python -m bmad_autopilot.sim.agent --habit NAME < prompt`."""

import json
import os
import re
import sys
import time

from ..core.errors import AutopilotError, UsageError
from .habits import HABITS, Habit
from .workspace import AgentJob, FolderWorkspace

# Reads the job from our prompt: its first line, its list of files and its quoted blocks.

_SKILLS = (
    ("build-auto", "build-auto"),
    ("dev-story", "dev"),
    ("code-review", "code-review"),
    ("retrospective", "retrospective"),
    ("create-story", "create-story"),
)
_OWN_PROMPTS = {"revise story": "revision", "fix story": "fix"}
_FIX_ISSUES_PHRASE = "stands in a pull request"
_POINT = re.compile(r"(T\d+)\b")
_FILE = re.compile(r"^- (story|epic|board|folder of such files): `([^`\n]+)`$", re.MULTILINE)
_BLOCK = re.compile(r"^([A-Z][^\n]{0,200}):\n(`{3,})text\n(.*?)\n\2$", re.MULTILINE | re.DOTALL)


def read_prompt(prompt: str, folder: str) -> AgentJob:
    """`folder`: the work tree; the job's paths are relative to it."""
    # The last match counts: quoted text comes before our own list of files.
    named = {match[1]: match[2] for match in _FILE.finditer(prompt)}
    story, board, files = (named.get(name, "") for name in ("story", "board", "folder of such files"))
    story = story or named.get("epic", "")
    if not (story and board and files) or "\0" in story + board + files:
        raise UsageError("a prompt that does not say which story it is about, or where its files are")
    blocks = [(match[1], match[3]) for match in _BLOCK.finditer(prompt)]
    return AgentJob(
        step_of(prompt),
        story,
        _relative(board, folder),
        _relative(files, folder),
        answers=tuple(
            answer for title, text in blocks if title.startswith("Question ") for answer in _answers(text)
        ),
        review=_join_blocks(blocks, "Its summary"),
        failure=_join_blocks(
            blocks, "What they printed", "What went wrong", "The check ", "What the project's own"
        ),
        points=tuple((match[1], f"{title}\n{text}") for title, text in blocks if (match := _POINT.match(title))),
    )


def _join_blocks(blocks: list[tuple[str, str]], *titles: str) -> str:
    return "\n".join(text for title, text in blocks if title.startswith(titles))


def step_of(prompt: str) -> str:
    first = prompt.lstrip().partition("\n")[0].lower()
    for words, step in _OWN_PROMPTS.items():
        if first.startswith(words):
            return step
    if _FIX_ISSUES_PHRASE in first:
        return "fix-issues"
    for skill, step in _SKILLS:
        if skill in first:
            return "validate" if step == "create-story" and re.search(r"\bvalidate\b", first) else step
    return "other"


def _answers(block: str) -> list[str]:
    return re.findall(r"^answered: ([^\n]+)$", block, re.MULTILINE)


def _relative(path: str, folder: str) -> str:
    """Resolves the path's folder, because the file may not exist yet."""
    whole = os.path.join(os.path.realpath(os.path.dirname(os.path.join(folder, path))), os.path.basename(path))
    return os.path.relpath(whole, os.path.realpath(folder))


MAX_PROMPT = 4 * 1024 * 1024
MAX_SECONDS = 24 * 3600.0
_USAGE = "python -m bmad_autopilot.sim.agent --habit NAME[,NAME:STORY…] [--seconds N] [--prompt-file FILE]"
_OPTIONS = ("--habit", "--seconds", "--prompt-file")
_PROGRESS = {
    "create-story": ("Reading the epic", "Writing the story file"),
    "dev": ("Reading the story", "Writing code and tests", "Running the tests"),
    "build-auto": ("Planning", "Writing code and tests", "Reviewing it", "Committing"),
    "code-review": ("Reading the diff", "Looking for what is missing", "Writing the verdict"),
}


def main(arguments: list[str]) -> int:
    try:
        options = _options(arguments)
        return _work(options, os.getcwd())
    except (AutopilotError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code if isinstance(error, AutopilotError) else 1


def _work(options: dict[str, str], folder: str) -> int:
    prompt = _prompt(options.get("--prompt-file"))
    job = read_prompt(prompt, folder)
    job = job._replace(attempt=max(job.attempt, _count_call(folder, job)))
    habit = choose_habit(options.get("--habit", "honest"), job.story)
    workspace = FolderWorkspace(folder)
    lines = _PROGRESS.get(step_of(prompt), ("Looking around",))
    pause = _seconds(options.get("--seconds", "0")) / (len(lines) + 1)
    for line in lines:
        sys.stdout.write(f"{line}: {job.story}\n")
        sys.stdout.flush()
        time.sleep(pause)
    ending = habit(workspace, job)
    time.sleep(pause)
    is_done = ending.outcome == "completed"
    (sys.stdout if is_done else sys.stderr).write(f"{workspace.final_message if is_done else ending.outcome}\n")
    spend = {"total_cost_usd": ending.dollars, "usage": {"output_tokens": ending.tokens}}
    sys.stdout.write(f"{json.dumps(spend)}\n")
    return 0 if is_done else 1


def choose_habit(habits: str, story: str) -> Habit:
    """The habit for this story in a list like `honest,picky:1-2-x,asking:1-3`; a story's number is enough."""
    chosen = "honest"
    for part in habits.split(","):
        name, _, which = part.strip().partition(":")
        if not which or story == which or story.startswith(f"{which}-"):
            chosen = name
        if name not in HABITS:
            raise UsageError("no such habit", found=name, expected=", ".join(HABITS))
    return HABITS[chosen]


def _options(arguments: list[str]) -> dict[str, str]:
    if len(arguments) % 2 or any(name not in _OPTIONS for name in arguments[::2]):
        raise UsageError("not understood", found=" ".join(arguments)[:200], expected=_USAGE)
    return dict(zip(arguments[::2], arguments[1::2], strict=True))


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MAX_SECONDS:
        raise UsageError("no number of seconds", found=text)
    return seconds


def _prompt(path: str | None) -> str:
    if path is None:
        return sys.stdin.buffer.read(MAX_PROMPT).decode("utf-8", "replace")
    with open(path, "rb") as file:
        return file.read(MAX_PROMPT).decode("utf-8", "replace")


def _count_call(folder: str, job: AgentJob) -> int:
    """The number of this call of the step. The prompt does not say it, so the agent counts inside the git
    directory, where no work tree shows it."""
    git_dir = os.path.join(folder, ".git")
    if os.path.isfile(git_dir):
        with open(git_dir, encoding="utf-8") as file:
            git_dir = os.path.join(folder, file.read(4096).strip().removeprefix("gitdir: "))
    if not os.path.isdir(git_dir):
        return 1
    counts = os.path.join(git_dir, "scripted-agent")
    os.makedirs(counts, exist_ok=True)
    name = f"{job.step}-{job.story}".replace("/", "-")[:200]
    with open(os.path.join(counts, name), "ab") as file:
        file.write(b".")
        return file.tell()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
