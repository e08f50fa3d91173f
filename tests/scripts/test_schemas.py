"""The shipped schemas say what the types of the documents say."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jsonschema
import pytest

from bmad_autopilot.core.json_types import ABSENT, OPTIONAL, Absent, Count, Keywords, Moment, one_of
from bmad_autopilot.io.json_files import document
from scripts import schemas


class Part(NamedTuple):
    name: Annotated[str, one_of(["left", "right"])]
    size: Count


class Whole(NamedTuple):
    first: Part
    last: Annotated[Part | None, "the other one"]
    parts: Annotated[list[Part], Keywords(minItems=1)]
    side: Annotated[str | None, one_of(["left", "right"])]
    at: Moment
    seen: Annotated[Moment | None, "when it was last shown"]
    words: Mapping[str, str]
    older: Annotated[str, OPTIONAL] = ""
    note: str | Absent = ABSENT


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(schemas, "FOLDER", tmp_path)
    monkeypatch.setattr(schemas, "DOCUMENTS", {"whole": schemas.Shipped("a whole", Whole)})
    assert schemas.main([]) == 0
    return tmp_path / "whole.schema.json"


def test_the_shipped_schemas_are_current() -> None:
    assert list(schemas.differing()) == [], "a type has changed: .venv/bin/python -m scripts.schemas"


def test_each_document_that_a_verb_prints_has_a_type_and_a_schema() -> None:
    verbs = (Path(schemas.__file__).parent.parent / "src" / "bmad_autopilot" / "cli").rglob("*.py")
    printed = {kind for verb in verbs for kind in re.findall(r"\bprint_json\(\"([^\"]+)\"", verb.read_text())}
    assert printed == set(schemas.DOCUMENTS)


LEFT = Part("left", 1)
WHOLE = Whole(LEFT, None, [LEFT], None, 0.0, 60.0, {"a": "b"}, note="n")


def test_a_schema_accepts_its_documents_and_refuses_others(shipped: Path) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(shipped.read_text()))
    good: dict[str, Any] = document("whole", WHOLE)
    validator.validate(good)
    validator.validate(document("whole", WHOLE._replace(last=LEFT, side="right", note=ABSENT)))
    del good["older"]
    validator.validate(good)
    wrong: dict[str, Any] = {
        "first": None,
        "last": {},
        "parts": [],
        "side": "up",
        "at": 0.0,
        "seen": 60.0,
        "words": {"a": 1},
        "more": 1,
    }
    for name, value in wrong.items():
        assert not validator.is_valid(good | {name: value}), name
    assert not validator.is_valid({name: value for name, value in good.items() if name != "first"})


def test_a_file_that_says_the_same_in_another_form_stays_as_it_is(shipped: Path) -> None:
    schema = json.loads(shipped.read_text())
    part = schema["$defs"].pop("Part")
    fields = schema["properties"]
    fields["first"], fields["parts"]["items"] = part, part
    fields["last"] = {"description": "the other one", "oneOf": [{"type": "null"}, part]}
    shipped.write_text(text := json.dumps(dict(reversed(schema.items()))))
    assert schemas.main(["--check"]) == schemas.main([]) == 0
    assert shipped.read_text() == text


@pytest.mark.parametrize(
    ("name", "value"),
    [("note", {"type": "integer"}), ("last", {"type": "null"}), ("at", {"type": "string"}), ("new", {})],
)
def test_a_file_that_says_something_else_is_found_and_written(shipped: Path, name: str, value: object) -> None:
    text = shipped.read_text()
    schema = json.loads(text)
    schema["properties"][name] = value
    shipped.write_text(json.dumps(schema))
    assert schemas.main(["--check"]) == 1
    assert json.loads(shipped.read_text()) == schema
    assert schemas.main([]) == 0
    assert shipped.read_text() == text


def test_two_records_of_one_name_are_refused() -> None:
    other = type("Part", (Part,), {})
    generator = schemas.Generator()
    generator.schema(Part)
    with pytest.raises(TypeError, match="two records are called Part"):
        generator.schema(other)
