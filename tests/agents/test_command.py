"""The agent that is any command: its words, its script, its verdicts, and 003's claude-instance."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.adapter import (
    ERROR,
    JSON,
    NOTE,
    TEXT,
    Agent,
    AgentRequest,
    Event,
    Outcome,
    ProcessEnding,
    Spend,
    Tokens,
)
from bmad_autopilot.agents.command import MAX_ARGUMENT, CommandAgent, metadata_with_purpose
from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.project.config import EVIDENCE, EXIT, CustomAgent
from bmad_autopilot.project.config_reader import read_config

SECONDS = 20.0
ODD = "/bmad-dev-story 1-1\n'b' \"c\" $(touch hacked) `touch hacked`; {name} ${HOME} \\ * ü -x"
ASK = AgentRequest(ODD, "session-1", "/work tree", name="bmad-1-1", branch="epic/1", story="1-1-a", model="large")


def command(*words: str, **settings: object) -> CommandAgent:
    return CommandAgent("mine", CustomAgent(words, **settings))  # type: ignore[arg-type]


def test_it_is_an_agent_like_the_others() -> None:
    agent: Agent = command("my-agent", "{prompt}")
    assert (agent.name, agent.program, agent.variables) == ("mine", "my-agent", ())


def test_every_placeholder_has_its_value_in_one_word() -> None:
    agent = command("x", "{prompt}", "{name}/{branch}", "{story}", "{model}", "{session}", "--in={worktree}")
    call = agent.call(ASK)
    assert call.argv == ("x", ODD, "bmad-1-1/epic/1", "1-1-a", "large", "session-1", "--in=/work tree")
    assert call.stdin == ""
    assert (call.environment, call.guard) == ({}, None)


def test_a_resumed_conversation_has_its_own_id() -> None:
    assert command("x", "{session}").call(ASK._replace(resume="old")).argv == ("x", "old")


def test_without_a_place_for_it_the_prompt_comes_on_standard_input() -> None:
    call = command("x", "run").call(ASK)
    assert (call.argv, call.stdin) == (("x", "run"), ODD)


@pytest.mark.parametrize(
    ("words", "argv"),
    [
        (("x", "--model", "{model}", "y"), ("x", "y")),
        (("x", "-m", "{model}"), ("x",)),
        (("x", "{model}", "y"), ("x", "y")),
        (("x", "run", "{model}"), ("x", "run")),
        (("x", "--a=b", "{model}"), ("x", "--a=b")),
        (("x", "--model={model}"), ("x", "--model=")),
        (("-x", "{model}"), ("-x",)),
    ],
)
def test_an_option_without_a_value_is_left_out(words: tuple[str, ...], argv: tuple[str, ...]) -> None:
    assert command(*words).call(ASK._replace(model=None)).argv == argv


def test_a_prompt_too_long_for_an_argument_is_refused_before_the_start() -> None:
    with pytest.raises(UsageError, match="too long") as caught:
        command("x", "{prompt}").call(ASK._replace(prompt="ü" * MAX_ARGUMENT))
    assert "standard input" in (caught.value.hint or "")
    assert len(command("x").call(ASK._replace(prompt="y" * 10 * MAX_ARGUMENT)).stdin) == 10 * MAX_ARGUMENT


def test_a_prompt_with_a_nul_byte_is_refused() -> None:
    with pytest.raises(UsageError, match="NUL"):
        command("x", "{prompt}").call(ASK._replace(prompt="a\0b"))


@given(st.text(), st.text(min_size=1, max_size=20))
def test_a_word_is_never_split_and_never_read_again(prompt: str, name: str) -> None:
    prompt, name = prompt.replace("\0", "") or "p", name.replace("\0", "") or "n"
    agent = command("x", "{prompt}", "<{name}>")
    assert agent.call(ASK._replace(prompt=prompt, name=name)).argv == ("x", prompt, f"<{name}>")


# With a shell

TELL = f"{sys.executable} -c 'import json, sys; print(json.dumps([sys.argv[1:], sys.stdin.read()]))'"


def run(agent: CommandAgent, request: AgentRequest, folder: Path) -> tuple[list[str], str]:
    call = agent.call(request)
    done = subprocess.run(
        call.argv, input=call.stdin.encode(), capture_output=True, cwd=folder, timeout=SECONDS, check=True
    )
    heard, stdin = json.loads(done.stdout)
    return heard, stdin


def test_a_script_gets_each_value_as_one_word(tmp_path: Path) -> None:
    agent = command(f"true && {TELL} {{prompt}} --name={{name}} ${{#}} {{prompt}} $((1 + 1))", shell=True)
    assert agent.program == "sh"
    heard, _ = run(agent, ASK, tmp_path)
    assert heard == [ODD, "--name=bmad-1-1", "2", ODD, "2"]
    assert list(tmp_path.iterdir()) == []


def test_a_script_without_a_place_for_the_prompt_reads_it(tmp_path: Path) -> None:
    heard, stdin = run(command(f"cat | {TELL} {{model}}", shell=True), ASK._replace(model=None), tmp_path)
    assert (heard, stdin) == ([""], ODD)


def test_nothing_of_a_prompt_is_executed_even_inside_quotes(tmp_path: Path) -> None:
    """The settings refuse quotes around a placeholder. Should one slip through, it is still only a word."""
    agent = command(f"{TELL} \"{{prompt}}\" '{{prompt}}' $(echo {{prompt}})", shell=True)
    run(agent, ASK, tmp_path)
    assert list(tmp_path.iterdir()) == []


# How it ended


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (ProcessEnding("exit", 0), Outcome.COMPLETED),
        (ProcessEnding("exit", 1), Outcome.CRASHED),
        (ProcessEnding("exit", None, 9), Outcome.CRASHED),
        (ProcessEnding("time-limit", 0), Outcome.TIMED_OUT),
        (ProcessEnding("time-limit", 143), Outcome.TIMED_OUT),
        (ProcessEnding("stall"), Outcome.STALLED),
        (ProcessEnding("cancel", 0), Outcome.CANCELLED),
        (ProcessEnding("signal", None, 15), Outcome.CRASHED),
        (ProcessEnding("no-start", problem="no such program: x"), Outcome.MISCONFIGURED),
    ],
)
def test_the_exit_decides(ending: ProcessEnding, outcome: Outcome) -> None:
    verdict = command("x").judge([Event(0, TEXT, "Is that right?")], ending, Spend())
    assert verdict.outcome is outcome
    assert verdict.closing == "Is that right?"
    assert verdict.spend == Spend()


# What it cost

USED = {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 11}
PRICE = Event(1, JSON, {"total_cost_usd": 0.42, "usage": USED})
GOOD = ProcessEnding("exit", 0)


def spent(*events: Event, ending: ProcessEnding = GOOD) -> Spend:
    return command("x").judge(events, ending, Spend()).spend


@pytest.mark.parametrize(
    "ending", [GOOD, ProcessEnding("exit", 1), ProcessEnding("time-limit"), ProcessEnding("cancel")]
)
def test_a_last_line_that_names_a_price_is_its_price_however_it_ended(ending: ProcessEnding) -> None:
    around = (Event(0, TEXT, "done"), PRICE, Event(1, ERROR, "a warning"), Event(1, NOTE, "ours"))
    assert spent(*around, ending=ending) == Spend(0.42, Tokens(3, 5, 7, 11))


def test_only_the_last_line_of_its_output_is_a_price() -> None:
    assert spent(PRICE, Event(2, TEXT, "and more")) == Spend()
    assert spent(PRICE, Event(2, JSON, {"type": "something else"})) == Spend()
    assert spent() == Spend()


def test_a_price_decides_nothing_else() -> None:
    said = {"total_cost_usd": 1, "is_error": True, "subtype": "error_max_turns", "result": "no"}
    verdict = command("x").judge([Event(0, TEXT, "the end"), Event(1, JSON, said)], GOOD, Spend())
    assert (verdict.outcome, verdict.closing, verdict.spend.dollars) == (Outcome.COMPLETED, "the end", 1)


@pytest.mark.parametrize(
    ("said", "spend"),
    [
        ({"total_cost_usd": 0}, Spend(0.0)),
        ({"usage": {"output_tokens": 9}}, Spend(None, Tokens(output=9))),
        ({"total_cost_usd": -1}, Spend()),
        ({"total_cost_usd": 1e6}, Spend()),
        ({"total_cost_usd": 10**400}, Spend()),
        ({"total_cost_usd": float("nan")}, Spend()),
        ({"total_cost_usd": True}, Spend()),
        ({"total_cost_usd": "0.42"}, Spend()),
        ({"total_cost_usd": 2, "usage": [1]}, Spend(2.0)),
        ({"total_cost_usd": 2, "usage": {"output_tokens": 10**12, "input_tokens": -4}}, Spend(2.0)),
    ],
)
def test_what_is_no_amount_is_not_told(said: dict[str, object], spend: Spend) -> None:
    assert spent(Event(0, JSON, said)) == spend


@given(
    st.dictionaries(
        st.sampled_from(["total_cost_usd", "usage", *USED, "x"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
            lambda inner: (
                st.dictionaries(st.sampled_from([*USED, "x"]), inner, max_size=4) | st.lists(inner, max_size=3)
            ),
            max_leaves=9,
        ),
        max_size=4,
    )
)
def test_any_object_as_a_last_line_is_taken(said: dict[str, object]) -> None:
    spend = spent(Event(0, JSON, said))
    assert spend.dollars is None or 0 <= spend.dollars < 1e6
    assert all(0 <= tokens < 10**12 for tokens in vars(spend.tokens).values())


def test_a_price_is_nothing_to_follow() -> None:
    agent = command("x")
    assert agent.format_event(PRICE) == []
    assert agent.format_event(Event(0, JSON, {"total_cost_usd": 1, "result": "no"})) != []
    assert agent.format_event(Event(0, JSON, {})) == ["{}"]


def test_the_message_is_what_it_complained_about() -> None:
    events = [
        Event(0, TEXT, "working"),
        Event(1, ERROR, "  "),
        Event(1, ERROR, "no such instance"),
        Event(2, NOTE, "x"),
    ]
    assert command("x").judge(events, ProcessEnding("exit", 2), Spend()).message == "no such instance"


def test_what_it_prints_parks_nobody() -> None:
    limit = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1}}
    events = [Event(0, JSON, limit), Event(0, ERROR, "You've hit your session limit · resets 7:20pm")]
    verdict = command("x").judge(events, ProcessEnding("exit", 1), Spend())
    assert (verdict.outcome, verdict.limit) == (Outcome.CRASHED, None)


def test_last_words_are_bounded() -> None:
    events = (Event(0, TEXT, "x" * 1000) for _ in range(100_000))
    assert len(command("x").judge(events, ProcessEnding("exit", 0), Spend()).closing) <= 20_000


def test_events_as_a_person_follows_them() -> None:
    agent = command("x")
    assert agent.format_event(Event(0, TEXT, "one\x1b[31m")) == ["one"]
    assert agent.format_event(Event(0, JSON, {"a": "ü"})) == ['{"a": "ü"}']
    assert agent.format_event(Event(0, ERROR, "")) == []
    assert len(agent.format_event(Event(0, TEXT, "x" * 10_000))[0]) < 1000


# 003's claude-instance

CONFIG = """\
agent = "instance"

