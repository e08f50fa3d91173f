"""Questions as files: asked once, answered once, whatever dies in between."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import ConflictError, FileError, UsageError
from bmad_autopilot.core.stop_causes import StopKind
from bmad_autopilot.runs import questions
from bmad_autopilot.runs.agent_state import read_agent_state
from bmad_autopilot.runs.layout import make_run
from bmad_autopilot.runs.question_file import MAX_TEXT, AnswerSource, QuestionSource, RunQuestion, read_question
from bmad_autopilot.runs.questions import (
    ask_question,
    deliver_answer,
    load_inbox,
    open_questions,
    questions_of,
    record_answer,
    withdraw_questions,
)
from bmad_autopilot.runs.state_file import RunState, RunStatus, write_state
from tests.agents.shim.test_redact import SHAPES
from tests.runs.kill_process import killed_after

WHICH = RunQuestion("1-2-sign-in", "dev", 1, "Which endpoint?", "Two are named.", ("/health", "/ready"), "/health")
NAME = RunQuestion("1-2-sign-in", "dev", 1, "What is the name of the table?")


def path_of(run: Path, number: int = 1) -> str:
    return str(run / "questions" / f"{number:03}.json")


def test_a_question_and_its_answer(tmp_path: Path) -> None:
    asked = ask_question(str(tmp_path), WHICH, 100.0)
    assert (asked.id, asked.asked_at, asked.answer) == ("q1", 100.0, None)
    assert open_questions(str(tmp_path)) == [asked]
    done = record_answer(path_of(tmp_path), "2", AnswerSource.HUMAN, 160.0)
    assert (done.answer, done.answered_at, done.by) == ("/ready", 160.0, AnswerSource.HUMAN)
    assert open_questions(str(tmp_path)) == []
    assert questions_of(str(tmp_path)) == ([(path_of(tmp_path), done)], [])


def test_the_file_says_it_all(tmp_path: Path) -> None:
    question = WHICH._replace(kind=StopKind.INTERVENTION, source=QuestionSource.AGENT, reason="no_resource")
    ask_question(str(tmp_path), question, 1_772_107_200.0)
    record_answer(path_of(tmp_path), "/ready", AnswerSource.STANDING, 1_772_107_260.0)
    document = json.loads(Path(path_of(tmp_path)).read_text())
    expected = {
        "id": "q1",
        "story": "1-2-sign-in",
        "step": "dev",
        "attempt": 1,
        "asked_at": "2026-02-26T12:00:00Z",
        "question": "Which endpoint?",
        "context": "Two are named.",
        "options": ["/health", "/ready"],
        "recommended": "/health",
        "reason": "no_resource",
        "kind": "intervention",
        "source": "agent",
        "answer": "/ready",
        "answered_at": "2026-02-26T12:01:00Z",
        "by": "standing",
    }
    assert {name: document[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Which endpoint?", "Which endpoint?"),
        ("It is blocked. Try again?", "It is blocked. Try again?"),
        ("Name the table.\nIt is new.", "Name the table."),
        ("I have read the story.\nThere are two ways. Which one\ndo you want?", "Which one do you want?"),
        ("Which one do you want?\n1. this\nReply with a number.", "Which one do you want?"),
    ],
)
def test_in_short_it_is_the_sentence_that_asks(text: str, short: str) -> None:
    assert NAME._replace(question=text).summary == short


def test_the_same_question_is_asked_once(tmp_path: Path) -> None:
    first = ask_question(str(tmp_path), WHICH, 100.0)
    assert ask_question(str(tmp_path), WHICH._replace(context="other words"), 200.0) == first
    done = record_answer(path_of(tmp_path), "/ready", AnswerSource.HUMAN)
    assert ask_question(str(tmp_path), WHICH, 300.0) == done, "its answer too"
    for other in (WHICH._replace(attempt=2), WHICH._replace(step="qa"), WHICH._replace(question="How?")):
        ask_question(str(tmp_path), other, 400.0)
    assert [question.id for question in open_questions(str(tmp_path))] == ["q2", "q3", "q4"]


def test_a_very_long_question_is_still_the_same(tmp_path: Path) -> None:
    long = WHICH._replace(
        question="why " * 50_000, context="x" * 50_000, options=("a" * 5000, *map(str, range(100)))
    )
    first = ask_question(str(tmp_path), long, 1.0)
    assert ask_question(str(tmp_path), long, 2.0) == first
    assert len(first.question) == len(first.context) == MAX_TEXT
    assert len(first.options) == 20
    assert os.path.getsize(path_of(tmp_path)) < 100_000


def test_a_second_answer_is_refused_and_shows_the_first(tmp_path: Path) -> None:
    ask_question(str(tmp_path), WHICH, 1.0)
    record_answer(path_of(tmp_path), "/ready", AnswerSource.HUMAN)
    with pytest.raises(ConflictError) as error:
        record_answer(path_of(tmp_path), "/health", AnswerSource.HUMAN)
    assert "/ready" in str(error.value)
    assert questions_of(str(tmp_path))[0][0][1].answer == "/ready"


def test_an_answer_against_the_rules_changes_nothing(tmp_path: Path) -> None:
    ask_question(str(tmp_path), WHICH, 1.0)
    before = Path(path_of(tmp_path)).read_bytes()
    with pytest.raises(UsageError, match="none of the options"):
        record_answer(path_of(tmp_path), "something else", AnswerSource.HUMAN)
    assert Path(path_of(tmp_path)).read_bytes() == before


def test_an_answer_to_no_question(tmp_path: Path) -> None:
    (tmp_path / "questions").mkdir()
    for name in ("001.json", "lock", "1.json", "001.json.tmp"):
        with pytest.raises(FileError):
            record_answer(str(tmp_path / "questions" / name), "x", AnswerSource.HUMAN)


def test_an_agent_may_recommend_a_letter(tmp_path: Path) -> None:
    question = WHICH._replace(options=("A) /health", "B) /ready"), recommended="b")
    assert ask_question(str(tmp_path), question, 1.0).recommended == "B) /ready"


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"question": "x"}', '{"story": "x"}', "\0"])
def test_a_broken_file_is_said_and_its_question_asked_again(tmp_path: Path, text: str) -> None:
    ask_question(str(tmp_path), WHICH, 1.0)
    Path(path_of(tmp_path)).write_text(text)
    found, broken = questions_of(str(tmp_path))
    assert found == []
    assert broken[0].location.file == path_of(tmp_path)
    assert "rm " in (broken[0].hint or "")
    assert ask_question(str(tmp_path), WHICH, 2.0).id == "q2"


def run_of(runs: Path, story: str, status: RunStatus = RunStatus.RUNNING) -> Path:
    folder = Path(make_run(str(runs), "main", "lean", 1_800_000_000.0))
    write_state(str(folder), RunState(folder.name, status=status, last_checkpoint=5.0))
    return folder


def test_the_inbox_is_over_all_runs_that_are_not_over(tmp_path: Path) -> None:
    first, second, over = (
        run_of(tmp_path, "x", status) for status in (RunStatus.PAUSED, RunStatus.FAILED, RunStatus.COMPLETED)
    )
    ask_question(str(first), WHICH._replace(story="1-1-a"), 300.0)
    ask_question(str(second), WHICH._replace(story="2-1-b"), 100.0)
    ask_question(str(second), WHICH._replace(story="2-1-b", attempt=2), 200.0)
    ask_question(str(over), WHICH._replace(story="3-1-c"), 50.0)
    Path(path_of(first, 2)).write_text("{")
    inbox = load_inbox(str(tmp_path))
    assert [(one.question.story, one.question.id) for one in inbox.pending] == [
        ("2-1-b", "q1"),
        ("2-1-b", "q2"),
        ("1-1-a", "q1"),
    ]
    assert [(one.question.story, one.question.id) for one in inbox.next_per_story] == [
        ("2-1-b", "q1"),
        ("1-1-a", "q1"),
    ]
    assert [one.location.file for one in inbox.diagnostics] == [path_of(first, 2)]
    record_answer(inbox.next_per_story[0].path, "1", AnswerSource.HUMAN)
    assert [one.question.id for one in load_inbox(str(tmp_path)).next_per_story] == ["q2", "q1"]


def asked_in(path: Path, question: str = "Which endpoint?") -> RunQuestion:
    state = {"storyKey": "1-2-sign-in", "questions": [{"id": "a", "question": question, "answer": None}]}
    path.write_text(json.dumps(state))
    return WHICH._replace(source=QuestionSource.AGENT, state_file=str(path), state_id="a", answer="/ready")


def test_an_answer_is_delivered_where_the_agent_asked(tmp_path: Path) -> None:
    path = tmp_path / "1-2-sign-in.agent-state.json"
    done = asked_in(path)
    assert deliver_answer(done)
    assert deliver_answer(done)
    state = read_agent_state(str(path))
    assert state is not None
    assert state.questions[0].answer == "/ready"


def test_another_question_under_the_same_id_does_not_get_this_answer(tmp_path: Path) -> None:
    path = tmp_path / "1-2-sign-in.agent-state.json"
    done = asked_in(path, "Drop the table?")
    assert not deliver_answer(done)
    assert json.loads(path.read_text())["questions"][0]["answer"] is None


def test_nothing_is_delivered_elsewhere(tmp_path: Path) -> None:
    other = tmp_path / "package.json"
    done = asked_in(other)
    before = other.read_bytes()
    assert not deliver_answer(done)
    assert not deliver_answer(done._replace(state_file=str(tmp_path / "gone.agent-state.json")))
    assert not deliver_answer(done._replace(state_file=""))
    link = tmp_path / "1.agent-state.json"
    link.symlink_to(other)
    with pytest.raises(FileError):
        deliver_answer(done._replace(state_file=str(link)))
    assert other.read_bytes() == before


ANSWERS = """
import sys
from bmad_autopilot.runs.question_file import AnswerSource, RunQuestion
from bmad_autopilot.runs.questions import ask_question, record_answer
run = sys.argv[1]
number = int(sys.argv[2])
while True:
    number += 1
    ask_question(run, RunQuestion("1-1-a", "dev", number, "Which?"), 1.0)
    print("asked", number, flush=True)
    record_answer(f"{run}/questions/{number:03}.json", "the answer " * 500, AnswerSource.HUMAN)
    print("answered", number, flush=True)
