"""The job in a prompt of ours, as any agent would understand it: from its first words, its list of files and the
parts that say what happened before."""

import os
import re

from ..core.errors import UsageError
from .desk import Job

_SKILLS = (
    ("build-auto", "build-auto"),
    ("dev-story", "dev"),
    ("code-review", "code-review"),
    ("retrospective", "retrospective"),
    ("create-story", "create-story"),
)
_OWN = {"revise story": "revision", "fix story": "fix"}
_PULL = "stands in a pull request"
_POINT = re.compile(r"(T\d+)\b")
_FILE = re.compile(r"^- (story|epic|board|folder of such files): `([^`\n]+)`$", re.MULTILINE)
_BLOCK = re.compile(r"^([A-Z][^\n]{0,200}):\n(`{3,})text\n(.*?)\n\2$", re.MULTILINE | re.DOTALL)


def read_prompt(prompt: str, folder: str) -> Job:
    """`folder`: the work tree, from whose top the job's paths go."""
    # The last ones count: what is quoted of others stands above our own list.
    named = {match[1]: match[2] for match in _FILE.finditer(prompt)}
    story, board, files = (named.get(name, "") for name in ("story", "board", "folder of such files"))
    story = story or named.get("epic", "")
    if not (story and board and files) or "\0" in story + board + files:
        raise UsageError("a prompt that does not say which story it is about, or where its files are")
    blocks = [(match[1], match[3]) for match in _BLOCK.finditer(prompt)]
    return Job(
        step_of(prompt),
        story,
        _relative(board, folder),
        _relative(files, folder),
        answers=tuple(
            answer for title, text in blocks if title.startswith("Question ") for answer in _answers(text)
        ),
        review=_joined(blocks, "Its summary"),
        failure=_joined(blocks, "What they printed", "What went wrong", "The check ", "What the project's own"),
        points=tuple((match[1], f"{title}\n{text}") for title, text in blocks if (match := _POINT.match(title))),
    )


def _joined(blocks: list[tuple[str, str]], *titles: str) -> str:
    return "\n".join(text for title, text in blocks if title.startswith(titles))


def step_of(prompt: str) -> str:
    first = prompt.lstrip().partition("\n")[0].lower()
    for words, step in _OWN.items():
        if first.startswith(words):
            return step
    if _PULL in first:
        return "fix-issues"
    for skill, step in _SKILLS:
        if skill in first:
            return "validate" if step == "create-story" and re.search(r"\bvalidate\b", first) else step
    return "other"


def _answers(block: str) -> list[str]:
    return re.findall(r"^answered: ([^\n]+)$", block, re.MULTILINE)


def _relative(path: str, folder: str) -> str:
    """A file need not be there yet, so its folder is what is looked at."""
    whole = os.path.join(os.path.realpath(os.path.dirname(os.path.join(folder, path))), os.path.basename(path))
    return os.path.relpath(whole, os.path.realpath(folder))
