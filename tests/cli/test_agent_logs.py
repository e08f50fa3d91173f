"""bmad agent logs: what a call printed, found by any of its names."""

import json
from pathlib import Path

import pytest

from bmad_autopilot.agents.verdicts import has_verdict
from tests.cli.agent_runs import (
    CLAUDE,
    ENDS_WELL,
    NAME,
    RUN,
    attempt_of,
    call,
    project_with_stub,
    steady,
    under_way,
)
from tests.cli.test_board import validate
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.terminals import assert_golden, run_in_terminal, run_piped, strip_colors

pytestmark = pytest.mark.real


@pytest.fixture
def sample(project: ProjectMaker) -> SampleProject:
    return project_with_stub(project)


def test_a_call_of_claude_in_a_pipe_and_in_a_terminal(sample: SampleProject) -> None:
    call(sample, ENDS_WELL, agent="claude", model="opus")
    done = run_piped("agent", "logs", cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert_golden("agent-logs", steady(done.stdout))
    shown = strip_colors(run_in_terminal("agent", "logs", cwd=sample.root, columns=80))
    assert_golden("agent-logs-80", steady(shown))
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_colour_only_where_it_is_wanted(sample: SampleProject) -> None:
    call(sample, "import sys; print('oops', file=sys.stderr); sys.exit(3)")
    assert "\x1b[31moops" in run_in_terminal("agent", "logs", cwd=sample.root, columns=80)
    assert "\x1b" not in run_in_terminal("agent", "logs", cwd=sample.root, columns=80, NO_COLOR="1")
    assert "\x1b" not in run_piped("agent", "logs", cwd=sample.root).stdout


def test_what_an_agent_prints_cannot_steer_the_terminal(sample: SampleProject) -> None:
    call(sample, r"print('\x1b]0;title\x07 \x1b[2J \u202egnp.exe', flush=True)")
    for arguments in ((), ("--raw",)):
        shown = run_in_terminal("agent", "logs", *arguments, cwd=sample.root, columns=80, NO_COLOR="1")
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\u202e" not in shown
        assert "gnp.exe" in shown


def test_errors_only_and_raw(sample: SampleProject) -> None:
    code = (
        "import sys; print('said'); print('{\"type\": \"x\"}'); sys.stdout.flush(); print('oops', file=sys.stderr)"
    )
    call(sample, code)
    errors = run_piped("agent", "logs", "--errors", cwd=sample.root).stdout
    assert "oops" in errors
    assert "said" not in errors
    raw = [json.loads(line) for line in run_piped("agent", "logs", "--raw", cwd=sample.root).stdout.splitlines()]
    assert {"said", "oops"} <= {one.get("text") or one.get("error") for one in raw}
    assert {"type": "x"} in [one.get("event") for one in raw]
    assert run_piped("agent", "logs", "--raw", "--json", cwd=sample.root).returncode == 2


def test_the_document_keeps_its_schema_in_every_state(sample: SampleProject) -> None:
    call(sample, ENDS_WELL, agent="claude")
    document = validate("agent-logs", run_piped("agent", "logs", "--json", cwd=sample.root).stdout)
    assert document["outcome"]["outcome"] == "completed"  # type: ignore[index]
    assert document["outcome"]["dollars"] == CLAUDE[-1]["total_cost_usd"]  # type: ignore[index]
    with under_way(sample, folder=attempt_of(sample, number=2)):
        document = validate("agent-logs", run_piped("agent", "logs", "--json", cwd=sample.root).stdout)
    assert document["outcome"] is None
    assert document["call"]["state"] == "running"  # type: ignore[index]


def test_reading_takes_nothing_in(sample: SampleProject) -> None:
    """The verdict is written by whoever asked for the call: written by us, the call would not be adopted."""
    folder = call(sample, "print('x')")
    assert "completed" in run_piped("agent", "logs", cwd=sample.root).stdout
    assert not has_verdict(str(folder))


@pytest.mark.parametrize(
    "wanted",
    [
        NAME,
        f"main/{NAME}",
        RUN,
        f"{RUN}/01-dev",
        f"{RUN}/",
        RUN[:12],
        f"{RUN}/01",
        "1-1-it",
        "1-1",
        "1.1",
        "1-1-IT",
    ],
)
def test_the_names_of_a_call(sample: SampleProject, wanted: str) -> None:
    call(sample, "print('this one')")
    done = run_piped("agent", "logs", wanted, cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "this one" in done.stdout


def test_the_newest_call_is_meant_and_one_can_be_named(sample: SampleProject) -> None:
    for number in (1, 2, 10):
        call(sample, f"print('call {number}')", attempt_of(sample, number=number))
    call(sample, "print('older')", attempt_of(sample, "dev-story-20250101-120000"))
    for wanted, says in (
        ((), "call 10"),
        ((RUN,), "call 10"),
        (("1-1",), "call 10"),
        ((f"{RUN}/01-dev/1",), "call 1\n"),
        ((f"{RUN}/01-dev/2",), "call 2"),
        (("dev-story-2025",), "older"),
    ):
        assert says in run_piped("agent", "logs", *wanted, cwd=sample.root).stdout, wanted


def test_a_beginning_of_several_lists_them(sample: SampleProject) -> None:
    call(sample, "print(1)", attempt_of(sample, "dev-story-20250101-120000"))
    call(sample, "print(2)", attempt_of(sample, RUN), story="1-10-more")
    done = run_piped("agent", "logs", "dev-story", cwd=sample.root)
    assert done.returncode == 2
    assert f"main/{RUN}, main/dev-story-20250101-120000" in done.stderr
    done = run_piped("agent", "logs", "1", cwd=sample.root)
    assert done.returncode == 2
    assert "1-10-more, 1-1-it" in done.stderr
    assert "    1\n" not in run_piped("agent", "logs", "1-1", cwd=sample.root).stderr


def test_one_name_in_two_sessions_is_told_apart(sample: SampleProject) -> None:
    first = attempt_of(sample)
    second = Path(str(first).replace("/main/", "/lane/"))
    second.mkdir(parents=True)
    call(sample, "print('in main')", first)
    call(sample, "print('in lane')", second)
    assert run_piped("agent", "logs", RUN, cwd=sample.root).returncode == 2
    assert "in lane" in run_piped("agent", "logs", f"lane/{RUN}", cwd=sample.root).stdout


@pytest.mark.parametrize(
    "wanted", ["dev-storry-20260101-120000", "2-9", "", "../../etc/passwd", "\x1b[2J", "x" * 5000]
)
def test_a_name_of_nothing(sample: SampleProject, wanted: str) -> None:
    call(sample, "print(1)")
    done = run_piped("agent", "logs", wanted, cwd=sample.root)
    assert done.returncode == 2
    assert RUN in done.stderr
    assert "\x1b" not in done.stderr
    assert "bmad agent list" in done.stderr


def test_a_project_without_calls(sample: SampleProject) -> None:
    done = run_piped("agent", "logs", cwd=sample.root)
    assert done.returncode == 2
    assert "no agent has been called" in done.stderr


def test_an_agent_that_has_gone_from_the_settings_can_still_be_read(sample: SampleProject) -> None:
    call(sample, "print('still here')")
    for text in ("", "agent = [broken"):
        sample.write("bmad-autopilot.toml", text)
        done = run_piped("agent", "logs", cwd=sample.root)
        assert (done.returncode, done.stderr) == (0, "")
        assert "still here" in done.stdout
        assert "completed" in done.stdout


@pytest.mark.parametrize("name", ["spec.json", "result.json"])
@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_broken_record_is_said_with_its_file(sample: SampleProject, name: str, text: str) -> None:
    folder = call(sample, "print(1)")
    (folder / name).write_text(text)
    done = run_piped("agent", "logs", cwd=sample.root)
    assert done.returncode == 4
    assert name in done.stderr


def test_events_that_are_none_of_ours_are_passed_over(sample: SampleProject) -> None:
    folder = call(sample, "print('good')")
    events = folder / "events.jsonl"
    events.write_bytes(
        b'\xff\xfe\n[1]\n{"at": "x", "text": "odd time"}\n{"text": 5}\n' + events.read_bytes() + b'{"at": 1, '
    )
    done = run_piped("agent", "logs", cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "odd time" in done.stdout
    assert "good" in done.stdout
