"""The history of a flow's tasks from their runs' journals, the report made of it, and the commits of both."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...board.sprint_status import board_from_text, read_board
from ...board.task_board import TaskRow, task_rows
from ...board.task_files import DONE as FINISHED
from ...board.task_files import TODO, read_tasks
from ...core.errors import AutopilotError, ConflictError, FileError, Location
from ...core.journal_fold import fold
from ...core.run_record import RunRecord, StoryRecord
from ...core.statuses import DONE
from ...core.text import one_line
from ...git.commits import commit_paths
from ...git.git import Git
from ...git.history import AUTOPILOT_IDENTITY, STEP_TRAILER, current_head
from ...git.trees import read_file
from ...git.worktree_state import precondition_error, read_worktree_state
from ...io.files import TextFile, read_bytes, resolve_inside, write_atomic
from ...project.project import Project
from ...project.root import REPORTS_FOLDER
from ...runs.index import all_runs, open_runs
from ...runs.journal import Journal
from ...runs.layout import folder_name, runs_folder
from ..runner import lane_of_run, read_lane

SESSION = "tasks"  # default session of their runs


class TaskWork(NamedTuple):
    """Totals of one row over all runs."""

    commits: tuple[str, ...] = ()
    calls: int = 0
    rounds: int = 0
    dollars: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0
    answers: tuple[Mapping[str, Any], ...] = ()


class TaskHistory(NamedTuple):
    rows: Mapping[str, TaskWork]
    checks: tuple[tuple[str, int, int], ...]  # command, times passed, times run
    runs: tuple[str, ...]  # run ids, oldest first


def load_task_history(runs: str, keys: frozenset[str]) -> TaskHistory:
    """Totals for these rows. Unreadable runs are skipped."""
    rows: dict[str, TaskWork] = {}
    checks: dict[str, list[bool]] = {}
    names = []
    for run in sorted(all_runs(runs, include_archived=True), key=lambda run: (run.state.started_at, run.id)):
        record = _record(run.folder)
        if record is None or not keys & record.stories.keys():
            continue
        names.append(run.id)
        for key in sorted(keys & record.stories.keys()):
            rows[key] = _add_run(rows.get(key, TaskWork()), record, record.stories[key])
        for check in record.checks.values():
            for command, code, _ in check.ran:
                checks.setdefault(str(command), []).append(code == 0)
    shown = ((command, sum(passed), len(passed)) for command, passed in sorted(checks.items()))
    return TaskHistory(rows, tuple(shown), tuple(names))


def _record(folder: str) -> RunRecord | None:
    lane = read_lane(folder)
    if lane is None or not lane.of_tasks:
        return None
    try:
        entries = Journal(folder, lambda value: value).entries()
    except AutopilotError:
        return None
    return fold((entry.kind, entry.data, entry.at) for entry in entries)


def _add_run(work: TaskWork, run: RunRecord, story: StoryRecord) -> TaskWork:
    ended = [call.outcome for step in story.steps for call in step.calls if call.outcome is not None]
    prices = [one.get("dollars") for one in ended]
    return TaskWork(
        tuple(dict.fromkeys((*work.commits, *story.commits.values()))),
        work.calls + len(ended),
        work.rounds + (story.round if ended else 0),
        work.dollars + sum(price for price in prices if price is not None),
        work.unpriced + sum(price is None for price in prices),
        work.seconds + sum(float(one.get("seconds") or 0.0) for one in ended),
        (*work.answers, *(one for one in run.answers if one.get("story") == story.key and one.get("answer"))),
    )


# Commits made outside a run: the task plan and its results.


def commit_changed(project: Project, paths: Iterable[str], message: str, key: str) -> str:
    """Commit those of these files that differ from HEAD; empty: none does. The tree shows what is done, so an
    interrupted commit is made by the next call, and never twice."""
    git = Git(project.root.checkout)
    ground = read_worktree_state(git)
    problem = precondition_error(ground)
    if problem is not None:
        raise problem
    changed = {*ground.dirty, *ground.untracked}
    named = sorted({relative_to_top(git, path) for path in paths} & changed)
    if not named:
        return ""
    return commit_paths(git, named, message, {STEP_TRAILER: key}, identity=ground.identity or AUTOPILOT_IDENTITY)


def changed_paths(project: Project, paths: Iterable[str]) -> set[str]:
    """Those of these paths that differ from HEAD, relative to git's top."""
    git = Git(project.root.checkout)
    ground = read_worktree_state(git)
    return {relative_to_top(git, path) for path in paths} & {*ground.dirty, *ground.untracked}


