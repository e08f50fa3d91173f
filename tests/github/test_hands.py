"""Where both sides set a row, a person's word stands, and the commits tell whose it was."""

import subprocess

import pytest

from bmad_autopilot.board.meanings import Meaning
from bmad_autopilot.github.hands import merge_as_meant
from bmad_autopilot.github.identities import OURS, Identity
from tests.github.repositories import Repository

PATH = "sprint-status.yaml"
PERSON = Identity("A Person", "person@example.invalid")
GITHUB = Identity("GitHub", "noreply@example.invalid")


def board(status: str, other: str = "backlog") -> str:
    return f"development_status:\n  1-1-a: {status}\n  1-2-b: {other}\n"


def commit(repository: Repository, text: str, who: Identity, message: str = "Set it") -> None:
    repository.write(PATH, text)
    repository.run("add", "--all")
    environment = [f"{name}={value}" for name, value in who.as_environment("COMMITTER").items()]
    command = ["env", *environment, "git", "commit", "-q", "-m", message]
    subprocess.run(command, cwd=repository.path, check=True)


def merged(repository: Repository, *texts: str) -> str:
    base, ours, theirs = (text.encode() for text in texts)
    found = merge_as_meant(repository.git, PATH, Meaning.BOARD, base, ours, theirs)
    assert found is not None
    return found.data.decode()


def sides(
    repository: Repository, ours: Identity, theirs: Identity, message: str = "Set it"
) -> tuple[str, str, str]:
    """A step back there, done here."""
    base, here, there = board("review"), board("done"), board("ready-for-dev")
    commit(repository, base, OURS)
    repository.run("checkout", "-qb", "lane")
    commit(repository, here, ours, message)
    repository.run("checkout", "-q", "main")
    commit(repository, there, theirs)
    return base, here, there


@pytest.mark.parametrize(
    ("ours", "theirs", "stands"),
    [
        (OURS, PERSON, "ready-for-dev"),
        (PERSON, OURS, "done"),
        pytest.param(OURS, OURS, "done", marks=pytest.mark.soak),
        (PERSON, PERSON, "done"),
    ],
)
def test_a_persons_word_stands(repository: Repository, ours: Identity, theirs: Identity, stands: str) -> None:
    assert merged(repository, *sides(repository, ours, theirs)) == board(stands)


def test_a_squash_of_ours_is_known_by_its_trailers(repository: Repository) -> None:
    texts = sides(repository, GITHUB, PERSON, "Epic 1\n\nAutopilot-Step: run/dev/1")
    assert merged(repository, *texts) == board("ready-for-dev")


def test_what_came_later_by_another_hand_leaves_the_row_its_own(repository: Repository) -> None:
    """The person set the row; ours has since touched another."""
    base, here, there = sides(repository, OURS, PERSON)
    later = there.replace("backlog", "in-progress")
    commit(repository, later, OURS)
    assert merged(repository, base, here, later) == later
    commit(repository, board("in-progress", "in-progress"), OURS)
    assert merged(repository, base, here, repository.read(PATH).decode()) == board("done", "in-progress")


def test_a_merge_hands_on_what_its_sides_set(repository: Repository) -> None:
    base, here, _ = sides(repository, OURS, PERSON)
    repository.run("checkout", "-qb", "other", "main~1")
    commit(repository, board("review", "done"), OURS)
    repository.run("merge", "-q", "--no-commit", "-s", "ours", "main")
    commit(repository, board("ready-for-dev", "done"), OURS)
    assert merged(repository, base, here, board("ready-for-dev", "done")) == board("ready-for-dev", "done")


def test_what_no_commit_holds_is_nobodys(repository: Repository) -> None:
    base, here, there = sides(repository, OURS, PERSON)
    assert merged(repository, base, here, there + "\n") == here + "\n"


def test_without_a_repository_the_further_one_stands(tmp_path_factory: pytest.TempPathFactory) -> None:
    repository = Repository(tmp_path_factory.mktemp("plain"))
    assert merged(repository, board("review"), board("done"), board("backlog")) == board("done")
