"""The base in our branch, made of objects alone; boards by their meaning; a squashed predecessor met once."""

import subprocess
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from bmad_autopilot.board.merge import merge_boards
from bmad_autopilot.board.merge_files import MergeKind
from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.git.history import AUTOPILOT_IDENTITY, GitIdentity, commits_between, is_ancestor
from bmad_autopilot.git.merge import FileMerger, MergeResult, merge_base_into, merge_semantically
from tests.support.repositories import USER, Repository

BOARD = "out/sprint-status.yaml"
_numbers = count()
ROWS = "development_status:\n  1-1-a: backlog\n  1-2-b: backlog\n"


def by_rows(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
    found = merge_boards(base, ours, theirs)
    return found.data if found else None


def never(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
    return None


def taken(
    repository: Repository, head: str, base: str, *, since: str | None = None, merge: FileMerger = by_rows
) -> MergeResult:
    before = (repository.head, repository.status(), repository.run("for-each-ref"))
    found = merge_base_into(
        repository.git,
        head,
        base,
        message="Take main in",
        trailers={"Autopilot-Step": "r/base/1"},
        merges={BOARD: merge},
        since=since,
    )
    assert (repository.head, repository.status(), repository.run("for-each-ref")) == before
    return found


def commit_on(repository: Repository, start: str, **files: str | None) -> str:
    """A commit of these files; None deletes. Beside the work tree, by one process: there are many of them here."""
    return put(repository, start, files)


def put(repository: Repository, start: str, files: Mapping[str, str | None]) -> str:
    stream = f"commit refs/made/{next(_numbers)}\nmark :1\ncommitter {USER} 0 +0000\ndata 0\nfrom {start}\n"
    for name, text in files.items():
        data = (
            f"M 100644 inline {name}\ndata {len(text.encode())}\n{text}\n" if text is not None else f"D {name}\n"
        )
        stream += data
    argv = ["git", "fast-import", "--quiet"]
    feed = f"{stream}get-mark :1\n".encode()
    done = subprocess.run(argv, cwd=repository.path, input=feed, check=True, capture_output=True)
    return done.stdout.decode().strip()


def content(repository: Repository, sha: str, path: str) -> str:
    return repository.run("show", f"{sha}:{path}")


def test_the_base_comes_in_as_a_merge_by_us(repository: Repository) -> None:
    start = repository.head
    ours, base = commit_on(repository, start, a="ours\n"), commit_on(repository, start, b="theirs\n")
    found = taken(repository, ours, base)
    assert found.conflicts == found.semantic == ()
    assert repository.run("show", "-s", "--format=%P", found.sha) == f"{ours} {base}"
    assert repository.names(found.sha) == ["a", "b", "readme.txt"]
    (merge,) = commits_between(repository.git, ours, found.sha, base)
    assert (merge.committer, merge.trailers) == (AUTOPILOT_IDENTITY, (("Autopilot-Step", "r/base/1"),))


def test_nothing_is_made_where_one_holds_the_other(repository: Repository) -> None:
    start = repository.head
    ahead = commit_on(repository, start, a="x\n")
    assert taken(repository, ahead, start) == MergeResult(ahead)
    assert taken(repository, start, ahead) == MergeResult(ahead)


def test_a_conflict_is_told_and_nothing_made(repository: Repository) -> None:
    start = repository.head
    ours = put(repository, start, {"a": "x\n", "naïve file": "1\n"})
    base = put(repository, start, {"a": "y\n", "naïve file": "2\n"})
    assert taken(repository, ours, base) == MergeResult("", ("a", "naïve file"))


def test_histories_without_a_beginning_in_common(repository: Repository) -> None:
    start = repository.head
    repository.run("switch", "--quiet", "--orphan", "alone")
    alone = repository.commit()
    repository.run("switch", "--quiet", "main")
    with pytest.raises(ConflictError):
        taken(repository, start, alone)


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        (("a: backlog", "a: done"), ("a: backlog", "a: review"), ("a: backlog", "a: done")),  # git: conflict
        (("1-1-a", "1-0-z: done\n  1-1-a"), ("1-2-b", "# x\n  1-2-b"), None),
    ],
)
def test_the_board_is_merged_by_its_rows(
    repository: Repository, ours: tuple[str, str], theirs: tuple[str, str], both: tuple[str, str] | None
) -> None:
    start = put(repository, repository.head, {BOARD: ROWS})
    mine, base = (put(repository, start, {BOARD: ROWS.replace(*side)}) for side in (ours, theirs))
    found = taken(repository, mine, base)
    assert (found.conflicts, found.semantic) == ((), (BOARD,))
    expected = ROWS.replace(*both) if both else ROWS.replace(*ours).replace(*theirs)
    assert content(repository, found.sha, BOARD) + "\n" == expected


