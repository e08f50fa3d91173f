"""Git, the board and story paths in memory. A tree's hash is the sum of its files' digests, so that changing one
file costs one digest, whatever the size of the tree."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from ...board.sprint_status import Board, Row, board_from_text
from ...board.sprint_status_writer import add_row, change_status, find_cell
from ...board.story_file_names import StoryFileMatcher
from ...core.changes import ChangeKind, ContentReader, FileChange
from ...core.errors import FileError
from ...core.keys import identify
from ...gates.evidence import Document
from ...io.files import TextFile
from ...project.git_excludes import find_state_file
from ...workflows.contract import agent_state_path, review_path, threads_path
from ..sample import PLANNING

Files = Mapping[str, bytes]

LINK_PREFIX = b"\0link:"  # marks the content of a symbolic link; no text file starts like this
_MASK = (1 << 160) - 1


class MemoryCommit(NamedTuple):
    sha: str
    parent: str | None
    files: Files
    message: str
    key: str = ""  # of its trailer; empty if the commit is not ours


@lru_cache(maxsize=65536)
def _digest(path: str, data: bytes) -> int:
    return int.from_bytes(blake2b(path.encode() + b"\0" + data, digest_size=20).digest(), "big")


@lru_cache(maxsize=65536)
def is_ignored(path: str) -> bool:
    """Git ignores our state files and the paths in the sample's `.gitignore`."""
    return find_state_file(path) is not None or path.startswith("build/") or "__pycache__/" in path


def sha_of(number: int) -> str:
    """The sha of the nth commit; like git's, a short prefix is unique."""
    return blake2b(str(number).encode(), digest_size=20).hexdigest()


class MemoryRepository:
    """What the work trees of one repository share."""

    def __init__(self) -> None:
        self.commits: dict[str, MemoryCommit] = {}
        self.heads: dict[str, str] = {}  # of the branches that are not checked out
        self.trees: dict[str, Files] = {}  # by hash
        self.work_trees: list[MemoryGit] = []  # the main one first


class MemoryGit:
    """A repository with one work tree, or a further work tree of a repository."""

    def __init__(self, files: Files, branch: str = "main", repository: MemoryRepository | None = None) -> None:
        shared = repository or MemoryRepository()
        self._repository = shared
        self.files: dict[str, bytes] = {}
        self.listing_version = 0  # increases when a file is added or removed
        self.branch = branch
        self.commits = shared.commits
        self.head: str | None = None
        self.heads = shared.heads
        self.outside: dict[str, bytes] = {}  # written outside the work tree
        self._sum = 0
        self._trees = shared.trees
        shared.work_trees.append(self)
        if repository is not None:
            return
        for path, data in files.items():
            self.write(path, data)
        self.commit_files({}, "The beginning")
        self.commit_files(self.snapshot(), "The plan")

    # the work tree

    def write(self, path: str, data: bytes) -> None:
        if not is_ignored(path):
            self._sum += _digest(path, data) - self._current_digest(path)
        self.listing_version += path not in self.files
        self.files[path] = data

    def remove(self, path: str) -> None:
        if path in self.files and not is_ignored(path):
            self._sum -= self._current_digest(path)
        self.listing_version += path in self.files
        self.files.pop(path, None)

    def _current_digest(self, path: str) -> int:
        return _digest(path, self.files[path]) if path in self.files else 0

    def tree_hash(self) -> str:
        """The hash of the work tree; `files_at` returns its files from now on."""
        name = f"{self._sum & _MASK:040x}"
        if name not in self._trees:
            self._trees[name] = self.snapshot()
        return name

    def code_hash(self, excluded: Iterable[str]) -> str:
        """The tree hash without the excluded files."""
        return f"{(self._sum - sum(map(self._current_digest, set(excluded)))) & _MASK:040x}"

    def snapshot(self) -> Files:
        return {path: data for path, data in self.files.items() if not is_ignored(path)}

    def files_at(self, tree: str | None) -> Files:
        return self._trees.get(tree or "", {})

    # history

    def commit_files(self, files: Files, message: str, key: str = "") -> str:
        sha = sha_of(len(self.commits) + 1)
        self.commits[sha] = MemoryCommit(sha, self.head, files, message, key)
        self.head = sha
        return sha

    def commit_paths(self, paths: Iterable[str], message: str, key: str) -> str:
        files = dict(self.head_files)
        for path in paths:
            if path in self.files and not is_ignored(path):
                files[path] = self.files[path]
            else:
                files.pop(path, None)
        return self.commit_files(files, message, key)

    def detach(self) -> None:
        """Delete the branch that is checked out and keep its files, as for a work tree that will be removed."""
        self.branch = ""

    @property
    def head_files(self) -> Files:
        return self.commits[self.head].files if self.head else {}

    def history(self, head: str | None) -> list[MemoryCommit]:
        """First-parent history, newest first."""
        found = []
        while head is not None:
            found.append(self.commits[head])
            head = self.commits[head].parent
        return found

    def find(self, key: str) -> str | None:
        return next((commit.sha for commit in self.history(self.head) if commit.key == key), None)

    def descends(self, head: str | None, baseline: str | None) -> bool:
        return baseline is None or any(commit.sha == baseline for commit in self.history(head))

    def dirty(self) -> tuple[str, ...]:
        """Paths that differ from HEAD."""
        return tuple(changed_paths(self.head_files, self.snapshot()))

    # branches

    def head_of(self, branch: str) -> str:
        """Empty if there is no such branch."""
        tree = self.work_tree_of(branch)
        return (tree.head or "") if tree is not None else self.heads.get(branch, "")

    def work_tree_of(self, branch: str) -> "MemoryGit | None":
        """The work tree in which the branch is checked out."""
        found = (tree for tree in self._repository.work_trees if tree.branch == branch)
        return next(found, None) if branch else None

    def add_work_tree(self, branch: str, commit: str) -> "MemoryGit":
        """A further work tree. A missing branch is created at `commit`."""
        head = self.head_of(branch) or commit
        made = MemoryGit({}, "", self._repository)
        made.check_out(branch, head)
        return made

    def remove_work_tree(self) -> None:
        """Its branch stays, unless it was deleted."""
        self._repository.work_trees.remove(self)
        if self.branch and self.head is not None:
            self.heads[self.branch] = self.head

    def check_out(self, branch: str, commit: str) -> None:
        """Check out this branch at this commit. Ignored files stay."""
        if self.branch and self.head is not None:
            self.heads[self.branch] = self.head
        self.heads.pop(branch, None)
        before, after = self.snapshot(), self.commits[commit].files
        for path in changed_paths(before, after):
            if path in after:
                self.write(path, after[path])
            else:
                self.remove(path)
        self.branch, self.head = branch, commit


