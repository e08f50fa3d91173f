"""Compare the shipped JSON schemas with the types of documents and files, and write those that differ.

With `--check` (part of `make lint`) it writes nothing and fails if one differs. A shipped file that differs only
in form (no references, another order) stays byte for byte."""

import json
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from bmad_autopilot.cli import board, dry_run, runs_clean, simulate, status_lanes, status_report, status_runs
from bmad_autopilot.core.json_types import ISO_8601, OPTIONAL, Absent, Keywords
from bmad_autopilot.runs import checkpoint_protocol, supervisor_lock
from bmad_autopilot.views import agents, doctor, flow, plan, pulls, questions, run_details, runs

FOLDER = Path(__file__).resolve().parent.parent / "src" / "bmad_autopilot" / "schemas"
DRAFT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


class Shipped(NamedTuple):
    title: str
    type: Any


# By the name of the schema file, which is the document's kind.
DOCUMENTS = {
    "agent-list": Shipped("bmad agent list --json", agents.AgentList),
    "agent-logs": Shipped("bmad agent logs --json", agents.AgentLogs),
    "board-check": Shipped("bmad board check --json", board.BoardCheck),
    "board-repair": Shipped("bmad board repair --json", board.BoardRepairs),
    "checkpoint": Shipped("bmad checkpoint … --json", checkpoint_protocol.ProtocolResult),
    "checkpoint-diff": Shipped("bmad runs diff --json", run_details.CheckpointDiff),
    "checkpoints": Shipped("bmad resume --list --json", run_details.CheckpointList),
    "doctor": Shipped("bmad doctor --json", doctor.DoctorReport),
    "flow": Shipped("bmad flow --json", flow.FlowReport),
    "flow-list": Shipped("bmad flow list --json", flow.FlowList),
    "plan": Shipped("bmad next | run-story | run-epic --dry-run --json", dry_run.RunPlan),
    "protocol-resume": Shipped("bmad resume --json of a run that agents keep", checkpoint_protocol.ProtocolResume),
    "pull-gate": Shipped("bmad pr gate --json", pulls.PullGate),
    "pulls": Shipped("bmad pr status --json", pulls.PullList),
    "questions": Shipped("bmad questions --json", questions.QuestionList),
    "run": Shipped("bmad runs show --json", runs.RunDetails),
    "runs": Shipped("bmad runs --json", runs.RunList),
    "runs-clean": Shipped("bmad runs clean --json", runs_clean.Cleanup),
    "schedule": Shipped("bmad plan --json", plan.EpicSchedule),
    "sessions": Shipped("bmad runs session list --json", runs.SessionList),
    "simulation": Shipped("bmad simulate --json", simulate.Simulation),
    "status": Shipped("bmad status --json", status_report.StatusReport),
    "why": Shipped("bmad runs why --json", run_details.DecisionList),
}

# Named in annotations as text: `bmad status --json` imports them only where it has such values.
LATE = {
    "ControlRequest": supervisor_lock.ControlRequest,
    "LaneRow": status_lanes.LaneRow,
    "RunReport": status_runs.RunReport,
}

_PLAIN: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


# From types to schemas.


class Generator:
    """Collects the schemas of the records that a document contains."""

    def __init__(self) -> None:
        self.records: dict[str, Schema] = {}
        self._kinds: dict[str, type] = {}

    def schema(self, hint: Any) -> Schema:
        origin, arguments = get_origin(hint), get_args(hint)
        if hint is Any or hint is object:
            return {}
        if hint in _PLAIN:
            return {"type": _PLAIN[hint]}
        if origin is Annotated:
            return self._annotated(str if ISO_8601 in arguments else arguments[0], arguments[1:])
        if origin in (Union, UnionType):
            return self._union([one for one in arguments if one is not Absent])
        if origin is Literal:
            return {"enum": [one.value if isinstance(one, Enum) else one for one in arguments]}
        if isinstance(hint, type) and issubclass(hint, Enum):
            return {"enum": [one.value for one in hint]}
        if is_record(hint):
            return self._reference(hint)
        container = origin or hint
        if isinstance(container, type) and issubclass(container, Mapping):
            values = self.schema(arguments[1]) if arguments else {}
            return {"type": "object", **({"additionalProperties": values} if values else {})}
        if isinstance(container, type) and issubclass(container, Sequence):
            items = self.schema(arguments[0])
            return {"type": "array", **({"items": items} if items else {})}
        raise TypeError(f"no schema for {hint!r}")

    def _union(self, hints: Sequence[Any]) -> Schema:
        found = [self.schema(one) for one in hints]
        return found[0] if len(found) == 1 else join_null({"anyOf": found})

    def _annotated(self, hint: Any, notes: Sequence[str | Keywords]) -> Schema:
        found = self.schema(hint)
        for note in notes:
            values = note.values if isinstance(note, Keywords) else {"description": note}
            if "enum" in values:
                values = {"enum": [*values["enum"], *[None] * ("null" in found.pop("type"))]}
            found = {**found, **values}
        return found

    def _reference(self, kind: type) -> Schema:
        if self._kinds.setdefault(kind.__name__, kind) is not kind:
            raise TypeError(f"two records are called {kind.__name__}")
        if kind.__name__ not in self.records:
            self.records[kind.__name__] = self.record(kind)
        return {"$ref": f"#/$defs/{kind.__name__}"}

    def record(self, kind: type) -> Schema:
        """The schema of a record's object."""
        hints = get_type_hints(kind, localns=LATE, include_extras=True)
        properties = {name: self.schema(hint) for name, hint in hints.items()}
        required = [name for name, hint in hints.items() if not may_be_missing(hint)]
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }


