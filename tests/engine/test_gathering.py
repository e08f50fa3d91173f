"""What a call did where no diff shows it, in real runs of the scripted agent with some shell before it."""

import os
import re
import time
from pathlib import Path

import pytest

from bmad_autopilot.project.open import open_project
from bmad_autopilot.sim.sample import make_sample, scripted
from tests.agents.stubs import until
from tests.engine.laning import Person, Sample


class Prepared(Sample):
    """`shell` is run in each call before the agent's own work."""

    def __init__(self, root: Path, shell: str, stories: int = 1) -> None:
        self.root = root
        script = root.parent / "agent.sh"
        script.write_text(f'(\n{shell}\n) </dev/null >&2\nexec "$@"\n')
        make_sample(str(root), 1, stories, agent_command=("sh", str(script), *scripted()))
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
    sample = Sample(tmp_path / "p", "honest,commits-state:1-1")
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
    sample = Sample(tmp_path / "p", stories=2)
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


def with_check(sample: Sample, command: str) -> None:
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
    sample = Sample(tmp_path / "p")
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
    until(lambda: time.time() > int(file.stat().st_ctime) + 1, "the next second: git compares no parts of it")
    ran = sample.run()
    tree = str(ran.entries("ended")[0]["tree"])
    assert sample.git("show", f"{tree}:{path}") == file.read_text().strip()
