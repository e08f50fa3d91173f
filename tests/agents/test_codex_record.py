"""Codex's own record is found by its thread, read from its end, and never trusted to be there."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.codex import CODEX
from bmad_autopilot.agents.codex_record import MAX_TAIL, with_record
from bmad_autopilot.agents.events import RECORD, Event
from bmad_autopilot.agents.outcomes import Limit, Outcome, Spend
from tests.agents.strange import EXIT_1, heard

THREAD = "01a1e1b5-e059-7862-8bba-985432cb1f0d"
EVENTS = heard(
    {"type": "thread.started", "thread_id": THREAD},
    {"type": "turn.failed", "error": {"message": "You've hit your usage limit."}},
)
NOON = 1_794_830_400.0  # 2026-11-16T12:00:00Z


def line(payload: Any, at: str = "2026-11-16T12:00:01.500Z", kind: str = "event_msg") -> str:
    return json.dumps({"timestamp": at, "type": kind, "payload": payload}) + "\n"


def limits(resets_at: int) -> dict[str, Any]:
    primary = {"used_percent": 100.0, "window_minutes": 300, "resets_at": resets_at}
    return {"type": "token_count", "info": None, "rate_limits": {"primary": primary}}


def ended(info: Any) -> dict[str, Any]:
    return {"type": "task_complete", "error": {"message": "x", "codex_error_info": info}}


def write(home: Path, text: str, thread: str = THREAD, day: str = "2026/11/16") -> Path:
    folder = home / "sessions" / day
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rollout-2026-11-16T11-59-00-{thread}.jsonl"
    path.write_text(text)
    return path


def read(home: Path, since: float = NOON) -> list[Any]:
    found = list(with_record(EVENTS, since, {"CODEX_HOME": str(home)}))
    assert found[: len(EVENTS)] == EVENTS
    assert all(event.kind == RECORD for event in found[len(EVENTS) :])
    return [event.data for event in found[len(EVENTS) :]]


def test_the_record_gives_a_limit_its_kind_and_its_time(tmp_path: Path) -> None:
    write(tmp_path, line(limits(1_794_840_000)) + line(ended("usage_limit_exceeded")))
    verdict = CODEX.judge(with_record(EVENTS, NOON, {"CODEX_HOME": str(tmp_path)}), EXIT_1, Spend())
    assert (verdict.outcome, verdict.limit) == (Outcome.LIMIT, Limit("primary", 1_794_840_000))


def test_what_an_earlier_attempt_left_does_not_count(tmp_path: Path) -> None:
    write(tmp_path, line(ended("usage_limit_exceeded"), at="2026-11-16T11:59:59.999Z"))
    assert read(tmp_path) == []


def test_the_record_is_in_the_home_folder_unless_told_otherwise(tmp_path: Path) -> None:
    write(tmp_path / ".codex", line(ended("unauthorized")))
    found = list(with_record(EVENTS, NOON, {"HOME": str(tmp_path)}))
    assert found[-1] == Event(0.0, RECORD, ended("unauthorized"))


def test_the_days_before_are_looked_through(tmp_path: Path) -> None:
    write(tmp_path, line(ended("unauthorized")), day="2025/02/28")
    write(tmp_path, line(ended("other")), thread="01a1e1b5-0000-7862-8bba-985432cb1f0d")
    assert read(tmp_path) == [ended("unauthorized")]


def test_only_what_tells_how_it_went_is_taken(tmp_path: Path) -> None:
    quoted = {"type": "message", "content": [{"text": json.dumps(ended("usage_limit_exceeded"))}]}
    pretended = line(ended("usage_limit_exceeded"), kind="response_item")
    write(tmp_path, line(quoted, kind="response_item") + pretended + line({"type": "agent_message"}))
    assert read(tmp_path) == []


def test_a_long_record_is_read_from_its_end(tmp_path: Path) -> None:
    filler = line({"type": "agent_message", "text": "x" * 1000})
    write(tmp_path, line(ended("other")) + filler * (MAX_TAIL // len(filler) + 2) + line(ended("unauthorized")))
    assert read(tmp_path) == [ended("unauthorized")]


def test_a_broken_record_is_no_error(tmp_path: Path) -> None:
    write(
        tmp_path, "{\n[]\n\xff\n" + "[" * 100_000 + "\n" + line(None) + line(ended("other"), at="yesterday") + "{"
    )
    assert read(tmp_path) == []


def test_no_record_is_no_error(tmp_path: Path) -> None:
    assert read(tmp_path / "nowhere") == []
    write(tmp_path, "").unlink()
    assert read(tmp_path) == []


def test_a_thread_that_is_no_name_is_never_a_path(tmp_path: Path) -> None:
    write(tmp_path, line(ended("unauthorized")), thread="x")
    for name in ("x", "../x", "*", "", None, 7):
        events = heard({"type": "thread.started", "thread_id": name})
        assert list(with_record(events, NOON, {"CODEX_HOME": str(tmp_path)})) == events


@given(st.lists(st.binary(max_size=60) | st.just(line(ended("other")).encode()), max_size=6))
def test_no_file_is_too_strange(tmp_path_factory: Any, parts: list[bytes]) -> None:
    home = tmp_path_factory.mktemp("codex")
    write(home, "").write_bytes(b"\n".join(parts))
    assert all(payload == ended("other") for payload in read(home))
