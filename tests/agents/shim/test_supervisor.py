"""The shim, as a process: what it starts, what it writes down, how it ends things."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bmad_autopilot.agents.adapter import Event, SkillGuard, read_events
from bmad_autopilot.agents.attempt import AttemptState, attempt_state, read_call_spec, set_time_limit
from bmad_autopilot.agents.monitor import cancel_attempt
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.agents.start import reap_shims, worktree_lock_path
from bmad_autopilot.core.errors import ConflictError
from tests.support.agent_stubs import begin, finish, init_repository, is_alive, wait_until
from tests.support.bmad_project import git


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return init_repository(tmp_path / "tree")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "attempt-1"


def is_at_work(tree: Path) -> bool:
    """Whether a supervisor holds the work tree's lock."""
    fd = os.open(worktree_lock_path(str(tree)), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def said(folder: Path) -> list[Event]:
    return [event for event, _ in read_events(str(folder / "events.jsonl"))]


def test_what_the_agent_prints_and_how_it_ends_is_written_down(tree: Path, folder: Path) -> None:
    begin(
        folder,
        tree,
        "import sys; print('{\"type\": \"init\"}'); print('plain'); print('oops', file=sys.stderr); sys.exit(3)",
    )
    result = finish(folder)
    assert (result.by, result.exit, result.signal) == ("exit", 3, None)
    assert {(event.kind, str(event.data)) for event in said(folder)} == {
        ("event", "{'type': 'init'}"),
        ("text", "plain"),
        ("error", "oops"),
    }
    assert result.head == git(tree, "rev-parse", "HEAD").strip()
    assert result.branch == "main"
    assert result.tree == git(tree, "rev-parse", "HEAD^{tree}").strip()


def test_the_tree_hash_covers_changed_new_and_deleted_files(tree: Path, folder: Path) -> None:
    begin(folder, tree, "import os; open('new.txt','w').write('x'); os.unlink('readme.txt')")
    result = finish(folder)
    index = git(tree, "ls-files", "--stage")
    git(tree, "add", "--all")
    assert result.tree == git(tree, "write-tree").strip()
    assert "readme.txt" in index, "the repository's own index was left alone"


def test_the_prompt_reaches_the_agent_whole(tree: Path, folder: Path) -> None:
    prompt = "é" * 300_000
    begin(folder, tree, "import sys; print(len(sys.stdin.read()))", stdin=prompt)
    finish(folder)
    assert said(folder)[0].data == "300000"


def test_an_agent_that_does_not_read_its_prompt_is_no_trouble(tree: Path, folder: Path) -> None:
    begin(folder, tree, "print('done')", stdin="x" * 1_000_000)
    assert finish(folder).exit == 0


def test_it_goes_on_without_its_starter(tree: Path, folder: Path, tmp_path: Path) -> None:
    starter = (
        "import os, sys; from pathlib import Path; from tests.support.agent_stubs import begin\n"
        'begin(Path(sys.argv[1]), Path(sys.argv[2]), \'import sys,time; sys.stdin.read(); open("done","w")\','
        " stdin='x')\n"
        "os.kill(os.getpid(), 9)"
    )
    root = Path(__file__).resolve().parents[3]
    died = subprocess.run(
        [sys.executable, "-c", starter, str(folder), str(tree)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"},
        check=False,
    )
    assert died.returncode == -signal.SIGKILL
    assert finish(folder).exit == 0
    assert (tree / "done").exists()


def test_the_time_limit_ends_an_agent_that_ignores_every_request(tree: Path, folder: Path) -> None:
    code = (
        "import signal, time\n"
        "for s in (signal.SIGINT, signal.SIGTERM): signal.signal(s, signal.SIG_IGN)\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(100)"
    )
    begin(folder, tree, code, time_limit=1, grace=0.2)
    result = finish(folder)
    assert (result.by, result.signal) == ("time-limit", signal.SIGKILL)


def test_an_agent_may_end_in_its_own_way_when_its_time_is_over(tree: Path, folder: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "def end(*_): print('saved', flush=True); sys.exit(7)\n"
        "signal.signal(signal.SIGINT, end)\n"
        "while True: time.sleep(100)"
    )
    begin(folder, tree, code, time_limit=1, grace=20)
    result = finish(folder)
    assert (result.by, result.exit) == ("time-limit", 7)
    assert said(folder)[-1].data == "saved"


def test_the_time_limit_can_be_extended_while_it_runs(tree: Path, folder: Path) -> None:
    release = tree / "go"
    code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"
    begin(folder, tree, code, time_limit=1)
    set_time_limit(str(folder), 60)
    started = attempt_files.read_started(str(folder))
    wait_until(lambda: attempt_files.read_started(str(folder)), "started")
    started = attempt_files.read_started(str(folder))
    assert started is not None
    wait_until(lambda: time.time() > started[1] + 1.3, "the first limit has passed")
    assert attempt_state(str(folder)) is AttemptState.RUNNING
    release.touch()
    assert finish(folder).by == "exit"


def test_a_grandchild_in_another_session_does_not_survive(tree: Path, folder: Path) -> None:
    code = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        open('pid','w').write(str(os.getpid())); os.rename('pid', 'daemon')\n"
        "        while True: time.sleep(100)\n"
        "    os._exit(0)\n"
        "while not os.path.exists('daemon'): time.sleep(0.01)\n"
    )
    begin(folder, tree, code)
    result = finish(folder)
    assert result.exit == 0
    assert result.left_over == 1
    assert not is_alive(int((tree / "daemon").read_text()))


def test_a_chatty_agent_is_not_stalled_and_a_heartbeat_is(tree: Path, tmp_path: Path) -> None:
    chatty = (
        "import time\n"
        "for word in 'one two three four five six seven eight nine ten eleven twelve'.split():\n"
        "    print('now comes', word, flush=True); time.sleep(0.25)"
    )
    begin(tmp_path / "chatty", tree, chatty, stall_limit=1.5)
    assert finish(tmp_path / "chatty").by == "exit"
    heartbeat = (
        "import time, uuid, json\n"
        "while True:\n"
        "    print(json.dumps({'type': 'heartbeat', 'uuid': str(uuid.uuid4()), 'at': time.time(),"
        " 'timestamp': time.ctime(), 'request_id': uuid.uuid4().hex}), flush=True)\n"
        "    print('still working', time.time(), flush=True)\n"
        "    time.sleep(0.02)"
    )
    begin(tmp_path / "heart", tree, heartbeat, stall_limit=1.5)
    assert finish(tmp_path / "heart").by == "stall"


@pytest.mark.real
def test_silent_work_on_files_is_progress(tree: Path, folder: Path) -> None:
    code = "import time\nfor n in range(14):\n    open(f'file-{n}', 'w').write('x'); time.sleep(0.25)"
    begin(folder, tree, code, stall_limit=1.5)
    assert finish(folder).by == "exit"


def test_work_that_was_cut_short_is_kept_under_a_ref(tree: Path, folder: Path) -> None:
    code = (
        "import subprocess, time\n"
        "open('committed.txt','w').write('c'); subprocess.run(['git','add','committed.txt'])\n"
        "subprocess.run(['git','commit','-qm','mine'])\n"
        "open('dirty.txt','w').write('d'); open('readme.txt','a').write('more')\n"
        "while True: print('beat', flush=True); time.sleep(0.02)"
    )
    begin(folder, tree, code, stall_limit=2)
    result = finish(folder)
    assert result.by == "stall"
    assert result.kept is not None
    git(tree, "reset", "--hard", "HEAD~1")
    git(tree, "clean", "-fd")
    files = git(tree, "ls-tree", "--name-only", result.kept["ref"]).split()
    assert files == ["committed.txt", "dirty.txt", "readme.txt"]
    assert git(tree, "show", f"{result.kept['ref']}:readme.txt") == "hello\nmore"
    assert git(tree, "log", "--format=%s", f"{result.kept['commit']}~1").splitlines()[0] == "mine"


def test_cancelling_is_told_from_a_shutdown(tree: Path, tmp_path: Path) -> None:
    forever = "import time\nprint('ready', flush=True)\nwhile True: time.sleep(100)"
    begin(tmp_path / "one", tree, forever)
    assert cancel_attempt(str(tmp_path / "one"), "the tester had enough")
    assert finish(tmp_path / "one").by == "cancel"
    assert not cancel_attempt(str(tmp_path / "one"), "again")
    begin(tmp_path / "two", tree, forever)
    wait_until(lambda: attempt_files.read_started(str(tmp_path / "two")), "started")
    started = attempt_files.read_started(str(tmp_path / "two"))
    assert started is not None
    os.kill(started[0], signal.SIGTERM)
    assert finish(tmp_path / "two").by == "signal"


def test_the_temporary_folder_is_the_attempts_own_and_gone_afterwards(tree: Path, folder: Path) -> None:
    code = (
        "import os\ntmp = os.environ['TMPDIR']\nos.makedirs(tmp + '/deep/er')\n"
        "open(tmp + '/deep/er/x', 'w').close(); os.symlink(os.getcwd(), tmp + '/deep/link')\n"
        "os.chmod(tmp + '/deep/er', 0o500); os.chmod(tmp + '/deep', 0)\n"
    )
    spec = begin(folder, tree, code)
    result = finish(folder)
    assert (result.exit, result.problems) == (0, ())
    assert not Path(spec.temp_folder).exists()
    assert (tree / "readme.txt").exists(), "what a link leads to is not ours to remove"


def test_a_guard_stops_an_agent_that_lacks_the_skill(tree: Path, tmp_path: Path) -> None:
    guard = SkillGuard({"type": "system", "subtype": "init"}, ("skills", "slash_commands"), "bmad-dev-story")
    init = {"type": "system", "subtype": "init", "skills": ["other"], "slash_commands": ["review"]}
    code = f"import json, time\nprint({json.dumps(json.dumps(init))}, flush=True)\ntime.sleep(100)"
    begin(tmp_path / "lacks", tree, code, guard=guard)
    assert finish(tmp_path / "lacks").by == "guard"
    has = {**init, "slash_commands": ["bmad-dev-story"]}
    begin(tmp_path / "has", tree, f"print({json.dumps(json.dumps(has))}, flush=True)", guard=guard)
    assert finish(tmp_path / "has").by == "exit"


def test_a_program_that_is_not_there_is_said(tree: Path, folder: Path) -> None:
    from bmad_autopilot.agents.adapter import AgentCommand
    from bmad_autopilot.agents.attempt import CallSpec
    from bmad_autopilot.agents.start import TimeLimits, claim_attempt, start_attempt

    spec = CallSpec("0" * 32, "none", "dev", "1-1", "s", str(tree), (), time.time())
    with claim_attempt(str(folder), spec.worktree) as claim:
        start_attempt(
            claim,
            spec,
            AgentCommand(("/no/such/agent", "-p")),
            environment=dict(os.environ),
            limits=TimeLimits(10, 0),
            prompt="",
        )
    result = finish(folder)
    assert result.by == "no-start"
    assert "/no/such/agent: No such file or directory" in result.problems[0]


def test_a_hundred_megabytes_without_a_newline(tree: Path, folder: Path) -> None:
    code = "import os\nchunk = b'x' * (1 << 20)\nfor _ in range(100): os.write(1, chunk)\nprint('\\nafter')"
    begin(folder, tree, code)
    result = finish(folder, 60)
    assert result.exit == 0
    assert result.events is not None
    assert result.events["overlong"] == 1
    assert (folder / "events.jsonl").stat().st_size < 3 * 1024 * 1024
    assert any(event.data == "after" for event in said(folder))


def test_broken_lines_are_kept_as_text(tree: Path, folder: Path) -> None:
    code = (
        "import os\n"
        "os.write(1, b'{\"type\": \\n[1,2]\\n\\xff\\xfe\\n{}\\n' + b'{\"a\":' * 5000 + b'\\n\\n  \\nlast')"
    )
    begin(folder, tree, code)
    assert finish(folder).exit == 0
    kinds = [event.kind for event in said(folder)]
    assert kinds == ["text", "text", "text", "event", "text", "text"]
    assert said(folder)[-1].data == "last"


@pytest.mark.real  # eighty megabytes through a process
def test_what_is_written_of_a_very_long_output_begins_and_ends_as_it_did(tree: Path, folder: Path) -> None:
    code = (
        "import os\nline = b'y' * 1000 + b'\\n'\nos.write(1, b'first\\n')\n"
        'for _ in range(80): os.write(1, line * 1024)\nos.write(1, b\'{"type":"result"}\\n\')'
    )
    begin(folder, tree, code)
    result = finish(folder, 60)
    events = said(folder)
    assert events[0].data == "first"
    assert events[-1].data == {"type": "result"}
    assert result.events is not None
    assert result.events["dropped"] > 0
    assert (folder / "events.jsonl").stat().st_size < 66 * 1024 * 1024


def test_a_change_in_another_work_tree_is_noticed(tree: Path, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "lane"
    git(tree, "worktree", "add", "--quiet", str(other), "-b", "lane")
    begin(folder, other, f"open({str(tree / 'stray.txt')!r}, 'w').write('x')", others=[str(tree)])
    assert finish(folder).outside == (str(tree),)
    begin(folder.with_name("b"), other, "open('mine.txt', 'w').write('x')", others=[str(tree)])
    assert finish(folder.with_name("b")).outside == ()


def test_outside_git_there_is_a_result_too(tmp_path: Path, folder: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    begin(folder, plain, "print('hi')")
    result = finish(folder)
    assert (result.exit, result.head, result.tree) == (0, None, None)


def test_the_agent_has_the_marker_and_not_the_locks(tree: Path, folder: Path) -> None:
    code = "import os; print(os.environ['BMAD_ATTEMPT'], sorted(os.listdir('/proc/self/fd'), key=int))"
    spec = begin(folder, tree, code)
    finish(folder)
    assert said(folder)[0].data == f"{spec.id} ['0', '1', '2', '3']"  # 3: the listing itself
    assert read_call_spec(str(folder)).id == spec.id


def test_what_a_command_has_only_begun_goes_on_after_it(tree: Path, tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "sleeper = [sys.executable, '-c', 'import time; time.sleep(1000)']\n"
        "child = subprocess.Popen(sleeper, start_new_session=True)\n"
        "open('child', 'w').write(str(child.pid))"
    )
    begin(tmp_path / "one", tree, code, outlived=True)
    finish(tmp_path / "one")
    child = int((tree / "child").read_text())
    try:
        assert is_alive(child)
    finally:
        os.kill(child, signal.SIGKILL)
    begin(tmp_path / "two", tree, code + "\nimport time; time.sleep(1000)", outlived=True, time_limit=1)
    finish(tmp_path / "two")
    assert not is_alive(int((tree / "child").read_text())), "a call that is stopped is stopped whole"


def test_a_full_disk_does_not_cost_the_result(tree: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("a small file system can only be mounted by root")
    try:
        code = "for n in range(20000): print(n, chr(97 + n % 26) * 60)"
        spec = begin(disk / "attempt-1", tree, code)
        result = finish(disk / "attempt-1")
        assert (result.by, result.exit) == ("exit", 0)
        assert any("events" in problem for problem in result.problems)
        assert result.id == spec.id
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_waiting_shim_costs_next_to_nothing(tree: Path, folder: Path) -> None:
    begin(folder, tree, "import time\nprint('ready', flush=True)\ntime.sleep(600)", stall_limit=600)
    wait_until(lambda: said(folder), "it has said something")
    started = attempt_files.read_started(str(folder))
    assert started is not None
    stat = Path(f"/proc/{started[0]}")

    def cpu() -> float:
        fields = (stat / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before, since = cpu(), time.monotonic()
    wait_until(lambda: time.monotonic() > since + 2, "two seconds have passed")
    assert cpu() - before <= 0.02, "one tick of the clock at most"
    resident = int((stat / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    assert resident < 20 * 1024 * 1024
    cancel_attempt(str(folder), "enough")
    finish(folder)


@pytest.mark.parametrize(
    "written", ["soon", *(pytest.param(one, marks=pytest.mark.real) for one in (None, "-1", "nan", "", "0"))]
)
def test_a_time_limit_that_is_none_changes_nothing(tree: Path, folder: Path, written: str | None) -> None:
    begin(folder, tree, "import time; time.sleep(600)", time_limit=2)
    (folder / "time-limit").unlink()
    if written is not None:
        (folder / "time-limit").write_text(written)
    assert finish(folder).by == "time-limit"


def test_a_pipe_in_place_of_the_time_limit_does_not_stop_the_clock(tree: Path, folder: Path) -> None:
    begin(folder, tree, "import time; time.sleep(600)", time_limit=2)
    (folder / "time-limit").unlink()
    os.mkfifo(folder / "time-limit")
    assert finish(folder).by == "time-limit"


@pytest.mark.parametrize("trick", ["link", "hard link", "fifo", "folder"])
def test_an_agent_that_meddles_with_its_records_gets_a_result_all_the_same(
    tree: Path, folder: Path, tmp_path: Path, trick: str
) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    tricks = {
        "link": f"[(os.path.exists(p) and os.unlink(p), os.symlink({str(victim)!r}, p)) for p in (r, e)]",
        "hard link": f"[(os.path.exists(p) and os.unlink(p), os.link({str(victim)!r}, p)) for p in (r, e)]",
        "fifo": "[(os.path.exists(p) and os.unlink(p), os.mkfifo(p)) for p in (r, e)]",
        "folder": f"os.mkdir({str(folder / 'result.json')!r})",
    }
    code = (
        f"import os, shutil\nr, e = {str(folder / 'result.json.reserved')!r}, {str(folder / 'events.jsonl')!r}\n"
        f"{tricks[trick]}\nprint('did it', flush=True)"
    )
    begin(folder, tree, code)
    wait_until(lambda: (folder / "result.json").is_file(), "there is a result")
    assert finish(folder).exit == 0
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("where", ["folder", "parent"])
@pytest.mark.parametrize("first", ["moved", "removed"])
def test_records_are_never_written_through_a_link_that_the_agent_put_there(
    tree: Path, tmp_path: Path, where: str, first: str
) -> None:
    folder = tmp_path / "run" / "attempt-1"
    outside = tmp_path / "outside"
    precious = [outside / name for name in ("result.json", "events.jsonl", "attempt-1/result.json")]
    precious[2].parent.mkdir(parents=True)
    for path in precious:
        path.write_text("precious")
    place = folder if where == "folder" else folder.parent
    away = "os.rename(place, place + '.away')" if first == "moved" else "shutil.rmtree(place)"
    code = (
        f"import os, shutil\nplace = {str(place)!r}\n{away}\nos.symlink({str(outside)!r}, place)\n"
        "print('did it', flush=True)"
    )
    before = sorted(outside.rglob("*"))
    begin(folder, tree, code)
    wait_until(lambda: place.is_symlink() and not is_at_work(tree), "its supervisor has ended")
    reap_shims()
    assert sorted(outside.rglob("*")) == before
    assert [path.read_text() for path in precious] == ["precious"] * 3
    if first == "moved":
        moved = Path(f"{place}.away") / folder.relative_to(place)
        assert json.loads((moved / "result.json").read_text())["exit"] == 0
        assert "did it" in (moved / "events.jsonl").read_text()


@pytest.mark.parametrize("which", ["attempt-1", "01-dev", "steps"])
@pytest.mark.parametrize("trick", ["removed", "moved", "empty"])
def test_a_call_whose_folder_is_gone_counts_as_lost_and_is_not_started_again(
    tree: Path, tmp_path: Path, which: str, trick: str
) -> None:
    folder = tmp_path / "run" / "steps" / "01-dev" / "attempt-1"
    place = str(next(path for path in (folder, *folder.parents) if path.name == which))
    tricks = {
        "removed": f"shutil.rmtree({place!r})",
        "moved": f"os.rename({place!r}, {place + '.away'!r})",
        "empty": f"shutil.rmtree({place!r}); os.mkdir({place!r})",
    }
    begin(folder, tree, f"import os, shutil; {tricks[trick]}; open('done', 'w')")
    wait_until(lambda: (tree / "done").exists() and not is_at_work(tree), "its supervisor has ended")
    reap_shims()
    assert attempt_state(str(folder)) is AttemptState.LOST
    assert sorted(path.name for path in folder.iterdir()) == ["started"]
    with pytest.raises(ConflictError, match="started before"):
        begin(folder, tree, "open('again', 'w')")


def test_a_folder_that_is_gone_with_its_parent_is_not_made_again(tree: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run" / "attempt-1"
    begin(folder, tree, f"import shutil; shutil.rmtree({str(folder.parent)!r})")
    wait_until(lambda: not folder.parent.exists() and not is_at_work(tree), "its supervisor has ended")
    reap_shims()
    assert not folder.parent.exists()


def test_somebody_left_behind_who_prints_for_ever_does_not_hold_us_up(tree: Path, folder: Path) -> None:
    begin(folder, tree, "import subprocess; subprocess.Popen(['yes', 'new words all the time'])", time_limit=60)
    result = finish(folder, 20)
    assert (result.by, result.exit) == ("exit", 0)


def test_a_link_in_place_of_the_private_folder_is_not_followed(tree: Path, folder: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    code = (
        "import os, shutil\nprivate = os.path.dirname(os.environ['TMPDIR'])\nshutil.rmtree(private)\n"
        f"os.symlink({str(precious)!r}, private)"
    )
    begin(folder, tree, code)
    finish(folder)
    assert (precious / "file").exists()


def test_a_filter_of_the_agents_has_nothing_of_ours_and_leaves_nothing(tree: Path, folder: Path) -> None:
    code = (
        "import subprocess\n"
        "clean = 'setsid sleep 600 >/dev/null 2>&1 & echo $! > pid; cat'\n"
        "subprocess.run(['git', 'config', 'filter.x.clean', clean])\n"
        "open('.gitattributes', 'w').write('*.txt filter=x\\n'); open('new.txt', 'w').write('x')"
    )
    begin(folder, tree, code)
    finish(folder)
    wait_until(lambda: not is_alive(int((tree / "pid").read_text())), "what the filter started has ended")


@pytest.mark.real
def test_looking_for_a_stall_leaves_nothing_in_the_repository(tree: Path, folder: Path) -> None:
    """The file grows, so it is no stall; each look hashes it anew."""
    code = (
        "import time\n"
        "for n in range(40):\n"
        "    open('grows.bin', 'ab').write(bytes([n]) * 100); print('beat', flush=True); time.sleep(0.1)"
    )
    before = git(tree, "count-objects")
    begin(folder, tree, code, stall_limit=1)
    wait_until(lambda: attempt_state(str(folder)) is AttemptState.FINISHED, "it has ended")
    assert finish(folder).by == "exit"
    added = int(git(tree, "count-objects").split()[0]) - int(before.split()[0])
    assert added == 2, "one file and one tree, by the last look"


def test_a_cancel_reaches_a_supervisor_that_its_agent_has_stopped(tree: Path, folder: Path) -> None:
    begin(
        folder,
        tree,
        "import os, signal, time\nprint('x', flush=True)\nos.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(600)",
    )
    started = attempt_files.read_started(str(folder))
    wait_until(lambda: attempt_files.read_started(str(folder)), "started")
    started = attempt_files.read_started(str(folder))
    assert started is not None
    wait_until(
        lambda: Path(f"/proc/{started[0]}/stat").read_text().rpartition(")")[2].split()[0] == "T", "stopped"
    )
    assert cancel_attempt(str(folder), "enough")
    assert finish(folder).by == "cancel"


def test_programs_the_agent_put_into_git_s_settings_do_not_run_with_our_looks(tree: Path, folder: Path) -> None:
    hooks = tree / ".git" / "planted"
    hooks.mkdir()
    for name in ("watch", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tree}/.git/ran-{name}\n")
        (hooks / name).chmod(0o755)
    git(tree, "config", "core.hooksPath", str(hooks))
    git(tree, "config", "core.fsmonitor", str(hooks / "watch"))
    begin(folder, tree, "open('new.txt', 'w').write('x')")
    assert finish(folder).tree is not None
    assert not list((tree / ".git").glob("ran-*"))


def test_only_the_first_event_is_asked_for_the_skill(tree: Path, folder: Path) -> None:
    code = (
        "import json\nfor names in (['it'], []): print(json.dumps({'type': 'init', 'skills': names}), flush=True)"
    )
    begin(folder, tree, code, guard=SkillGuard({"type": "init"}, ("skills",), "it"))
    assert finish(folder).by == "exit"


def test_a_closed_terminal_does_not_end_the_supervisor(tree: Path, folder: Path) -> None:
    begin(folder, tree, "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)")
    wait_until(lambda: attempt_files.read_started(str(folder)), "started")
    started = attempt_files.read_started(str(folder))
    assert started is not None
    for number in (signal.SIGHUP, signal.SIGINT):
        os.kill(started[0], number)
    (tree / "go").touch()
    assert finish(folder).by == "exit"
