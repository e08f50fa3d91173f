"""Where a lane works in memory: a work tree, with the board and the story files in it."""

import json

from ..sample import BOARD, IMPLEMENTATION
from .git import MemoryGit, MemoryStoryPaths, board_rows


class MemorySite:
    """`is_own`: the work tree belongs to one lane alone."""

    def __init__(self, git: MemoryGit, *, is_own: bool = False) -> None:
        self.git = git
        self.story_paths = MemoryStoryPaths(git, IMPLEMENTATION, BOARD)
        self.is_own = is_own

    @property
    def board(self) -> bytes:
        return self.git.files.get(self.story_paths.board, b"")

    @board.setter
    def board(self, raw: bytes) -> None:
        self.git.write(self.story_paths.board, raw)

    def row_meaning(self, key: str) -> str:
        """The meaning of a row's status; empty if there is no row."""
        row = board_rows(self.board).get(key)
        return row.meaning if row else ""

    def clear_state(self, story: str) -> None:
        self.git.remove(self.story_paths.state(story))

    def deliver_answer(self, story: str, question: str, answer: str | None) -> None:
        """Write the answer into the agent-state file, if that has the question, like the real port."""
        path = self.story_paths.state(story)
        try:
            state = json.loads(self.git.files.get(path, b""))
            own = next(one for one in state["questions"] if one["id"] == question)
        except (ValueError, LookupError, TypeError, StopIteration):
            return
        own["answer"] = answer
        self.git.write(path, json.dumps(state).encode())

    def remove_old_answers(self, story: str) -> None:
        """Remove old verdicts and answers, so that what exists after a call is the call's own."""
        self.git.remove(self.story_paths.review(story))
        self.git.remove(self.story_paths.threads(story))
