"""A scripted agent as a program of its own: `python -m bmad_autopilot.sim.agent --habit NAME < prompt`."""

import json
import os
import sys
import time

from ..core.errors import AutopilotError, UsageError
from .desk import Job
from .folder_desk import FolderDesk
from .habits import HABITS, Habit
from .prompt_reading import read_prompt, step_of

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
    job = job._replace(attempt=max(job.attempt, _count(folder, job)))
    habit = choose(options.get("--habit", "honest"), job.story)
    desk = FolderDesk(folder)
    lines = _PROGRESS.get(step_of(prompt), ("Looking around",))
    pause = _seconds(options.get("--seconds", "0")) / (len(lines) + 1)
    for line in lines:
        sys.stdout.write(f"{line}: {job.story}\n")
        sys.stdout.flush()
        time.sleep(pause)
    ending = habit(desk, job)
    time.sleep(pause)
    is_done = ending.outcome == "completed"
    (sys.stdout if is_done else sys.stderr).write(f"{desk.said if is_done else ending.outcome}\n")
    spend = {"total_cost_usd": ending.dollars, "usage": {"output_tokens": ending.tokens}}
    sys.stdout.write(f"{json.dumps(spend)}\n")
    return 0 if is_done else 1


def choose(habits: str, story: str) -> Habit:
    """Of `honest,picky:1-2-x,asking:1-3` the one for this story; a story may be named by the start of its key."""
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


def _count(folder: str, job: Job) -> int:
    """Which call of this step it is. Nobody tells an agent: it keeps count where no work tree shows it."""
    place = os.path.join(folder, ".git")
    if os.path.isfile(place):
        with open(place, encoding="utf-8") as file:
            place = os.path.join(folder, file.read(4096).strip().removeprefix("gitdir: "))
    if not os.path.isdir(place):
        return 1
    counts = os.path.join(place, "scripted-agent")
    os.makedirs(counts, exist_ok=True)
    name = f"{job.step}-{job.story}".replace("/", "-")[:200]
    with open(os.path.join(counts, name), "ab") as file:
        file.write(b".")
        return file.tell()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
