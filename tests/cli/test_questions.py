"""bmad questions: what waits for a human, and the command that answers it."""

import re
import shlex

from bmad_autopilot.runs.question import Question
from bmad_autopilot.runs.supervisor import hold
from tests.cli.question_runs import NAME, WHICH, asked, run_of, state_folder
from tests.cli.test_board import validate
from tests.support import ProjectMaker
from tests.terminals import assert_golden, in_terminal, piped, plain


def test_all_that_waits_on_one_screen(project: ProjectMaker) -> None:
    sample = project()
    run = run_of(sample)
    asked(run, WHICH, 12)
    asked(run, WHICH._replace(attempt=2), 3)
    asked(run_of(sample), NAME, 125)
    done = piped("questions", cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert_golden("questions", done.stdout)
    shown = plain(in_terminal("questions", cwd=sample.root, columns=60))
    assert all(len(line) <= 60 for line in shown.splitlines())
    assert_golden("questions-60", shown)


def test_the_commands_it_names_are_accepted(project: ProjectMaker) -> None:
    sample = project()
    run = run_of(sample)
    asked(run, WHICH)
    asked(run, NAME)
    asked(run, Question("2-1-search", "dev", 1, "How many?", options=("20", "10")))
    asked(run, Question("2-2-it's odd", "dev", 1, "Which?", options=("$(touch x) `id`", "'")))
    for line in re.findall(r"→ (bmad answer .*)", piped("questions", cwd=sample.root).stdout):
        _, *words = shlex.split(line)
        assert piped(*words, cwd=sample.root).returncode == 0, line
    assert piped("questions", cwd=sample.root).stdout == "no question is open\n"


def test_the_document_keeps_its_schema(project: ProjectMaker) -> None:
    sample = project()
    nothing = validate("questions", piped("questions", "--json", cwd=sample.root).stdout)
    assert (nothing["questions"], nothing["supervisor"]) == ([], None)
    run = run_of(sample)
    asked(run, WHICH)
    asked(run, NAME)
    (run / "questions" / "007.json").write_text("{")
    with hold(state_folder(sample), "bmad run-epic 1", str(run)):
        document = validate("questions", piped("questions", "--json", cwd=sample.root).stdout)
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
    assert "nobody is at work here: answer, then bmad resume" in piped("questions", cwd=sample.root).stdout
    with hold(state_folder(sample), "bmad run-epic 1", str(run)):
        assert "bmad run-epic 1 (pid " in piped("questions", cwd=sample.root).stdout


def test_a_broken_project_still_shows_its_questions(project: ProjectMaker) -> None:
    sample = project()
    asked(run_of(sample), NAME)
    sample.write("bmad-autopilot.toml", "agent = [")
    sample.board.write_bytes(b"\xff\xfe")
    done = piped("questions", cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "What is the name of the table?" in done.stdout


def test_a_broken_question_is_named_beside_the_others(project: ProjectMaker) -> None:
    sample = project()
    run = run_of(sample)
    asked(run, NAME)
    (run / "questions" / "002.json").write_text('{"question": 1,')
    done = piped("questions", cwd=sample.root)
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
    done = piped("questions", cwd=sample.root)
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
    assert "  next\n" in done.stdout


def test_a_long_context_is_cut_in_the_list(project: ProjectMaker) -> None:
    sample = project()
    asked(run_of(sample), NAME._replace(context="\n".join(f"line {number}" for number in range(100))))
    done = piped("questions", cwd=sample.root)
    assert "line 11\n  … 88 more lines" in done.stdout
