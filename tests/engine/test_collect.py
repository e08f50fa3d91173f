"""Whose work it is: what calls changed, and what a person left who took the story over."""

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from bmad_autopilot.agents.attempt import AttemptResult, CallSpec, write_call_spec
from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.engine.collect import UsersFiles, idle_periods, remove_users_files, users_paths
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.question_file import AnswerSource
from bmad_autopilot.runs.questions import load_inbox, record_answer
from bmad_autopilot.sim.sample import make_sample, scripted_agent_command
from tests.git.test_commits import by_agent
from tests.support.agent_stubs import wait_until
from tests.support.lane_projects import LaneProject, Person, paths_changed_by
from tests.support.repositories import make_repository
from tests.support.terminals import COMMAND

STORY = "_bmad-output/implementation-artifacts/1-1-list-accounts.md"
CODE = "src/ledger/list_accounts.py"


def take_over(sample: LaneProject) -> None:
    """What a person does who was handed the story: the code, its tasks, its row, and a setting besides."""
    sample.write(CODE, "def list_accounts(amounts: list[int]) -> int:\n    return sum(amounts)\n")
    page = sample.root / STORY
    page.write_text(page.read_text().replace("- [ ]", "- [x]"))
    sample.board.write_text(re.sub(r"(  1-1-\S+:) \S+", r"\1 review", sample.board.read_text()))
    settings = sample.root / "bmad-autopilot.toml"
    settings.write_text(f"{settings.read_text()}\n# mine\n")


@pytest.mark.parametrize("where", ["at the terminal", "while nobody is at work"])
def test_what_a_person_left_who_took_over_is_the_storys_work(tmp_path: Path, where: str) -> None:
    sample = LaneProject(tmp_path / "p", "no-change")
    if where == "at the terminal":
        assert sample.run(person=Person("fix")).end.status == "handed-over"
    else:
        sample.run()
        (asked,) = load_inbox(runs_folder(str(sample.root))).pending
        record_answer(asked.path, "fix", AnswerSource.HUMAN)
    take_over(sample)
    ran = sample.run()
    assert (ran.end.status, ran.questions) == ("completed", [])
    assert [entry["step"] for entry in ran.entries("call")] == ["code-review"]
    assert CODE in paths_changed_by(sample, ["HEAD~1"])
    assert sample.git("status", "--porcelain") == "M bmad-autopilot.toml", "settings are theirs to commit"


@pytest.mark.real
def test_what_a_person_writes_besides_is_not(tmp_path: Path) -> None:
    """Nobody has handed the story over: an edit beside a question makes no work of nothing."""
    sample = LaneProject(tmp_path / "p", "no-change")
    sample.run()
    sample.write("notes.txt", "mine\n")
    ran = sample.run(person=Person("retry"))
    assert (ran.end.status, ran.questions) == ("waiting", ["failed"])
    assert "no-change" in ran.entries("ended")[-1]["objections"]


class CommittedAll:
    """A repository in which a call has committed everything, a person's notes too."""

    def __init__(self, root: Path, message: str = "feat: all of it") -> None:
        self.repository = repository = make_repository(root)
        repository.write("notes", "a person's\n")
        before = repository.head
        repository.run("add", "notes")
        tree = repository.run("write-tree")
        repository.run("reset", "--quiet")
        repository.write("work", "done\n")
        by_agent(repository, message)
        branch = repository.run("branch", "--show-current")
        self.spec = CallSpec("a", "stub", "dev", "1-1", "main", str(root), (), 0.0, tree=tree, head=before)
        self.result = AttemptResult("a", "exit", head=repository.head, branch=branch)
        self.users = users_paths(repository.git, self.spec, set())


def test_a_crash_after_any_part_of_taking_out_leads_to_the_same_commits(tmp_path: Path) -> None:
    call = CommittedAll(tmp_path / "p")
    git, repository = call.repository.git, call.repository
    assert call.users == {"notes"}
    first = remove_users_files(git, call.spec, call.result, call.users)
    assert first.removed_paths == ("notes",)
    assert (repository.head, repository.status()) == (first.result.head, ["?? notes"])
    assert remove_users_files(git, call.spec, call.result, call.users) == first
    repository.run("update-ref", "HEAD", str(call.result.head))  # as if it had died before the branch moved
    assert remove_users_files(git, call.spec, call.result, call.users) == first
    assert (repository.head, repository.status()) == (first.result.head, ["?? notes"])


