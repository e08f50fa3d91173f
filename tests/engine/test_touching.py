"""Whose work it is: what calls changed, and what a person left who took the story over."""

import re
from pathlib import Path

import pytest

from bmad_autopilot.agents.attempts import Result, Spec
from bmad_autopilot.engine.touching import take_out, users_paths
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.question import By
from bmad_autopilot.runs.questions import all_open, answer
from tests.engine.laning import Person, Sample, changed_by
from tests.github.repositories import make_repository

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

    def __init__(self, root: Path) -> None:
        self.repository = repository = make_repository(root)
        repository.write("notes", "a person's\n")
        before = repository.head
        repository.run("add", "notes")
        tree = repository.run("write-tree")
        repository.run("reset", "--quiet")
        repository.write("work", "done\n")
        repository.commit("feat: all of it")
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


def test_commits_on_another_branch_are_left_alone(tmp_path: Path) -> None:
    call = CommittedAll(tmp_path / "p")
    call.repository.run("switch", "--quiet", "--create", "other", str(call.spec.head))
    cleaned = take_out(call.repository.git, call.spec, call.result, call.users)
    assert (cleaned.left_in, cleaned.taken_out) == ((), ())
