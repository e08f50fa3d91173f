"""State files of flows, as they are written and as they are found."""

from bmad_autopilot.core.flow_state import CompletedStep, FlowState, LastSession, RetryEntry
from bmad_autopilot.io.files import TextFile
from bmad_autopilot.runs.flow_state_reader import read_flow_state

STATE = FlowState(
    flow="greenfield",
    step="3",
    name="Plan",
    status="in_progress",
    sub_step="4 — Architecture Review & Risk Assessment",
    retry_count=1,
    completed=(
        CompletedStep("1", "Problem", "2026-03-01", "Four documents"),
        CompletedStep("2", "Research", "2026-03-02", "Postgres | SQLite weighed"),
    ),
    decisions=("Tech stack: Python + Rust", "One database"),
    last=LastSession("2026-03-02", "Step 2 Research — SubStep 8 Draft", "session boundary", "go on with the plan"),
    retries=(RetryEntry("1", "3", "Plan", "4 — Architecture", "the agent ended early", "2026-03-03 10:00"),),
    blockers=(),
)

FILE = r"""# Autopilot State
## Current Step
flow: greenfield
step: 3
name: Plan
status: in_progress
sub_step: 4 — Architecture Review & Risk Assessment
retry_count: 1
## Completed Steps
| Step | Name | Completed | Key Outcome |
|------|------|-----------|-------------|
| 1 | Problem | 2026-03-01 | Four documents |
| 2 | Research | 2026-03-02 | Postgres \| SQLite weighed |
## Key Decisions
- Tech stack: Python + Rust
- One database
## Last Session
date: 2026-03-02
ended_at: Step 2 Research — SubStep 8 Draft
reason: session boundary
notes: go on with the plan
## Retry Log
| Attempt | Step | Name | SubStep | Failure Reason | Timestamp |
|---------|------|------|---------|----------------|-----------|
| 1 | 3 | Plan | 4 — Architecture | the agent ended early | 2026-03-03 10:00 |
## Blockers
- none
"""

# By hand, in an editor of its own mind: other order, bullets, remarks, extra columns and sections, code, prose.
ODD = r"""Notes of the team, kept on top.

# AUTOPILOT STATE

## Blockers:
* [none]

## Current step
We are nearly there.
- **Flow:** existing-code ← active flow
-   STEP :   Step 02 ← autopilot step
- `name`: Test Spec
- Status: In Progress
- Sub-Step: 1b — Test Case Generation
- Retry count: 2/3

```
flow: not-this-one
## Completed Steps
| 9 | Never | x | y |
```

## Our own section
| Step | Name |
|---|---|
| 7 | not ours |

### Completed Steps ✅
Name | Step | Owner | Key Outcome | Completed
:--- | ---: | :---: | --- | ---
Document | 1 | Ann | eight components | 2026-01-01

| Test Spec | 2 |
(rows above)

## Key Decisions
1. Keep the old API
   for a year
2. No ORM
<!-- - hidden -->

## Last Session
date: 2026-01-02
reason: user paused
"""


def text(content: str | bytes, path: str = "_docs/_autopilot_state.md") -> TextFile:
    return TextFile(path, content.encode() if isinstance(content, str) else content)


def read(content: str | bytes) -> FlowState:
    return read_flow_state(text(content))


def said(state: FlowState) -> FlowState:
    return state._replace(diagnostics=())
