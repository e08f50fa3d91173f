"""Every JSON file a run writes keeps its shipped schema."""

import re
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from bmad_autopilot.agents.adapter import UsageLimit
from bmad_autopilot.agents.rate_limits import record_refusal
from bmad_autopilot.runs.supervisor_lock import ControlRequest, hold_supervisor_lock, write_request
from tests.support.checkpoint_runs import CheckpointingAgent
from tests.support.lane_projects import LaneProject, Person
from tests.support.schemas import parse_validated, schema, schema_names

# By name, below the project's folder.
FILES = {
    r"steps/[^/]+/attempt-\d+/spec\.json": "attempt-spec",
    r"steps/[^/]+/attempt-\d+/result\.json": "attempt-result",
    r"steps/[^/]+/attempt-\d+/verdict\.json": "attempt-verdict",
    r"steps/[^/]+/attempt-\d+/events\.jsonl": "attempt-event",
    r"steps/[^/]+/attempt-\d+/agent-state\.json|[^/]+\.agent-state\.json": "agent-state",
    r"steps/[^/]+/attempt-\d+/(\d-)?review-before\.json|[^/]+\.review\.json": "review",
    r"questions/\d{3}\.json": "question",
    r"checks/[^/]+/report\.json": "checks-report",
    r"\.run-epic-state\.json": "run-epic-state",
    r"journal\.jsonl": "journal-entry",
    r"state\.json": "run-state",
    r"request\.json": "request",
    r"supervisor\.lock": "supervisor",
}


def kind_of(path: Path) -> str:
    found = [name for pattern, name in FILES.items() if re.search(rf"/({pattern})$", path.as_posix())]
    assert found, f"{path} has no schema"
    return found[0]


def validate_all(root: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    places = [*root.rglob("*.json"), *root.rglob("*.jsonl"), *root.rglob("supervisor.lock")]
    for path in (path for path in places if ".git/" not in path.as_posix() or path.suffix == ".lock"):
        name = kind_of(path)
        text = path.read_text()
        for part in text.splitlines() if path.suffix == ".jsonl" else [text] if text else []:
            parse_validated(name, part)
            found[name] += 1
    return found


def test_all_that_a_run_with_a_question_writes(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path, "asking")
    ran = sample.run(person=Person("1", "1", "1"))
    assert ran.questions
    write_request(ran.end.folder, ControlRequest.PAUSE)
    found = validate_all(tmp_path)
    wanted = set(FILES.values()) - {"agent-state"}
    assert wanted <= set(found), wanted - set(found)
    assert found["journal-entry"] > 20


def test_what_agents_keep_themselves(tmp_path: Path) -> None:
    agent = CheckpointingAgent(tmp_path)
    agent.save(1, total=2, variables={"a": [1, None]})
    agent.update(1, artefact="text")
    agent.close("failed", "no more")
    assert validate_all(tmp_path) == {"journal-entry": 4, "run-state": 1}


def test_the_supervisor_s_note_and_an_account_s_limit(tmp_path: Path) -> None:
    with hold_supervisor_lock(str(tmp_path), "bmad run-epic 1", "epic-1-20260101-120000"):
        parse_validated("supervisor", (tmp_path / "supervisor.lock").read_text())
    record_refusal(str(tmp_path / "claude.json"), "claude", UsageLimit("five_hour"), 1_800_000_000.0, lambda: 0.5)
    parse_validated("limits", (tmp_path / "claude.json").read_text())


@pytest.mark.parametrize("name", schema_names())
def test_each_schema_is_one_and_refuses_something(name: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        schema(name).validate([])