def committed_rows(project: Project) -> frozenset[str]:
    """The keys of the tasks' board at HEAD."""
    git = Git(project.root.checkout)
    head = current_head(git)
    path = project.require_board()
    raw = read_file(git, head, relative_to_top(git, path)) if head else None
    try:
        return frozenset(board_from_text(TextFile(path, raw)).rows) if raw is not None else frozenset()
    except FileError:
        return frozenset()


def relative_to_top(git: Git, path: str) -> str:
    return os.path.relpath(os.path.realpath(path), git.top)


def has_unfinished_run(project: Project, session: str, key: str = "") -> bool:
    """A run of this batch (or of any) can be resumed; uncommitted files may belong to it."""
    found = open_runs(runs_folder(project.root.path), key=key or None, session=session, of_tasks=True)
    return any(lane_of_run(run) is not None for run in found)


# The implementation report. Deterministic: the same records give the same text.

MAX_TEXT = 500


def report_text(kind: str, rows: Sequence[TaskRow], work: TaskHistory) -> str:
    done = [one for one in rows if one.row.meaning == DONE]
    spent = [work.rows.get(one.row.key, TaskWork()) for one in rows]
    points = sum(one.task.points or 0 for one in done if one.task is not None)
    lines = [
        f"# Implementation Report: {kind}",
        "",
        f"- Tasks: {len(done)} of {len(rows)} done, {points} complexity points",
        f"- Batches: {len({one.row.epic for one in rows})}",
        f"- Agent calls: {sum(one.calls for one in spent)}, {_minutes(sum(one.seconds for one in spent))}",
        f"- Cost: {_price(sum(one.dollars for one in spent), sum(one.unpriced for one in spent))}",
        f"- Runs: {', '.join(work.runs) or 'none on record'}",
        "",
        "## Tasks",
        "",
        "| Batch | Task | Title | Points | Status | Rounds | Cost | Commits |",
        "|-------|------|-------|--------|--------|--------|------|---------|",
        *(_task(one, work.rows.get(one.row.key, TaskWork())) for one in rows),
        "",
        "## Checks",
        "",
        *(_checks(work)),
        "",
        "## Questions",
        "",
        *(_questions(rows, work)),
    ]
    return "\n".join(lines) + "\n"


def _task(one: TaskRow, work: TaskWork) -> str:
    task, row = one.task, one.row
    name, title = (task.name, task.title) if task else (row.key, "")
    points = str(task.points) if task and task.points is not None else "–"
    commits = " ".join(sha[:10] for sha in work.commits) or "–"
    price = _price(work.dollars, work.unpriced) if work.calls else "–"
    cells = (row.epic, name, title, points, row.status.raw, str(work.rounds or "–"), price, commits)
    return f"| {' | '.join(_cell(str(cell)) for cell in cells)} |"


def _checks(work: TaskHistory) -> Iterator[str]:
    for command, passed, ran in work.checks:
        yield f"- `{_line(command).replace('`', chr(39))}`: passed {passed} of {ran} times"
    if not work.checks:
        yield "- none were run"


