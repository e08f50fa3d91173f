"""A story on a real sample, its steps done by a habit and judged by the real gates, without an engine between."""

import os
from pathlib import Path
from typing import NamedTuple

from bmad_autopilot.agents.shim import work
from bmad_autopilot.board.sprint import read_board
from bmad_autopilot.board.stories import StoryFile, read_story
from bmad_autopilot.core.owes import Owes
from bmad_autopilot.engine.books import Books, books_of
from bmad_autopilot.files import Text
from bmad_autopilot.gates.look import Document, WorkLook
from bmad_autopilot.gates.objections import Objection
from bmad_autopilot.gates.verdict import ReviewVerdict, read_verdict
from bmad_autopilot.gates.work import judge_work
from bmad_autopilot.github.blobs import contents
from bmad_autopilot.github.git import Git
from bmad_autopilot.github.history import is_ancestor
from bmad_autopilot.github.trees import changes
from bmad_autopilot.project.open import open_project
from bmad_autopilot.runs.agent_state import read_agent_state
from bmad_autopilot.sim.desk import Ending, Job
from bmad_autopilot.sim.folder_desk import FolderDesk
from bmad_autopilot.sim.habits import HABITS
from bmad_autopilot.sim.habits.rows import set_row
from bmad_autopilot.sim.sample import BOARD, IMPLEMENTATION
from bmad_autopilot.workflows.pipelines import STEPS

KEY = "1-1-list-accounts"


class Judged(NamedTuple):
    ending: Ending
    said: str
    objections: tuple[Objection, ...]
    review: ReviewVerdict | None
    asks: str  # the first open question

    @property
    def codes(self) -> set[str]:
        return {objection.code for objection in self.objections}

    @property
    def is_good(self) -> bool:
        return not self.objections and (self.review is None or self.review.result == "approved")


class Bench:
    """One story from its baseline on."""

    def __init__(self, folder: Path, habit: str) -> None:
        self.folder = folder
        self.habit = HABITS[habit]
        self.desk = FolderDesk(str(folder))
        self._git = Git(str(folder))
        self._project = open_project(str(folder))
        self._base = self._last = self._look()
        self._asked: bytes | None = None

    def job(self, step: str) -> Job:
        return Job(step, KEY, BOARD, IMPLEMENTATION)

    def do(self, step: str, **told: object) -> Judged:
        """One call: the row as we would have set it, an old verdict aside, the habit, the gates."""
        job = self.job(step)._replace(**told)  # type: ignore[arg-type]
        owes = STEPS[step].owes if step in STEPS else Owes.NOTHING
        if STEPS[step].before if step in STEPS else None:
            set_row(self.desk, job, "in-progress")
        books, rows = self.books(), self._rows()
        if os.path.exists(books.review):
            os.unlink(books.review)
        old = _read(books.story or books.spec)
        if owes is not Owes.STORY and self._asked is None:
            self._asked = _read(books.story) or b""
        ending = self.habit(self.desk, job)
        books = self.books()
        review = read_verdict(_read(books.review), _story(_read(books.story or books.spec)), _story(old))
        state = read_agent_state(books.state)
        return Judged(
            ending,
            self.desk.said,
            judge_work(self._work_look(owes, rows, books)),
            review if owes is Owes.VERDICT else None,
            state.open[0].question if state and state.open else "",
        )

    def until_refused(self, *steps: str) -> list[Judged]:
        """Step by step; whoever is refused gets a second call, as in a run."""
        done: list[Judged] = []
        for step in steps:
            done.append(self.do(step))
            if not done[-1].is_good:
                done.append(self.do(step, attempt=2, failure="What was said of the first call"))
            if not done[-1].is_good:
                break
        return done

    def books(self) -> Books:
        board = read_board(self._project.require_board())
        return books_of(self._project, board, board.rows[KEY], KEY)

    def _look(self) -> work.Work:
        return work.look(str(self.folder), dict(os.environ), f"{self.folder}.index")

    def _rows(self) -> dict[str, str]:
        return {key: row.status.raw for key, row in read_board(self._project.require_board()).rows.items()}

    def _work_look(self, owes: Owes, rows: dict[str, str], books: Books) -> WorkLook:
        before, now = self._last, self._look()
        self._last = now
        assert self._base.tree
        assert self._base.head
        assert before.tree
        assert now.tree
        assert now.head
        own = {os.path.relpath(path, self._git.top) for path in books.kept_apart}
        whole = changes(self._git, self._base.tree, now.tree)
        moved = changes(self._git, before.tree, now.tree) if before.tree != self._base.tree else whole
        return WorkLook(
            owes,
            KEY,
            "1.1",
            tuple(whole),
            contents(self._git, self._base.tree, now.tree),
            any(change.path not in own for change in whole),
            any(change.path not in own for change in moved),
            story=self._document(books.story),
            spec=self._document(books.spec) if books.story is None else None,
            asked=(self._asked or b"").decode("utf-8", "replace"),
            story_before=Document("story.md", self._asked) if self._asked else None,
            rows_before=rows,
            rows_after=self._rows(),
            descends=is_ancestor(self._git, self._base.head, now.head),
            same_branch=now.branch == self._base.branch,
            commands=self._project.config.commands.test or (),
        )

    def _document(self, path: str | None) -> Document | None:
        raw = _read(path)
        return Document(os.path.relpath(path, self._git.top), raw) if path and raw is not None else None


def _read(path: str | None) -> bytes | None:
    return Path(path).read_bytes() if path and os.path.isfile(path) else None


def _story(raw: bytes | None) -> StoryFile | None:
    return read_story(Text("story.md", raw)) if raw is not None else None
