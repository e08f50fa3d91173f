"""Launchers, against stand-ins for docker, devcontainer and ssh that run the rest on this machine."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.adapter import AgentCommand, read_events
from bmad_autopilot.agents.attempt import CallSpec
from bmad_autopilot.agents.launchers import (
    MAX_ARGUMENT,
    PRESETS,
    Launcher,
    launch_argv,
    launcher_from_settings,
    stop_argv,
)
from bmad_autopilot.agents.monitor import cancel_attempt
from bmad_autopilot.agents.start import TimeLimits, claim_attempt, start_attempt
from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.project.config import CustomLauncher
from bmad_autopilot.project.config_schema import KINDS
from tests.support.agent_stubs import finish, init_repository

ODD = "a 'b' \"c\" $(touch hacked) `touch hacked`\n; {name} ${HOME} \\ * ü & | > x"
SECONDS = 20.0
ATTEMPT = f"test-{os.getpid()}.dev.1"  # another run of these tests on this machine must not be hit
OTHER = f"{ATTEMPT}0"

# Each runs the rest with nothing of our environment, as the far side would, and writes down how it was called.
_HEAD = """#!/bin/sh
{ printf '%s\\n' "$0" "$@"; printf '%s\\n' --; } >>"$FAR_LOG"
clean() { exec env -i PATH="$PATH" FAR=1 "$@"; }
"""
PROGRAMS = {
    "docker": '[ "$1" = exec ] && [ "$2" = -i ] && [ "$3" = -w ] || exit 90\n'
    'cd "$4" && [ "$5" = box ] || exit 91\nshift 5\nclean "$@"\n',
    "devcontainer": "verb=$1\n"
    '[ "$2" = --workspace-folder ] && [ "$4" = --mount-git-worktree-common-dir ] || exit 90\n'
    'cd "$3" || exit 91\nshift 4\n'
    'if [ "$verb" = up ]; then cat; echo \'{"outcome":"success"}\'; touch "$FAR_LOG.up"; exit; fi\n'
    '[ -e "$FAR_LOG.up" ] || exit 92\nclean "$@"\n',
    "ssh": 'while [ "$1" != -- ]; do shift; done\n[ "$2" = me@host ] || exit 91\n'
    'shift 2\ncd /\nclean sh -c "$*"\n',
}
SETTINGS = {
    "docker": CustomLauncher("docker", "box"),
    "devcontainer": CustomLauncher("devcontainer"),
    "ssh": CustomLauncher("ssh", "me@host"),
    "own": CustomLauncher(None, None, ("env", "-C", "{worktree}", "--")),
}


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-ins on PATH; the file they write their words to."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, body in PROGRAMS.items():
        (folder / name).write_text(_HEAD + body)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAR_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    folder = tmp_path / f"work {ODD.replace('/', '')}"
    folder.mkdir()
    return folder


def command(kind: str, worktree: Path, *call: str, attempt: str = ATTEMPT, **environment: str) -> list[str]:
    launcher = launcher_from_settings("mine", SETTINGS[kind])
    place = {"worktree": str(worktree), "name": "bmad-1-1", "attempt": attempt}
    return list(launch_argv(launcher, call, environment=environment, **place))


def stopping(kind: str, worktree: Path, attempt: str = ATTEMPT) -> list[str]:
    launcher = launcher_from_settings("mine", SETTINGS[kind])
    return list(stop_argv(launcher, worktree=str(worktree), name="bmad-1-1", attempt=attempt))


TELL = "import json, os, sys; print(json.dumps([sys.argv[1:], sys.stdin.read(), os.getcwd(), dict(os.environ)]))"


@pytest.mark.parametrize("kind", SETTINGS)
def test_every_word_arrives_as_it_was(kind: str, far: Path, worktree: Path) -> None:
    words = [ODD, "", "--flag", "-n", "a=b", "*"]
    argv = command(kind, worktree, sys.executable, "-c", TELL, *words, SETTING=ODD, PYTHONIOENCODING="utf-8")
    done = subprocess.run(argv, input=ODD.encode(), capture_output=True, timeout=SECONDS)
    assert (done.returncode, done.stderr.count(b"Traceback")) == (0, 0)
    heard, stdin, folder, environment = json.loads(done.stdout)
    assert heard == words
    assert stdin == ODD
    assert folder == str(worktree)
    assert environment["SETTING"] == ODD
    assert environment["BMAD_ATTEMPT"] == ATTEMPT
    assert sorted(path.name for path in worktree.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_far_side_sees_what_it_was_given_and_nothing_else(
    kind: str, far: Path, worktree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SSH_AUTH_SOCK", "DOCKER_HOST", "GH_TOKEN"):
        monkeypatch.setenv(name, "ours")
    done = subprocess.run(command(kind, worktree, "env"), capture_output=True, timeout=SECONDS)
    assert b"FAR=1" in done.stdout
    assert b"ours" not in done.stdout


@pytest.mark.parametrize("kind", SETTINGS)
def test_the_exit_code_comes_back(kind: str, far: Path, worktree: Path) -> None:
    assert subprocess.run(command(kind, worktree, "sh", "-c", "exit 7"), timeout=SECONDS).returncode == 7


def test_ssh_forwards_nothing_and_asks_nothing(far: Path, worktree: Path) -> None:
    words = command("ssh", worktree, "x")
    assert words[:10] == [
        *("ssh", "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", "--", "me@host")
    ]
    assert len(words) == 11


def test_real_ssh_takes_these_options(worktree: Path) -> None:
    """`ssh -G` only says what it would do."""
    words = command("ssh", worktree, "x")[:-1]
    try:
        said = subprocess.run([words[0], "-G", *words[1:]], capture_output=True, text=True, timeout=SECONDS)
    except FileNotFoundError:
        pytest.skip("no ssh here")
    assert {"batchmode yes", "forwardagent no", "forwardx11 no", "clearallforwardings yes"} <= set(
        said.stdout.splitlines()
    )
    assert {"hostname host", "user me"} <= set(said.stdout.splitlines())


def test_a_folder_that_is_not_there_is_an_error_of_the_launcher(far: Path, tmp_path: Path) -> None:
    for kind in SETTINGS:
        done = subprocess.run(command(kind, tmp_path / "gone", "true"), capture_output=True, timeout=SECONDS)
        assert done.returncode != 0


def test_the_devcontainer_is_started_first_and_leaves_both_streams_to_the_agent(far: Path, worktree: Path) -> None:
    done = subprocess.run(
        command("devcontainer", worktree, "cat"), input=b"prompt", capture_output=True, timeout=SECONDS
    )
    assert done.stdout == b"prompt"
    assert b"outcome" in done.stderr
    verbs = [call.splitlines()[1] for call in far.read_text().split("--\n") if call.strip()]
    assert verbs[0] == "up"


# Stopping

# A tree that survives the usual ways: other sessions, a grandchild, and where asked for one who ignores SIGTERM.
TREE = """
import os, signal, subprocess, sys, time
note, stubborn = sys.argv[1:]
if stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sh", "-c", "sleep 120 & wait"], start_new_session=True)
with open(note + ".new", "w") as file:
    print(os.getpid(), child.pid, file=file)