def _questions(rows: Sequence[TaskRow], work: TaskHistory) -> Iterator[str]:
    found = False
    for one in rows:
        for said in work.rows.get(one.row.key, TaskWork()).answers:
            found = True
            name = one.task.name if one.task else one.row.key
            yield f"- {_line(name)}: {_line(str(said.get('text', '')))}"
            yield f"  Answer: {_line(str(said.get('answer', '')))}"
    if not found:
        yield "- none"


def _price(dollars: float, unpriced: int) -> str:
    """Calls without a price are counted apart, not as free."""
    shown = f"${dollars:.2f}" if dollars or not unpriced else ""
    return " and ".join(filter(None, (shown, f"{unpriced} calls without a price" if unpriced else "")))


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


def _line(text: str) -> str:
    return one_line(text, MAX_TEXT)


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")


# Finishing tasks: move their files to done/, write the report, commit both.


def report_path(project: Project, kind: str) -> str:
    return os.path.join(project.root.checkout, REPORTS_FOLDER, f"implementation_report_{folder_name(kind)}.md")


def finish_tasks(project: Project, kind: str) -> list[str]:
    """Covers all rows done on the board, so that the next call completes an interrupted one. Returns the reports'
    paths."""
    rows = task_rows(read_board(project.require_board()), read_tasks(project.tasks_folder))
    kinds = sorted({one.kind or kind for one in rows if (one.kind or kind) == kind or _is_unreported(one)})
    reports = [_write_report(project, name, [one for one in rows if (one.kind or kind) == name]) for name in kinds]
    moved = [path for one in rows if one.row.meaning == DONE for path in _move_to_done(one, project.tasks_folder)]
    done = sum(one.row.meaning == DONE for one in rows if (one.kind or kind) == kind)
    message = f"Implementation report: {kind}, {done} {'task' if done == 1 else 'tasks'} done"
    commit_changed(project, [*moved, *reports], message, f"tasks/{kind}/report-{done}")
    return reports


def _is_unreported(one: TaskRow) -> bool:
    """Done, but its file is still in todo/, so no report lists it."""
    return one.row.meaning == DONE and one.task is not None and one.task.state == TODO


def _write_report(project: Project, kind: str, rows: list[TaskRow]) -> str:
    path = report_path(project, kind)
    keys = frozenset(one.row.key for one in rows)
    text = report_text(kind, rows, load_task_history(runs_folder(project.root.path), keys)).encode()
    target = resolve_inside(path, project.work_tree)
    if not os.path.lexists(target) or read_bytes(target, follow=False) != text:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        write_atomic(target, text)
    return path


def is_finish_interrupted(project: Project, kind: str) -> bool:
    """Files were moved or a report was written, but not committed."""
    rows = task_rows(read_board(project.require_board()), read_tasks(project.tasks_folder))
    paths = [
        path for one in rows if one.row.meaning == DONE for path in _possible_paths(one, project.tasks_folder)
    ]
    reports = [report_path(project, one) for one in {kind, *(one.kind or kind for one in rows)}]
    here = [one.task.path for one in rows if one.task is not None and one.task.state == TODO]
    return bool(changed_paths(project, [*paths, *reports]) - changed_paths(project, here))


def _move_to_done(one: TaskRow, folder: str) -> tuple[str, ...]:
    """Move the task's file to done/. Returns old and new paths: both belong to the commit, also after a kill."""
    if one.task is not None and one.task.state == TODO:
        target = os.path.join(folder, FINISHED, os.path.basename(one.task.path))
        if os.path.lexists(target):
            hint = "look which of the two counts, and move the other away"
            raise ConflictError("is there already", location=Location(target), found=one.task.path, hint=hint)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.rename(one.task.path, target)
    return _possible_paths(one, folder)


def _possible_paths(one: TaskRow, folder: str) -> tuple[str, ...]:
    if one.task is None:
        return ()
    name = os.path.basename(one.task.path)
    return tuple(os.path.join(folder, part, name) for part in (FINISHED, TODO, ""))
