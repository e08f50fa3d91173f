"""A run's log: one line for each thing that matters, whole, tame, and no wider than the terminal."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.engine.call_outcome import STOPPED
from bmad_autopilot.views.format import LogLine, render_log_line
from bmad_autopilot.views.run_log import RunLog
from bmad_autopilot.views.terminal import Terminal, display_width
from tests.support.journal_entries import AGENTS, SHA, STARTED_AT, STORY, at_intervals, call, ended
from tests.support.terminals import assert_golden, strip_colors

ODD = st.text(st.sampled_from("ab 漢\x1b\x07\n\r\t\u202e\u0301-é[31m"), max_size=60) | st.text(max_size=60)


def terminal(width: int, *, color: str = "never", is_terminal: bool = True) -> Terminal:
    out = Terminal(color, width)
    out.is_terminal = is_terminal
    return out


def shown(out: Terminal, entries: list = STORY, **options: bool) -> list[str]:  # type: ignore[type-arg]
    log = RunLog(AGENTS, **options)  # type: ignore[arg-type]
    return [text for entry in entries for line in log.lines(*entry) for text in render_log_line(line, out, 9)]


def is_tame(text: str) -> bool:
    return not any(char < " " or "\x7f" <= char <= "\x9f" or char in "\u202e\u2066" for char in text)


@pytest.mark.parametrize("width", [0, 80, 40])
def test_transcripts(width: int) -> None:
    out = terminal(width or 80, is_terminal=bool(width))
    assert_golden(f"run-log-{width or 'piped'}", "\n".join(shown(out)) + "\n")


@pytest.mark.parametrize(
    ("by", "says"),
    [
        ("human", "answer        skip"),
        ("standing", "answer        skip  (your standing answer)"),
        ("policy", "answer        skip  (chosen in advance: nobody is here)"),
    ],
)
def test_an_answer_that_was_given_in_advance_is_said_to_be(by: str, says: str) -> None:
    entries = [("answered", {"question": "q1", "answer": "skip", "means": "skip", "by": by}, STARTED_AT)]
    assert shown(terminal(80, is_terminal=False), entries)[-1].endswith(says)


def test_an_answer_of_several_lines_is_one_in_the_log() -> None:
    entries = [("answered", {"question": "q1", "answer": "Half up.\n\nAlways.", "means": "again"}, STARTED_AT)]
    assert shown(terminal(80, is_terminal=False), entries)[-1].endswith("answer        Half up. Always.")


def test_a_pipe_gets_one_line_for_each_thing() -> None:
    long = [ended("1-2-login", "code-review", 1, "changes", summary="w" * 300)]
    lines = shown(terminal(20, is_terminal=False), at_intervals(long))
    assert len(lines) == 1
    assert lines[0].endswith("w" * 300)


def test_the_line_the_design_promises() -> None:
    assert shown(terminal(200), at_intervals([call("1-2-login", "dev", 1, "dev")])) == [
        "12:00:00  1-2-login  dev           started  (claude, attempt 1)"
    ]


def test_where_the_work_on_a_skipped_story_is_kept() -> None:
    aside = ("aside", {"story": "1-1-a", "kept": "refs/autopilot/saved/r/1-1-a"}, STARTED_AT)
    (line,) = RunLog(AGENTS).lines(*aside)
    assert (line.word, line.text) == (
        "set aside",
        "the work is kept: git show --stat refs/autopilot/saved/r/1-1-a",
    )


def test_a_row_is_told_only_once_it_is_set() -> None:
    log = RunLog(AGENTS)
    row = ("row", {"key": "1-1-a", "before": "backlog", "after": "in-progress"}, STARTED_AT)
    assert log.lines(*row) == []
    assert log.lines("row-set", {"key": "1-1-b"}, STARTED_AT) == []
    assert [line.word for line in log.lines("row-set", {"key": "1-1-a"}, STARTED_AT)] == ["backlog → in-progress"]


def test_a_row_the_agent_has_set_is_told_with_the_step() -> None:
    log = RunLog(AGENTS)
    log.lines("story", {"story": "1-1-a", "status": "backlog"}, STARTED_AT)
    accepted = {"story": "1-1-a", "number": 1, "step": "create-story", "row": "ready-for-dev"}
    assert [line.word for line in log.lines("accepted", accepted, STARTED_AT)] == ["backlog → ready-for-dev"]
    assert log.lines("accepted", accepted, STARTED_AT) == []


@pytest.mark.parametrize(
    ("finding", "more", "says"),
    [
        ("lacking", {"message": "- no test was added\n- more"}, "not accepted  4 min 9 s · 48,210 tokens · $0.42"),
        ("lacking", {"message": "- no test was added\n- more"}, "$0.42: no test was added"),
        ("failed", {"outcome": "crashed", "message": "exit code 3"}, ": crashed: exit code 3"),
        ("refused", {"outcome": "cancelled", "message": STOPPED}, "dev           ended with the run  4 min 9 s"),
        ("hopeless", {"outcome": "auth", "message": "auth"}, ": auth"),
        ("good", {"dollars": None, "tokens": 0}, "done  4 min 9 s"),
        ("good", {"summary": "Fine.\nReally."}, "approved  4 min 9 s · 48,210 tokens · $0.42: Fine."),
        ("new-word", {}, "new-word  4 min 9 s"),
    ],
)
def test_how_a_call_ended(finding: str, more: dict[str, object], says: str) -> None:
    (line,) = shown(terminal(200), at_intervals([ended("1-1-a", "dev", 1, finding, **more)]))
    assert says in line


def test_a_person_at_this_terminal_is_asked_below_the_log() -> None:
    asked = [entry for entry in STORY if entry[0] == "asked"]
    assert len(shown(terminal(80), asked)) > 4
    assert shown(terminal(80), asked, shows_questions=False) == ["12:09:00  1-2-login  asks"]


def test_our_own_questions_have_letters() -> None:
    data = {"question": "q1", "code": "failed", "story": "1-1-a", "number": 1, "text": "Try again?"}
    data |= {"context": "", "options": ["retry", "skip", "fix", "abort"], "recommended": "retry"}
    data |= {"cause": "failed", "because": "its work is kept"}
    lines = shown(terminal(200), [("asked", data, STARTED_AT)])
    assert "    [!] Story 1-1-a FAILED" in lines
    assert "        [r] Retry story (the step once more)  (recommended: its work is kept)" in lines
    assert "        [a] Abort (the run ends)" in lines


def test_checks_that_cannot_run_here_say_so() -> None:
    entries = [("check", {"passed": False, "environment": True, "ran": [["npm test", 127, 0.1]]}, STARTED_AT)]
    lines = shown(terminal(200), entries)
    assert "failed  npm test  (0.1 s, exit code 127)" in lines[0]
    assert "cannot run here" in lines[1]


def test_a_call_that_is_not_simply_the_next_says_why() -> None:
    story = "1-1-a"
    entries = [
        ("step", {"story": story, "number": 1, "step": "dev", "round": 1, "cause": ""}),
        call(story, "dev", 1, "dev"),
        ("step", {"story": story, "number": 2, "step": "fix", "round": 1, "cause": "checks"}),
        call(story, "fix", 2, "dev"),
        ("round", {"story": story, "round": 2, "why": "review", "row": ""}),
        ("step", {"story": story, "number": 3, "step": "dev", "round": 2, "cause": ""}),
        call(story, "dev", 3, "dev"),
        ("step", {"story": story, "number": 4, "step": "code-review", "round": 2, "cause": ""}),
        call(story, "code-review", 4, "qa"),
    ]
    started = [line.partition("started  ")[2] for line in shown(terminal(200), at_intervals(entries))]
    assert [line for line in started if line] == [
        "(claude, attempt 1)",
        "(claude, attempt 1, after checks failed)",
        "(claude, attempt 1, after changes requested)",
        "(codex, attempt 1)",
    ]


def test_a_question_about_the_checks_names_those_that_fail() -> None:
    check = {"passed": False, "ran": [["npm run lint", 0, 1.0], ["npm test", 1, 2.0]]}
    asked = {"question": "q1", "code": "checks", "story": "1-1-a", "text": "What now?", "options": []}
    lines = shown(terminal(200), at_intervals([("check", check), ("asked", asked)]))
    assert "asks  npm test (exit code 1) fails" in lines[2]


def test_no_checks_no_line() -> None:
    assert shown(terminal(200), [("check", {"passed": True, "ran": []}, STARTED_AT)]) == []


@given(st.sampled_from(STORY), st.data(), st.integers(20, 200))
def test_whatever_it_says_lines_fit_and_steer_nothing(
    entry: tuple[str, dict[str, object], float], data: st.DataObject, width: int
) -> None:
    kind, fields, at = entry
    odd = {name: data.draw(ODD) if isinstance(value, str) else value for name, value in fields.items()}
    log = RunLog(AGENTS)
    if kind == "row-set":
        log.lines("row", {"key": odd["key"], "before": "x" * 70, "after": "y"}, at)
    for line in log.lines(kind, odd, at):
        bare = render_log_line(line, terminal(width), 28)
        assert all(is_tame(text) and display_width(text) <= width for text in bare)
        coloured = render_log_line(line, terminal(width, color="always"), 28)
        assert [strip_colors(text) for text in coloured] == bare


@given(ODD, ODD, ODD, st.integers(20, 120))
def test_nothing_is_lost_by_wrapping(story: str, word: str, text: str, width: int) -> None:
    out, pipe = terminal(width), terminal(width, is_terminal=False)
    line = LogLine(STARTED_AT, story, "dev", word, text)
    (whole,) = render_log_line(line, pipe, 0)
    wrapped = "".join(render_log_line(line, out, 0))
    assert "".join(wrapped.split()) == "".join(whole.split())


def test_colour_is_around_the_word_alone() -> None:
    (line,) = shown(terminal(200, color="always"), at_intervals([ended("1-1-a", "dev", 1, "good")]))
    assert "\x1b[2m12:00:00\x1b[0m" in line
    assert "\x1b[32mdone\x1b[0m  4 min 9 s" in line


def test_an_older_version_passes_over_what_it_does_not_know() -> None:
    assert RunLog(AGENTS).lines("from-the-future", {"story": "1-1-a"}, STARTED_AT) == []


def test_a_commit_of_the_epic_is_the_epics() -> None:
    lines = shown(terminal(200), [entry for entry in STORY if entry[0] in ("epic", "commit")])
    assert lines[-1].split() == ["12:26:00", "epic-1", "commit", SHA[:7], "Close", "epic-1"]


def test_the_log_the_readme_shows() -> None:
    """Six lines of a real log, word for word."""
    story = "2-3-sharing"
    spent = {"seconds": 70.0, "tokens": 12004, "dollars": 0.11}
    told = [
        ("row", {"key": story, "before": "ready-for-dev", "after": "in-progress"}, 271.0),
        ("row-set", {"key": story}, 271.0),
        (*call(story, "dev", 1, "dev"), 271.0),
        (*ended(story, "dev", 1, "good"), 520.0),
        ("check", {"story": story, "passed": True, "ran": [["npm test", 0, 11.3]]}, 532.0),
        (*ended(story, "code-review", 2, "changes", summary="The link never expires.", **spent), 602.0),
        ("commit", {"story": story, "sha": SHA, "subject": f"Story {story}: round 1, changes requested"}, 602.0),
    ]
    entries = [(kind, data, STARTED_AT + at) for kind, data, at in told]
    lines = shown(terminal(80, is_terminal=False), entries)
    assert "\n".join(lines) in (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_leaving_says_who_is_at_work_and_what_goes_on() -> None:
    def said(**data: object) -> list[str]:
        return [line.text for line in RunLog({}).lines("stopping", {"times": 1, **data}, 0.0)]

    assert "an agent under way goes on, and bmad resume picks it up" in said()[0]
    assert "an agent under way goes on, and bmad autopilot picks it up" in said(lane="epic-1", idle=False)[0]
    (text,) = said(idle=True)
    assert text == "no agent is at work; what waits for others stays as it is, and bmad autopilot goes on with it"
    assert said(idle=True, times=2) == []


def test_who_was_called_and_why_nobody_stood_in() -> None:
    called = {**call("1-1-x", "dev", 1, "dev")[1], "agent": "codex"}
    rest = {"why": "limit", "until": STARTED_AT + 60, "lacks": "codex cannot stand in: no skill"}
    strayed = ended("1-1-x", "dev", 1, "good", put_back=[["2-1-y", "backlog", "done"]])
    started, rests, _, back = shown(terminal(200), at_intervals([("call", called), ("resting", rest), strayed]))
    assert "started  (codex, attempt 1)" in started
    assert "(usage limit; codex cannot stand in: no skill)" in rests
    assert "moved rows of other epics  put back: 2-1-y" in back
