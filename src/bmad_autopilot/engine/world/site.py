"""Where a lane works: its project, run folder, repository and files, shared by its ports. And the board's port."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress

from ...agents.attempt import read_call_spec
from ...board.sprint_status import Board, Row, read_board
from ...board.sprint_status_writer import insert_row, set_status
from ...core.errors import ConflictError, FileError
from ...git.git import Git
from ...io.files import not_regular_error, resolve_inside
from ...project.config import Config
from ...project.project import Project
from ...runs.layout import attempt_folder, list_calls
from .. import story_paths
from ..lane import Lane
from ..ports import CallId
from ..story_paths import Layout, StoryPaths, find_replaced, find_story_paths, read_layout


class LaneSite:
    """`find_paths`: the files of a story, where the lane has no board."""

    def __init__(
        self, project: Project, lane: Lane, run: str, find_paths: Callable[[str], StoryPaths] | None = None
    ) -> None:
        self.project = project
        self.lane = lane
        self.run = run
        self.git = Git(project.root.checkout)
        self.dirty = frozenset(lane.dirty)  # paths changed before the run began
        self._find_paths = find_paths
        self._layout: Layout | None = None

    def use_config(self, config: Config) -> None:
        self.project = self.project._replace(config=config)

    def folder(self, call: CallId) -> str:
        return attempt_folder(self.run, call.number, call.step, call.attempt)

    def check_folder(self, code: str) -> str:
        return os.path.join(self.run, "checks", code[:16] or "none")

    @property
    def has_own_worktree(self) -> bool:
        return self.lane.delivery is not None and self.project.root.is_linked

    def display_path(self, path: str) -> str:
        """Relative to the user's folder: the checkout, or for a delivered lane the main project's folder."""
        root = self.project.root
        return os.path.relpath(path, root.checkout if self.lane.delivery is None else root.path)

    def from_top(self, path: str) -> str:
        """Relative to the top of the work tree, as git names it."""
        return os.path.relpath(os.path.realpath(path), self.git.top)

    def board(self) -> Board:
        """Also raises FileError if the board was replaced since the last call, or links out of the project."""
        path = self.project.require_board()
        found = find_replaced(self.layout(), path)
        if found is not None:
            raise not_regular_error(found.path, "was replaced since the last agent call", found.found)
        resolve_inside(path, self.project.work_tree)
        return read_board(path)

    def layout(self) -> Layout:
        """The layout before the run's last call. Kept in memory, because agents can write to the call's folder."""
        if self._layout is None:
            kept = map(read_layout, reversed(list_calls(self.run)))
            self._layout = next((one for one in kept if one is not None), {})
        return self._layout

    def keep_layout(self, layout: Layout) -> None:
        self._layout = layout

    def story_paths(self, key: str) -> StoryPaths:
        if self._find_paths is not None:
            return self._find_paths(key)
        try:
            board = self.board()
        except FileError:
            return find_story_paths(self.project, None, None, key)
        return find_story_paths(self.project, board, board.rows.get(key), key)


class BoardFile:
    """The board: read fresh each time, written by compare-and-set, restored if an agent has corrupted it."""

    def __init__(self, site: LaneSite) -> None:
        self._site = site

    def rows(self) -> Mapping[str, Row]:
        return self._site.board().rows

    def set_row(self, key: str, status: str, expect: str) -> bool:
        project, top = self._site.project, self._site.git.top
        path, state = project.require_board(), project.state_folder
        try:
            if not expect and key not in self.rows():
                insert_row(path, key, status, state=state, allowed_root=top)
                return True
            # Backwards too: an agent may have claimed a status that the evidence does not support.
            set_status(path, key, status, state=state, allowed_root=top, expect=expect, regress=True)
        except ConflictError:
            return False
        return True

    def restore(self, call: CallId) -> str:
        site = self._site
        folder = site.folder(call)
        if story_paths.board_before(folder) is None:  # no copy to restore: the reader raises the actual error
            site.board()
            raise FileError("the board cannot be read, and no copy of it was kept", hint="git checkout the board")
        spec = read_call_spec(folder)
        paths = find_story_paths(site.project, None, None, spec.story)
        put_back = story_paths.restore_replaced(folder, paths, site.git, spec.tree, site.layout())
        with suppress(FileError):
            site.board()
            return os.path.join(folder, f"{story_paths.REPLACED}-{len(put_back)}")
        return story_paths.restore_board(folder, site.project.require_board(), site.project.work_tree)