def test_commits_that_someone_has_built_on_are_left_alone_and_objected_to(tmp_path: Path) -> None:
    call = CommittedAll(tmp_path / "p")
    call.repository.write("more", "by a person\n")
    head = call.repository.commit("By a person")
    cleaned = remove_users_files(call.repository.git, call.spec, call.result, call.users)
    assert (cleaned.remaining_paths, cleaned.removed_paths, call.repository.head) == (("notes",), (), head)


def test_commits_on_a_branch_that_is_not_checked_out_any_more_are_cleaned_too(tmp_path: Path) -> None:
    call = CommittedAll(tmp_path / "p")
    branch = call.repository.run("branch", "--show-current")
    call.repository.run("switch", "--quiet", "--create", "other", str(call.spec.head))
    cleaned = remove_users_files(call.repository.git, call.spec, call.result, call.users)
    assert (cleaned.remaining_paths, cleaned.removed_paths) == ((), ("notes",))
    assert "notes" not in call.repository.names(branch)


def test_commits_that_were_pushed_are_objected_to(tmp_path: Path) -> None:
    call = CommittedAll(tmp_path / "p")
    call.repository.run("update-ref", "refs/remotes/origin/main", call.repository.head)
    cleaned = remove_users_files(call.repository.git, call.spec, call.result, call.users)
    assert (cleaned.remaining_paths, cleaned.removed_paths) == (("notes",), ("notes",))
    assert "notes" not in call.repository.names("HEAD")


def test_secrets_are_taken_out_of_the_messages_of_a_calls_commits(tmp_path: Path) -> None:
    token = "ghp_" + "0aB1cD2eF3" * 3 + "4gH5iJ"
    call = CommittedAll(tmp_path / "p", f"feat: use {token}")
    cleaned = remove_users_files(call.repository.git, call.spec, call.result, set())
    assert cleaned.result.head == call.repository.head
    assert token not in call.repository.run("log", "--format=%B")
    assert "feat: use [redacted" in call.repository.run("log", "-1", "--format=%s")


def test_a_folder_that_is_the_users_holds_everything_below_it() -> None:
    users = UsersFiles(["notes", "secrets/"])
    assert all(path in users for path in ("notes", "secrets/a", "secrets/deep/b"))
    assert not any(path in users for path in ("notes/a", "secrets", "secrets2/a"))


def path_with_git(folder: Path, does: str) -> str:
    """A PATH whose git does this instead of recording the work tree for the developer's first call."""
    program = folder / "git"
    folder.mkdir()
    program.write_text(
        f'#!/bin/sh\ncase "$GIT_INDEX_FILE $*" in */*-dev/attempt-1/index*" add "*) {does};; esac\n'
        f'exec {shutil.which("git")} "$@"\n'
    )
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_a_work_tree_that_cannot_be_recorded_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is started without it. Once git can, the run goes on."""
    sample = LaneProject(tmp_path / "p")
    with monkeypatch.context() as patched:
        patched.setenv("PATH", path_with_git(tmp_path / "bin", "exit 128"))
        with pytest.raises(AutopilotError, match="the work tree cannot be recorded before the call"):
            sample.run("epic", "1")
    ran = sample.run("epic", "1")
    assert (ran.end.status, ran.questions) == ("completed", [])


def test_a_kill_during_the_look_before_a_call_costs_nothing(tmp_path: Path) -> None:
    """git and the supervisor are killed while the work tree is recorded for the developer's first call. The next
    start records it all the same: the work is the developer's, and its review is not refused."""
    sample = LaneProject(tmp_path / "p")
    kills = ': > "$GIT_INDEX_FILE.lock"; kill -9 $PPID; kill -9 $$'
    environment = {**os.environ, "PATH": path_with_git(tmp_path / "bin", kills)}
    killed = subprocess.run([*COMMAND, "run-epic", "1"], cwd=sample.root, env=environment, capture_output=True)
    assert killed.returncode == -9
    ran = sample.run("epic", "1")
    assert (ran.end.status, ran.questions) == ("completed", [])
    assert CODE in paths_changed_by(sample, ["HEAD~1"])


