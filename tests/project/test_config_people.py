"""Standing answers and policies in bmad-autopilot.toml."""

from pathlib import Path

import pytest

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.project.config import Config, StandingAnswer
from bmad_autopilot.project.config_reader import read_config

ONE = '[[standing_answers]]\nquestion = "licen[cs]e"\nanswer = "MIT"\n'


def read(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "bmad-autopilot.toml"
    path.write_text(text)
    return read_config(str(path))


def test_standing_answers_are_tried_in_order_and_by_story(tmp_path: Path) -> None:
    more = '\n[[standing_answers]]\nquestion = "which license"\nanswer = "Apache"\n'
    of_epic = '[[standing_answers]]\nstory = "2-*"\nquestion = "LICENSE"\nanswer = "BSD"\n'
    found = read(tmp_path, of_epic + ONE + more)
    assert found.standing[1] == StandingAnswer("licen[cs]e", "MIT")
    assert found.standing_answer("Under which License?", "2-1-login") == "BSD"
    assert found.standing_answer("Under which License?", "1-1-login") == "MIT"
    assert found.standing_answer("Which database?", "2-1-login") is None


def test_a_pattern_is_tried_on_a_bounded_text(tmp_path: Path) -> None:
    assert read(tmp_path, ONE).standing_answer("x" * 1_000_000 + "license") is None


def test_a_policy_by_cause_and_for_all(tmp_path: Path) -> None:
    found = read(tmp_path, '[unattended]\nall = "skip"\ntimeout = "extend"\nleft-out = "close"\n')
    causes = ("blocked", "timeout", "left-out", "budget", "question")
    assert [found.unattended_choice(cause) for cause in causes] == ["skip", "extend", "close", "ask", "ask"]
    assert Config().unattended_choice("blocked") == "ask"


def test_the_command_line_overrules_the_settings(tmp_path: Path) -> None:
    found = read(tmp_path, '[unattended]\nblocked = "skip"\ntimeout = "extend"\n')
    one = found.with_unattended({"blocked": "retry"})
    assert (one.unattended_choice("blocked"), one.unattended_choice("timeout")) == ("retry", "extend")
    every = found.with_unattended({"all": "abort"})
    assert (every.unattended_choice("blocked"), every.unattended_choice("timeout")) == ("abort", "abort")
    assert found.with_unattended({}) == found


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("standing_answers = 3\n", 1, "[[standing_answers]]"),
        ('\n[standing_answers]\nquestion = "x"\n', 2, "[[standing_answers]]"),
        ("standing_answers = [1]\n", 1, "[[standing_answers]]"),
        (f'{ONE}[[standing_answers]]\nquestion = "x"\n', 4, "has no `answer`"),
        (f'{ONE}[[standing_answers]]\nanswer = "x"\n', 4, "has no `question`"),
        (f'{ONE}\n[[standing_answers]]\nquestion = "x"\nansewr = "y"\n', 7, "did you mean `answer`?"),
        (f"{ONE}\n[[standing_answers]]\nanswer = 3\n", 6, "must be a text"),
        (f'{ONE}\n[[standing_answers]]\nanswer = "x"\nquestion = "(x"\n', 7, "cannot be read"),
        ('[[standing_answers]]\nanswer = "x"\nquestion = "(a+)+b"\n', 3, "repeats what repeats itself"),
        ('[[standing_answers]]\nanswer = "x"\nquestion = ".*"\n', 3, "fits any question"),
        (f'[[standing_answers]]\nanswer = "x"\nquestion = "{"x" * 501}"\n', 3, "at most 500 characters"),
        (ONE * 51, 1, "at most 50"),
        ('\n[unattended]\nblockd = "skip"\n', 3, "did you mean `blocked`?"),
        ('[unattended]\nblocked = "skp"\n', 2, "did you mean `skip`?"),
        ('[unattended]\nblocked = "fix"\n', 2, "ask, retry, skip, abort"),
        ('[unattended]\nblocked = "extend"\n', 2, "ask, retry, skip, abort"),
        ('[unattended]\nall = "close"\n', 2, "ask, retry, skip"),
        ("[unattended]\nblocked = 3\n", 2, "must be a text"),
        ('[unattended.blocked]\nx = "skip"\n', 1, "must be a text"),
        ("unattended = 3\n", 1, "must be a table"),
        ('human_checkpoint = "always"\n', 1, '"none", "before_dev", "after_each_story", "after_each_epic"'),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(FileError) as error:
        read(tmp_path, text)
    assert words in str(error.value)
    assert error.value.location is not None
    assert error.value.location.line == line
