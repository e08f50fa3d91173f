"""bmm-workflow-status: every shape in use, and the state of each workflow."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.workflow_status import WorkflowState, WorkflowStatus, read_workflow_status
from bmad_autopilot.core.errors import FileError
from bmad_autopilot.io.files import TextFile, read_text

D, R, P, S, C, U = (
    WorkflowState.DONE,
    WorkflowState.REQUIRED,
    WorkflowState.OPTIONAL,
    WorkflowState.SKIPPED,
    WorkflowState.CONDITIONAL,
    WorkflowState.UNKNOWN,
)


def read(text: str) -> WorkflowStatus:
    return read_workflow_status(TextFile("bmm-workflow-status.yaml", text.encode()))


def rows(found: WorkflowStatus) -> list[tuple[str, str | None, WorkflowState, str | None]]:
    return [(w.id, w.phase, w.state, w.path) for w in found.workflows]


SHAPES = {
    "flat map, phases in comments": (
        "project: X\nworkflow_status:\n  # Phase 1: A\n  research: optional\n  # Phase 2\n  prd: docs/PRD.md\n",
        [("research", "1", P, None), ("prd", "2", D, "docs/PRD.md")],
    ),
    "map of fields": (
        "workflow_status:\n  # === PHASE 0 ===\n  research:\n    status: required\n    output: A document\n",
        [("research", "0", R, None)],
    ),
    "invented map": (
        "workflows:\n  prd:\n    status: complete\n    output_file: docs/prd.md\n  epics:\n    status: partial\n",
        [("prd", None, D, "docs/prd.md"), ("epics", None, U, None)],
    ),
    "list of phases": (
        "workflow_status:\n  - phase: 1\n    name: P\n    workflows:\n      - id: prd\n        status: completed\n"
        "        outputs: [docs/prd.md, docs/b.md]\n      - id: ux\n        status: conditional\n",
        [("prd", "1", D, "docs/prd.md"), ("ux", "1", C, None)],
    ),
    "map of phases": (
        "workflow_status:\n  phase_2_solutioning:\n    name: S\n    workflows:\n      - id: architecture\n"
        "        status: docs/a.md\n",
        [("architecture", "2", D, "docs/a.md")],
    ),
    "list of workflows": (
        "workflow_status:\n  - id: prd\n    phase: 1\n    status: docs/prd.md\n"
        "  - name: ux\n    phase: 1\n    status: skipped\n",
        [("prd", "1", D, "docs/prd.md"), ("ux", "1", S, None)],
    ),
    "a component of its own": (
        "app:\n  workflow_status:\n    - phase: 1\n      workflows:\n"
        "        - id: prd\n          status: recommended\n",
        [("prd", "1", WorkflowState.RECOMMENDED, None)],
    ),
}


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_shape_is_read(shape, end):
    text, expected = SHAPES[shape]

    assert rows(read(text.replace("\n", end))) == expected


def test_a_comment_above_the_section_names_no_phase():
    found = read(
        "# Phase 4 is tracked elsewhere\nworkflow_status:\n  prd: optional\n  # Phase 2\n  ux: optional\n"
    )

    assert [workflow.phase for workflow in found.workflows] == [None, "2"]


def test_lines_and_fields_are_kept():
    found = read("project: X\nselected_track: method\nworkflow_status:\n  prd: docs/a.md\n  ux: later\n")

    assert found.fields == {"project": "X", "selected_track": "method"}
    assert [(w.id, w.line, w.raw) for w in found.workflows] == [("prd", 4, "docs/a.md"), ("ux", 5, "later")]
    assert [(d.code, d.location.line) for d in found.diagnostics] == [("unknown-status", 5)]


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.md", "C:/x.md"])
def test_a_path_outside_the_project_is_said_and_not_kept(path):
    found = read(f"workflow_status:\n  prd: {path}\n")

    assert rows(found) == [("prd", None, D, None)]
    assert [(d.code, d.location.line) for d in found.diagnostics] == [("unsafe-path", 2)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("a: b\n", 1),
        ("- x\n", 1),
        ("workflow_status:\n  prd: a: b\n", 2),
        ("workflow_status:\n\tprd: x\n", 2),
    ],
)
def test_what_is_no_workflow_status_is_refused_with_its_line(text, line):
    with pytest.raises(FileError) as caught:
        read(text)
    assert caught.value.location is not None
    assert caught.value.location.line == line


@given(
    st.lists(
        st.sampled_from(
            [
                "workflow_status:\n",
                "workflows:\n",
                "  ",
                "- ",
                "id: ",
                "prd",
                ": ",
                "\n",
                "phase: 1\n",
                "docs/a.md",
            ]
        )
    )
)
def test_any_text_is_read_or_refused(pieces):
    try:
        read("".join(pieces))
    except FileError as error:
        assert error.location is not None  # noqa: PT017


# Read by hand: states in file order.
REAL = {
    "1987-Dmytro__Mail-Agent.yaml": [P, P, D, D, P, D, D, P, D, D],
    "Alenryuichi__ai_trend_radar.yaml": [D, D, D, S, D, D, P, R, R],
    "Axl59110__linktracker.yaml": [P, P, P, D, P, P, D, P, D],
    "Brownbull__gmni_boletapp.yaml": [R, P, P, R, R],
    "Casys-AI__casys-pml.yaml": [S, D, S, D, P, S, S, D, S, D, D],
    "ClaudioSBezerra__FB_SMARTPICK.yaml": [D, S, S, D, D, S, D, D, S, D, D],
    "Fledgely__fledgely.yaml": [D, D, P, D, D, D, D, D, P, R, R],
    "JeiKeiLim__vibe-dash.yaml": [D, D, D, D, U, D],
    "O-Side-Systems__efofx.yaml": [D, D, D, P, C, D, D, D, R],
    "stavatar__bmad-ralph.yaml": [D, D, D, D, D, C, D, D, D, D, D, D, D],
    "zookanalytics__bmad-orchestrator.yaml": [S, D, D, D, D, D, D, D, D, D, S, S, D, D, S, D, D, D, R, R],
}


def test_all_real_files(corpus: Path):
    found = {
        p.name: read_workflow_status(read_text(str(p))) for p in sorted((corpus / "workflow-status").iterdir())
    }

    assert {name: [w.state for w in status.workflows] for name, status in found.items()} == REAL
    components = [w.component for w in found["zookanalytics__bmad-orchestrator.yaml"].workflows]
    assert components == ["orchestrator"] * 10 + ["agent-env"] * 10
    for status in found.values():
        assert all(w.path for w in status.workflows if w.state is D)