def call(folder: Path, before: str | None, after: str | None) -> str:
    """The records of one call, with the trees of its supervisor's looks."""
    folder.mkdir(parents=True)
    spec = CallSpec("id", "stub", "dev", "1-1", "session", "/nowhere", (), 0.0, tree=before)
    write_call_spec(str(folder), spec)
    (folder / "started").write_text("1 0.0\n")
    (folder / "result.json").write_text(json.dumps({"version": 1, "id": "id", "by": "exit", "tree": after}))
    return str(folder)


@pytest.mark.parametrize(
    ("trees", "found"),
    [
        ([("a", "b"), ("c", "d"), ("e", "f")], [("b", "c"), ("d", "e")]),
        ([("a", "b"), (None, "d"), ("e", "f")], [("d", "e")]),
        ([("a", "b"), ("c", None), ("e", "f")], [("b", "c")]),
        ([("a", "b"), (None, None), ("e", "f")], []),
    ],
)
def test_what_a_call_may_have_done_itself_is_no_persons(
    tmp_path: Path, trees: list[tuple[str | None, str | None]], found: list[tuple[str, str]]
) -> None:
    """Runs of earlier versions may hold calls without a tree."""
    folders = [call(tmp_path / str(number), *pair) for number, pair in enumerate(trees)]
    assert [(time.before, time.after) for time in idle_periods(folders, set())] == found


def test_a_call_that_was_never_started_is_no_gap(tmp_path: Path) -> None:
    folders = [call(tmp_path / "1", "a", "b"), str(tmp_path / "2"), call(tmp_path / "3", "c", "d")]
    Path(folders[1]).mkdir()
    write_call_spec(folders[1], CallSpec("id", "stub", "dev", "1-1", "session", "/nowhere", (), 0.0))
    assert [(time.before, time.after) for time in idle_periods(folders, set())] == [("b", "c")]


# What a call did where no diff shows it, in real runs of the scripted agent with some shell before it.


class Prepared(LaneProject):
    """`shell` is run in each call before the agent's own work."""

    def __init__(self, root: Path, shell: str, stories: int = 1) -> None:
        self.root = root
        script = root.parent / "agent.sh"
        script.write_text(f'(\n{shell}\n) </dev/null >&2\nexec "$@"\n')
        make_sample(str(root), 1, stories, agent_command=("sh", str(script), *scripted_agent_command()))
        self.board = Path(open_project(str(root)).require_board())


HIDING = [
    "grep -q secret .git/info/exclude || echo 'secret*' >>.git/info/exclude; echo x >secret.py",
    "mkdir -p .git/hooks; echo 'exit 0' >.git/hooks/pre-push; chmod +x .git/hooks/pre-push",
    "git config core.hooksPath /tmp",
    "git config alias.status '!true'",
]


@pytest.mark.parametrize("shell", [HIDING[0], *(pytest.param(one, marks=pytest.mark.real) for one in HIDING[1:])])
def test_what_is_set_in_git_itself_is_an_objection(tmp_path: Path, shell: str) -> None:
    sample = Prepared(tmp_path / "p", shell)
    ran = sample.run()
    assert ran.end.status == "waiting"
    ended = ran.entries("ended")
    assert [one["objections"] for one in ended] == [["git-settings"], ["git-settings"]], "the second time, too"
    assert sample.row("1-1") != "done"


@pytest.mark.real
def test_a_tool_that_sets_its_hooks_path_as_it_installs_itself_is_fine(tmp_path: Path) -> None:
    husky = "mkdir -p .husky/_; echo '*' >.husky/_/.gitignore; git config core.hooksPath .husky/_"
    sample = Prepared(tmp_path / "p", husky)
    assert sample.run().end.status == "completed"


