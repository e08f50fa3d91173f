"""Which epics can be begun, and where each begins: on the base, on the epic before it, on what is there."""

from collections.abc import Callable, Mapping

from ...board.dependencies import ORDER, dependency_graph
from ...board.overview import overview
from ...board.sprint import Board
from ...core.errors import AutopilotError, UsageError
from ...core.graph import Graph, build
from ...core.keys import number_of as number_from
from ...core.schedule import Candidate
from ...core.statuses import Kind
from ...github.branches import Branches
from ...github.forge import Forge, ForgeError
from ...github.git import Git
from ...project.open import Project
from ...runs.adoption import left_behind
from ..delivery.plan import LOCAL
from ..driving import NOTHING
from .finding import PREFIX, Start, board_at, branch_names, candidates, epic_titles, number_of
from .lanes import Held, last_pending
from .sizes import Sizes
from .watching import PASSING
from .wishes import Wishes


class Epics:
    def __init__(
        self,
        project: Project,
        wishes: Wishes,
        branches: Branches,
        base: str,
        forge: Callable[[], Forge],
        say: Callable[[str], None],
        sizes: Sizes,
    ) -> None:
        self._project = project
        self._wishes = wishes
        self._branches = branches
        self._base = base
        self._forge = forge
        self._say = say
        self._sizes = sizes
        self._git = Git(project.root.checkout)
        self._is_local = project.config.delivery == LOCAL
        self._left_alone: set[str] = set()  # epics whose pull request is somebody else's
        self._is_ordered = project.config.dependencies == ORDER and not project.tasks
        self._told = False  # of dependencies that cannot be kept to
        self.graph: Graph = build((), ())  # as last looked at
        self.left: dict[str, float] = {}  # seconds of work, of each epic

    def found(self, lanes: list[Held], over: list[str], begun: Mapping[str, str] = NOTHING) -> list[Candidate]:
        """Pull requests of earlier runs first, then what is left to begin. `over`: epics that are not; `begun`:
        just now, by key and number."""
        taken = [*(held.lane.key for held in lanes), *over, *begun, *self._left_alone]
        board = board_at(self._project, self._git, self._ground(self._last(lanes))[0])
        keys = {row.number: row.key for row in board.of_kind(Kind.EPIC)}
        adopted = self._pending_elsewhere(lanes, taken, keys) if not self._is_local else []
        known = {one.key for one in adopted}
        found = candidates(self._project, board, self._wishes.patterns, [*taken, *known])
        self.graph = self._graph(board, {*begun.values(), *(one.number for one in found)}, lanes)
        epics = overview(board)
        self.left = {epic.number: self._sizes.of_epic(epic) for epic in epics if epic.number is not None}
        if self._is_ordered and begun:
            return adopted
        return [*adopted, *(one for one in found if self._is_ready(one, lanes))]

    def _graph(self, board: Board, open_epics: set[str], lanes: list[Held]) -> Graph:
        """Of what is to be begun and what is under way, in the board's order."""
        numbers = open_epics | {held.lane.epic or "" for held in lanes}
        epics = overview(board)
        chosen = [epic.number for epic in epics if epic.number is not None and epic.number in numbers]
        graph = dependency_graph(self._project, epics, chosen)
        if graph.problems and not self._told:
            self._told = True
            self._say(
                "some of the dependencies that are declared cannot be kept to: bmad plan says which, and why"
            )
        return graph

    def _is_ready(self, epic: Candidate, lanes: list[Held]) -> bool:
        """All that it waits for is over, or out; of what is only out there may be one, which it then stands on."""
        if self._is_ordered:
            return all(held.is_out for held in lanes)
        return self._open_before(epic, lanes) is not None

    def _open_before(self, epic: Candidate, lanes: list[Held]) -> list[Held] | None:
        """Those that it waits for and that are out, not merged. None: it cannot begin yet."""
        under_way = {held.lane.epic: held for held in lanes}
        found = []
        for number in self.graph.waits_for().get(epic.number, ()):
            held = under_way.get(number)
            if held is None or not held.is_out:
                return None
            found.append(held)
        return found if len(found) <= 1 else None

    def _ground(self, before: Held | None) -> tuple[str, str]:
        """What the next epic would begin from, and the branch of the epic that it then stands on. That one may be
        merged and cleared away while we look: then it is in the base."""
        if before is not None:
            branch = before.lane.branch
            head = self._branches.head_of(branch)
            if not head and not self._is_local:
                head = self._branches.fetch(branch)[branch]
            if head:
                return head, branch
        if self._is_local:
            return self._branches.head_of(self._base), ""
        found = self._branches.fetch(self._base)[self._base]
        if not found:
            hint = f"git push {self._project.config.github.remote} {self._base}"
            raise AutopilotError(f"the remote has no branch {self._base}", hint=hint)
        return found, ""

    def _last(self, lanes: list[Held]) -> Held | None:
        return last_pending(lanes) if self._is_ordered else None

    def _before(self, epic: Candidate, lanes: list[Held]) -> Held | None:
        """The epic that this one stands on."""
        if self._is_ordered:
            return last_pending(lanes)
        return next(iter(self._open_before(epic, lanes) or ()), None)

    def _pending_elsewhere(self, lanes: list[Held], taken: list[str], keys: Mapping[str, str]) -> list[Candidate]:
        """Open pull requests with a branch of that name and no run of ours. Made by us or by the bash autopilot,
        they are gone on with; those of others are left alone until somebody says so."""
        try:
            marks = self._forge().pulls_of(PREFIX)
        except ForgeError as error:
            if error.trouble in PASSING:
                return []
            raise
        ours = [held.pull for held in lanes]
        titles = epic_titles(self._project)
        found = []
        for mark in marks:
            number = number_of(mark.head_ref)
            key = keys.get(number, f"epic-{number}")
            if not number or mark.is_foreign or mark.number in ours or key in taken or key in self._left_alone:
                continue
            if self._may_adopt(number, mark.number, mark.head_ref):
                found.append(Candidate(key, number, titles.get(number, mark.title), mark.head_ref))
            else:
                self._left_alone.add(key)
        return found

    def _may_adopt(self, number: str, pull: int, branch: str) -> bool:
        left = left_behind(self._project.root.path, self._project.folders.implementation)
        listed = [*(one.epic for one in left.pending), left.epic] if left is not None else []
        if self._wishes.go_on or number in map(number_from, listed):
            return True
        heads = self._branches.fetch(branch, self._base)
        foreign = self._branches.foreign_commits(heads[self._base], heads[branch])
        if not foreign:
            return True
        text = f"pull request #{pull} ({branch}) is not of this tool's making, and is left alone"
        self._say(f"{text}: bmad autopilot --continue takes it over")
        return False

    def start(self, epic: Candidate, lanes: list[Held]) -> Start:
        tip, onto = self._ground(self._before(epic, lanes))
        names = [epic.branch] if epic.branch else branch_names(epic)
        there = {} if self._is_local else self._branches.fetch(*names)
        heads = {name: self._branches.head_of(name) or there.get(name, "") for name in names}
        branch = next((name for name, head in heads.items() if head), names[0])
        head = heads[branch]
        if not head:
            return Start(branch, tip, onto)
        foreign = self._branches.foreign_commits(tip, head)
        if foreign and not self._wishes.go_on and not self._is_pending(branch):
            shown = ", ".join(f"{one.sha[:10]} {one.subject[:40]}" for one in foreign[:3])
            hint = "bmad autopilot --continue goes on from it; or rename it: git branch -m"
            raise UsageError(f"{branch} is there already, with commits that are not ours", found=shown, hint=hint)
        return Start(branch, head, onto if onto and self._branches.contains(head, tip) else "")

    def _is_pending(self, branch: str) -> bool:
        """An open pull request that may be gone on with: looked at before."""
        return not self._is_local and any(mark.head_ref == branch for mark in self._forge().pulls_of(branch))
