"""Build specs and the results of unattended builds."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.spec_file import (
    find_auto_results,
    read_auto_result,
    read_spec,
    retrospective_verdict,
    spec_number,
)
from bmad_autopilot.io.files import TextFile, read_text

BLOCKED = """\
---
title: 'Digest delivery'
type: 'feature'
status: 'blocked'
baseline_revision: 'abc123'
followup_review_recommended: true
warnings: ['a', 'b']
deferred:
  - summary: slow query
    evidence: seen
  - a plain one
---

## Intent

Status: not this one

## Auto Run Result

Status: blocked
Blocking condition: intent gap in the retry rule
"""


@pytest.fixture(params=["\n", "\r\n"])
def blocked(request: pytest.FixtureRequest) -> TextFile:
    return TextFile("out/spec-3-2-digest-delivery.md", BLOCKED.replace("\n", request.param).encode())


def test_a_blocked_spec_says_why(blocked):
    spec = read_spec(blocked)

    assert (spec.number, spec.title, spec.type, spec.baseline) == ("3.2", "Digest delivery", "feature", "abc123")
    assert spec.status is not None
    assert (spec.status.raw, spec.status.meaning, spec.status.line) == ("blocked", "parked", 4)
    assert blocked.text[spec.status.start : spec.status.end] == "blocked"
    assert spec.followup_review
    assert (spec.warnings, spec.deferred) == (("a", "b"), ("slow query", "a plain one"))
    assert spec.blocked_reason == "intent gap in the retry rule"
    assert spec.result is not None
    assert spec.result.line == 20
    assert spec.diagnostics == ()


@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        *(("draft", "backlog"), ("ready-for-dev", "ready-for-dev"), ("in-progress", "in-progress")),
        *(("in-review", "review"), ("done", "done"), ("blocked", "parked")),
    ],
)
def test_the_life_of_a_spec(status, meaning):
    spec = read_spec(TextFile("spec-x.md", f"---\nstatus: {status}\n---\n".encode()))

    assert spec.status is not None
    assert spec.status.meaning == meaning


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *(
            ("spec-3-2-digest.md", "3.2"),
            ("spec-3-2.md", "3.2"),
            ("spec-03-2b-x.md", "3.2b"),
            ("spec-1a-2-x.md", "1a.2"),
        ),
        *(("spec-2-factor-login.md", None), ("spec-login.md", None), ("3-2-digest.md", None)),
    ],
)
def test_the_number_is_in_the_file_name(name, number):
    assert spec_number(f"some/folder/{name}") == number


def test_a_value_below_its_label_is_found():
    spec = read_spec(
        TextFile("s.md", b"## Auto Run Result\n\n**Status:** blocked\n\n**Blocking condition:**\n\nno subagents\n")
    )
    assert spec.blocked_reason == "no subagents"


def test_the_last_run_counts():
    run = "## Auto Run Result\n\nStatus: {}\nBlocking condition: {}\n\n"
    spec = read_spec(TextFile("s.md", (run.format("blocked", "first") + run.format("blocked", "second")).encode()))
    assert spec.blocked_reason == "second"


def test_broken_front_matter_is_a_diagnostic():
    spec = read_spec(TextFile("s.md", b"---\ntitle: a: b\nstatus: done\n---\n"))

    assert [(d.code, d.location.line) for d in spec.diagnostics] == [("bad-front-matter", 2)]
    assert spec.status is not None
    assert spec.status.meaning == "done"


def test_results_without_a_spec_are_found_and_read(tmp_path: Path):
    (tmp_path / "bmad-build-auto-result-2.md").write_text(
        "# Result\n\nStatus: blocked\nBlocking condition: unclear intent\n"
    )
    (tmp_path / "bmad-build-auto-result-1.md").write_text(
        "---\nstatus: blocked\nblocking_condition: no subagents\n---\n"
    )
    (tmp_path / "other.md").write_text("Status: blocked\n")
    paths = find_auto_results(str(tmp_path))

    assert [Path(path).name[-4] for path in paths] == ["1", "2"]
    results = [read_auto_result(read_text(path)) for path in paths]
    assert [(r.status, r.blocking_condition) for r in results if r] == [
        ("blocked", "no subagents"),
        ("blocked", "unclear intent"),
    ]
    assert find_auto_results(str(tmp_path / "gone")) == []
    assert read_auto_result(TextFile("r.md", b"nothing\n")) is None


@given(
    st.lists(
        st.sampled_from(
            ["---\n", "status: ", "done", "\n", "## Auto Run Result\n", "Status: ", "- ", "x: ", "[", "'"]
        )
    )
)
def test_no_text_breaks_the_reader(pieces):
    text = TextFile("s.md", "".join(pieces).encode())
    read_spec(text)
    read_auto_result(text)


REAL = {
    "HaiLammm__star-light-project.md": ("refactor", "done", "no-vcs-dirty"),
    "Hexalith__Hexalith.EventStore.md": ("chore", "done", "f670892f0826de2097e9f47175f5caf5c5ad346a"),
    "Hexalith__Hexalith.Works.md": ("refactor", "in-review", "13b94a2f7163ddb0518d7173e1e6b644c19369e8"),
    "keliihall__ScholarSense-bmad-method.md": ("chore", "in-review", "NO_VCS"),
}


def test_all_real_specs(corpus: Path):
    found = {}
    for path in sorted((corpus / "specs").iterdir()):
        spec = read_spec(read_text(str(path)))
        assert spec.title
        assert spec.status is not None
        assert spec.status.line == 5
        assert spec.diagnostics == ()
        assert spec.result is None
        found[path.name] = (spec.type, spec.status.raw, spec.baseline)
    assert found == REAL


# The verdict of a retrospective.


def page(folder: Path, name: str, verdict: str, at: int = 0) -> None:
    path = folder / name
    path.write_text(f"---\nverdict: {verdict}\n---\n\n# Retrospective\n")
    os.utime(path, (at, at))


def test_the_newest_of_its_own_epic_counts(tmp_path: Path) -> None:
    page(tmp_path, "epic-1-retro-2026-01-02.md", "rejected", 100)
    page(tmp_path, "epic-1-retro-2026-01-31.md", "Accepted-With-Open-Items", 200)
    page(tmp_path, "epic-11-retro-2026-01-31.md", "accepted", 300)
    assert retrospective_verdict(str(tmp_path), "1") == "accepted-with-open-items"
    assert retrospective_verdict(str(tmp_path), "11") == "accepted"


@pytest.mark.parametrize("verdict", ["maybe", "", "[a, b]"])
def test_what_is_no_verdict_says_nothing(tmp_path: Path, verdict: str) -> None:
    page(tmp_path, "epic-2-retro-2026-01-31.md", verdict)
    assert retrospective_verdict(str(tmp_path), "2") == ""


def test_no_file_and_no_folder(tmp_path: Path) -> None:
    assert retrospective_verdict(str(tmp_path), "1") == ""
    assert retrospective_verdict(str(tmp_path / "none"), "1") == ""