@pytest.mark.real
def test_what_a_call_has_put_back_is_no_objection(tmp_path: Path) -> None:
    once = "if [ -e .git/once ]; then git config --unset alias.x; else touch .git/once; git config alias.x y; fi"
    sample = Prepared(tmp_path / "p", once)
    ran = sample.run()
    assert ran.entries("ended")[0]["objections"] == ["git-settings"]
    assert ran.entries("ended")[1]["finding"] == "good"


@pytest.mark.real
def test_a_collection_of_garbage_during_a_call_takes_nothing_that_it_is_judged_by(tmp_path: Path) -> None:
    sample = Prepared(tmp_path / "p", "git gc --quiet --prune=now")
    sample.write("mine.txt", "a person's\n")
    assert sample.run().end.status == "completed"
    assert sample.git("status", "--porcelain") == "?? mine.txt"


@pytest.mark.real
@pytest.mark.parametrize("answer", ["undo", "mine"])
def test_a_row_that_vanished_is_asked_about_and_put_back(tmp_path: Path, answer: str) -> None:
    board = "_bmad-output/implementation-artifacts/sprint-status.yaml"
    sample = Prepared(
        tmp_path / "p", f"[ -e .git/once ] || sed -i '/^  1-2-/d' {board}; touch .git/once", stories=2
    )
    person = Person(answer)
    ran = sample.run(person=person)
    assert ran.questions == ["rows"]
    assert ": backlog → gone" in person.asked[0]["context"]
    assert any(key.startswith("1-2-") for key in sample.rows()) is (answer == "undo")


def test_a_state_file_in_git_is_refused_though_we_move_it_aside_between_calls(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "honest,commits-state:1-1")
    ran = sample.run()
    found = [entry["objections"] for entry in ran.entries("ended") if entry["step"] == "dev"]
    assert found == [["state-file-tracked"]] * 2
    assert ran.end.status == "waiting"


BOARD = "_bmad-output/implementation-artifacts/sprint-status.yaml"


@pytest.mark.parametrize("flag", [pytest.param("assume-unchanged", marks=pytest.mark.real), "skip-worktree"])
def test_a_board_that_an_agent_hides_from_git_says_nothing_of_its_own(tmp_path: Path, flag: str) -> None:
    """It sets its row to done and hides the board, so that nothing seems to have moved during its call."""
    hide = f"git update-index --{flag} {BOARD}; sed -i 's/^\\(  1-1-[^:]*\\):.*/\\1: done/' {BOARD}"
    sample = Prepared(tmp_path / "p", "true")
    script = tmp_path / "agent.sh"
    script.write_text(f'"$@"\ncode=$?\n(\n{hide}\n) </dev/null >&2\nexit $code\n')
    ran = sample.run()
    assert (ran.end.status, ran.entries("edited"), ran.questions) == ("completed", [], [])
    assert [call["step"] for call in ran.entries("call")] == ["create-story", "dev", "code-review"]


@pytest.mark.parametrize("flag", ["skip-worktree", pytest.param("assume-unchanged", marks=pytest.mark.real)])
def test_what_an_agent_hides_from_git_is_checked_and_committed(tmp_path: Path, flag: str) -> None:
    sample = Prepared(
        tmp_path / "p", f"git update-index --{flag} src/ledger/money.py; echo '#' >>src/ledger/money.py"
    )
    assert sample.run().end.status == "completed"
    assert (
        sample.git("show", "HEAD:src/ledger/money.py") == (sample.root / "src/ledger/money.py").read_text().strip()
    )
    assert "#" in sample.git("log", "-p", "--format=", "--", "src/ledger/money.py")


