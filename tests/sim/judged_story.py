"""A story on a real sample, its steps done by a habit and judged by the real gates, without an engine between."""

import os
from pathlib import Path
from typing import NamedTuple

from bmad_autopilot.agents.shim import tree_snapshot
from bmad_autopilot.board.sprint_status import read_board
from bmad_autopilot.board.story_file import StoryFile, read_story
from bmad_autopilot.core.step_output import StepOutput
from bmad_autopilot.engine.story_paths import StoryPaths, find_story_paths
from bmad_autopilot.gates.evidence import Document, Evidence, GateObjection
from bmad_autopilot.gates.judge import judge_work
from bmad_autopilot.gates.review_verdict import ReviewVerdict, read_review_verdict
from bmad_autopilot.git.git import Git
from bmad_autopilot.git.history import is_ancestor
from bmad_autopilot.git.trees import changed_contents, diff_trees
from bmad_autopilot.io.files import TextFile
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.agent_state import read_agent_state
from bmad_autopilot.sim.habits import HABITS
from bmad_autopilot.sim.habits.story_pages import set_row
from bmad_autopilot.sim.sample import BOARD, IMPLEMENTATION
from bmad_autopilot.sim.workspace import AgentJob, FolderWorkspace, ScriptedEnding
from bmad_autopilot.workflows.workflow import STEPS

KEY = "1-1-list-accounts"


class Judged(NamedTuple):
    ending: ScriptedEnding
    said: str
    objections: tuple[GateObjection, ...]
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
        self.workspace = FolderWorkspace(str(folder))
        self._git = Git(str(folder))
        self._project = open_project(str(folder))
        self._base = self._last = self._look()
        self._asked: bytes | None = None

    def job(self, step: str) -> AgentJob:
        return AgentJob(step, KEY, BOARD, IMPLEMENTATION)

    def do(self, step: str, **told: object) -> Judged:
        """One call: the row as we would have set it, an old verdict aside, the habit, the gates."""
        job = self.job(step)._replace(**told)  # type: ignore[arg-type]
        owes = STEPS[step].owes if step in STEPS else StepOutput.NOTHING
        if STEPS[step].before if step in STEPS else None:
            set_row(self.workspace, job, "in-progress")
        story_paths, rows = self.story_paths(), self._rows()
        if os.path.exists(story_paths.review):
            os.unlink(story_paths.review)
        old = _read(story_paths.story or story_paths.spec)
        if owes is not StepOutput.STORY and self._asked is None:
            self._asked = _read(story_paths.story) or b""
        ending = self.habit(self.workspace, job)
        story_paths = self.story_paths()
        review = read_review_verdict(
            _read(story_paths.review), _story(_read(story_paths.story or story_paths.spec)), _story(old)
        )
        state = read_agent_state(story_paths.state)
        return Judged(
            ending,
            self.workspace.final_message,
            judge_work(self._work_look(owes, rows, story_paths)),
            review if owes is StepOutput.VERDICT else None,
            state.open_questions[0].question if state and state.open_questions else "",
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

    def story_paths(self) -> StoryPaths:
        board = read_board(self._project.require_board())
        return find_story_paths(self._project, board, board.rows[KEY], KEY)

    def _look(self) -> tree_snapshot.TreeSnapshot:
        return tree_snapshot.look(str(self.folder), dict(os.environ), f"{self.folder}.index")

    def _rows(self) -> dict[str, str]:
        return {key: row.status.raw for key, row in read_board(self._project.require_board()).rows.items()}

    def _work_look(self, owes: StepOutput, rows: dict[str, str], story_paths: StoryPaths) -> Evidence:
        before, now = self._last, self._look()
        self._last = now
        assert self._base.tree
        assert self._base.head
        assert before.tree
        assert now.tree
        assert now.head
        own = {os.path.relpath(path, self._git.top) for path in story_paths.bookkeeping}
        whole = diff_trees(self._git, self._base.tree, now.tree)
        moved = diff_trees(self._git, before.tree, now.tree) if before.tree != self._base.tree else whole
        return Evidence(
            owes,
            KEY,
            "1.1",
            tuple(whole),
            changed_contents(self._git, self._base.tree, now.tree),
            any(change.path not in own for change in whole),
            any(change.path not in own for change in moved),
            story=self._document(story_paths.story),
            spec=self._document(story_paths.spec) if story_paths.story is None else None,
            story_text=(self._asked or b"").decode("utf-8", "replace"),
            story_before=Document("story.md", self._asked) if self._asked else None,
            rows_before=rows,
            rows_after=self._rows(),
            descends_from_baseline=is_ancestor(self._git, self._base.head, now.head),
            is_same_branch=now.branch == self._base.branch,
            check_commands=self._project.config.commands.test or (),
        )

    def _document(self, path: str | None) -> Document | None:
        raw = _read(path)
        return Document(os.path.relpath(path, self._git.top), raw) if path and raw is not None else None


def _read(path: str | None) -> bytes | None:
    return Path(path).read_bytes() if path and os.path.isfile(path) else None


def _story(raw: bytes | None) -> StoryFile | None:
    return read_story(TextFile("story.md", raw)) if raw is not None else None
