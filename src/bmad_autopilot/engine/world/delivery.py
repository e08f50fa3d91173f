"""The delivery's port: the forge, the branches, the merge turn, and the pull request's text."""

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from ...board.epics_file import find_epics_files, read_all_epics
from ...board.sprint_status import board_from_text
from ...board.story_file import read_criteria
from ...core.errors import AutopilotError
from ...core.run_record import RunRecord
from ...core.statuses import DONE, RowKind
from ...git.trees import read_file
from ...io.files import TextFile
from ..delivery.rounds import fix_round_key
from ..slots import SlotHandle
from ..waiting import Waiter
from .site import LaneSite
from .worktree import GitWorktree

if TYPE_CHECKING:  # most runs deliver nothing
    from ...git.git import Git
    from ...github.forge import Forge
    from ..delivery.branch_port import BranchPort

ForgeFactory = Callable[["Git", str], "Forge"]


class LaneDelivery:
    """`make_forge`: None: GitHub, by gh. `find_checkout_blocker`: describes another lane's unfinished work."""

    def __init__(
        self,
        site: LaneSite,
        worktree: GitWorktree,
        waiter: Waiter,
        merge_turn: SlotHandle,
        find_checkout_blocker: Callable[[], str],
        make_forge: ForgeFactory | None = None,
    ) -> None:
        self._site = site
        self._worktree = worktree
        self._waiter = waiter
        self._merge_turn = merge_turn
        self._find_checkout_blocker = find_checkout_blocker
        self._make_forge = make_forge

    def forge(self) -> "Forge":
        return self._forge

    @cached_property
    def _forge(self) -> "Forge":
        remote = self._site.project.config.github.remote
        if self._make_forge is not None:
            return self._make_forge(self._site.git, remote)
        from ...github.gh_forge import find_forge

        return find_forge(self._site.git, remote, wait=self._sleep)

    def has_merge_turn(self) -> bool:
        return self._merge_turn.is_free()

    def acquire_merge_turn(self) -> bool:
        return self._merge_turn.acquire()

    def request_merge_turn(self) -> None:
        self._merge_turn.request(self._waiter.wake)

    def release_merge_turn(self) -> None:
        self._merge_turn.release()

    def checkout_blocker(self) -> str:
        return self._find_checkout_blocker()

    def _sleep(self, seconds: float) -> None:
        self._waiter.wait_until(time.time() + seconds)

    def branches(self) -> "BranchPort":
        return self._branches

    @cached_property
    def _branches(self) -> "BranchPort":
        from ..delivery.git_branches import GitBranches

        board = self._site.from_top(self._site.project.require_board())
        key = fix_round_key(self._site.lane.key, 1)
        remote = self._site.project.config.github.remote
        return GitBranches(
            self._site.git, remote, board, lambda tree: self._worktree.code_hash(tree, key), self._site.dirty
        )

    def pull_text(self, run: RunRecord) -> tuple[str, str]:
        """Reads the files of our branch's head: the checkout may be on another epic's branch by now."""
        from ..delivery.text import StorySummary, pull_body, pull_title

        head = run.delivery.head
        text = self._read_at(head, self._site.project.require_board())
        board = board_from_text(text) if text is not None else self._site.board()
        rows = [
            row for row in board.rows.values() if row.kind is RowKind.STORY and row.epic == self._site.lane.epic
        ]
        titles = self._titles()
        stories = [
            StorySummary(row.key, titles.get(row.number, ""), self._criteria(head, row.key), row.meaning == DONE)
            for row in sorted(rows, key=lambda row: row.order)
        ]
        return pull_title(self._site.lane), pull_body(self._site.lane, run, stories)

    def _titles(self) -> dict[str, str]:
        try:
            found = read_all_epics(find_epics_files(self._site.project.folders.planning)).stories()
        except AutopilotError:
            return {}
        return {story.number: story.title for story in found}

    def _criteria(self, head: str, key: str) -> tuple[str, ...]:
        folders = self._site.project.folders
        usual = [f"{folder}/{key}.md" for folder in (folders.stories, folders.implementation) if folder]
        try:
            known = self._site.story_paths(key).story  # may have another name in the checkout
            texts = (self._read_at(head, path) for path in (*([known] if known else []), *usual))
            return next((read_criteria(text) for text in texts if text is not None), ())
        except AutopilotError:
            return ()

    def _read_at(self, head: str, path: str) -> TextFile | None:
        """A file's content in the commit `head`; None: there is none."""
        raw = read_file(self._site.git, head, self._site.from_top(path))
        return TextFile(path, raw) if raw is not None else None
