"""What the project's own files say about a step: the only thing that can be asked of an instance whose process is
not ours, and what its word is checked against."""

import json
from functools import cached_property

from ..board.sprint import Board, Row, find_row, read_board
from ..core.errors import FileError
from ..core.statuses import DONE, IN_PROGRESS, PARKED, READY, REVIEW, Kind
from ..files import read_bytes
from ..project.open import Project
from ..workflows.pipelines import BUILD, CODE_REVIEW, CREATE, DEV, Step
from .books import Books, books_of

MAX_STATE = 1024 * 1024


def _read(path: str) -> dict[str, object]:
    """A state file as agents write it; what is none of ours to understand says nothing."""
    try:
        data = json.loads(read_bytes(path, limit=MAX_STATE, follow=False).decode("utf-8-sig"))
    except (FileError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


class Evidence:
    """One look at a story."""

    def __init__(self, project: Project, story: str) -> None:
        self._project = project
        self._board: Board = read_board(project.require_board())
        self.row: Row = find_row(self._board, story, Kind.STORY)

    @property
    def is_blocked(self) -> bool:
        return self.row.meaning == PARKED

    @property
    def reason(self) -> str:
        return self.row.reason or self.row.status.raw

    def shows(self, step: Step) -> bool:
        """Whether the files say that the step has ended. A step we know nothing of leaves no evidence. A review
        that only moved its row has ended; whether it gave a verdict is judged afterwards."""
        meaning = self.row.meaning
        if step == CREATE:
            return meaning in (READY, IN_PROGRESS, REVIEW, DONE) and self.story_file() is not None
        if step in (DEV, BUILD):
            return meaning in (REVIEW, DONE)
        if step == CODE_REVIEW:
            return meaning == DONE or self.has_verdict()
        return False

    def question(self) -> str | None:
        """The first question that waits for an answer in the story's agent-state file."""
        state = _read(self.books.state)
        questions = state.get("questions")
        for one in questions if isinstance(questions, list) else ():
            if isinstance(one, dict) and one.get("answer") is None and isinstance(one.get("question"), str):
                return str(one["question"])
        return None

    def has_verdict(self) -> bool:
        return _read(self.books.review).get("reviewResult") in (
            "approved",
            "changes-requested",
        )

    def story_file(self) -> str | None:
        return self.books.story

    @cached_property
    def books(self) -> Books:
        return books_of(self._project, self._board, self.row, self.row.key)
