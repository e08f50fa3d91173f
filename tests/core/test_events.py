"""Journal events: one type per kind; what is written is read back, and nothing of another version is lost."""

import json
import os
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core import events
from bmad_autopilot.core.events import (
    PAYLOADS,
    CallEnded,
    Decision,
    Event,
    Payload,
    StepStarted,
    UnknownEvent,
    decode_entry,
    decode_payload,
    encode,
)
from bmad_autopilot.core.facts import CallFinding

TESTS = Path(__file__).parent.parent
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def values(wanted: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any:
        return JSON
    if wanted is msgspec.UnsetType:
        return st.just(msgspec.UNSET)
    if wanted is float:
        return st.floats(allow_nan=False, allow_infinity=False)
    if wanted is int:
        return st.integers(-(2**53), 2**53)
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        return st.deferred(lambda: instances(wanted))
    if origin in (typing.Union, UnionType):
        return st.one_of(*map(values, inner))
    if origin is tuple and inner[-1] is ...:
        return st.lists(values(inner[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, inner))
    if origin is dict:
        return st.dictionaries(values(inner[0]), values(inner[1]), max_size=2)
    return st.from_type(wanted)


def instances(wanted: type[Any]) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(wanted, vars(events))
    known = {one.name: hints[one.name] for one in msgspec.structs.fields(wanted) if one.name != "extra"}
    return st.builds(wanted, **{name: values(hint) for name, hint in known.items()})


ANY_PAYLOAD = st.sampled_from([*PAYLOADS.values()]).flatmap(instances)


@given(ANY_PAYLOAD)
def test_every_kind_is_read_back_as_it_was_written(data: Payload) -> None:
    written = encode(data)
    read = decode_payload(data.kind, json.loads(json.dumps(written)))
    assert type(read) is type(data)
    assert encode(read) == written


@given(st.sampled_from(sorted(PAYLOADS)), st.dictionaries(st.text(max_size=8), JSON, max_size=4), st.data())
def test_no_entry_stops_a_reader(kind: str, data: dict[str, Any], draw: st.DataObject) -> None:
    """Fields of a wrong type and of other versions: the entry is read as far as it can be."""
    names = [one.encode_name for one in msgspec.structs.fields(PAYLOADS[kind]) if one.name != "extra"]
    data |= draw.draw(st.dictionaries(st.sampled_from(names), JSON, max_size=6))
    event = decode_entry(1, 2.0, kind, data)
    assert event.kind == kind
    assert isinstance(event.story, str)
    assert isinstance(event.attempt, int)


@given(
    ANY_PAYLOAD, st.dictionaries(st.from_regex(r"later_[a-z]{1,5}", fullmatch=True), JSON, min_size=1, max_size=2)
)
def test_fields_of_a_newer_version_are_kept(data: Payload, newer: dict[str, Any]) -> None:
    written = {**encode(data), **newer}
    read = decode_payload(data.kind, written)
    assert type(read) is type(data)
    assert read.extra == newer
    assert encode(read) == written


def test_an_unknown_kind_is_kept() -> None:
    fields = {"story": "1-1", "decided": {"rule": "new"}}
    event = decode_entry(3, 1.0, "later", fields, "run-1")
    kept = UnknownEvent(name="later", fields=fields, decided=Decision(rule="new"))
    assert event == Event(3, 1.0, kept, "run-1")
    assert (event.is_known, event.story, event.step) == (False, "1-1", "")
    assert (event.kind, event.id) == ("later", "run-1:3")
    assert encode(event.data) == {"story": "1-1", "decided": {"rule": "new"}}


def test_an_event_names_its_run_story_step_and_attempt() -> None:
    data = {"story": "1-1", "step": "dev", "number": 2, "attempt": 3, "finding": "good"}
    event = decode_entry(7, 1.5, "ended", data, "run-1")
    assert (event.id, event.at, event.run, event.kind, event.version) == ("run-1:7", 1.5, "run-1", "ended", 1)
    assert (event.story, event.step, event.attempt) == ("1-1", "dev", 3)
    assert isinstance(event.data, CallEnded)
    assert event.data.finding is CallFinding.SUCCEEDED


def test_a_finding_of_a_newer_version_is_unknown() -> None:
    read = decode_payload("ended", {"story": "1", "step": "dev", "number": 1, "attempt": 1, "finding": "later"})
    assert isinstance(read, CallEnded)
    assert read.finding is CallFinding.UNKNOWN


def test_a_field_of_a_wrong_type_counts_as_not_written() -> None:
    read = decode_payload("step", {"story": "1-1", "number": 2, "step": "dev", "round": "two", "cause": "checks"})
    assert read == StepStarted(story="1-1", number=2, step="dev", cause="checks")
    assert isinstance(decode_payload("step", {"story": "1-1", "number": "2", "step": "dev"}), UnknownEvent)


def test_of_a_clipped_list_the_members_that_fit_are_kept() -> None:
    ran = [["make test", 0, 1.5], "… [clipped]"]
    read = decode_payload("check", {"code": "c1", "passed": True, "ran": ran})
    assert isinstance(read, events.CheckEnded)
    assert read.ran == (("make test", 0, 1.5),)


def test_kinds_are_named_once() -> None:
    kinds = [one.KIND for one in Payload.__subclasses__() if one.KIND]
    assert len(kinds) == len(set(kinds))
    assert {"run", "ended", "pending", "opened"} <= PAYLOADS.keys()


def recorded() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The entries of every journal that earlier versions left, and of every golden copy."""
    places = [os.path.join(top, name) for top, _, names in os.walk(TESTS / "upgrade") for name in names]
    for path in sorted(path for path in places if path.endswith("journal.jsonl")):
        for line in Path(path).read_text().splitlines():
            entry = json.loads(line)
            yield path, entry["kind"], entry["data"]
    for golden in sorted((TESTS / "golden" / "files").glob("*.txt")):
        for line in golden.read_text().splitlines():
            if line.startswith('{"n":'):
                entry = json.loads(re.sub(r"([:,])<[A-Z]+>", r"\g<1>1.5", line))  # numbers that differ each time
                yield str(golden), entry["kind"], entry["data"]
            elif line.startswith('["run-'):
                _, kind, data, _ = json.loads(line)
                yield str(golden), kind, data


def test_recorded_journals_hold_nothing_unknown_and_are_written_the_same() -> None:
    seen = set()
    for path, kind, data in recorded():
        read = decode_payload(kind, data)
        assert not isinstance(read, UnknownEvent), (path, kind, data)
        assert not read.extra, (path, kind, read.extra)
        written = json.loads(json.dumps(encode(read)))
        if kind == "check":  # 0.1.0 did not write all of its fields
            written = {name: value for name, value in written.items() if name in data}
        assert written == data, (path, kind)
        seen.add(kind)
    assert len(seen) > 35, sorted(seen)


@pytest.mark.parametrize("kind", ["accepted", "saved", "ended", "run"])
def test_fields_are_written_in_the_order_of_earlier_versions(kind: str) -> None:
    found = [data for path, one, data in recorded() if one == kind and path.endswith("journal.jsonl")]
    assert found
    for data in found:
        assert json.dumps(encode(decode_payload(kind, data))) == json.dumps(data)


STRUCTS = [
    one
    for one in vars(events).values()
    if isinstance(one, type) and issubclass(one, events.Payload | events.Part) and one is not Payload
]


@pytest.mark.parametrize("wanted", STRUCTS, ids=lambda one: one.__name__)
def test_a_type_is_frozen_and_named_fields_default_to_nothing(wanted: type[msgspec.Struct]) -> None:
    """A field that an older version did not write reads as empty, with the exceptions that are listed."""
    assert wanted.__struct_config__.frozen
    meant = {("StepStarted", "round"): 1, ("QuestionAsked", "about"): "story", ("CheckpointData", "saved"): True}
    for one in msgspec.structs.fields(wanted):
        default = one.default_factory() if one.default_factory is not msgspec.NODEFAULT else one.default
        if default not in (msgspec.NODEFAULT, msgspec.UNSET):
            expected = meant.get((wanted.__name__, one.name))
            assert default == expected if expected is not None else not default, one.name
    with pytest.raises(TypeError, match="positional"):
        wanted("x")
