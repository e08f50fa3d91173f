"""bmad intervene: a choice on a story that has stopped, and more time for one that has not."""

import subprocess
from pathlib import Path

import pytest

from bmad_autopilot.agents.attempts import read_spec
from bmad_autopilot.agents.shim import records
from bmad_autopilot.runs.question import Kind, Question
from bmad_autopilot.runs.questions import questions_of
from bmad_autopilot.runs.supervisor import hold
from tests.cli.agent_runs import project_with_stub, under_way
from tests.cli.question_runs import WHICH, asked, run_of, state_folder
from tests.support import ProjectMaker, SampleProject
from tests.terminals import COMMAND, assert_golden, in_terminal, piped, plain

STOPPED = Question(
    "1-2-sign-in",
    "dev",
    2,
    "dev of 1-2-sign-in was ended at its time limit. Give it as much time again?",
    "Reason: stopped at its time limit\nIts last lines:\n  npm test\nSee: docs/1-2-sign-in.md",
    ("retry", "skip", "fix", "extend", "abort"),
    "extend",
    "subagent_failed",
    Kind.INTERVENTION,
    cause="timeout",
    because="it was still at work",
)


@pytest.fixture
def sample(project: ProjectMaker) -> SampleProject:
    return project()


@pytest.fixture
def run(sample: SampleProject) -> Path:
    return run_of(sample)


def said(run: Path) -> list[str | None]:
    return [question.answer for _, question in questions_of(str(run))[0]]


@pytest.mark.parametrize(
    ("typed", "choice"),
    [("retry", "retry"), ("s", "skip"), ("E", "extend"), ("a", "abort"), ("3", "fix"), ("ret", "retry")],
)
def test_words_letters_and_numbers(sample: SampleProject, run: Path, typed: str, choice: str) -> None:
    asked(run, STOPPED)
    done = piped("intervene", "1-2", typed, cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"1-2-sign-in q1: {choice}\n")
    assert said(run) == [choice]


def test_what_it_does_not_offer_is_refused(sample: SampleProject, run: Path) -> None:
    asked(run, STOPPED._replace(options=("retry", "abort"), recommended="retry"))
    done = piped("intervene", "1-2", "extend", cwd=sample.root)
    assert done.returncode == 2
    assert "does not offer 'extend'" in done.stderr
    assert "retry, abort" in done.stderr
    assert said(run) == [None]


def test_a_question_wants_an_answer(sample: SampleProject, run: Path) -> None:
    asked(run, WHICH)
    done = piped("intervene", "1-2", "retry", cwd=sample.root)
    assert done.returncode == 2
    assert "bmad answer 1-2-sign-in 2\n" in done.stderr
    assert said(run) == [None]


def test_what_was_answered_is_said(sample: SampleProject, run: Path) -> None:
    asked(run, STOPPED)
    piped("intervene", "1-2", "skip", cwd=sample.root)
    again = piped("intervene", "1-2", "retry", cwd=sample.root)
    assert again.returncode == 1
    assert "has no open question" in again.stderr
    assert "q1 was answered: skip" in again.stderr


def test_fixing_by_hand_says_where(sample: SampleProject, run: Path) -> None:
    asked(run, STOPPED)
    done = piped("intervene", "1-2", "fix", cwd=sample.root)
    assert f"cd {sample.root}" in done.stdout
    row = "if its row has moved: bmad board set 1-2-sign-in review\n"
    assert done.stdout.endswith(f"{row}when it is mended: bmad resume\n")


def test_what_is_to_be_fixed_by_hand_is_not_resumed_before(sample: SampleProject, run: Path) -> None:
    asked(run, STOPPED)
    done = piped("intervene", "1-2", "fix", "--resume", cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("when it is mended: bmad resume\n")


def test_resuming_beside_somebody_at_work_is_refused(sample: SampleProject, run: Path) -> None:
    asked(run, STOPPED)
    with hold(state_folder(sample), "bmad run-epic 1", str(run)):
        done = piped("intervene", "1-2", "retry", "--resume", cwd=sample.root)
    assert done.returncode == 2
    assert "goes on by itself" in done.stderr
    assert said(run) == [None]


def test_the_menu_among_the_questions(sample: SampleProject, run: Path) -> None:
    asked(run, STOPPED, 12)
    assert_golden("intervention", piped("questions", cwd=sample.root).stdout)
    shown = plain(in_terminal("questions", cwd=sample.root, columns=60))
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
        before = records.read_time_limit(str(folder), 0.0)
        story = read_spec(str(folder)).story
        refused = piped("intervene", story, "retry", cwd=sample.root)
        assert refused.returncode == 1
        assert "bmad stop --now" in refused.stderr
        assert "bmad agent cancel" in refused.stderr
        done = piped("intervene", story, "e", cwd=sample.root)
        assert (done.returncode, done.stderr) == (0, "")
        assert "may go on until" in done.stdout
        assert records.read_time_limit(str(folder), 0.0) == before + 120 * 60
