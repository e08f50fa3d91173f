"""Pull requests as a person and as a program reads them; whatever strangers wrote steers no terminal."""

import json
from typing import Any

from bmad_autopilot.github.approval import Ruling
from bmad_autopilot.io.json_files import document
from bmad_autopilot.views.pulls import PullList, PullRow, gate_lines, pull_gate, render
from bmad_autopilot.views.terminal import Terminal
from tests.support.pull_builders import pull
from tests.support.schemas import parse_validated

OPEN = PullRow(
    12,
    "Epic 1: Accounts",
    "feature/epic-1",
    "main",
    "https://example.invalid/pull/12",
    "green",
    ("maria",),
    (),
    1,
    False,
    "an approval\nand more",
    "epic-1-20260101-120000",
)


def shown(*pulls: PullRow) -> str:
    return "\n".join(render(pulls, Terminal("never")))


def test_how_each_stands_and_what_it_waits_for() -> None:
    assert shown(OPEN).splitlines() == [
        "#12  Epic 1: Accounts",
        "    checks passed · approved by maria · 1 open thread",
        "    feature/epic-1 → main   https://example.invalid/pull/12",
        "    waits for an approval   (epic-1-20260101-120000)",
    ]


def test_a_draft_an_objection_and_one_that_is_nobodys_of_ours() -> None:
    text = shown(OPEN._replace(is_draft=True, objected_by=("olga",), unresolved=0, ci="red", waits_for="", run=""))
    for words in (
        "(draft)",
        "checks failed",
        "changes asked for by olga",
        "0 open threads",
        "--continue takes it over",
    ):
        assert words in text


def test_none_is_said() -> None:
    assert shown() == "no pull request of an epic is open"


def test_text_of_others_steers_nothing() -> None:
    assert "\x1b" not in shown(OPEN._replace(title="\x1b[31mred", head_ref="feature/\x1b]0;x\x07"))


def written(kind: str, record: object) -> dict[str, Any]:
    return parse_validated(kind, json.dumps(document(kind, record)))


def test_the_documents_are_as_their_schemas_say() -> None:
    assert written("pulls", PullList((OPEN,)))["pulls"][0]["number"] == 12
    ruling = Ruling("wait", ("10 minutes have not passed",), again_at=60.0)
    assert written("pull-gate", pull_gate(pull(), ruling))["again_at"] == 60.0
    assert written("pull-gate", pull_gate(pull(), Ruling("approve")))["again_at"] is None


def test_a_ruling_says_why_and_when_to_look_again() -> None:
    lines = list(
        gate_lines(pull(), Ruling("wait", ("checks are under way",), again_at=600.0), 0.0, Terminal("never"))
    )
    assert lines[0] == "#7 is not ready to be approved"
    assert lines[1] == "  checks are under way"
    assert lines[2].startswith("  look again")
