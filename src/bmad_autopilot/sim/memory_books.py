"""Where one story is written about, found in a dictionary of files as the engine finds it on disk."""

import re
from functools import lru_cache

from ..board.story_names import Matcher
from ..core.keys import identify
from ..gates.look import Document
from ..workflows.contract import agent_state, review_file, threads_file
from .memory_git import Files, MemoryGit
from .sample import PLANNING

EPICS = f"{PLANNING}/epics.md"


class MemoryBooks:
    def __init__(self, git: MemoryGit, folder: str, board: str) -> None:
        self._git = git
        self.folder = folder
        self.board = board
        self.dirty: tuple[str, ...] = ()  # what was changed before the run began
        self._known: dict[tuple[str, bool], list[str]] = {}
        self._listed = -1

    def story(self, key: str) -> str | None:
        """The path of the story's own file, also under another slug or in a folder below."""
        usual = f"{self.folder}/{key}.md"
        if usual in self._git.files:
            return usual
        return next(iter(self._matching(key, spec=False)), None)

    def spec(self, key: str) -> str | None:
        return next(iter(self._matching(key, spec=True)), None)

    def _matching(self, key: str, *, spec: bool) -> list[str]:
        """Looked for anew only when a file has come or gone."""
        if self._listed != self._git.listing:
            self._listed, self._known = self._git.listing, {}
        found = self._known.get((key, spec))
        if found is None:
            pages = (path for path in self._git.files if path.startswith(self.folder) and path.endswith(".md"))
            found = self._known[key, spec] = sorted(path for path in pages if _is_about(path, key, spec))
        return found

    def state(self, key: str) -> str:
        return _beside(self.folder, key)[0]

    def review(self, key: str) -> str:
        return _beside(self.folder, key)[1]

    def threads(self, key: str) -> str:
        """What became of each point of a pull request's reviewers."""
        return threads_file(self.folder, key)

    def apart(self, key: str) -> list[str]:
        """What may change without the code having changed."""
        found = (self.board, self.story(key), self.spec(key), f"{self.folder}/deferred-work.md", *self.dirty)
        return [path for path in found if path]

    def document(self, path: str | None) -> Document | None:
        raw = self._git.files.get(path or "")
        return Document(path, raw) if path and raw is not None else None


@lru_cache(maxsize=8192)
def _beside(folder: str, key: str) -> tuple[str, str]:
    return agent_state(folder, key), review_file(folder, key)


@lru_cache(maxsize=8192)
def number_of(key: str) -> str:
    return identify([key])[key].number


@lru_cache(maxsize=65536)
def _is_about(path: str, key: str, spec: bool) -> bool:
    stem = path.rpartition("/")[2][:-3]
    if stem.startswith("spec-") is not spec:
        return False
    matcher = Matcher({key: number_of(key)})
    stem = stem.removeprefix("spec-")
    return matcher.key(stem) is not None or bool(matcher.rows(matcher.number(stem) or ""))


def section_of(files: Files, number: str) -> str:
    """What the epics file says about a story."""
    return _section(files.get(EPICS, b""), number)


@lru_cache(maxsize=1024)
def _section(raw: bytes, number: str) -> str:
    text = raw.decode("utf-8", "replace")
    found = re.search(rf"^### Story {re.escape(number)}\b.*?(?=^#{{1,3}} |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[0] if found else ""
