"""The graph of a project's epics, by `dependencies` in its settings: from the order, from what is declared in the
settings, the epics files and the stories.yaml, or without any edge."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..core.errors import FileError
from ..core.graph import Edge, Graph, Source, build, in_order
from ..core.statuses import DONE
from ..files import read_text
from ..project.open import Project
from .epics_files import find_epics_files
from .overview import EpicView

if TYPE_CHECKING:
    from .needs import Need

ORDER, DECLARED = "order", "declared"


def dependency_graph(
    project: Project,
    epics: Sequence[EpicView],
    chosen: Sequence[str],
    *,
    over: Collection[str] = (),
    mode: str = "",
    files: Sequence[str] | None = None,
) -> Graph:
    """`epics`: all of the board. `chosen`: the numbers of those to do, in their natural order. `over`: further
    ones that nobody waits for, as their pull requests are open. `mode`: in place of the settings'. `files`: the
    epics files, where somebody has found them."""
    if project.tasks:
        return _of_tasks(project, chosen, over)
    mode = mode or project.config.dependencies
    if mode == ORDER:
        return build(chosen, in_order(chosen))
    if mode != DECLARED:
        return build(chosen, ())
    closed = {epic.number for epic in epics if epic.number is not None and epic.is_closed}
    found = declared_edges(project, epics, find_epics_files(project.folders.planning) if files is None else files)
    return build(chosen, found, {*closed, *over})


def _of_tasks(project: Project, chosen: Sequence[str], over: Collection[str]) -> Graph:
    """Batches wait for what their tasks need, whatever the settings say of epics."""
    from .sprint import read_board
    from .task_board import batch_graph
    from .tasks import read_tasks

    found = batch_graph(read_board(project.require_board()), read_tasks(project.tasks))
    return build(chosen, found.edges, {*over, *found.nodes})


def declared_edges(project: Project, epics: Sequence[EpicView], files: Iterable[str]) -> list[Edge]:
    """From the settings first: of several that say the same, those are told of."""
    from .story_lists import find_story_lists, listed_needs

    numbers = [epic.number for epic in epics if epic.number is not None]
    done = {row.number for epic in epics for row in epic.stories if row.meaning == DONE}
    lists = find_story_lists(project.folders.output)
    return [
        *_from_settings(project),
        *_edges((need for path in files for need in _read(path, numbers)), Source.EPICS, done),
        *_edges(listed_needs(lists, numbers), Source.STORIES, done),
    ]


def _from_settings(project: Project) -> Iterator[Edge]:
    if not project.config.depends:
        return
    from ..project.settings_depends import place_of

    for epic, ons in project.config.depends.items():
        place = place_of(project.config, epic)
        yield from (Edge(epic, on, Source.SETTINGS, place) for on in ons)


def _read(path: str, numbers: Sequence[str]) -> "list[Need]":
    from .needs import read_needs

    try:
        return read_needs(read_text(path), numbers)
    except FileError:  # `bmad board check` tells of it
        return []


def _edges(needs: "Iterable[Need]", source: Source, done: Collection[str]) -> Iterator[Edge]:
    """Without what is met already: the story that needs it is done, or the one that is needed."""
    for need in needs:
        if need.by not in done and need.story not in done:
            yield Edge(need.epic, need.on, source, need.place)
