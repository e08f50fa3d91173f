"""Builds the dependency graph of a project's epics: by their order, from declarations in the settings, the epics
files and the stories.yaml files, or without edges, as `dependencies` in the settings says."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..core.dependency_graph import DependencyGraph, DependencySource, Edge, build_graph, chain_in_order
from ..core.errors import FileError, Location
from ..core.keys import natural_order
from ..core.statuses import DONE, RowKind
from ..io.files import TextFile, read_text
from ..project.project import Project
from . import markdown
from .dependency_phrases import (
    ALL_PREVIOUS,
    DEPENDENCY_LABEL,
    DEPENDENCY_TITLE,
    MAX_LINE,
    DependencyReference,
    parse_references,
    parse_sentences,
    parse_statement,
    strip_markup,
)
from .epics_file import find_epics_files, read_heading
from .overview import EpicView

ORDER, DECLARED = "order", "declared"


def dependency_graph(
    project: Project,
    epics: Sequence[EpicView],
    chosen: Sequence[str],
    *,
    satisfied: Collection[str] = (),
    mode: str = "",
    files: Sequence[str] | None = None,
) -> DependencyGraph:
    """`epics`: all epics of the board. `chosen`: the numbers of those to do, in natural order. `satisfied`: other
    epics that block none, since their pull requests are open. `mode`: overrides the settings. `files`: the epics
    files, if already found."""
    if project.tasks_folder:
        return _task_graph(project, chosen, satisfied)
    mode = mode or project.config.dependencies
    if mode == ORDER:
        return build_graph(chosen, chain_in_order(chosen))
    if mode != DECLARED:
        return build_graph(chosen, ())
    closed = {epic.number for epic in epics if epic.number is not None and epic.is_closed}
    found = declared_edges(project, epics, find_epics_files(project.folders.planning) if files is None else files)
    return build_graph(chosen, found, {*closed, *satisfied})


def _task_graph(project: Project, chosen: Sequence[str], satisfied: Collection[str]) -> DependencyGraph:
    """Batches wait for the tasks that theirs depend on; the settings about epics do not apply."""
    from .sprint_status import read_board
    from .task_board import batch_graph
    from .task_files import read_tasks

    found = batch_graph(read_board(project.require_board()), read_tasks(project.tasks_folder))
    return build_graph(chosen, found.edges, {*satisfied, *found.nodes})


def declared_edges(project: Project, epics: Sequence[EpicView], files: Iterable[str]) -> list[Edge]:
    """The settings come first: of duplicate edges the first one is reported."""
    from .stories_yaml import find_story_lists, read_listed_dependencies

    numbers = [epic.number for epic in epics if epic.number is not None]
    done = {row.number for epic in epics for row in epic.stories if row.meaning == DONE}
    lists = find_story_lists(project.folders.output)
    return [
        *_from_settings(project),
        *_unmet_edges(
            (need for path in files for need in _read_file(path, numbers)), DependencySource.EPICS, done
        ),
        *_unmet_edges(read_listed_dependencies(lists, numbers), DependencySource.STORIES, done),
    ]


def _from_settings(project: Project) -> Iterator[Edge]:
    if not project.config.depends:
        return
    from ..project.config_tables import depends_location

    for epic, ons in project.config.depends.items():
        location = depends_location(project.config, epic)
        yield from (Edge(epic, on, DependencySource.SETTINGS, location) for on in ons)


def _read_file(path: str, numbers: Sequence[str]) -> "list[EpicDependency]":

    try:
        return read_dependencies(read_text(path), numbers)
    except FileError:  # `bmad board check` reports it
        return []


def _unmet_edges(
    needs: "Iterable[EpicDependency]", source: DependencySource, done: Collection[str]
) -> Iterator[Edge]:
    """Omit satisfied dependencies: the dependent story or the story it waits for is done."""
    for need in needs:
        if need.by_story not in done and need.on_story not in done:
            yield Edge(need.epic, need.depends_on, source, need.location)


# Dependencies in epics files, each with its line. Prose that merely mentions an epic, or denies a dependency, does
# not count.

MAX_DEPENDENCIES = 5000  # of one file
_HEADING = re.compile(r" {0,3}(#{1,6})(?!#)(.*)")
_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(.*)")


class EpicDependency(NamedTuple):
    epic: str  # the number of the epic that waits
    depends_on: str  # the number of the epic it waits for
    location: Location
    by_story: str = ""  # the waiting epic's story that declares it; empty: the epic itself
    on_story: str = ""  # the other epic's story that is required; empty: the whole epic


class _SectionContext(NamedTuple):
    """The section that contains a line."""

    epic: str = ""
    story: str = ""
    level: int = 0  # of the epic's heading
    in_list: bool = False  # below a label, or in a section about dependencies


def read_dependencies(text: TextFile, epics: Sequence[str]) -> list[EpicDependency]:
    """`epics`: the numbers of all epics, in natural order."""
    found: list[EpicDependency] = []
    context = _SectionContext()
    prose = markdown.prose(markdown.unify_line_ends(text.text)).text
    for number, line in enumerate(prose.split("\n"), 1):
        if len(found) >= MAX_DEPENDENCIES:
            break
        heading = _HEADING.match(line)
        if heading is not None and (heading[2][:1] in (" ", "\t", "") or read_heading(heading[2])):
            context = _enter_heading(context, len(heading[1]), heading[2], epics)
        elif line.strip():
            needs, context = _read_line(line[:MAX_LINE], context, epics)
            found += (EpicDependency(*need[:2], Location(text.path, number), *need[2:]) for need in needs)
    return found


def epic_of_story(story: str, epics: Sequence[str]) -> str:
    """The epic of a story's number; if it does not exist, the number it would have."""
    parts = story.split(".")
    heads = [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
    return next((head for head in heads if head in epics), heads[-1] if heads else "")


def _enter_heading(context: _SectionContext, level: int, title: str, epics: Sequence[str]) -> _SectionContext:
    named = read_heading(title)
    if named is None:
        return (
            _SectionContext()
            if level <= context.level
            else context._replace(in_list=DEPENDENCY_TITLE.fullmatch(title) is not None)
        )
    if named.number is None or named.is_deleted:
        return _SectionContext()
    if named.kind is RowKind.EPIC:
        return _SectionContext(named.number, "", level)
    epic = named.epic_number or (epic_of_story(named.number, epics) if "." in named.number else context.epic)
    number = named.number if "." in named.number else f"{epic}.{named.number}"
    return _SectionContext(epic, number, context.level if epic == context.epic else level)


_FoundDependency = tuple[str, str, str, str]  # epic, on, by, story


def _read_line(
    line: str, context: _SectionContext, epics: Sequence[str]
) -> tuple[list[_FoundDependency], _SectionContext]:
    label = DEPENDENCY_LABEL.match(line)
    value = label["value"] if label else ""
    parsed = parse_statement(value) or parse_statement(line)
    if parsed is not None:
        subjects = [one for subject in parsed.subjects for one, _ in _resolve(subject, "", epics)]
        return [
            (epic, on, "", story)
            for epic in subjects
            for on, story in _resolve_all(parsed.references, epic, epics)
        ], context
    if label is not None:
        context = context._replace(in_list=not strip_markup(value))
        return _dependencies_in(
            parse_references(value, bare_kind="story" if context.story else "epic"), context, epics
        ), context
    item = _ITEM.match(line)
    if context.in_list and item is not None:
        return _dependencies_in(parse_references(item[1]), context, epics), context
    # A label without a value, such as `**Internal:**`, subdivides a section about dependencies.
    if not line.strip().endswith((":", ":**", "：")):
        context = context._replace(in_list=False)
    return _dependencies_in(parse_sentences(line), context, epics), context


def _dependencies_in(
    named: Sequence[DependencyReference], context: _SectionContext, epics: Sequence[str]
) -> list[_FoundDependency]:
    if not context.epic:
        return []
    return [
        (context.epic, on, context.story, story)
        for on, story in _resolve_all(named, context.epic, epics, context.story)
    ]


def _resolve_all(
    named: Sequence[DependencyReference], epic: str, epics: Sequence[str], by: str = ""
) -> Iterator[tuple[str, str]]:
    for reference in named:
        for on, story in _resolve(reference, epic, epics):
            # Stories of one epic are worked on one after another anyway.
            if on and not (on == epic and (story or by)):
                yield on, story


def _resolve(reference: DependencyReference, epic: str, epics: Sequence[str]) -> list[tuple[str, str]]:
    """The referenced epics, each with the referenced story of it, if any."""
    first, last = reference.first, reference.last
    if first == ALL_PREVIOUS:
        return [(one, "") for one in epics if epic in epics and natural_order(one) < natural_order(epic)]
    if reference.is_story:
        if first in epics and last:  # `Story 4.5-1`, which is no range
            return [(first, f"{first}.{last}")]
        ends = [one for one in (first, last) if "." in one]
        return [(epic_of_story(one, epics), one if not last else "") for one in ends]
    if not last:
        is_story = first not in epics and epic_of_story(first, epics) in epics
        return [(epic_of_story(first, epics), first)] if is_story else [(first, "")]
    if f"{first}.{last}" in epics:  # `Epic 0-5`, the form used on a board
        return [(f"{first}.{last}", "")]
    between = [one for one in epics if natural_order(first) <= natural_order(one) <= natural_order(last)]
    return [(one, "") for one in dict.fromkeys((first, *between, last))]