def test_a_row_that_a_check_sets_to_done_is_asked_about(tmp_path: Path) -> None:
    """As a test that the agent wrote can do, while we run the project's checks."""
    sample = LaneProject(tmp_path / "p", stories=2)
    settings = sample.root / "bmad-autopilot.toml"
    command = f"sed -i 's/^\\\\(  1-[12]-[^:]*\\\\):.*/\\\\1: done/' {BOARD}"
    settings.write_text(re.sub(r"test = .*", lambda _: f'test = ["{command}"]', settings.read_text()))
    sample.git("commit", "-qam", "A check that writes the board")
    ran = sample.run("epic", "1")
    assert (ran.end.status, ran.questions) == ("waiting", ["row"])
    assert [call["step"] for call in ran.entries("call")] == ["create-story", "dev"]
    settings.write_text(re.sub(r"test = .*", 'test = ["true"]', settings.read_text()))
    sample.git("commit", "-qm", "A check that does not", "bmad-autopilot.toml")
    again = sample.run("epic", "1", person=Person("undo", "new", "undo"))
    assert (again.end.status, again.questions[-1]) == ("completed", "row"), "the other story's row, too"
    assert again.entries("row-set"), "the log shows that the rows went back"
    assert {"1-1", "1-2"} == {call["story"][:3] for call in (*ran.entries("call"), *again.entries("call"))}


def with_check(sample: LaneProject, command: str) -> None:
    """As a test that an agent wrote: it acts while we run the project's checks."""
    (sample.root / "act.sh").write_text(command)
    settings = sample.root / "bmad-autopilot.toml"
    settings.write_text(re.sub(r"test = .*", 'test = ["sh act.sh"]', settings.read_text()))
    sample.git("add", "--all")
    sample.git("commit", "-qm", "A check that acts")


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("[ -e tests/test_money.py ] || exit 0; rm tests/test_money.py; exit 1", "tests/test_money.py"),
        ("[ -e evil.py ] && exit 0; echo 1 >evil.py; git add evil.py; git commit -qm evil", "commits were made"),
    ],
)
def test_a_check_that_changes_tracked_files_or_commits_is_asked_about(
    tmp_path: Path, command: str, named: str
) -> None:
    sample = LaneProject(tmp_path / "p")
    with_check(sample, command)
    ran = sample.run()
    assert (ran.end.status, ran.questions) == ("waiting", ["restless"])
    assert named in ran.entries("asked")[0]["context"]
    assert [call["step"] for call in ran.entries("call")] == ["create-story", "dev"], "it is not reviewed"


@pytest.mark.parametrize(
    "shell",
    [
        "sed -i /env/d .gitignore; git add --all; git commit -qm all",
        pytest.param("git add -f .env; git commit -qm forced", marks=pytest.mark.real),
        pytest.param("git add -f .env", marks=pytest.mark.real),
    ],
)
def test_files_of_the_users_that_git_ignores_are_never_committed(tmp_path: Path, shell: str) -> None:
    sample = Prepared(tmp_path / "p", shell)
    (sample.root / ".gitignore").write_text("*.pyc\n.env\nsecrets/\n")
    sample.git("commit", "-qam", "Ignore secrets")
    sample.write(".env", "KEY=1\n")
    sample.write("secrets/deep/key", "1\n")
    before = sample.git("rev-parse", "HEAD")
    assert sample.run().end.status in ("completed", "waiting")
    changed = sample.git("log", "--name-only", "--format=", f"{before}..HEAD").splitlines()
    assert changed
    assert not {".env", "secrets/deep/key"} & set(changed)
    assert (sample.root / ".env").read_text() == "KEY=1\n"


@pytest.mark.real
def test_a_change_that_keeps_a_files_size_and_time_is_seen(tmp_path: Path) -> None:
    path = "tests/test_money.py"
    shell = (
        "git config core.trustctime false; git config core.checkStat minimal; "
        f"cp -p {path} /tmp/$$.kept; tr a b <{path} >{path}.new; cat {path}.new >{path}; rm {path}.new; "
        f"touch -r /tmp/$$.kept {path}; rm /tmp/$$.kept"
    )
    sample = Prepared(tmp_path / "p", shell)
    file = sample.root / path
    os.utime(file, (1_600_000_000, 1_600_000_000))
    sample.git("update-index", "--refresh")
    wait_until(lambda: time.time() > int(file.stat().st_ctime) + 1, "the next second: git compares no parts of it")
    ran = sample.run()
    tree = str(ran.entries("ended")[0]["tree"])
    assert sample.git("show", f"{tree}:{path}") == file.read_text().strip()