def is_record(hint: Any) -> bool:
    return hasattr(hint, "_fields") or hasattr(hint, "__dataclass_fields__")


def may_be_missing(hint: Any) -> bool:
    notes = getattr(hint, "__metadata__", ())
    plain = get_args(hint)[0] if notes else hint
    return OPTIONAL in notes or Absent in get_args(plain)


def join_null(schema: Schema, choice: str = "anyOf") -> Schema:
    """`{"type": ["string", "null"]}` in place of a choice, where the other one has one type or is an enum."""
    others = [one for one in schema[choice] if one != {"type": "null"}]
    if len(others) != 1 or len(schema[choice]) != 2:
        return schema
    (other,) = others
    beside = {name: value for name, value in schema.items() if name != choice}
    if "enum" in other:
        return {**other, "enum": [*other["enum"], None], **beside}
    if isinstance(other.get("type"), str):
        return {**other, "type": [other["type"], "null"], **beside}
    return schema


def document_schema(name: str) -> Schema:
    generator = Generator()
    shipped = DOCUMENTS[name]
    body = generator.record(shipped.type)
    head = {"version": {"const": 1}, "kind": {"const": name}}
    body = {**body, "properties": head | body["properties"], "required": [*head, *body["required"]]}
    records = {"$defs": generator.records} if generator.records else {}
    return {"$schema": DRAFT, "title": shipped.title, **body, **records}


# Comparing schemas.


def normalized(schema: Schema) -> Any:
    """The schema with its references resolved. Equal for two schemas that differ only in order and form."""
    return _normalized(schema, schema.get("$defs", {}))


def _normalized(value: Any, records: Mapping[str, Schema]) -> Any:
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        target = records[value["$ref"].removeprefix("#/$defs/")]
        value = {**target, **{name: inner for name, inner in value.items() if name != "$ref"}}
        return _normalized(value, records)
    found = {name: _keyword(name, inner, records) for name, inner in value.items() if name != "$defs"}
    for choice in {"anyOf", "oneOf"} & found.keys():
        found = join_null(found, choice)
    for name in {"enum", "required", "type"} & found.keys():
        if isinstance(found[name], list):
            found[name] = sorted(found[name], key=str)
    return found


def _keyword(name: str, value: Any, records: Mapping[str, Schema]) -> Any:
    if name in ("properties", "patternProperties"):
        return {field: _normalized(inner, records) for field, inner in value.items()}
    if name in ("anyOf", "oneOf", "allOf"):
        return [_normalized(one, records) for one in value]
    return _normalized(value, records)


def differing() -> dict[str, Schema]:
    """The schemas, by name, that say something else than the shipped files."""
    made = {name: document_schema(name) for name in DOCUMENTS}
    return {name: schema for name, schema in made.items() if normalized(schema) != normalized(_shipped(name))}


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.schema.json"


def _shipped(name: str) -> Schema:
    loaded: Schema = json.loads(path_of(name).read_text(encoding="utf-8")) if path_of(name).exists() else {}
    return loaded


def main(arguments: Sequence[str]) -> int:
    found = differing()
    for name, schema in found.items():
        if "--check" in arguments:
            print(f"{path_of(name)} differs from its types: python -m scripts.schemas", file=sys.stderr)
        else:
            path_of(name).write_text(json.dumps(schema, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if found and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