[agents.instance]
command = ["./scripts/claude-instance", "create", "{name}", "--prompt", "{prompt}", "--branch", "{branch}"]
stop = ["./scripts/claude-instance", "stop", "{name}"]
completion = "evidence"
"""
# Starts the work in the background and returns, as the real one does; writes its metadata anew each time.
INSTANCE = f"""#!{sys.executable}
import json, os, subprocess, sys
verb, name, *rest = sys.argv[1:]
if verb == "stop":
    open("stopped-" + name, "w").close()
    sys.exit(0)
assert verb == "create" and rest[::2] == ["--prompt", "--branch"], sys.argv
if os.path.exists("busy"):
    sys.exit("instance " + name + " exists already")
with open(".claude-metadata.json", "w") as file:
    json.dump({{"name": name, "purpose": rest[1][:20], "branch": rest[3]}}, file)
work = "import os, sys; open('new', 'w').write(sys.argv[1]); os.rename('new', 'evidence')"
subprocess.Popen([sys.executable, "-c", work, rest[1]], start_new_session=True)
print("created", name)
"""


@pytest.fixture
def instance(tmp_path: Path) -> CommandAgent:
    (tmp_path / "bmad-autopilot.toml").write_text(CONFIG)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/claude-instance").write_text(INSTANCE)
    (tmp_path / "scripts/claude-instance").chmod(0o755)
    config = read_config(str(tmp_path / "bmad-autopilot.toml"))
    return CommandAgent(config.agent, config.agents[config.agent])


def judged(agent: CommandAgent, argv: tuple[str, ...], folder: Path) -> Outcome:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    events = [Event(0, TEXT, line) for line in done.stdout.splitlines()]
    events += [Event(0, ERROR, line) for line in done.stderr.splitlines()]
    return agent.judge(events, ProcessEnding("exit", done.returncode), Spend()).outcome


def test_claude_instance_is_called_as_003_calls_it(instance: CommandAgent, tmp_path: Path) -> None:
    call = instance.call(ASK)
    script = "./scripts/claude-instance"
    assert call.argv == (script, "create", "bmad-1-1", "--prompt", ODD, "--branch", "epic/1")
    assert instance.completion == EVIDENCE
    assert judged(instance, call.argv, tmp_path) is Outcome.COMPLETED
    deadline = time.monotonic() + SECONDS
    while not (tmp_path / "evidence").exists():
        assert time.monotonic() < deadline, "no evidence"
        time.sleep(0.02)
    assert (tmp_path / "evidence").read_text() == ODD


def test_claude_instance_fails_and_is_stopped(instance: CommandAgent, tmp_path: Path) -> None:
    (tmp_path / "busy").touch()
    assert judged(instance, instance.call(ASK).argv, tmp_path) is Outcome.CRASHED
    stop = instance.stop_command(ASK._replace(worktree=str(tmp_path)))
    assert subprocess.run(stop, cwd="/", timeout=SECONDS).returncode == 0
    assert (tmp_path / "stopped-bmad-1-1").exists()


def test_a_command_that_does_the_work_itself_needs_no_stop() -> None:
    assert command("x").stop_command(ASK) == ()
    assert command("x").completion == EXIT


def test_a_purpose_survives_claude_instance(instance: CommandAgent, tmp_path: Path) -> None:
    path = tmp_path / ".claude-metadata.json"
    path.write_text('{"purpose": "Ana\'s sandbox – keep", "name": "ana"}')
    before = path.read_bytes()
    subprocess.run(instance.call(ASK).argv, cwd=tmp_path, check=True, timeout=SECONDS, stdout=subprocess.DEVNULL)
    kept = metadata_with_purpose(before, path.read_bytes())
    assert kept is not None
    assert json.loads(kept) == {"name": "bmad-1-1", "branch": "epic/1", "purpose": "Ana's sandbox – keep"}
    assert metadata_with_purpose(before, kept) is None


MINE = b'{"purpose": "mine"}'


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        (None, None, None),
        (None, b'{"purpose": "theirs"}', None),
        (b"{broken", b'{"purpose": "theirs"}', None),
        (b"{}", b'{"purpose": "theirs"}', None),
        (b'{"purpose": " "}', b'{"purpose": "theirs"}', None),
        (b'{"purpose": 3}', b'{"purpose": "theirs"}', None),
        (b"[1]", b"{}", None),
        (MINE, MINE, None),
        (MINE, b'{"x": 1, "purpose": "mine"}', None),
        (MINE, None, MINE),
        (MINE, b"", MINE),
        (MINE, b"{broken", MINE),
        (MINE, b"[" * 1000, MINE),
        (MINE, b'{"x": 1}', b'{\n  "x": 1,\n  "purpose": "mine"\n}\n'),
    ],
)
def test_what_becomes_of_the_purpose(before: bytes | None, after: bytes | None, kept: bytes | None) -> None:
    assert metadata_with_purpose(before, after) == kept


@given(st.none() | st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_any_metadata_is_taken(before: bytes | None, after: bytes | None) -> None:
    metadata_with_purpose(before, after)


json_objects = st.dictionaries(
    st.text(max_size=5), st.none() | st.booleans() | st.integers() | st.text(), max_size=4
)


@given(json_objects, json_objects, st.text(min_size=1).filter(str.strip))
def test_a_purpose_is_never_lost_and_nothing_else_is(
    old: dict[str, object], new: dict[str, object], purpose: str
) -> None:
    after = json.dumps(new).encode()
    kept = metadata_with_purpose(json.dumps({**old, "purpose": purpose}).encode(), after)
    found = json.loads(kept if kept is not None else after)
    assert found == {**new, "purpose": purpose}
