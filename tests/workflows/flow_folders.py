"""What each step of the two flows leaves: one table, from which folders in any state are made."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bmad_autopilot.core.flow_state import CompletedStep, FlowState
from bmad_autopilot.project.source_scan import FolderScan
from bmad_autopilot.workflows.flow_file import condition_globs
from bmad_autopilot.workflows.flows import Flow, built_in_flows, get_flow


class Leaves(NamedTuple):
    """What a step does to the folder, and whether its row is needed to know that it is done."""

    flow: str
    number: int
    name: str
    files: tuple[str, ...] = ()
    needs_row: bool = False
    finishes_tasks: bool = False  # moves all from todo to done
    by_word: bool = False  # the state file pointing beyond it is enough


DOCS = "_docs"
TASKS = (f"{DOCS}/02_tasks/todo/01_one.md", f"{DOCS}/02_tasks/todo/02_two.md")
TABLE = f"{DOCS}/02_tasks/_dependencies_table.md"
REPORT = f"{DOCS}/03_implementation/implementation_report_"
SECURITY = (f"{DOCS}/05_security/security_report.md",)
SPEED = (f"{DOCS}/06_metrics/performance_report.md",)
DEPLOY = (f"{DOCS}/04_deploy/deployment_procedures.md", f"{DOCS}/04_deploy/deploy_scripts.md")
PROBLEM = tuple(
    f"{DOCS}/00_problem/{name}"
    for name in ("problem.md", "restrictions.md", "acceptance_criteria.md", "input_data/a/sample.csv")
)
PLAN = tuple(f"{DOCS}/02_document/{name}" for name in ("architecture.md", "FINAL_report.md", "user_interface.md"))

STEPS = (
    Leaves("greenfield", 1, "Problem", PROBLEM),
    Leaves("greenfield", 2, "Research", (f"{DOCS}/01_solution/solution_draft01.md",), needs_row=True),
    Leaves("greenfield", 3, "Plan", PLAN),
    Leaves("greenfield", 4, "UI Design", (f"{DOCS}/02_document/ui_design.md",)),
    Leaves("greenfield", 5, "Decompose", (*TASKS, TABLE)),
    Leaves("greenfield", 6, "Implement", (f"{REPORT}features.md", "src/main.py"), finishes_tasks=True),
    Leaves("greenfield", 7, "Run Tests", needs_row=True, by_word=True),
    Leaves("greenfield", 8, "Security Audit", SECURITY),
    Leaves("greenfield", 9, "Performance Test", SPEED),
    Leaves("greenfield", 10, "Deploy", DEPLOY),
    Leaves("existing-code", 1, "Document", (f"{DOCS}/02_document/FINAL_report.md",)),
    Leaves("existing-code", 2, "Test Spec", (f"{DOCS}/02_document/tests/traceability-matrix.md",)),
    Leaves("existing-code", 3, "Decompose Tests", (*TASKS, TABLE)),
    Leaves("existing-code", 4, "Implement Tests", (f"{REPORT}tests.md",), finishes_tasks=True),
    Leaves("existing-code", 5, "Run Tests", needs_row=True, by_word=True),
    Leaves("existing-code", 6, "Refactor", (f"{DOCS}/04_refactoring/01-round/FINAL_report.md",)),
    # Once its tasks are done, only its row tells.
    Leaves("existing-code", 7, "New Task", (f"{DOCS}/02_tasks/todo/03_three.md",), needs_row=True, by_word=True),
    Leaves("existing-code", 8, "Implement", (f"{REPORT}features.md",), finishes_tasks=True),
    Leaves("existing-code", 9, "Run Tests", needs_row=True, by_word=True),
    Leaves("existing-code", 10, "Security Audit", SECURITY),
    Leaves("existing-code", 11, "Performance Test", SPEED),
    Leaves("existing-code", 12, "Deploy", DEPLOY),
)


def flow(name: str) -> Flow:
    return get_flow(built_in_flows(), name)


def up_to(name: str, number: int) -> list[Leaves]:
    return [one for one in STEPS if one.flow == name and one.number <= number]


def lay(top: Path, name: str, number: int) -> None:
    """The folder as it is once so many steps are done."""
    if name == "existing-code":
        put(top, "src/app.py")
    for one in up_to(name, number):
        put(top, *one.files)
        if one.finishes_tasks:
            finish_tasks(top)


def put(top: Path, *names: str, text: str = "text\n") -> None:
    for name in names:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def finish_tasks(top: Path) -> None:
    for task in sorted((top / DOCS / "02_tasks/todo").glob("*.md")):
        done = top / DOCS / "02_tasks/done" / task.name
        done.parent.mkdir(exist_ok=True)
        task.rename(done)


def row(number: int, outcome: str = "done", name: str = "") -> CompletedStep:
    return CompletedStep(str(number), name, "2026-03-25", outcome)


def needed_rows(name: str, number: int) -> tuple[CompletedStep, ...]:
    return tuple(row(one.number, name=one.name) for one in up_to(name, number) if one.needs_row)


def all_rows(numbers: Iterable[int]) -> tuple[CompletedStep, ...]:
    return tuple(row(number) for number in numbers)


def state_of(
    name: str, step: object, rows: Sequence[CompletedStep] = (), status: str = "not_started"
) -> FlowState:
    number = str(step)
    names = {str(one.number): one.name for one in STEPS if one.flow == name}
    return FlowState(name, number, names.get(number, ""), status, completed=tuple(rows))


def look(top: Path, *flows: Flow, bmad: bool = False) -> FolderScan:
    chosen = flows or built_in_flows()
    conditions = [one for flow in chosen for one in flow.conditions]
    states = [flow.head.state for flow in chosen]
    return FolderScan(str(top), condition_globs(conditions), state_files=states, bmad=bmad)
