"""A run as JSON lines."""

import json
from importlib.resources import files
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.views import preface, summary
from bmad_autopilot.views.run_events import event
from bmad_autopilot.views.summary import Summary
from tests.views.entries import BEGAN, STORY
from tests.views.test_preface import PREFACE
from tests.views.test_summary import WAITING

SCHEMA = json.loads(files("bmad_autopilot").joinpath("schemas/run-events.schema.json").read_text())


def validate(line: str) -> Any:
    document = json.loads(line)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


def test_every_entry_keeps_its_schema() -> None:
    for entry in STORY:
        assert validate(event(*entry))["event"] == entry[0]


def test_so_do_what_comes_before_and_after() -> None:
    validate(event("plan", preface.document(PREFACE), BEGAN))
    for told in (WAITING, Summary("completed", "epic-1", "run", (), ())):
        validate(event("summary", {**summary.document(told), "exit_code": 3}, BEGAN))


def test_the_schema_refuses_what_is_no_event() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    call = {"version": 1, "event": "call", "at": 1.0}
    assert not validator.is_valid(call)
    assert not validator.is_valid({"version": 2, "event": "left", "at": 1.0})
    assert validator.is_valid({"version": 1, "event": "left", "at": 1.0, "new": 1})


@given(st.dictionaries(st.text(max_size=10), st.text(max_size=50), max_size=5), st.floats(0, 1e10))
def test_whatever_is_told_it_is_one_line_of_ascii(data: dict[str, str], at: float) -> None:
    line = event("ended", {**data, "event": "forged"}, at)
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line)["event"] == "ended"