def changed_paths(before: Files, after: Files) -> list[str]:
    if before is after:
        return []
    return sorted({path for path, _ in before.items() ^ after.items()})


def changes(before: Files, after: Files) -> tuple[FileChange, ...]:
    """Detects renames of unchanged files only; git also detects similar ones."""
    paths = changed_paths(before, after)
    gone = {before[path]: path for path in paths if path not in after}
    found = []
    for path in paths:
        if path not in after:
            found.append(FileChange(path, ChangeKind.DELETED, removed=_lines(before[path])))
        elif path not in before:
            old = gone.pop(after[path], "")
            found.append(_appeared(path, after[path], old))
        else:
            found.append(_modified(path, before[path], after[path]))
    moved = {change.renamed_from for change in found if change.renamed_from}
    return tuple(change for change in found if not (change.kind is ChangeKind.DELETED and change.path in moved))


def _appeared(path: str, data: bytes, old: str) -> FileChange:
    kind = ChangeKind.RENAMED if old else ChangeKind.ADDED
    return FileChange(path, kind, old, _mode(data), 0 if old else _lines(data), 0)


def _modified(path: str, old: bytes, new: bytes) -> FileChange:
    kind = ChangeKind.MODIFIED if _mode(old) == _mode(new) else ChangeKind.TYPE_CHANGED
    return FileChange(path, kind, mode=_mode(new), added=_lines(new), removed=_lines(old))


def _mode(data: bytes) -> str:
    return "120000" if data.startswith(LINK_PREFIX) else "100644"


def _lines(data: bytes) -> int:
    return data.count(b"\n")


def contents(before: Files, after: Files) -> ContentReader:
    def read(path: str, is_after: bool) -> bytes | None:
        data = (after if is_after else before).get(path)
        return data.removeprefix(LINK_PREFIX) if data is not None else None

    return read


# The board in memory: the real reader and writer, cached, because thousands of seeds see the same boards.

BOARD_NAME = "sprint-status.yaml"


@lru_cache(maxsize=16384)
def parse_board(raw: bytes) -> Board:
    """FileError if it cannot be read."""
    return board_from_text(TextFile(BOARD_NAME, raw))