def test_the_meaning_decides_even_where_git_sees_no_conflict(repository: Repository) -> None:
    rows = "\n".join(f"  1-{n}-s: backlog" for n in range(1, 30))
    start = put(repository, repository.head, {BOARD: f"development_status:\n{rows}\n"})
    mine = put(repository, start, {BOARD: f"development_status:\n{rows.replace('1-1-s: b', '1-1-s: B')}\n"})
    base = put(repository, start, {BOARD: f"development_status:\n{rows.replace('1-29-s: b', '1-29-s: B')}\n"})
    assert taken(repository, mine, base).semantic == (BOARD,)
    assert taken(repository, mine, base, merge=never) == MergeResult("", (BOARD,))


def test_a_board_deleted_on_one_side_is_gits_conflict(repository: Repository) -> None:
    start = put(repository, repository.head, {BOARD: ROWS})
    mine = put(repository, start, {BOARD: ROWS.replace("backlog", "done")})
    base = put(repository, start, {BOARD: None})
    assert taken(repository, mine, base) == MergeResult("", (BOARD,))


def test_a_stacked_branch_does_not_meet_its_squashed_predecessor_again(repository: Repository) -> None:
    start = repository.head
    below = commit_on(repository, commit_on(repository, start, a="1\n", b="1\n"), a="2\n")
    ours = commit_on(repository, below, a="3\n", c="ours\n")  # builds on and rewrites what lies below
    squashed = commit_on(repository, start, a="2\n", b="1\n")
    base = commit_on(repository, squashed, d="meanwhile\n")
    assert taken(repository, ours, base).conflicts == ("a",)
    found = taken(repository, ours, base, since=below)
    assert repository.run("show", "-s", "--format=%P", found.sha) == f"{ours} {base}"
    assert [content(repository, found.sha, name) for name in "abcd"] == ["3", "1", "ours", "meanwhile"]
    later = commit_on(repository, base, b="2\n")
    again = taken(repository, found.sha, later)
    assert [content(repository, again.sha, name) for name in "abcd"] == ["3", "2", "ours", "meanwhile"]


def test_a_conflict_beside_a_squashed_predecessor_can_be_resolved_alone(repository: Repository) -> None:
    start = repository.head
    below = commit_on(repository, commit_on(repository, start, a="1\n"), a="2\n", b="0\n")
    ours = commit_on(repository, below, a="3\n", b="ours\n")
    base = commit_on(repository, start, a="2\n", b="theirs\n")
    found = taken(repository, ours, base, since=below)
    assert (found.sha, found.conflicts) == ("", ("b",))
    repository.run("switch", "--quiet", "--detach", ours)
    with pytest.raises(CalledProcessError):
        repository.run("merge", "--quiet", found.merge_instead)
    assert repository.run("diff", "--name-only", "--diff-filter=U") == "b"
    repository.write("b", "both\n")
    assert is_ancestor(repository.git, base, repository.commit())


def test_a_predecessor_that_was_mended_before_its_squash(repository: Repository) -> None:
    start = repository.head
    below = commit_on(repository, start, a="1\n", b="1\n")
    ours = commit_on(repository, below, a="2\n")
    mended = commit_on(repository, below, b="mended\n")
    base = commit_on(repository, start, a="1\n", b="mended\n")
    found = taken(repository, ours, base, since=mended)
    assert [content(repository, found.sha, name) for name in "ab"] == ["2", "mended"]


