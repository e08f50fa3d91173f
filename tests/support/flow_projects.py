"""Projects in the middle of a flow, for tests of `bmad flow` and `bmad status`."""

from pathlib import Path

from tests.support.flow_runs import STATE, FlowProject

PROBLEM = ("problem.md", "restrictions.md", "acceptance_criteria.md", "input_data/sample.csv")

FAILED = """\
# Autopilot State
## Current Step
flow: greenfield
step: 3
name: Plan
status: failed
sub_step: 4 — Architecture Review & Risk Assessment
retry_count: 3
## Completed Steps
| Step | Name | Completed | Key Outcome |
|------|------|-----------|-------------|
| 1 | Problem | 2026-03-01 | Four documents on what the shop lacks |
| 2 | Research | 2026-03-02 | Draft 2: a plain web application |
## Key Decisions
- Tech stack: Python, Postgres
- One tenant per database
- No accounts in the first release
- Deployed with containers
- Invoices are PDF files
- Prices are kept in cents
- English and French
## Last Session
date: 2026-03-04
ended_at: Step 3 Plan — SubStep 4 — Architecture Review & Risk Assessment
reason: user paused
notes: the architecture review found a cycle between orders and invoices
## Retry Log
| Attempt | Step | Name | SubStep | Failure Reason | Timestamp |
|---------|------|------|---------|----------------|-----------|
| 1 | 3 | Plan | 4 | the review ended without a report | 2026-03-04 10:00 |
| 2 | 3 | Plan | 4 | the review ended without a report | 2026-03-04 11:00 |
| 3 | 3 | Plan | 4 | the agent crashed: exit code 1 | 2026-03-04 12:00 |
## Blockers
- Step 3 Plan: failed 3 times: the agent crashed: exit code 1
- The invoice layout is not decided
"""


def project_at_plan(root: Path, state: str | None = FAILED) -> FlowProject:
    """A project with problem and research done; `state`: content of the state file."""
    project = FlowProject(root)
    for name in PROBLEM:
        project.write(f"_docs/00_problem/{name}")
    for name in ("solution_draft01.md", "solution_draft02.md"):
        project.write(f"_docs/01_solution/{name}")
    if state is not None:
        project.write(STATE, state)
    return project


def project_in_progress(root: Path) -> FlowProject:
    return project_at_plan(
        root, FAILED.replace("status: failed", "status: in_progress").replace("count: 3", "count: 1")
    )
