"""bmad questions: what waits for a human, and the command that answers it."""

import json
import os
import pty
import re
import select
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from bmad_autopilot.agents.attempt import read_call_spec
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.core.stop_causes import StopKind
from bmad_autopilot.engine.lane import DeliveryPlan
from bmad_autopilot.runs.question_file import RunQuestion
from bmad_autopilot.runs.questions import open_questions, questions_of
from bmad_autopilot.runs.supervisor_lock import hold_supervisor_lock
from tests.cli.agent_runs import project_with_stub, under_way
from tests.cli.question_runs import NAME, WHICH, asked, run_of, state_folder
from tests.cli.test_board import validate
from tests.cli.test_completion import complete, scripts
from tests.cli.unfinished_runs import unfinished_run
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.terminals import COMMAND, assert_golden, run_in_terminal, run_piped, strip_colors


def test_all_that_waits_on_one_screen(project: ProjectMaker) -> None:
    sample = project()
    run = run_of(sample)
    asked(run, WHICH, 12)
    asked(run, WHICH._replace(attempt=2), 3)
    asked(run_of(sample), NAME, 125)
    done = run_piped("questions", cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert_golden("questions", done.stdout)
    shown = strip_colors(run_in_terminal("questions", cwd=sample.root, columns=60))
    assert all(len(line) <= 60 for line in shown.splitlines())
    assert_golden("questions-60", shown)


def test_the_commands_it_names_are_accepted(project: ProjectMaker) -> None:
    sample = project()
    run = run_of(sample)
    asked(run, WHICH)
    asked(run, NAME)
    asked(run, RunQuestion("2-1-search", "dev", 1, "How many?", options=("20", "10")))
    asked(run, RunQuestion("2-2-it's odd", "dev", 1, "Which?", options=("$(touch x) `id`", "'")))
    for line in re.findall(r"→ (bmad answer .*)", run_piped("questions", cwd=sample.root).stdout):
        _, *words = shlex.split(line)
        assert run_piped(*words, cwd=sample.root).returncode == 0, line
    assert run_piped("questions", cwd=sample.root).stdout == "no question is open\n"


def test_the_document_keeps_its_schema(project: ProjectMaker) -> None:
    sample = project()
    nothing = validate("questions", run_piped("questions", "--json", cwd=sample.root).stdout)
    assert (nothing["questions"], nothing["supervisor"]) == ([], None)
    run = run_of(sample)
    asked(run, WHICH)
    asked(run, NAME)
    (run / "questions" / "007.json").write_text("{")
    with hold_supervisor_lock(state_folder(sample), "bmad run-epic 1", str(run)):
        document = validate("questions", run_piped("questions", "--json", cwd=sample.root).stdout)
    questions = {one["story"]: one for one in document["questions"]}  # type: ignore[attr-defined]
    assert questions["1-2-sign-in"]["command"] == "bmad answer 1-2-sign-in 2"
    assert questions["1-2-sign-in"]["options"] == ["/health", "/ready"]
    assert 290 < questions["1-3-sign-out"]["seconds"] < 400
    assert document["supervisor"]["command"] == "bmad run-epic 1"  # type: ignore[index]
    assert "007.json" in document["broken"][0]  # type: ignore[index]


def test_who_goes_on_is_said(project: ProjectMaker) -> None:
    sample = project()
    run = run_of(sample)
    asked(run, NAME)
    assert "nobody is at work here: answer, then bmad resume" in run_piped("questions", cwd=sample.root).stdout
    with hold_supervisor_lock(state_folder(sample), "bmad run-epic 1", str(run)):
        assert "bmad run-epic 1 (pid " in run_piped("questions", cwd=sample.root).stdout


def test_a_broken_project_still_shows_its_questions(project: ProjectMaker) -> None:
    sample = project()
    asked(run_of(sample), NAME)
    sample.write("bmad-autopilot.toml", "agent = [")
    sample.board.write_bytes(b"\xff\xfe")
    done = run_piped("questions", cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "What is the name of the table?" in done.stdout


def test_a_broken_question_is_named_beside_the_others(project: ProjectMaker) -> None:
    sample = project()
    run = run_of(sample)
    asked(run, NAME)
    (run / "questions" / "002.json").write_text('{"question": 1,')
    done = run_piped("questions", cwd=sample.root)
    assert done.returncode == 0
    assert re.search(
        r"^! _bmad-output/\S+/questions/002.json: is no JSON: .* \(remove it: rm .*\)$", done.stdout, re.M
    )
    assert "1 question open" in done.stdout


def test_text_of_an_agent_steers_no_terminal(project: ProjectMaker) -> None:
    sample = project()
    run = run_of(sample)
    asked(
        run,
        NAME._replace(
            question="\x1b[2JWhich?\x07", context="\x1b]0;x\x07\tline\r\nnext", options=("\x1b[1ma", "b")
        ),
    )
    done = run_piped("questions", cwd=sample.root)
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
    assert "  next\n" in done.stdout


def test_a_long_context_is_cut_in_the_list(project: ProjectMaker) -> None:
    sample = project()
    asked(run_of(sample), NAME._replace(context="\n".join(f"line {number}" for number in range(100))))
    done = run_piped("questions", cwd=sample.root)
    assert "line 11\n  … 88 more lines" in done.stdout


# bmad answer: recorded once, by fixed rules, and it says what happens now.

__all__ = ["scripts"]


@pytest.fixture
def sample(project: ProjectMaker) -> SampleProject:
    return project()


@pytest.fixture
def run(sample: SampleProject) -> Path:
    return run_of(sample)


def answers(run: Path) -> dict[str, str | None]:
    return {question.id: question.answer for _, question in questions_of(str(run))[0]}


def test_it_is_recorded_and_what_happens_now_is_said(sample: SampleProject, run: Path) -> None:
    asked(run, WHICH)
    done = run_piped("answer", "1-2", "/health", cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1-2-sign-in q1: /health\nnobody is at work here; to go on: bmad resume\n"
    recorded = questions_of(str(run))[0][0][1]
    assert (recorded.answer, recorded.by) == ("/health", "human")
    assert abs(recorded.answered_at - time.time()) < 60


def test_a_supervisor_at_work_goes_on_by_itself(sample: SampleProject, run: Path) -> None:
    asked(run, WHICH)
    with hold_supervisor_lock(state_folder(sample), "bmad run-epic 1", str(run)):
        done = run_piped("answer", "1-2", "1", cwd=sample.root)
    assert done.returncode == 0
    assert "bmad run-epic 1 (pid " in done.stdout
    assert "goes on by itself" in done.stdout


def test_a_supervisor_of_another_run_does_not(sample: SampleProject, run: Path) -> None:
    asked(run, WHICH)
    with hold_supervisor_lock(state_folder(sample), "bmad run-epic 2", "/elsewhere/lean-20200101-000000"):
        done = run_piped("answer", "1-2", "1", cwd=sample.root)
    assert "at work on another run; after that: bmad resume" in done.stdout


def test_the_autopilot_looks_after_all_of_its_runs(sample: SampleProject, run: Path) -> None:
    asked(run, WHICH)
    with hold_supervisor_lock(state_folder(sample), "autopilot", "/elsewhere/epic-2-20200101-000000"):
        done = run_piped("answer", "1-2", "1", cwd=sample.root)
    assert "goes on by itself" in done.stdout


def test_a_run_of_the_autopilots_is_gone_on_with_by_it(sample: SampleProject) -> None:
    asked(unfinished_run(sample, "1-2-sign-in", delivery=DeliveryPlan()), WHICH)
    assert "answer, then bmad autopilot\n" in run_piped("questions", cwd=sample.root).stdout
    done = run_piped("answer", "1-2", "1", cwd=sample.root)
    assert done.stdout.endswith("nobody is at work here; to go on: bmad autopilot\n")


@pytest.mark.parametrize("wanted", ["1-2", "1.2", "1-2-sign-in", "1-2-SIGN", "01-02"])
def test_a_story_as_people_name_it(sample: SampleProject, run: Path, wanted: str) -> None:
    asked(run, WHICH)
    asked(run, NAME)
    assert run_piped("answer", wanted, "1", cwd=sample.root).stdout.startswith("1-2-sign-in q1: /health\n")


def test_words_are_taken_together(sample: SampleProject, run: Path) -> None:
    asked(run, NAME)
    run_piped("answer", "1-3", "the", "users table", cwd=sample.root)
    assert answers(run) == {"q1": "the users table"}


def test_an_answer_from_standard_input(sample: SampleProject, run: Path) -> None:
    asked(run, NAME)
    done = subprocess.run(
        [*COMMAND, "answer", "1-3", "-"], cwd=sample.root, input=b"two\nlines\n", capture_output=True, timeout=60
    )
    assert done.stdout.decode().startswith("1-3-sign-out q1: two\n  lines\n")
    assert answers(run) == {"q1": "two\nlines"}


def test_more_than_an_answer_on_standard_input(sample: SampleProject, run: Path) -> None:
    asked(run, NAME)
    done = subprocess.run(
        [*COMMAND, "answer", "1-3", "-"],
        cwd=sample.root,
        input=b"\xffx" * 200_000,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert b"20 kB at most" in done.stderr
    assert answers(run) == {"q1": None}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["1-3", "ok"], "does not say what is asked"),
        (["1-2", "no"], "none of the options"),
        (["1-3", ""], "be empty"),
    ],
)
def test_an_answer_against_the_rules_is_refused(
    sample: SampleProject, run: Path, words: list[str], problem: str
) -> None:
    asked(run, WHICH)
    asked(run, NAME)
    done = run_piped("answer", *words, cwd=sample.root)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert len(open_questions(str(run))) == 2


def test_no_text_and_no_terminal(sample: SampleProject, run: Path) -> None:
    asked(run, NAME)
    done = run_piped("answer", "1-3", cwd=sample.root)
    assert done.returncode == 2
    assert "bmad answer 1-3-sign-out TEXT" in done.stderr
    assert answers(run) == {"q1": None}


def test_nothing_to_answer(sample: SampleProject, run: Path) -> None:
    asked(run, NAME)
    done = run_piped("answer", "1-2", "x", cwd=sample.root)
    assert done.returncode == 1
    assert "1-2-sign-in has no open question" in done.stderr
    assert "open for: 1-3-sign-out" in done.stderr


def test_an_unknown_story(sample: SampleProject, run: Path) -> None:
    asked(run, NAME)
    done = run_piped("answer", "9-9", "x", cwd=sample.root)
    assert done.returncode == 2
    assert "no story 9-9 on the board" in done.stderr


def test_a_story_that_is_no_longer_on_the_board(sample: SampleProject, run: Path) -> None:
    asked(run, RunQuestion("7-1-gone", "dev", 1, "Which?"))
    assert run_piped("answer", "7-1", "this one", cwd=sample.root).returncode == 0
    assert answers(run) == {"q1": "this one"}


def test_an_epic_may_be_asked_about(sample: SampleProject, run: Path) -> None:
    asked(run, RunQuestion("epic-1", "close", 1, "Close it without 1-3?", options=("close", "leave")))
    assert run_piped("answer", "epic-1", "leave", cwd=sample.root).returncode == 0
    assert answers(run) == {"q1": "leave"}


def test_a_broken_board_does_not_keep_one_from_answering(sample: SampleProject, run: Path) -> None:
    asked(run, NAME)
    sample.board.write_bytes(b"\xff\xfe")
    sample.write("bmad-autopilot.toml", "agent = [")
    assert run_piped("answer", "1-3", "users", cwd=sample.root).returncode == 0
    done = run_piped("answer", "1-3", "users", cwd=sample.root)
    assert (done.returncode, "has no open question" in done.stderr) == (1, True)


def test_several_stories_that_may_be_meant(sample: SampleProject, run: Path) -> None:
    asked(run, NAME._replace(story="2-1a-x"))
    asked(run, NAME._replace(story="2-1b-y"))
    done = run_piped("answer", "2-", "x", cwd=sample.root)
    assert done.returncode == 2
    assert "2-1a-x, 2-1b-y" in done.stderr


def test_one_at_a_time_and_any_by_its_id(sample: SampleProject, run: Path) -> None:
    for number in range(1, 4):
        asked(run, NAME._replace(attempt=number), 60 - number)
    done = run_piped("answer", "1-3", "first", cwd=sample.root)
    assert "2 more questions of this story: bmad answer 1-3-sign-out" in done.stdout
    assert run_piped("answer", "1-3", "third", "--question", "Q3", cwd=sample.root).returncode == 0
    assert answers(run) == {"q1": "first", "q2": None, "q3": "third"}
    done = run_piped("answer", "1-3", "x", "--question", "q3", cwd=sample.root)
    assert done.returncode == 2
    assert "expected: q2" in done.stderr


def test_the_answer_reaches_the_file_the_agent_asked_in(sample: SampleProject, run: Path) -> None:
    path = sample.implementation / "1-2-sign-in.agent-state.json"
    state = {"storyKey": "1-2-sign-in", "questions": [{"id": "a", "question": WHICH.question, "answer": None}]}
    path.write_text(json.dumps({**state, "more": 1}))
    asked(run, WHICH._replace(state_file=str(path), state_id="a"))
    assert run_piped("answer", "1-2", "2", cwd=sample.root).returncode == 0
    written = json.loads(path.read_text())
    assert (written["questions"][0]["answer"], written["more"]) == ("/ready", 1)


def test_a_file_of_the_agent_that_cannot_be_written_is_only_said(sample: SampleProject, run: Path) -> None:
    path = sample.implementation / "1-2-sign-in.agent-state.json"
    path.write_text("{ broken")
    asked(run, WHICH._replace(state_file=str(path), state_id="a"))
    done = run_piped("answer", "1-2", "2", cwd=sample.root)
    assert done.returncode == 0
    assert "it could not be written to" in done.stderr
    assert answers(run) == {"q1": "/ready"}


def talk(sample: SampleProject, typed: list[str], *arguments: str) -> tuple[int, str]:
    """`bmad` on a terminal, with a line typed each time it asks."""
    master, slave = pty.openpty()
    child = subprocess.Popen([*COMMAND, *arguments], cwd=sample.root, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    shown, answered, deadline = "", 0, time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            if not select.select([master], [], [], 1)[0]:
                continue
            try:
                chunk = os.read(master, 65536)
            except OSError:  # Linux: the other side has closed
                break
            shown += chunk.decode()
            if shown.count("answer: ") > answered and answered < len(typed):
                os.write(master, typed[answered].encode())
                answered += 1
        return child.wait(10), shown.replace("\r\n", "\n")
    finally:
        child.kill()
        child.wait()
        os.close(master)


def test_on_a_terminal_it_asks_until_it_has_an_answer(sample: SampleProject, run: Path) -> None:
    asked(run, WHICH)
    code, shown = talk(sample, ["\n", "maybe\n", "2\n"], "answer", "1-2")
    assert code == 0, shown
    for words in (
        "Which endpoint",
        "(recommended)",
        "an answer cannot be empty",
        "'maybe' is none of the options",
    ):
        assert words in shown
    assert answers(run) == {"q1": "/ready"}


def test_leaving_the_prompt_records_nothing(sample: SampleProject, run: Path) -> None:
    asked(run, WHICH)
    code, _ = talk(sample, ["\x04"], "answer", "1-2")
    assert code == 130
    assert answers(run) == {"q1": None}


def test_stories_with_a_question_complete(sample: SampleProject, run: Path, scripts: Path) -> None:
    asked(run, WHICH)
    assert complete(sample, scripts, "bmad", "answer", "") == ["1-2-sign-in"]


def test_an_option_by_its_number(sample: SampleProject, run: Path) -> None:
    asked(run, WHICH)
    refused = run_piped("answer", "1-2", "--option", "3", cwd=sample.root)
    assert refused.returncode == 2
    assert "/health; /ready" in refused.stderr
    assert run_piped("answer", "1-2", "--option", "2", cwd=sample.root).returncode == 0
    assert answers(run) == {"q1": "/ready"}


def test_an_answer_from_a_file(sample: SampleProject, run: Path) -> None:
    asked(run, NAME)
    said = sample.root.parent / "said.md"
    said.write_text("The table is called\nsessions.\n")
    assert run_piped("answer", "1-3", "--file", str(said), cwd=sample.root).returncode == 0
    assert answers(run) == {"q1": "The table is called\nsessions."}


def test_a_file_that_is_no_answer(sample: SampleProject, run: Path) -> None:
    asked(run, NAME)
    long = sample.root.parent / "long.md"
    long.write_text("x" * 30_000)
    assert "20 kB at most" in run_piped("answer", "1-3", "--file", str(long), cwd=sample.root).stderr
    long.write_text("x" * 300_000)
    assert run_piped("answer", "1-3", "--file", str(long), cwd=sample.root).returncode == 4
    assert run_piped("answer", "1-3", "--file", "missing.md", cwd=sample.root).returncode == 4
    assert run_piped("answer", "1-3", "x", "--file", str(long), cwd=sample.root).returncode == 2
    assert answers(run) == {"q1": None}


def test_one_that_was_answered_is_said_with_its_answer(sample: SampleProject, run: Path) -> None:
    asked(run, WHICH)
    run_piped("answer", "1-2", "/health", cwd=sample.root)
    again = run_piped("answer", "1-2", "/ready", cwd=sample.root)
    assert again.returncode == 1
    assert "q1 was answered: /health" in again.stderr


# bmad intervene: a choice on a story that has stopped, and more time for one that has not.

STOPPED = RunQuestion(
    "1-2-sign-in",
    "dev",
    2,
    "dev of 1-2-sign-in was ended at its time limit. Give it as much time again?",
    "Reason: stopped at its time limit\nIts last lines:\n  npm test\nSee: docs/1-2-sign-in.md",
    ("retry", "skip", "fix", "extend", "abort"),
    "extend",
    "subagent_failed",
    StopKind.INTERVENTION,
    cause="timeout",
    because="it was still at work",
)


def said(run: Path) -> list[str | None]:
    return [question.answer for _, question in questions_of(str(run))[0]]


@pytest.mark.parametrize(
    ("typed", "choice"),
    [("retry", "retry"), ("s", "skip"), ("E", "extend"), ("a", "abort"), ("3", "fix"), ("ret", "retry")],
)
def test_words_letters_and_numbers(sample: SampleProject, run: Path, typed: str, choice: str) -> None:
    asked(run, STOPPED)
    done = run_piped("intervene", "1-2", typed, cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"1-2-sign-in q1: {choice}\n")
    assert said(run) == [choice]


def test_what_it_does_not_offer_is_refused(sample: SampleProject, run: Path) -> None:
    asked(run, STOPPED._replace(options=("retry", "abort"), recommended="retry"))
    done = run_piped("intervene", "1-2", "extend", cwd=sample.root)
    assert done.returncode == 2
    assert "does not offer 'extend'" in done.stderr
    assert "retry, abort" in done.stderr
    assert said(run) == [None]


def test_a_question_wants_an_answer(sample: SampleProject, run: Path) -> None:
    asked(run, WHICH)
    done = run_piped("intervene", "1-2", "retry", cwd=sample.root)
    assert done.returncode == 2
    assert "bmad answer 1-2-sign-in 2\n" in done.stderr
    assert said(run) == [None]


def test_what_was_answered_is_said(sample: SampleProject, run: Path) -> None:
    asked(run, STOPPED)
    run_piped("intervene", "1-2", "skip", cwd=sample.root)
    again = run_piped("intervene", "1-2", "retry", cwd=sample.root)
    assert again.returncode == 1
    assert "has no open question" in again.stderr
    assert "q1 was answered: skip" in again.stderr


def test_fixing_by_hand_says_where(sample: SampleProject, run: Path) -> None:
    asked(run, STOPPED)
    done = run_piped("intervene", "1-2", "fix", cwd=sample.root)
    assert f"cd {sample.root}" in done.stdout
    row = "if its row has moved: bmad board set 1-2-sign-in review\n"
    assert done.stdout.endswith(f"{row}when it is mended: bmad resume\n")


def test_what_is_to_be_fixed_by_hand_is_not_resumed_before(sample: SampleProject, run: Path) -> None:
    asked(run, STOPPED)
    done = run_piped("intervene", "1-2", "fix", "--resume", cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("when it is mended: bmad resume\n")


def test_resuming_beside_somebody_at_work_is_refused(sample: SampleProject, run: Path) -> None:
    asked(run, STOPPED)
    with hold_supervisor_lock(state_folder(sample), "bmad run-epic 1", str(run)):
        done = run_piped("intervene", "1-2", "retry", "--resume", cwd=sample.root)
    assert done.returncode == 2
    assert "goes on by itself" in done.stderr
    assert said(run) == [None]


def test_the_menu_among_the_questions(sample: SampleProject, run: Path) -> None:
    asked(run, STOPPED, 12)
    assert_golden("intervention", run_piped("questions", cwd=sample.root).stdout)
    shown = strip_colors(run_in_terminal("questions", cwd=sample.root, columns=60))
    assert all(len(line) <= 60 for line in shown.splitlines())


def test_of_two_at_the_same_time_one_is_told(sample: SampleProject, run: Path) -> None:
    asked(run, STOPPED)
    words = [[*COMMAND, "intervene", "1-2", choice] for choice in ("retry", "skip")]
    both = [
        subprocess.Popen(one, cwd=sample.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for one in words
    ]
    ended = [one.communicate(timeout=60) for one in both]
    assert sorted(one.returncode for one in both) == [0, 1]
    lost = next(error for one, (_, error) in zip(both, ended, strict=True) if one.returncode)
    assert "answered" in lost
    won = next(text for one, (text, _) in zip(both, ended, strict=True) if not one.returncode)
    assert won.startswith(f"1-2-sign-in q1: {said(run)[0]}\n")


def test_an_agent_at_work_is_given_as_much_time_again(project: ProjectMaker) -> None:
    sample = project_with_stub(project)
    with under_way(sample) as folder:
        before = attempt_files.read_time_limit(str(folder), 0.0)
        story = read_call_spec(str(folder)).story
        refused = run_piped("intervene", story, "retry", cwd=sample.root)
        assert refused.returncode == 1
        assert "bmad stop --now" in refused.stderr
        assert "bmad agent cancel" in refused.stderr
        done = run_piped("intervene", story, "e", cwd=sample.root)
        assert (done.returncode, done.stderr) == (0, "")
        assert "may go on until" in done.stdout
        assert attempt_files.read_time_limit(str(folder), 0.0) == before + 120 * 60