def test_a_driver_of_the_repositorys_settings_does_not_run(repository: Repository, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    lines = "".join(f"{n}\n" for n in range(20))
    start = commit_on(repository, repository.head, a=lines)
    ours, base = (
        put(repository, start, {"a": lines.replace(*change)}) for change in (("2\n", "x\n"), ("17\n", "y\n"))
    )
    repository.write(".git/info/attributes", "* merge=mine\n")
    repository.run("config", "merge.mine.driver", f"touch '{mark}'")
    found = taken(repository, ours, base)
    assert not mark.exists()
    assert "x" in content(repository, found.sha, "a")
    assert "y" in content(repository, found.sha, "a")


# Where both sides set a row, a person's word stands, and the commits tell whose it was.

PATH = "sprint-status.yaml"
PERSON = GitIdentity("A Person", "person@example.invalid")
GITHUB = GitIdentity("GitHub", "noreply@example.invalid")


def board(status: str, other: str = "backlog") -> str:
    return f"development_status:\n  1-1-a: {status}\n  1-2-b: {other}\n"


def commit(repository: Repository, text: str, who: GitIdentity, message: str = "Set it") -> None:
    repository.write(PATH, text)
    repository.run("add", "--all")
    environment = [f"{name}={value}" for name, value in who.as_environment("COMMITTER").items()]
    command = ["env", *environment, "git", "commit", "-q", "-m", message]
    subprocess.run(command, cwd=repository.path, check=True)


def merged(repository: Repository, *texts: str) -> str:
    base, ours, theirs = (text.encode() for text in texts)
    found = merge_semantically(repository.git, PATH, MergeKind.BOARD, base, ours, theirs)
    assert found is not None
    return found.data.decode()


def sides(
    repository: Repository, ours: GitIdentity, theirs: GitIdentity, message: str = "Set it"
) -> tuple[str, str, str]:
    """A step back there, done here."""
    base, here, there = board("review"), board("done"), board("ready-for-dev")
    commit(repository, base, AUTOPILOT_IDENTITY)
    repository.run("checkout", "-qb", "lane")
    commit(repository, here, ours, message)
    repository.run("checkout", "-q", "main")
    commit(repository, there, theirs)
    return base, here, there


@pytest.mark.parametrize(
    ("ours", "theirs", "stands"),
    [
        (AUTOPILOT_IDENTITY, PERSON, "ready-for-dev"),
        (PERSON, AUTOPILOT_IDENTITY, "done"),
        pytest.param(AUTOPILOT_IDENTITY, AUTOPILOT_IDENTITY, "done", marks=pytest.mark.soak),
        (PERSON, PERSON, "done"),
    ],
)
def test_a_persons_word_stands(
    repository: Repository, ours: GitIdentity, theirs: GitIdentity, stands: str
) -> None:
    assert merged(repository, *sides(repository, ours, theirs)) == board(stands)


def test_a_squash_of_ours_is_known_by_its_trailers(repository: Repository) -> None:
    texts = sides(repository, GITHUB, PERSON, "Epic 1\n\nAutopilot-Step: run/dev/1")
    assert merged(repository, *texts) == board("ready-for-dev")


def test_what_came_later_by_another_hand_leaves_the_row_its_own(repository: Repository) -> None:
    """The person set the row; ours has since touched another."""
    base, here, there = sides(repository, AUTOPILOT_IDENTITY, PERSON)
    later = there.replace("backlog", "in-progress")
    commit(repository, later, AUTOPILOT_IDENTITY)
    assert merged(repository, base, here, later) == later
    commit(repository, board("in-progress", "in-progress"), AUTOPILOT_IDENTITY)
    assert merged(repository, base, here, repository.read(PATH).decode()) == board("done", "in-progress")


def test_a_merge_hands_on_what_its_sides_set(repository: Repository) -> None:
    base, here, _ = sides(repository, AUTOPILOT_IDENTITY, PERSON)
    repository.run("checkout", "-qb", "other", "main~1")
    commit(repository, board("review", "done"), AUTOPILOT_IDENTITY)
    repository.run("merge", "-q", "--no-commit", "-s", "ours", "main")
    commit(repository, board("ready-for-dev", "done"), AUTOPILOT_IDENTITY)
    assert merged(repository, base, here, board("ready-for-dev", "done")) == board("ready-for-dev", "done")


def test_what_no_commit_holds_is_nobodys(repository: Repository) -> None:
    base, here, there = sides(repository, AUTOPILOT_IDENTITY, PERSON)
    assert merged(repository, base, here, there + "\n") == here + "\n"


def test_without_a_repository_the_further_one_stands(tmp_path_factory: pytest.TempPathFactory) -> None:
    repository = Repository(tmp_path_factory.mktemp("plain"))
    assert merged(repository, board("review"), board("done"), board("backlog")) == board("done")