def board_rows(raw: bytes) -> Mapping[str, Row]:
    return parse_board(raw).rows


@lru_cache(maxsize=16384)
def with_row_status(raw: bytes, key: str, status: str) -> bytes:
    cells = parse_board(raw).cells
    return change_status(cells, find_cell(cells, key), status).text.raw


def with_new_row(raw: bytes, key: str, status: str) -> bytes:
    return add_row(parse_board(raw).cells, key, status).text.raw


@lru_cache(maxsize=8192)
def raw_statuses(raw: bytes) -> Mapping[str, str]:
    return {key: row.status.raw for key, row in board_rows(raw).items()}


def is_readable(raw: bytes) -> bool:
    try:
        board_rows(raw)
    except FileError:
        return False
    return True


def replay_board_edit(before: bytes, after: bytes, now: bytes) -> bytes:
    """Apply an agent's board edit to the current board: if a person has edited it meanwhile, move only the rows
    that the agent moved. Real agents edit single lines."""
    if now == before or not (is_readable(before) and is_readable(after) and is_readable(now)):
        return after
    old, new, result = raw_statuses(before), raw_statuses(after), now
    for key in old.keys() & new.keys() & raw_statuses(now).keys():
        if old[key] != new[key]:
            result = with_row_status(result, key, new[key])
    return result


# The paths of a story's files, found in memory as the engine finds them on disk.

EPICS_FILE = f"{PLANNING}/epics.md"


class MemoryStoryPaths:
    def __init__(self, git: MemoryGit, folder: str, board: str) -> None:
        self._git = git
        self.folder = folder
        self.board = board
        self.dirty: tuple[str, ...] = ()  # paths changed before the run
        self._known: dict[tuple[str, bool], list[str]] = {}
        self._known_version = -1

    def story(self, key: str) -> str | None:
        """The story's own file, also under another slug or in a subfolder."""
        usual = f"{self.folder}/{key}.md"
        if usual in self._git.files:
            return usual
        return next(iter(self._matching(key, spec=False)), None)

    def spec(self, key: str) -> str | None:
        return next(iter(self._matching(key, spec=True)), None)

    def _matching(self, key: str, *, spec: bool) -> list[str]:
        """Cached until a file is added or removed."""
        if self._known_version != self._git.listing_version:
            self._known_version, self._known = self._git.listing_version, {}
        found = self._known.get((key, spec))
        if found is None:
            pages = (path for path in self._git.files if path.startswith(self.folder) and path.endswith(".md"))
            found = self._known[key, spec] = sorted(path for path in pages if _matches_story(path, key, spec))
        return found

    def state(self, key: str) -> str:
        return _state_and_review(self.folder, key)[0]

    def review(self, key: str) -> str:
        return _state_and_review(self.folder, key)[1]

    def threads(self, key: str) -> str:
        """The agent's answers to the points of a pull request's reviewers."""
        return threads_path(self.folder, key)

    def non_code_paths(self, key: str) -> list[str]:
        """Files that do not count as code."""
        found = (self.board, self.story(key), self.spec(key), f"{self.folder}/deferred-work.md", *self.dirty)
        return [path for path in found if path]

    def document(self, path: str | None) -> Document | None:
        raw = self._git.files.get(path or "")
        return Document(path, raw) if path and raw is not None else None


@lru_cache(maxsize=8192)
def _state_and_review(folder: str, key: str) -> tuple[str, str]:
    return agent_state_path(folder, key), review_path(folder, key)


@lru_cache(maxsize=8192)
def story_number(key: str) -> str:
    return identify([key])[key].number


@lru_cache(maxsize=65536)
def _matches_story(path: str, key: str, spec: bool) -> bool:
    stem = path.rpartition("/")[2][:-3]
    if stem.startswith("spec-") is not spec:
        return False
    matcher = StoryFileMatcher({key: story_number(key)})
    stem = stem.removeprefix("spec-")
    return matcher.key(stem) is not None or bool(matcher.rows(matcher.number(stem) or ""))


def section_of(files: Files, number: str) -> str:
    """The story's section of the epics file."""
    return _section(files.get(EPICS_FILE, b""), number)


@lru_cache(maxsize=1024)
def _section(raw: bytes, number: str) -> str:
    text = raw.decode("utf-8", "replace")
    found = re.search(rf"^### Story {re.escape(number)}\b.*?(?=^#{{1,3}} |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[0] if found else ""
