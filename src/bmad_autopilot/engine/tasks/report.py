"""The report of what was implemented, from the run records alone: the same records give the same text."""

from collections.abc import Iterator, Sequence

from ...board.task_rows import TaskRow
from ...core.statuses import DONE
from .records import TaskWork, Work

MAX_TEXT = 500


def report_text(kind: str, rows: Sequence[TaskRow], work: Work) -> str:
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


def _checks(work: Work) -> Iterator[str]:
    for command, passed, ran in work.checks:
        yield f"- `{_line(command).replace('`', chr(39))}`: passed {passed} of {ran} times"
    if not work.checks:
        yield "- none were run"


def _questions(rows: Sequence[TaskRow], work: Work) -> Iterator[str]:
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
    """What a client does not say is not nothing."""
    told = f"${dollars:.2f}" if dollars or not unpriced else ""
    return " and ".join(filter(None, (told, f"{unpriced} calls without a price" if unpriced else "")))


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


def _line(text: str) -> str:
    one = " ".join(text.split())
    return one if len(one) <= MAX_TEXT else f"{one[:MAX_TEXT]}…"


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")
