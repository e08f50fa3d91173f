import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.adapter import Event, read_events
from bmad_autopilot.agents.shim.recorder import MAX_LINE, Recorder


def record(path: Path, chunks: list[tuple[str, bytes]], secrets: list[str] | None = None) -> list[Event]:
    recorder = Recorder(str(path), secrets or [], 0.0)
    for stream, data in chunks:
        recorder.feed(stream, data)
    recorder.close()
    return [event for event, _ in read_events(str(path))]


@given(st.lists(st.binary(max_size=60), max_size=20), st.data())
def test_lines_come_out_whole_however_they_were_cut(tmp_path_factory: pytest.TempPathFactory, lines, data) -> None:
    clean = [line.replace(b"\n", b" ").replace(b"\r", b" ") for line in lines]
    whole = b"".join(line + b"\n" for line in clean)
    chunks = []
    while whole:
        size = data.draw(st.integers(1, len(whole)))
        chunks.append(("text", whole[:size]))
        whole = whole[size:]
    events = record(tmp_path_factory.mktemp("events") / "events.jsonl", chunks)
    expected = [line for line in clean if line.strip()]
    assert len(events) == len(expected)
    assert all(isinstance(event.data, dict) or event.kind == "text" for event in events)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_json_objects_come_out_as_they_are(tmp_path_factory: pytest.TempPathFactory, value) -> None:
    path = tmp_path_factory.mktemp("events") / "events.jsonl"
    line = json.dumps({"value": value}).encode() + b"\n"
    (event,) = record(path, [("text", line)])
    assert event.kind == "event"
    assert event.data.keys() == {"value"}


def test_what_repeats_itself_is_not_new(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path / "events.jsonl"), [], 0.0)

    def is_new(line: str) -> bool:
        return bool(recorder.feed("text", line.encode() + b"\n"))

    assert is_new('{"type":"tool","id":"a1b2","name":"Bash"}')
    assert not is_new('{"type":"tool","id":"ffff","name":"Bash"}')
    assert is_new('{"type":"tool","id":"a1b2","name":"Edit"}')
    assert is_new("Waiting for the model … 12:01")
    assert not is_new("Waiting for the model … 12:02")
    assert not is_new("⠙ Waiting for the model … 99:02")
    assert is_new("Reading the story")
    recorder.close()


def test_secrets_are_not_written_in_any_form(tmp_path: Path) -> None:
    secret = 'pass"word\\with-odd/chars'
    escaped = json.dumps(secret)
    chunks = [
        ("text", f"{secret}\n".encode()),
        ("error", f"error: {secret}\n".encode()),
        ("text", f'{{"deep": [{{"token": {escaped}, {escaped}: 1}}]}}\n'.encode()),
        ("text", json.dumps({"inner": json.dumps({"x": secret})}).encode() + b"\n"),
    ]
    record(tmp_path / "events.jsonl", chunks, [secret])
    written = (tmp_path / "events.jsonl").read_text()
    assert secret not in written
    assert escaped[1:-1] not in written
    assert "odd/chars" not in written


def test_a_private_key_over_many_lines_is_not_written(tmp_path: Path) -> None:
    body = "\n".join("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj" + str(n) for n in range(5))
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\nafter\n"
    events = record(tmp_path / "events.jsonl", [("text", key.encode())])
    assert "MIIEvQ" not in (tmp_path / "events.jsonl").read_text()
    assert events[-1].data == "after"


def test_a_full_disk_costs_the_log_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(str(tmp_path / "events.jsonl"), [], 0.0)
    recorder.feed("text", b"before\n")
    real = os.write

    def full(fd: int, data: bytes) -> int:
        if b"torn" in data:
            return real(fd, data[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    recorder.feed("text", b"torn\n")
    recorder.feed("text", b"more\n")
    monkeypatch.undo()
    recorder.close()
    events = [event.data for event, _ in read_events(str(tmp_path / "events.jsonl"))]
    assert events == ["before", "torn", "more"], "what was kept is written when there is room again"
    assert recorder.problem == "no room for the whole line"


@pytest.mark.parametrize("kind", ["text", "error"])
def test_the_last_line_needs_no_newline(tmp_path: Path, kind: str) -> None:
    (event,) = record(tmp_path / "events.jsonl", [(kind, b"end")])
    assert (event.kind, event.data) == (kind, "end")


def test_an_unwritable_log_is_said(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path / "no" / "such" / "folder"), [], 0.0)
    recorder.feed("text", b"x\n")
    recorder.close()
    assert recorder.problem


def test_half_of_a_secret_at_the_end_of_a_cut_line_is_not_written(tmp_path: Path) -> None:
    secret = "correct-horse-battery-staple-0123456789"
    line = b"x " * (MAX_LINE // 2 - 10) + secret.encode() * 3 + b"\n"
    record(tmp_path / "events.jsonl", [("text", line)], [secret])
    assert secret[:12] not in (tmp_path / "events.jsonl").read_text()