"""


def test_a_kill_loses_no_question_and_no_answer(tmp_path: Path) -> None:
    count = 0
    for lines in (1, 2, 3, 6, 2, 9, 1):
        printed = killed_after(lines, ANSWERS, str(tmp_path), str(count))
        found, broken = questions_of(str(tmp_path))
        assert broken == []
        states = {question.attempt: question.answer for _, question in found}
        for word, number in (line.split() for line in printed):
            assert int(number) in states
            assert word == "asked" or states[int(number)] == ("the answer " * 500).strip()
        assert set(states.values()) <= {None, ("the answer " * 500).strip()}
        for path, question in found:
            if question.answer is None:
                record_answer(path, ("the answer " * 500), AnswerSource.HUMAN)
        count = len(found)
        assert sorted(states) == list(range(1, count + 1))


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(RunQuestion._fields), JSON))
def test_any_object_is_a_question_or_said_to_be_none(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]
) -> None:
    run = tmp_path_factory.mktemp("run")
    (run / "questions").mkdir()
    Path(path_of(run)).write_text(json.dumps(data))
    found, broken = questions_of(str(run))
    assert len(found) + len(broken) == 1


@given(st.text(min_size=1), st.text(), st.lists(st.text(), max_size=4), st.none() | st.text())
def test_what_is_asked_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, text: str, context: str, options: list[str], recommended: str | None
) -> None:
    run = tmp_path_factory.mktemp("run")
    question = RunQuestion("1-1-a", "dev", 1, f"Q {text}", context, tuple(options), recommended)
    asked = ask_question(str(run), question, 1.5)
    assert open_questions(str(run)) == [asked]
    assert ask_question(str(run), question, 2.5) == asked


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that get as far as having read a question before one of them writes would both write."""
    both = threading.Barrier(2)

    def read_and_wait(path: str, id: str) -> RunQuestion | None:
        found = read_question(path, id)
        with suppress(threading.BrokenBarrierError):
            both.wait(0.3)
        return found

    monkeypatch.setattr(questions, "read_question", read_and_wait)


