"""Which planning documents are there, in the layout of every era, and what bmm-workflow-status.yaml adds."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.planning_documents import DocumentSource, PlanningState, inspect_planning
from bmad_autopilot.board.planning_names import ARTEFACTS, classify_document, document_of_workflow
from bmad_autopilot.board.workflow_status import read_workflow_status
from bmad_autopilot.io.files import read_text
from bmad_autopilot.project.project import open_project
from tests.support.bmad_project import EPICS, ProjectMaker, SampleProject

NEW = "_bmad-output/planning-artifacts"
TEXT = "# A plan\n\n## One\n\nWords.\n\n## Two\n\nWords.\n"


def look(project: SampleProject) -> PlanningState:
    found = open_project(str(project.root), home="/nonexistent")
    return inspect_planning(found.folders, found.bmad)


def shown(project: SampleProject) -> dict[str, str]:
    """Name → path in the project, of those that are there."""
    found = look(project).artefacts
    return {name: str(Path(one.path).relative_to(project.root)) for name, one in found.items() if one.path}


def codes(found: PlanningState) -> list[str]:
    return [note.code for note in found.diagnostics]


@pytest.fixture
def fresh(project: ProjectMaker) -> SampleProject:
    return project(board=None, epics=None, stories={}, with_git=False)


# The files that each generation's skills leave, and a few that they leave beside them.
LAYOUTS = {
    "v4": (
        "v4",
        {
            "brief": "docs/brief.md",
            "prd": "docs/prd.md",
            "ux": "docs/front-end-spec.md",
            "architecture": "docs/architecture.md",
            "epics": "docs/epics.md",
        },
        ["docs/stories/1.1.write-the-prd.md", "docs/qa/prd-checklist.md"],
    ),
    "alpha": (
        "alpha",
        {
            "brainstorm": "docs/bmm-brainstorming-session-2025-11-09.md",
            "research": "docs/research-market-2025-11-10.md",
            "brief": "docs/product-brief-Shop App-2025-11-10.md",
            "prd": "docs/PRD.md",
            "ux": "docs/ux-design-specification.md",
            "architecture": "docs/architecture.md",
            "epics": "docs/epics.md",
            "readiness": "docs/implementation-readiness-report-2025-11-12.md",
        },
        ["docs/validation-report-prd-2025-11-10.md", "docs/sprint-artifacts/1-1-ux-research.md"],
    ),
    "commands": (
        "commands",
        {
            "brainstorm": "_bmad-output/brainstorming/brainstorming-session-2026-02-01.md",
            "research": f"{NEW}/research/market-shops-research-2026-02-01.md",
            "brief": f"{NEW}/product-brief-shop-2026-02-01.md",
            "prd": f"{NEW}/prd.md",
            "ux": f"{NEW}/ux-design-specification.md",
            "architecture": f"{NEW}/architecture.md",
            "epics": f"{NEW}/epics.md",
            "readiness": f"{NEW}/implementation-readiness-report-2026-02-03.md",
        },
        [f"{NEW}/prd-validation-report.md", f"{NEW}/product-brief-shop-distillate.md", f"{NEW}/prd-draft.md"],
    ),
    "shards": (
        "classic",
        {
            "prd": f"{NEW}/prd/index.md",
            "ux": f"{NEW}/ux-design/index.md",
            "architecture": f"{NEW}/architecture/index.md",
            "epics": f"{NEW}/epics/index.md",
        },
        [f"{NEW}/prd/functional-requirements.md", f"{NEW}/archive/product-brief.md"],
    ),
    "components": (
        "classic",
        {
            "prd": f"{NEW}/orders/prd.md",
            "architecture": f"{NEW}/orders/architecture.md",
            "epics": f"{NEW}/orders/epics.md",
        },
        ["_bmad-output/test-design-architecture.md"],
    ),
    "build": (
        "build",
        {
            "brainstorm": "_bmad-output/brainstorming/brainstorm-shop-2026-08-20/brainstorm-intent.md",
            "research": f"{NEW}/research/market-shops-2026-08-20/research.md",
            "brief": f"{NEW}/briefs/brief-shop-2026-08-20/brief.md",
            "prd": f"{NEW}/prds/prd-shop-2026-08-21/prd.md",
            "ux": f"{NEW}/ux-designs/ux-shop-2026-08-21/DESIGN.md",
            "architecture": f"{NEW}/architecture/architecture-shop-2026-08-21/ARCHITECTURE-SPINE.md",
            "epics": f"{NEW}/epics.md",
            "readiness": f"{NEW}/implementation-readiness.md",
        },
        [
            f"{NEW}/ux-designs/ux-shop-2026-08-21/EXPERIENCE.md",
            f"{NEW}/research/market-shops-2026-08-20/brief.md",
            f"{NEW}/research/market-shops-2026-08-20/digests/prd.md",
            f"{NEW}/prds/prd-shop-2026-08-21/review-rubric.md",
            f"{NEW}/prds/prd-shop-2026-08-21/addendum.md",
        ],
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_recognised(layout: str, project: ProjectMaker) -> None:
    era, files, beside = LAYOUTS[layout]
    made = project(era=era, board=None, epics=None, stories={}, with_git=False)
    for path in [*files.values(), *beside]:
        made.write(path, EPICS if "epics" in path else TEXT)
    found = look(made)
    assert shown(made) == files
    assert {one.source for one in found.artefacts.values() if one.path} == {DocumentSource.FILE}
    assert found.diagnostics == ()
    assert list(found.artefacts) == list(ARTEFACTS)
    assert not found.is_complete


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_document_is_found_by_its_own_file_alone(layout: str, project: ProjectMaker) -> None:
    era, files, beside = LAYOUTS[layout]
    for name, path in files.items():
        made = project(f"only-{name}", era=era, board=None, epics=None, stories={}, with_git=False)
        for one in [path, *beside]:
            made.write(one, EPICS if "epics" in one else TEXT)
        assert shown(made) == {name: path}


@pytest.mark.parametrize("era", ["v4", "alpha", "commands", "classic", "build", "shims"])
def test_nothing_is_there_at_first(era: str, project: ProjectMaker) -> None:
    made = project(era=era, board=None, epics=None, stories={}, with_git=False)
    assert look(made).finished == frozenset()
    assert look(made).diagnostics == ()


@pytest.mark.parametrize("era", ["alpha", "commands", "classic", "build"])
def test_a_board_ends_it(era: str, project: ProjectMaker) -> None:
    made = project(era=era, with_git=False)
    assert look(made).is_complete
    assert shown(made)["board"] == str(made.board.relative_to(made.root))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("PRD.md", "prd"),
        ("bmm-PRD.md", "prd"),
        ("prd-link-tracker-2026-02-09.md", "prd"),
        ("product-requirements.md", "prd"),
        ("architecture-playground.md", "architecture"),
        ("solution-architecture.md", "architecture"),
        ("ux-design.md", "ux"),
        ("ux-spec.md", "ux"),
        ("prfaq-shop.md", "brief"),
        ("analysis/product-brief-bmad-test-2025-12-05.md", "brief"),
        ("project-brief.md", "brief"),
        ("research/prd-patterns.md", "research"),
        ("ux-research.md", "research"),
        ("domain-brief.md", "research"),
        ("analysis/brainstorming-session-2026-01-10.md", "brainstorm"),
        ("brainstorming/brainstorm-x/brainstorm.html", "brainstorm"),
        ("solutioning-gate-check-2025-11-10.md", "readiness"),
        ("architecture-readiness-validation.md", "readiness"),
        ("prd-validation-report.md", None),
        ("sprint-change-proposal-prd.md", None),
        ("1-2-linux-architecture.md", None),
        ("spec-3-2-prd-import.md", None),
        ("epic-3-architecture.md", None),
        ("tech-spec-ux.md", None),
        ("linux.md", None),
        ("debrief.md", None),
        ("a/b/c/prd.md", None),
        ("index.md", None),
        ("prd.html", None),
        ("project-context.md", None),
    ],
)
def test_names(path: str, name: str | None) -> None:
    found = classify_document(path)
    assert (found[0] if found else None) == name


@given(st.text(max_size=80))
def test_any_name_is_one_document_or_none(path: str) -> None:
    found = classify_document(path)
    assert found is None or found[0] in ARTEFACTS


@pytest.mark.parametrize(
    "word", ["bmad-bmm-create-prd", "bmad-prd", "create_prd", "/bmad:bmm:workflows:prd", "PRD"]
)
def test_workflows_go_by_many_names(word: str) -> None:
    assert document_of_workflow(word) == "prd"
    assert document_of_workflow("bmad-validate-prd") is None


# a document that was not finished


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{NEW}/prd.md", "---\nstepsCompleted: ['step-01-init', 'step-02b-vision']\n---\n\n# PRD\n"),
        (f"{NEW}/prd.md", "---\r\nstepsCompleted: [1, 2, 3]\r\n---\r\n\r\n# PRD\r\n"),
        (f"{NEW}/prds/prd-shop-2026-08-21/prd.md", f"---\nstatus: draft\n---\n\n{TEXT}"),
    ],
)
def test_a_document_cut_short_does_not_count(path: str, text: str, fresh: SampleProject) -> None:
    fresh.write(path, text)
    found = look(fresh)
    assert found.artefacts["prd"].path is None
    assert found.artefacts["prd"].unfinished_path == str(fresh.root / path)
    assert [(note.code, note.location.file) for note in found.diagnostics] == [
        ("unfinished-document", str(fresh.root / path))
    ]


@pytest.mark.parametrize(
    "front",
    [
        "stepsCompleted: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]",
        "stepsCompleted: ['step-01-init', 'step-12-complete']",
        "stepsCompleted: [1, 2]\nstatus: complete",
        "stepsCompleted: []",
        "status: draft",  # a person's own word, outside of a skill's run folder
        "not yaml: [",
    ],
)
def test_one_that_was_finished_does(front: str, fresh: SampleProject) -> None:
    fresh.write(f"{NEW}/prd.md", f"---\n{front}\n---\n\n{TEXT}")
    assert shown(fresh) == {"prd": f"{NEW}/prd.md"}


def test_a_finished_one_is_taken_before_one_that_is_not(fresh: SampleProject) -> None:
    fresh.write(f"{NEW}/prds/prd-a-2026-08-21/prd.md", f"---\nstatus: draft\n---\n{TEXT}")
    fresh.write(f"{NEW}/prds/prd-b-2026-08-22/prd.md", f"---\nstatus: final\n---\n{TEXT}")
    found = look(fresh).artefacts["prd"]
    assert (found.path, found.unfinished_path) == (str(fresh.root / NEW / "prds/prd-b-2026-08-22/prd.md"), None)


def test_a_brief_keeps_its_draft_mark_for_good(fresh: SampleProject) -> None:
    fresh.write(f"{NEW}/briefs/brief-a/brief.md", "---\nstatus: draft\n---\n\n# Brief\n")
    assert "brief" not in shown(fresh)
    fresh.write(f"{NEW}/briefs/brief-a/brief.md", f"---\nstatus: draft\n---\n\n{TEXT}")
    assert "brief" in shown(fresh)


def test_the_two_files_of_a_ux_design_count_together(fresh: SampleProject) -> None:
    fresh.write(f"{NEW}/ux-designs/ux-a/DESIGN.md", TEXT)
    assert look(fresh).artefacts["ux"].unfinished_path
    fresh.write(f"{NEW}/ux-designs/ux-a/EXPERIENCE.md", TEXT)
    assert "ux" in shown(fresh)


def test_a_brainstorm_may_leave_its_log_alone(fresh: SampleProject) -> None:
    log = "_bmad-output/brainstorming/brainstorm-shop-2026-08-20/.memlog.md"
    fresh.write(log, "---\nstatus: active\n---\n\n- (idea) A shop\n")
    assert shown(fresh) == {}
    fresh.write(log, "---\nstatus: complete\n---\n\n- (idea) A shop\n")
    assert shown(fresh) == {"brainstorm": log}


def test_epics_without_stories_are_not_finished(fresh: SampleProject) -> None:
    fresh.write(f"{NEW}/epics.md", "# Epics\n\n## Epic List\n\n### Epic 1: Accounts\n")
    found = look(fresh)
    assert (found.artefacts["epics"].path, codes(found)) == (None, ["unfinished-document"])
    fresh.write(f"{NEW}/epics.md", f"---\nstepsCompleted: [1, 2]\n---\n\n{EPICS.partition('---')[2]}")
    assert "epics" not in shown(fresh)
    fresh.write(f"{NEW}/epics.md", EPICS)
    assert "epics" in shown(fresh)


@pytest.mark.parametrize(
    ("text", "ready"),
    [
        ("### Overall Readiness Status\n\n**NOT READY**\n", False),
        ("**Overall Readiness:** ❌ Not Ready\n", False),
        ("## Verdict: FAIL\n", False),
        ("Verdict: **FAIL**\n", False),
        ("### Overall Readiness Status\n\nREADY\n", True),
        ("### Overall Readiness Status\n\n**NEEDS WORK**\n", True),
        ("## Verdict: PASS\n\nNothing would fail.\n", True),
        ("Verdict: CONCERNS\n\nFR3 was not ready at first.\n", True),
    ],
)
def test_a_report_that_says_no_is_no_readiness(text: str, ready: bool, fresh: SampleProject) -> None:
    fresh.write(f"{NEW}/implementation-readiness.md", f"# Readiness\n\n{text}")
    assert ("readiness" in shown(fresh)) is ready


def test_an_empty_file_is_none(fresh: SampleProject) -> None:
    fresh.write(f"{NEW}/prd.md", "")
    assert shown(fresh) == {}


def test_one_that_cannot_be_read_is_said(fresh: SampleProject) -> None:
    fresh.write(f"{NEW}/prd.md", b"\xff\xfe\x00\xd8 no text \x00")
    found = look(fresh)
    assert (found.artefacts["prd"].path, codes(found)) == (None, ["unfinished-document"])


# bmm-workflow-status.yaml


def status(project: SampleProject, text: str, place: str = "docs") -> None:
    project.write(f"{place}/bmm-workflow-status.yaml", f"workflow_status:\n{text}")


def test_the_status_file_leads_to_documents_of_any_name(project: ProjectMaker) -> None:
    made = project(era="alpha", board=None, epics=None, stories={}, with_git=False)
    made.write("docs/deep/down/wanted.md", TEXT)
    made.write("docs/found/notes.md", TEXT)
    status(made, "  prd: docs/deep/down/wanted.md\n  research: docs/found/\n  create-design: skipped\n")
    found = look(made)
    assert shown(made) == {"prd": "docs/deep/down/wanted.md", "research": "docs/found/notes.md"}
    assert found.artefacts["prd"].source is DocumentSource.STATUS
    assert found.skipped == {"ux"}
    assert found.diagnostics == ()


def test_a_file_it_names_that_is_not_there_is_said_and_not_done(project: ProjectMaker) -> None:
    made = project(era="alpha", board=None, epics=None, stories={}, with_git=False)
    status(made, "  prd: docs/PRD.md\n  sprint-planning: docs/sprint-status.yaml\n")
    found = look(made)
    assert found.finished == frozenset()
    assert [(note.code, note.location.line) for note in found.diagnostics] == [
        ("planned-file-missing", 2),
        ("planned-file-missing", 3),
    ]


def test_the_folder_wins_where_the_file_moved_or_the_line_is_behind(fresh: SampleProject) -> None:
    fresh.write(f"{NEW}/prd.md", TEXT)
    fresh.write(f"{NEW}/architecture.md", TEXT)
    fresh.write(f"{NEW}/ux-design.md", TEXT)
    status(fresh, "  prd: docs/prd.md\n  create-architecture: required\n  ux-design: skipped\n")
    found = look(fresh)
    assert found.finished == {"prd", "architecture", "ux"}
    assert found.artefacts["prd"].source is DocumentSource.FILE
    assert found.artefacts["ux"].is_skipped
    assert found.skipped == frozenset()
    assert codes(found) == ["planned-file-missing"]


def test_what_another_workflow_made_is_no_plan(project: ProjectMaker) -> None:
    made = project(era="alpha", board=None, epics=None, stories={}, with_git=False)
    made.write("docs/architecture.md", TEXT)
    assert "architecture" in shown(made)
    status(made, "  document-project: docs/architecture.md\n  create-architecture: required\n")
    assert shown(made) == {}


def test_a_plan_of_sprints_is_no_board(project: ProjectMaker) -> None:
    made = project(era="alpha", board=None, epics=None, stories={}, with_git=False)
    made.write("docs/sprint-03-plan.md", TEXT)
    status(made, "  sprint-planning: docs/sprint-03-plan.md\n")
    assert not look(made).is_complete


def test_a_status_file_that_cannot_be_read_is_left_out(fresh: SampleProject) -> None:
    fresh.write(f"{NEW}/prd.md", TEXT)
    fresh.write(f"{NEW}/bmm-workflow-status.yaml", "workflow_status:\n  prd: a: b\n")
    found = look(fresh)
    assert shown(fresh) == {"prd": f"{NEW}/prd.md"}
    assert codes(found) == ["bad-workflow-status"]


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside.md", "~/x.md"])
def test_a_path_out_of_the_project_is_not_followed(path: str, fresh: SampleProject) -> None:
    (fresh.root.parent / "outside.md").write_text(TEXT)
    status(fresh, f"  prd: {path}\n", NEW)
    assert look(fresh).finished == frozenset()
    assert codes(look(fresh)) == ["unsafe-path"]


# bmad-help.csv


HELP_612 = """\
module,skill,display-name,menu-code,description,action,args,phase,preceded-by,followed-by,required,output-location,outputs
BMad Method,_meta,,,,,,,,,false,https://example.invalid/,
BMad Method,bmad-prd,PRD,PRD,"Create, or edit",,,2-planning,,,true,plans/product,prd
BMad Method,bmad-deep-recon,Recon,RS,,,,anytime,,,false,{project_knowledge}/found,research
BMad Method,bmad-project-context,Context,PC,,,,anytime,,,false,repo root,AGENTS.md
"""
HELP_60 = """\
module,phase,name,code,sequence,workflow-file,command,required,agent-name,agent-command,agent-display-name,agent-title,options,description,output-location,outputs
bmm,2-planning,Create PRD,CP,10,x.md,bmad-bmm-create-prd,true,pm,,John,PM,,Expert,plans/product,prd
bmm,1-analysis,Research,DR,21,x.md,bmad-bmm-domain-research,false,,,,,,,planning_artifacts|project-knowledge,r
"""


@pytest.mark.parametrize(
    ("era", "table", "research"), [("build", HELP_612, "docs/found"), ("commands", HELP_60, "docs")]
)
def test_the_help_leads_to_folders_of_its_own(era: str, table: str, research: str, project: ProjectMaker) -> None:
    made = project(era=era, board=None, epics=None, stories={}, with_git=False)
    made.write("plans/product/prd.md", TEXT)
    made.write(f"{research}/shops-research.md", TEXT)
    made.write(f"{research}/architecture.md", TEXT)  # nothing leads there for an architecture
    assert shown(made) == {}
    made.write("_bmad/_config/bmad-help.csv", table)
    assert shown(made) == {"prd": "plans/product/prd.md", "research": f"{research}/shops-research.md"}
    assert look(made).artefacts["prd"].source is DocumentSource.HELP


@pytest.mark.parametrize(
    "table", ["", "a,b\n1,2\n", 'module,skill\n"open', "\0", "skill,output-location\nbmad-prd,../..\n"]
)
def test_a_broken_table_leads_nowhere(table: str, fresh: SampleProject) -> None:
    fresh.write("_bmad/_config/bmad-help.csv", table)
    assert look(fresh).finished == frozenset()


# bounds


def test_ten_thousand_files_are_looked_through_in_time(fresh: SampleProject) -> None:
    for folder in range(50):
        place = fresh.root / NEW / f"part-{folder}"
        place.mkdir(parents=True)
        for number in range(200):
            (place / f"page-{number}.md").write_bytes(b"x")
    fresh.write(f"{NEW}/prd.md", TEXT)
    started = time.perf_counter()
    assert shown(fresh) == {"prd": f"{NEW}/prd.md"}
    assert time.perf_counter() - started < 2  # 0.2 s on an idle machine


def test_a_search_has_an_end(fresh: SampleProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.board.planning_documents.MAX_ENTRIES", 5)
    for number in range(9):
        fresh.write(f"{NEW}/page-{number}.md", TEXT)
    assert codes(look(fresh)) == ["search-cut"]


def test_a_loop_of_links_is_not_followed(fresh: SampleProject) -> None:
    fresh.write(f"{NEW}/prd.md", TEXT)
    (fresh.root / NEW / "again").symlink_to(fresh.root / NEW)
    assert shown(fresh) == {"prd": f"{NEW}/prd.md"}


# files of public projects


def test_every_real_status_file_with_and_without_its_documents(corpus: Path, project: ProjectMaker) -> None:
    done = {
        "1987-Dmytro__Mail-Agent.yaml": {"brief", "prd", "ux", "architecture", "readiness"},
        "Alenryuichi__ai_trend_radar.yaml": {"brainstorm", "prd", "architecture", "epics"},
        "Axl59110__linktracker.yaml": {"prd", "architecture"},
        "Brownbull__gmni_boletapp.yaml": set(),
        "Casys-AI__casys-pml.yaml": {"research", "prd", "architecture", "readiness"},
        "ClaudioSBezerra__FB_SMARTPICK.yaml": {"brief", "prd", "architecture", "epics", "readiness"},
        "Fledgely__fledgely.yaml": {"brainstorm", "research", "prd", "ux", "architecture", "epics"},
        "JeiKeiLim__vibe-dash.yaml": {"brief", "prd", "ux", "architecture", "readiness"},
        "O-Side-Systems__efofx.yaml": {"brainstorm", "prd", "architecture", "readiness"},
        "stavatar__bmad-ralph.yaml": {
            "brainstorm",
            "research",
            "brief",
            "prd",
            "architecture",
            "epics",
            "readiness",
        },
        "zookanalytics__bmad-orchestrator.yaml": {
            "research",
            "brief",
            "prd",
            "ux",
            "architecture",
            "epics",
            "readiness",
        },
    }
    files = sorted((corpus / "workflow-status").iterdir())
    assert {file.name for file in files} == done.keys()
    for file in files:
        made = project(file.stem, era="alpha", board=None, epics=None, stories={}, with_git=False)
        made.write("docs/bmm-workflow-status.yaml", file.read_bytes())
        named_there = [one.path for one in read_workflow_status(read_text(str(file))).workflows if one.path]
        found = look(made)
        assert found.finished == frozenset()
        assert codes(found).count("planned-file-missing") == len(named_there), file.name
        for path in named_there:
            made.write(f"{path}notes.md" if path.endswith("/") else path, EPICS if "epics" in path else TEXT)
        found = look(made)
        assert found.finished - {"board"} == done[file.name], file.name
        assert set(codes(found)) <= {"unknown-status", "board-elsewhere"}, file.name


def test_real_epics_files_are_found_finished(corpus: Path, project: ProjectMaker) -> None:
    files = sorted((corpus / "epics").iterdir())
    unfinished = set()
    for file in files:
        made = project(file.stem, board=None, epics=None, stories={}, with_git=False)
        made.write(f"{NEW}/epics.md", file.read_bytes())
        if "epics" not in shown(made):
            unfinished.add(file.name)
    assert unfinished == {"thebenlamm__bmad-autopilot.md"}  # its stories are items of a list
