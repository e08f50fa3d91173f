"""Whose work it is: what calls changed, and what a person left who took the story over."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bmad_autopilot.agents.attempts import Result, Spec, write_spec
from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.engine.touching import UsersFiles, between_calls, take_out, users_paths
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.question import By
from bmad_autopilot.runs.questions import all_open, answer
from tests.engine.laning import Person, Sample, changed_by
from tests.github.repositories import make_repository
from tests.github.test_commits import by_agent
from tests.terminals import COMMAND

STORY = "_bmad-output/implementation-artifacts/1-1-list-accounts.md"
CODE = "src/ledger/list_accounts.py"


def take_over(sample: Sample) -> None:
    """What a person does who was handed the story: the code, its tasks, its row, and a setting besides."""
    sample.write(CODE, "def list_accounts(amounts: list[int]) -> int:\n    return sum(amounts)\n")
    page = sample.root / STORY
    page.write_text(page.read_text().replace("- [ ]", "- [x]"))
    sample.board.write_text(re.sub(r"(  1-1-\S+:) \S+", r"\1 review", sample.board.read_text()))
    settings = sample.root / "bmad-autopilot.toml"
    settings.write_text(f"{settings.read_text()}\n# mine\n")


@pytest.mark.parametrize("where", ["at the terminal", "while nobody is at work"])
def test_what_a_person_left_who_took_over_is_the_storys_work(tmp_path: Path, where: str) -> None:
    sample = Sample(tmp_path / "p", "no-change")
    if where == "at the terminal":
        assert sample.run(person=Person("fix")).end.status == "handed-over"
    else:
        sample.run()
        (asked,) = all_open(runs_folder(str(sample.root))).asked
        answer(asked.path, "fix", By.HUMAN)
    take_over(sample)
    ran = sample.run()
    assert (ran.end.status, ran.questions) == ("completed", [])
    assert [entry["step"] for entry in ran.entries("call")] == ["code-review"]
    assert CODE in changed_by(sample, ["HEAD~1"])
    assert sample.git("status", "--porcelain") == "M bmad-autopilot.toml", "settings are theirs to commit"


@pytest.mark.real
def test_what_a_person_writes_besides_is_not(tmp_path: Path) -> None:
    """Nobody has handed the story over: an edit beside a question makes no work of nothing."""
    sample = Sample(tmp_path / "p", "no-change")
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
        self.spec = Spec("a", "stub", "dev", "1-1", "main", str(root), (), 0.0, tree=tree, head=before)
        self.result = Result("a", "exit", head=repository.head, branch=branch)
        self.users = users_paths(repository.git, self.spec, set())


def test_a_crash_after_any_part_of_taking_out_leads_to_the_same_commits(tmp_path: Path) -> None:
    call = CommittedAll(tmp_path / "p")
    git, repository = call.repository.git, call.repository
    assert call.users == {"notes"}
    first = take_out(git, call.spec, call.result, call.users)
    assert first.taken_out == ("notes",)
    assert (repository.head, repository.status()) == (first.result.head, ["?? notes"])
    assert take_out(git, call.spec, call.result, call.users) == first
    repository.run("update-ref", "HEAD", str(call.result.head))  # as if it had died before the branch moved
    assert take_out(git, call.spec, call.result, call.users) == first
    assert (repository.head, repository.status()) == (first.result.head, ["?? notes"])


def test_commits_that_someone_has_built_on_are_left_alone_and_objected_to(tmp_path: Path) -> None:
    call = CommittedAll(tmp_path / "p")
    call.repository.write("more", "by a person\n")
    head = call.repository.commit("By a person")
    cleaned = take_out(call.repository.git, call.spec, call.result, call.users)
    assert (cleaned.left_in, cleaned.taken_out, call.repository.head) == (("notes",), (), head)


def test_commits_on_a_branch_that_is_not_checked_out_any_more_are_cleaned_too(tmp_path: Path) -> None:
    call = CommittedAll(tmp_path / "p")
    branch = call.repository.run("branch", "--show-current")
    call.repository.run("switch", "--quiet", "--create", "other", str(call.spec.head))
    cleaned = take_out(call.repository.git, call.spec, call.result, call.users)
    assert (cleaned.left_in, cleaned.taken_out) == ((), ("notes",))
    assert "notes" not in call.repository.names(branch)


def test_commits_that_were_pushed_are_objected_to(tmp_path: Path) -> None:
    call = CommittedAll(tmp_path / "p")
    call.repository.run("update-ref", "refs/remotes/origin/main", call.repository.head)
    cleaned = take_out(call.repository.git, call.spec, call.result, call.users)
    assert (cleaned.left_in, cleaned.taken_out) == (("notes",), ("notes",))
    assert "notes" not in call.repository.names("HEAD")


def test_secrets_are_taken_out_of_the_messages_of_a_calls_commits(tmp_path: Path) -> None:
    token = "ghp_" + "0aB1cD2eF3" * 3 + "4gH5iJ"
    call = CommittedAll(tmp_path / "p", f"feat: use {token}")
    cleaned = take_out(call.repository.git, call.spec, call.result, set())
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
    sample = Sample(tmp_path / "p")
    with monkeypatch.context() as patched:
        patched.setenv("PATH", path_with_git(tmp_path / "bin", "exit 128"))
        with pytest.raises(AutopilotError, match="the work tree cannot be recorded before the call"):
            sample.run("epic", "1")
    ran = sample.run("epic", "1")
    assert (ran.end.status, ran.questions) == ("completed", [])


def test_a_kill_during_the_look_before_a_call_costs_nothing(tmp_path: Path) -> None:
    """git and the supervisor are killed while the work tree is recorded for the developer's first call. The next
    start records it all the same: the work is the developer's, and its review is not refused."""
    sample = Sample(tmp_path / "p")
    kills = ': > "$GIT_INDEX_FILE.lock"; kill -9 $PPID; kill -9 $$'
    environment = {**os.environ, "PATH": path_with_git(tmp_path / "bin", kills)}
    killed = subprocess.run([*COMMAND, "run-epic", "1"], cwd=sample.root, env=environment, capture_output=True)
    assert killed.returncode == -9
    ran = sample.run("epic", "1")
    assert (ran.end.status, ran.questions) == ("completed", [])
    assert CODE in changed_by(sample, ["HEAD~1"])


def call(folder: Path, before: str | None, after: str | None) -> str:
    """The records of one call, with the trees of its supervisor's looks."""
    folder.mkdir(parents=True)
    spec = Spec("id", "stub", "dev", "1-1", "session", "/nowhere", (), 0.0, tree=before)
    write_spec(str(folder), spec)
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
    assert [(time.before, time.after) for time in between_calls(folders, set())] == found


def test_a_call_that_was_never_started_is_no_gap(tmp_path: Path) -> None:
    folders = [call(tmp_path / "1", "a", "b"), str(tmp_path / "2"), call(tmp_path / "3", "c", "d")]
    Path(folders[1]).mkdir()
    write_spec(folders[1], Spec("id", "stub", "dev", "1-1", "session", "/nowhere", (), 0.0))
    assert [(time.before, time.after) for time in between_calls(folders, set())] == [("b", "c")]