def test_of_two_answers_at_once_one_stands(tmp_path: Path, together: None) -> None:
    ask_question(str(tmp_path), NAME, 1.0)

    def try_to(text: str) -> str | None:
        try:
            return record_answer(path_of(tmp_path), text, AnswerSource.HUMAN).answer
        except ConflictError:
            return None

    with ThreadPoolExecutor(2) as pool:
        recorded = [text for text in pool.map(try_to, ["users", "people"]) if text]
    assert len(recorded) == 1
    assert questions_of(str(tmp_path))[0][0][1].answer == recorded[0]


def test_two_questions_asked_at_once_are_both_kept(tmp_path: Path, together: None) -> None:
    ask_question(str(tmp_path), WHICH, 1.0)
    stories = ["1-1-a", "1-2-b"]
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda story: ask_question(str(tmp_path), NAME._replace(story=story), 1.0), stories))
    assert {asked.id for asked in done} == {"q2", "q3"}
    assert {asked.story for asked in open_questions(str(tmp_path))} == {WHICH.story, *stories}


def test_what_is_withdrawn_waits_for_nobody_and_what_was_answered_stays(tmp_path: Path) -> None:
    ask_question(str(tmp_path), WHICH, 100.0)
    record_answer(path_of(tmp_path), "2", AnswerSource.HUMAN, 160.0)
    ask_question(str(tmp_path), NAME, 200.0)
    other = ask_question(str(tmp_path), NAME._replace(story="1-3-export"), 201.0)
    withdraw_questions(str(tmp_path), WHICH.story)
    withdraw_questions(str(tmp_path), WHICH.story)
    assert open_questions(str(tmp_path)) == [other]
    assert [question.by for _, question in questions_of(str(tmp_path))[0]] == [
        AnswerSource.HUMAN,
        AnswerSource.AUTOPILOT,
        None,
    ]
    with pytest.raises(ConflictError, match="has been answered"):
        record_answer(path_of(tmp_path, 2), "accounts", AnswerSource.HUMAN)


