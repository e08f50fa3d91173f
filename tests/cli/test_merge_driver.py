"""bmad merge-driver run: a person's own git command, and a look at what came of it."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bmad_autopilot.cli import bmad
from bmad_autopilot.core.errors import ConflictError, UsageError
from bmad_autopilot.git import merge_driver
from bmad_autopilot.git.history import AUTOPILOT_IDENTITY
from tests.support.repositories import Repository, make_repository
from tests.support.terminals import assert_golden, run_piped

FOLDER = "_bmad-output/implementation-artifacts"
BOARD = f"{FOLDER}/sprint-status.yaml"
DEFERRED = f"{FOLDER}/deferred-work.md"
BASE = """\
development_status:
  epic-1: in-progress
  1-1-a: review
  1-2-b: backlog  # waits
"""
LANE = BASE.replace("1-1-a: review", "1-1-a: done")
MAIN = BASE.replace("backlog", "review")
MERGED = MAIN.replace("1-1-a: review", "1-1-a: done")
AMEND = "commit -q --amend --no-edit"


def two_sides(path: Path, *, board: str = BOARD, sides: tuple[str, str, str] = (BASE, LANE, MAIN)) -> Repository:
    """Branches main and lane, which both changed the board; main is checked out."""
    repository = make_repository(path)
    for branch, text in (("main", sides[0]), ("lane", sides[1]), ("main", sides[2])):
        repository.run("checkout", "-q", *(["-b", "lane"] if branch == "lane" else [branch]))
        repository.write(board, text)
        repository.commit(f"On {branch}")
    return repository


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return two_sides(tmp_path_factory.mktemp("sides") / "work").path


@pytest.fixture
def sides(template: Path, tmp_path: Path) -> Repository:
    """Copied, which is many times as fast as made anew."""
    shutil.copytree(template, tmp_path / "work")
    return Repository(tmp_path / "work")


def run(repository: Repository, *words: str, folder: str = ".") -> int:
    code = bmad.main(
        ["-C", str(repository.path / folder), "merge-driver", "run", "--", *words], standalone_mode=False
    )
    return code if isinstance(code, int) else 0


def on_lane(repository: Repository) -> None:
    repository.run("checkout", "-q", "lane")


def stashed(repository: Repository) -> None:
    repository.run("checkout", "-q", "main~1")
    repository.write(BOARD, LANE)
    repository.run("stash")
    repository.run("checkout", "-q", "main")


def nothing(repository: Repository) -> None:
    pass


COMMANDS: dict[str, tuple[Callable[[Repository], None], str]] = {
    "merge": (nothing, "merge --no-edit lane"),
    "no-commit": (nothing, "merge --no-commit lane"),
    "squash": (nothing, "merge --squash lane"),
    "rebase": (on_lane, "rebase main"),
    "rebase-apply": (on_lane, "rebase --apply main"),
    "cherry-pick": (nothing, "cherry-pick lane"),
    "stash": (stashed, "stash pop"),
    "pull": (nothing, "pull --no-rebase --no-edit . lane"),
    "pull-rebase": (on_lane, "pull --rebase . main"),
    "merge-tree": (nothing, "merge-tree --write-tree main lane"),
}


def each(*often: str) -> pytest.MarkDecorator:
    """These always, the others in the long runs."""
    names = [name if name in often else pytest.param(name, marks=pytest.mark.soak) for name in COMMANDS]
    return pytest.mark.parametrize("name", names)


def start(repository: Repository, name: str) -> int:
    prepare, words = COMMANDS[name]
    prepare(repository)
    return run(repository, "git", *words.split())


@each("squash", "rebase", "cherry-pick", "stash", "pull", "merge-tree")
def test_both_sides_are_merged_by_what_they_mean(
    sides: Repository, name: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    settings = sides.read(".git/config")
    assert start(sides, name) == 0
    if name == "merge-tree":
        sys.stdout.flush()
        tree = capfdbinary.readouterr().out.decode().split()[0]
        assert sides.run("show", f"{tree}:{BOARD}") + "\n" == MERGED
    else:
        assert sides.read(BOARD).decode() == MERGED
    assert sides.read(".git/config") == settings
    assert not (sides.path / ".git/info/attributes").exists()


@each("merge")
def test_a_program_that_is_gone_leaves_both_sides_and_is_told(
    sides: Repository, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(ConflictError, match="as its sides mean it"):
        start(sides, name)
    if name != "merge-tree":
        text = sides.read(BOARD).decode()
        assert "<<<<<<<" in text
        assert "1-1-a: done" in text
        assert "1-2-b: review" in text


@each("merge", "rebase")
def test_a_driver_that_keeps_one_side_is_found_out(
    sides: Repository, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_driver, "_command", lambda meaning: "true")
    with pytest.raises(ConflictError) as caught:
        start(sides, name)
    assert caught.value.found is not None
    assert caught.value.found in ("1-1-a review, not done", "1-2-b backlog, not review")


@each()
def test_a_driver_that_only_fails_is_found_out(
    sides: Repository, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_driver, "_command", lambda meaning: "/no/such/program %A")
    with pytest.raises(ConflictError):
        start(sides, name)


def test_commits_of_others_are_not_ours_to_judge(sides: Repository) -> None:
    """A fast-forward over a merge that somebody made by hand."""
    sides.run("merge", "-q", "--no-commit", "-s", "ours", "lane")
    sides.commit("By hand")
    sides.run("branch", "theirs")
    sides.run("reset", "-q", "--hard", "HEAD^")
    assert run(sides, "git", "merge", "theirs") == 0
    assert sides.read(BOARD).decode() == MAIN


def test_what_only_a_person_can_merge_has_marks_and_gits_exit_code(tmp_path: Path) -> None:
    base = BASE + "notes: >\n  one\n"
    repository = two_sides(
        tmp_path / "work", sides=(base, base.replace("one", "two"), base.replace("one", "three"))
    )
    assert run(repository, "git", "merge", "--no-edit", "lane") == 1
    assert repository.read(BOARD).count(b"<<<<<<<") == 1
    assert repository.status() == [f"UU {BOARD}"]


def test_another_file_in_conflict_is_gits_own_affair(sides: Repository) -> None:
    for branch in ("lane", "main"):
        sides.run("checkout", "-q", branch)
        sides.write("readme.txt", branch)
        sides.commit()
    assert run(sides, "git", "merge", "--no-edit", "lane") == 1
    assert sides.read(BOARD).decode() == MERGED
    assert sides.status() == [f"M  {BOARD}", "UU readme.txt"]


def test_paths_with_blanks_and_quotes_and_a_project_below_the_top(tmp_path: Path) -> None:
    part = 'a part\'s "own" [x]'
    repository = two_sides(tmp_path / "the work's tree", board=f"{part}/{BOARD}")
    assert run(repository, "git", "merge", "--no-edit", "lane", folder=part) == 0
    assert repository.read(f"{part}/{BOARD}").decode() == MERGED


def test_a_worktree_merges_its_own_board(sides: Repository) -> None:
    sides.run("worktree", "add", "-q", "../lane", "lane")
    lane = Repository(sides.path.parent / "lane")
    assert run(lane, "git", "merge", "--no-edit", "main") == 0
    assert lane.read(BOARD).decode() == MERGED
    assert sides.read(BOARD).decode() == MAIN


@pytest.mark.soak
def test_deferred_work_is_merged_too(tmp_path: Path) -> None:
    texts = "- a\n", "- a\n- b\n", "- a\n- c\n"
    repository = two_sides(tmp_path / "work", board=DEFERRED, sides=texts)
    assert run(repository, "git", "merge", "--no-edit", "lane") == 0
    assert repository.read(DEFERRED) == b"- a\n- c\n- b\n"


def test_the_repositorys_own_attributes_stand_and_are_checked(
    sides: Repository, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its owners said union: lines of both, so that one row stands there twice."""
    sides.write(".gitattributes", f"{BOARD} merge=union\n")
    sides.commit()
    with pytest.raises(ConflictError):
        run(sides, "git", "merge", "--no-edit", "lane")
    assert "attributes say merge=union, which stands" in capfd.readouterr().err