os.rename(note + ".new", note)
time.sleep(120)
"""


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.02)


def marked(attempt: str) -> set[int]:
    """The processes of a call; those that have ended have no environment any more."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"BMAD_ATTEMPT={attempt}".encode() in path.read_bytes().split(b"\0"):
                found.add(int(path.parent.name))
    return found


@pytest.fixture
def trees(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Start a tree of processes through a launcher; all are gone at the end."""
    started: list[subprocess.Popen[bytes]] = []
    pids: set[int] = set()

    def start(kind: str, worktree: Path, attempt: str = ATTEMPT, *, stubborn: bool = False) -> None:
        note = tmp_path / f"pids-{len(started)}"
        call = [sys.executable, "-c", TREE, str(note), "yes" if stubborn else ""]
        started.append(subprocess.Popen(command(kind, worktree, *call, attempt=attempt), start_new_session=True))
        wait_for(note.exists)
        pids.update(int(word) for word in note.read_text().split())
        wait_for(lambda: len(marked(attempt)) >= 3)
        pids.update(marked(attempt))

    yield start
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for process in started:
        process.kill()
        process.wait(SECONDS)


linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@linux
@pytest.mark.real
@pytest.mark.parametrize("kind", SETTINGS)
def test_stop_ends_the_whole_tree_and_no_other(
    kind: str, far: Path, worktree: Path, trees: Callable[..., None]
) -> None:
    trees(kind, worktree, stubborn=kind == "docker")
    trees(kind, worktree, OTHER)
    done = subprocess.run(stopping(kind, worktree), capture_output=True, timeout=2 * SECONDS)
    assert (done.returncode, done.stderr) == (0, b"")
    assert marked(ATTEMPT) == set()
    assert len(marked(OTHER)) >= 3


@linux
def test_stop_spares_those_who_ask_for_it(far: Path, worktree: Path, trees: Callable[..., None]) -> None:
    """The environment of whoever runs the stop may carry the marker too."""
    trees("own", worktree)
    environment = {**os.environ, "BMAD_ATTEMPT": ATTEMPT}
    asking = ["sh", "-c", '"$@"; code=$?; exit $code', "sh", *stopping("own", worktree)]
    done = subprocess.run(asking, env=environment, capture_output=True, timeout=2 * SECONDS)
    assert (done.returncode, done.stderr) == (0, b"")
    assert marked(ATTEMPT) == set()


@linux
def test_a_value_that_only_looks_like_the_marker_is_none(far: Path, worktree: Path) -> None:
    near = {"OTHER": f"x\nBMAD_ATTEMPT={ATTEMPT}", "BMAD_ATTEMPT": ATTEMPT.replace(".", "x")}
    with subprocess.Popen(["sleep", "60"], env={**os.environ, **near}) as process:
        try:
            subprocess.run(stopping("docker", worktree), check=True, timeout=SECONDS)
            assert process.poll() is None
        finally:
            process.kill()


@linux
@pytest.mark.parametrize("kind", SETTINGS)
def test_with_nothing_to_stop_it_is_done_at_once(kind: str, far: Path, worktree: Path) -> None:
    Path(f"{far}.up").touch()
    assert subprocess.run(stopping(kind, worktree), timeout=SECONDS).returncode == 0


@linux
def test_a_cancelled_attempt_is_stopped_behind_its_launcher(far: Path, tmp_path: Path) -> None:
    """Through the real shim, whose environment for the stop carries the marker."""
    tree = init_repository(tmp_path / "tree")
    place = {"worktree": str(tree), "name": "bmad-1-1", "attempt": uuid.uuid4().hex}
    launcher = launcher_from_settings("mine", SETTINGS["docker"])
    docker = str(tmp_path / "programs" / "docker")
    argv = launch_argv(launcher, ["sh", "-c", "echo ready; sleep 120 & wait"], environment={}, **place)
    stop = stop_argv(launcher, **place)
    known = (place["attempt"], "mine", "dev", "1-1", "session", str(tree), ())
    spec = CallSpec(*known, time.time(), stop=(docker, *stop[1:]))
    folder = str(tmp_path / "attempt")
    with claim_attempt(folder, spec.worktree) as claim:
        start_attempt(
            claim,
            spec,
            AgentCommand((docker, *argv[1:])),
            environment=os.environ,
            limits=TimeLimits(60, 0, 0.5),
            prompt="",
        )
    wait_for(lambda: any(event.data == "ready" for event, _ in read_events(f"{folder}/events.jsonl")))
    assert cancel_attempt(folder, "enough")
    result = finish(Path(folder))
    assert (result.by, result.problems) == ("cancel", ())
    assert marked(place["attempt"]) == set()


def test_a_stop_of_the_users_own(worktree: Path) -> None:
    settings = CustomLauncher(
        "docker", "box", (), ("docker", "kill", "{target}-{name}", "{attempt}", "{worktree}")
    )
    argv = stop_argv(launcher_from_settings("x", settings), worktree=str(worktree), name="n", attempt="a")
    assert argv == ("docker", "kill", "box-n", "a", str(worktree))


# What a table makes


def test_every_kind_has_a_preset() -> None:
    assert PRESETS.keys() == set(KINDS)
    for name, preset in PRESETS.items():
        assert preset.name == name


def test_the_users_words_replace_the_kinds_and_its_stop_follows() -> None:
    own = launcher_from_settings("far", CustomLauncher("ssh", "h", ("ssh", "-p", "22", "{target}")))
    assert own == Launcher("far", ("ssh", "-p", "22", "{target}"), (), True, ("SSH_AUTH_SOCK",), "h")
    own = launcher_from_settings(
        "dev", CustomLauncher("devcontainer", None, ("devcontainer", "exec", "--id-label", "a=b"))
    )
    place = {"worktree": "/w", "name": "n", "attempt": "a"}
    assert stop_argv(own, **place)[:5] == ("devcontainer", "exec", "--id-label", "a=b", "sh")


def test_a_launcher_sees_only_what_its_kind_needs() -> None:
    assert "DOCKER_HOST" in launcher_from_settings("x", SETTINGS["docker"]).variables
    assert launcher_from_settings("x", SETTINGS["ssh"]).variables == ("SSH_AUTH_SOCK",)
    assert launcher_from_settings("x", SETTINGS["own"]).variables == ()


# What is refused

BAD = ["", "-x", "a b", "a;b", "$(x)", "a\n", "é", "../x", "x" * 300, "a\0"]


@pytest.mark.parametrize("bad", BAD)
def test_no_odd_name_or_id_gets_anywhere(bad: str) -> None:
    for kind in SETTINGS:
        launcher = launcher_from_settings("x", SETTINGS[kind])
        for place in ({"name": bad, "attempt": "a"}, {"name": "n", "attempt": bad}):
            with pytest.raises(UsageError):
                launch_argv(launcher, ["x"], worktree="/w", environment={}, **place)
            with pytest.raises(UsageError):
                stop_argv(launcher, worktree="/w", **place)


@pytest.mark.parametrize(
    ("call", "worktree", "environment"),
    [
        (["x"], "relative", {}),
        (["x"], "/a\0b", {}),
        (["x"], "/w", {"A B": "x"}),
        (["x"], "/w", {"-u": "x"}),
        (["x"], "/w", {"A": "a\0b"}),
        (["a=b"], "/w", {}),
        ([], "/w", {}),
    ],
)
def test_what_cannot_be_passed_on_is_refused(call: list[str], worktree: str, environment: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        launch_argv(PRESETS["docker"], call, worktree=worktree, name="n", attempt="a", environment=environment)


def test_ssh_has_room_for_one_word_only() -> None:
    def long(length: int) -> tuple[str, ...]:
        place = {"worktree": "/w", "name": "n", "attempt": "a"}
        return launch_argv(PRESETS["ssh"], ["x", "y" * length], environment={}, **place)

    assert len(long(MAX_ARGUMENT - 100)[-1]) <= MAX_ARGUMENT
    with pytest.raises(UsageError, match="too long"):
        long(MAX_ARGUMENT)


@given(st.lists(st.text(max_size=20).map(lambda word: word.replace("\0", "")), max_size=5))
def test_no_word_is_lost_or_split(words: list[str]) -> None:
    place = {"worktree": "/w w", "name": "n", "attempt": "a"}
    plain = launch_argv(
        PRESETS["docker"]._replace(target="{name}"), ["x", *words], environment={"A": "b c"}, **place
    )
    assert plain == ("docker", "exec", "-i", "-w", "/w w", "{name}", "env", "A=b c", "BMAD_ATTEMPT=a", "x", *words)
    line = launch_argv(PRESETS["ssh"], ["x", *words], environment={}, **place)[-1]
    assert shlex.split(line) == ["cd", "/w w", "&&", "exec", "env", "BMAD_ATTEMPT=a", "x", *words]