def test_an_answer_given_while_questions_are_withdrawn_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_question(str(tmp_path), WHICH, 1.0)
    before = questions_of(str(tmp_path))
    (path, _) = before[0][0]
    record_answer(path, "2", AnswerSource.HUMAN)
    monkeypatch.setattr("bmad_autopilot.runs.questions.questions_of", lambda run: before)
    withdraw_questions(str(tmp_path), WHICH.story)
    kept = read_question(path, "")
    assert kept is not None
    assert kept.by is AnswerSource.HUMAN


def test_a_question_is_kept_without_secrets_and_found_again(tmp_path: Path) -> None:
    secret = SHAPES["github classic"][1]
    state = tmp_path / "1-2-sign-in.agent-state.json"
    text = f"May I use {secret}?"
    state.write_text(json.dumps({"status": "BLOCKED", "questions": [{"id": "a", "question": text}]}))
    question = NAME._replace(
        question=text,
        context=f"{'x' * (MAX_TEXT - 20)} {secret}",
        options=(f"use {secret}", "no"),
        recommended=f"use {secret}",
        because=f"of {secret}",
        state_file=str(state),
        state_id="a",
    )
    asked = ask_question(str(tmp_path), question, 100.0)
    assert secret[:12] not in Path(path_of(tmp_path)).read_text()
    assert ask_question(str(tmp_path), question, 200.0) == asked
    assert deliver_answer(record_answer(path_of(tmp_path), "no", AnswerSource.HUMAN))
    found = read_agent_state(str(state))
    assert found is not None
    assert found.questions[0].answer == "no"