@pytest.mark.soak
def test_the_users_own_attributes_stay_in_force(sides: Repository, home: Path) -> None:
    attributes = home / ".config/git/attributes"
    attributes.parent.mkdir(parents=True)
    attributes.write_text("*.txt merge=union")
    for branch, line in (("lane", "one"), ("main", "two")):
        sides.run("checkout", "-q", branch)
        sides.write("readme.txt", f"hello\n{line}\n")
        sides.commit()
    assert run(sides, "git", "merge", "--no-edit", "lane") == 0
    assert sides.read("readme.txt") == b"hello\ntwo\none\n"
    assert sides.read(BOARD).decode() == MERGED


@pytest.mark.soak
def test_a_rebase_goes_on_after_a_person_resolved_a_conflict(sides: Repository) -> None:
    sides.run("checkout", "-q", "lane")
    sides.write("readme.txt", "lane\n")
    sides.commit("Both")
    sides.run("checkout", "-q", "main")
    sides.write("readme.txt", "main\n")
    sides.commit()
    sides.run("checkout", "-q", "lane")
    assert run(sides, "git", "rebase", "main") == 1
    sides.write("readme.txt", "both\n")
    sides.run("add", "readme.txt")
    assert run(sides, "git", "-c", "core.editor=true", "rebase", "--continue") == 0
    assert sides.read(BOARD).decode() == MERGED


@pytest.mark.parametrize("words", [("hg", "merge"), ("git",), ("git", "-c", "a.b=c"), ("git", "-C", "x", "merge")])
def test_what_is_no_git_command_here_is_refused(sides: Repository, words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        run(sides, *words)


def test_a_loss_as_it_is_told(sides: Repository) -> None:
    sides.write(".gitattributes", f"{BOARD} merge=ours-alone\n")
    sides.commit()
    sides.run("config", "merge.ours-alone.driver", "true")
    done = run_piped("merge-driver", "run", "--", "git", "merge", "--no-edit", "lane", cwd=sides.path)
    assert done.returncode == 1
    merged = sides.head[:12]
    assert_golden("merge-driver-loss", done.stderr.replace(merged, "COMMIT"))


def test_a_persons_step_back_goes_before_our_done(sides: Repository) -> None:
    sides.run("checkout", "-q", "lane")
    sides.run(
        "-c",
        f"user.name={AUTOPILOT_IDENTITY.name}",
        "-c",
        f"user.email={AUTOPILOT_IDENTITY.email}",
        *AMEND.split(),
    )
    sides.run("checkout", "-q", "main")
    back = sides.write(BOARD, MAIN.replace("1-1-a: review", "1-1-a: backlog")).read_text()
    sides.commit()
    assert run(sides, "git", "merge", "--no-edit", "lane") == 0
    assert sides.read(BOARD).decode() == back
