"""agent-state files, as agents really write them."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.runs.agent_state import (
    AgentQuestion,
    AgentState,
    clear_agent_state,
    read_agent_state,
    write_answer,
)

SCHEMA = json.loads(files("bmad_autopilot").joinpath("schemas/agent-state.schema.json").read_text())

DOCUMENTED = {
    "storyKey": "1-1-sign-up",
    "phase": "dev",
    "lastCompletedStep": "step-3",
    "blockedAt": "step-4",
    "blockReason": "no_resource",
    "questions": [{"id": "q1", "question": "Which endpoint?", "context": "Two are named.", "answer": None}],
    "artifactsProduced": ["src/App.tsx"],
}


def state(folder: Path, data: object) -> Path:
    path = folder / "1-1-sign-up.agent-state.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def read(path: Path) -> AgentState:
    found = read_agent_state(str(path))
    assert found is not None
    return found


def test_the_documented_form(tmp_path: Path) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(DOCUMENTED)
    asked = AgentQuestion("q1", "Which endpoint?", "Two are named.")
    assert read(state(tmp_path, DOCUMENTED)) == AgentState(
        "1-1-sign-up", "dev", "step-3", "step-4", "no_resource", (asked,), ("src/App.tsx",)
    )
    assert read(tmp_path / "1-1-sign-up.agent-state.json").open_questions == (asked,)


def test_none_where_there_is_none(tmp_path: Path) -> None:
    assert read_agent_state(str(tmp_path / "none")) is None


def test_nothing_in_every_place(tmp_path: Path) -> None:
    assert read(state(tmp_path, dict.fromkeys(DOCUMENTED))) == AgentState()
    assert read(state(tmp_path, {})) == AgentState()


def test_a_byte_order_mark_and_windows_paths(tmp_path: Path) -> None:
    path = tmp_path / "x.agent-state.json"
    text = json.dumps({**DOCUMENTED, "artifactsProduced": ["frontend\\src\\App.tsx", {"path": "C:\\a.ts"}, None]})
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read(path).artifacts_produced == ("frontend/src/App.tsx", "C:/a.ts")


def test_keys_in_snake_case(tmp_path: Path) -> None:
    found = read(state(tmp_path, {"story_key": "1-1", "blocked_at": "x", "artifacts_produced": "a.ts"}))
    assert (found.story_key, found.blocked_at, found.artifacts_produced) == ("1-1", "x", ("a.ts",))


@pytest.mark.parametrize(
    "questions",
    [
        "Which endpoint?",
        ["Which endpoint?"],
        {"question": "Which endpoint?"},
        {"q1": "Which endpoint?"},
        {"q1": {"question": "Which endpoint?"}},
        [{"question": "Which endpoint?", "answer": ""}],
        [{"id": None, "text": "Which endpoint?"}],
        [None, {}, {"id": "q1", "question": "Which endpoint?"}][2:],
    ],
)
def test_questions_in_other_forms(tmp_path: Path, questions: object) -> None:
    path = state(tmp_path, {"storyKey": "1-1", "questions": questions})
    assert read(path).open_questions == (AgentQuestion("q1", "Which endpoint?"),)
    assert write_answer(str(path), "q1", "/ready")
    assert read(path).questions == (AgentQuestion("q1", "Which endpoint?", answer="/ready"),)
    assert read(path).open_questions == ()


@pytest.mark.parametrize(
    ("options", "read_as"),
    [
        (["/health", "/ready"], ("/health", "/ready")),
        ([{"label": "/health", "description": "x"}, {"id": "b", "text": "/ready"}], ("/health", "/ready")),
        ({"A": "/health", "B": "/ready"}, ("A) /health", "B) /ready")),
        ("/health", ("/health",)),
        ([1, 2.5, None, ""], ("1", "2.5")),
        (None, ()),
    ],
)
def test_options_inside_a_question(tmp_path: Path, options: object, read_as: tuple[str, ...]) -> None:
    path = state(tmp_path, {"questions": [{"id": 7, "question": "Which?", "options": options, "default": "A"}]})
    asked = read(path).questions[0]
    assert (asked.id, asked.options, asked.recommended) == ("7", read_as, "A")


def test_two_questions_with_one_id(tmp_path: Path) -> None:
    path = state(tmp_path, {"questions": [{"id": "q2", "question": "A?"}, {"id": "q2", "question": "B?"}, "C?"]})
    ids = [question.id for question in read(path).questions]
    assert len(set(ids)) == 3
    assert write_answer(str(path), ids[1], "b")
    assert [question.answer for question in read(path).questions] == [None, "b", None]
    assert [question.id for question in read(path).questions] == ids


def test_an_answer_keeps_every_other_key(tmp_path: Path) -> None:
    data = {
        **DOCUMENTED,
        "größe": [1, {"x": None}],
        "questions": [
            {"id": "q1", "question": "A?", "context": None, "answer": None, "priority": "high"},
            {"id": "q2", "question": "B?", "answer": "yes"},
        ],
    }
    path = state(tmp_path, data)
    assert write_answer(str(path), "q1", "a")
    data["questions"][0]["answer"] = "a"  # type: ignore[index]
    assert json.loads(path.read_text(encoding="utf-8")) == data
    before = path.stat().st_ino
    assert write_answer(str(path), "q1", "a")
    assert path.stat().st_ino == before, "written once"


def test_an_answer_to_nothing(tmp_path: Path) -> None:
    assert not write_answer(str(tmp_path / "none"), "q1", "a")
    path = state(tmp_path, DOCUMENTED)
    before = path.read_bytes()
    assert not write_answer(str(path), "q9", "a")
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["", "I have a question", "[1]", '"x"', "{'a': 1}"])
def test_what_is_no_object_is_said(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileError, match="is no JSON"):
        read_agent_state(str(state(tmp_path, text)))


def test_a_link_is_neither_read_nor_written_through(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(DOCUMENTED))
    path = tmp_path / "x.agent-state.json"
    path.symlink_to(other)
    with pytest.raises(FileError, match="is a link"):
        read_agent_state(str(path))
    with pytest.raises(FileError, match="is a link"):
        write_answer(str(path), "q1", "a")
    assert json.loads(other.read_text()) == DOCUMENTED


def test_clearing(tmp_path: Path) -> None:
    path = state(tmp_path, DOCUMENTED)
    clear_agent_state(str(path))
    clear_agent_state(str(path))
    assert not path.exists()
    path.mkdir()
    with pytest.raises(FileError):
        clear_agent_state(str(path))


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
QUESTIONS = st.lists(
    st.dictionaries(st.sampled_from(["id", "question", "text", "context", "options", "answer"]), JSON) | JSON,
    max_size=4,
)


@given(st.dictionaries(st.sampled_from(list(DOCUMENTED)), JSON), JSON | QUESTIONS)
def test_any_object_is_read_and_its_questions_can_be_answered(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any], questions: object
) -> None:
    path = state(tmp_path_factory.mktemp("state"), {**data, "questions": questions})
    for question in read(path).open_questions:
        assert write_answer(str(path), question.id, "answered")
    assert read(path).open_questions == ()
