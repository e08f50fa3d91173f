"""The base of a lane's real ports, with the board's ports and the ports for the run's own records."""

import os
import random
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from ...agents.attempt import read_call_spec
from ...board.sprint_status import Board, Row, read_board
from ...board.sprint_status_writer import insert_row, set_status
from ...core.errors import ConflictError, FileError
from ...git.git import Git
from ...git.refs import save_checkpoint
from ...io.files import not_regular_error, resolve_inside
from ...project.project import Project
from ...runs.checkpoints import write_artefact
from ...runs.journal import Journal
from ...runs.layout import attempt_folder, list_calls
from ...runs.state_file import SHORT_ID, checkpoint_digest
from .. import story_paths
from ..lane import Lane
from ..policy import apply_settings, describe_differences, read_settings, settings_digest
from ..ports import CallId, CheckpointOrder, EventSink, Prompter, RunEvent
from ..slots import SlotHandle
from ..story_paths import Layout, StoryPaths, find_replaced, find_story_paths, read_layout
from ..waiting import Waiter


class LaneWorld:
    def __init__(
        self,
        project: Project,
        lane: Lane,
        run: str,
        journal: Journal,
        waiter: Waiter,
        on_event: EventSink,
        human: Prompter | None = None,
    ) -> None:
        self.project = project
        self.current_config = project.config  # the current settings, even if the run keeps those it began with
        self.lane = lane
        self.run = run
        self.journal = journal
        self.waiter = waiter
        self.on_event = on_event
        self.human = human
        self.slot = SlotHandle()  # for its agent
        self.merge_turn = SlotHandle()  # for its merge
        self.is_autopilot_paused: Callable[[], bool] = lambda: False  # True: no lane starts a call
        self.find_checkout_blocker: Callable[[], str] = lambda: ""  # another lane's unfinished work
        self.git = Git(project.root.checkout)
        self._layout: Layout | None = None
        self.dirty = frozenset(lane.dirty)  # paths changed before the run began

    def now(self) -> float:
        return time.time()

    def folder(self, call: CallId) -> str:
        return attempt_folder(self.run, call.number, call.step, call.attempt)

    def check_logs(self, code: str) -> str:
        return self.display_path(self.check_folder(code))

    def has_own_worktree(self) -> bool:
        return self.lane.delivery is not None and self.project.root.is_linked

    def display_path(self, path: str) -> str:
        """Relative to the user's folder: the checkout, or for a delivered lane the main project's folder."""
        root = self.project.root
        return os.path.relpath(path, root.checkout if self.lane.delivery is None else root.path)

    def check_folder(self, code: str) -> str:
        return os.path.join(self.run, "checks", code[:16] or "none")

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

    def story_paths(self, key: str) -> StoryPaths:
        try:
            board = self.board()
        except FileError:
            return find_story_paths(self.project, None, None, key)
        return find_story_paths(self.project, board, board.rows.get(key), key)


# The board: read fresh each time, written by compare-and-set, restored if an agent has corrupted it.


class BoardPorts(LaneWorld):
    def rows(self) -> Mapping[str, Row]:
        return self.board().rows

    def set_row(self, key: str, status: str, expect: str) -> bool:
        path, state = self.project.require_board(), self.project.state_folder
        try:
            if not expect and key not in self.rows():
                insert_row(path, key, status, state=state, allowed_root=self.git.top)
                return True
            # Backwards too: an agent may have claimed a status that the evidence does not support.
            set_status(path, key, status, state=state, allowed_root=self.git.top, expect=expect, regress=True)
        except ConflictError:
            return False
        return True

    def restore_board(self, call: CallId) -> str:
        folder = self.folder(call)
        if story_paths.board_before(folder) is None:  # no copy to restore: the reader raises the actual error
            self.board()
            raise FileError("the board cannot be read, and no copy of it was kept", hint="git checkout the board")
        path, story = self.project.require_board(), read_call_spec(folder).story
        paths = find_story_paths(self.project, None, None, story)
        put_back = story_paths.restore_replaced(
            folder, paths, self.git, read_call_spec(folder).tree, self.layout()
        )
        with suppress(FileError):
            self.board()
            return os.path.join(folder, f"{story_paths.REPLACED}-{len(put_back)}")
        return story_paths.restore_board(folder, path, self.project.work_tree)


# The run's own records: the journal, its checkpoints, and its settings.


class RecordPorts(LaneWorld):
    _last = 0  # the number of the last entry read

    @cached_property
    def _entries(self) -> list[RunEvent]:
        return []

    def random(self) -> float:
        return random.random()  # noqa: S311 (a pause, not a secret)

    def entries(self) -> Iterable[RunEvent]:
        """All entries. Each is read from disk once."""
        found = self.journal.entries(self._last)
        self._entries += [(entry.kind, entry.data, entry.at) for entry in found]
        self._last = max(self._last, *(entry.n for entry in found)) if found else self._last
        return self._entries

    def note(self, kind: str, data: Mapping[str, Any]) -> float:
        entry = self.journal.append(kind, **data)
        self.on_event(kind, entry.data, entry.at)
        return entry.at

    def checkpoint(self, order: CheckpointOrder) -> Mapping[str, Any]:
        run = os.path.basename(self.run)
        variables = self.journal.redact(dict(order.variables))
        assert isinstance(variables, dict)
        page = write_artefact(self.run, order.step, str(self.journal.redact(order.output)))
        artefact = {"step": order.step, "name": order.name, "path": page}
        ref = ""
        if order.saved and order.tree is not None and self.git.work_tree is not None:
            ref = save_checkpoint(self.git, run, order.step, order.tree, order.head)
        digest = checkpoint_digest(run, order.step, variables)
        return {
            "id": digest[:SHORT_ID],
            "digest": digest,
            "step": order.step,
            "name": order.name,
            "story": order.story,
            "variables": variables,
            "artefacts": [artefact],
            "rows": dict(order.rows),
            "head": order.head,
            "branch": order.branch or "",
            "tree": order.tree,
            "ref": ref,
            **({} if order.saved else {"saved": False}),
        }

    def settings(self) -> str:
        return settings_digest(self.current_config)

    def apply_settings(self, *, keep: bool) -> Lane:
        if keep:
            self.project = self.project._replace(config=read_settings(self.run, self.current_config))
        else:
            self.lane = apply_settings(self.lane, self.project)
        return self.lane

    def describe_settings_changes(self) -> str:
        return "\n".join(describe_differences(read_settings(self.run, self.current_config), self.current_config))
