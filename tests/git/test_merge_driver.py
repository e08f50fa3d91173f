"""The driver as git runs it: by sh, on three files, in a folder that holds anybody's modules."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from bmad_autopilot.board.merge_files import MergeKind
from bmad_autopilot.git import merge_driver
from bmad_autopilot.git.git import GitError
from bmad_autopilot.git.merge_driver import driver_settings, overridden_files
from tests.support.repositories import ODD_NAMES, Repository, odd_paths

BASE = "development_status:\n  1-1-a: review\n  1-2-b: backlog\n"
OURS = BASE.replace("backlog", "done")
THEIRS = BASE.replace("review", "done")
BOTH = OURS.replace("review", "done")


class Done:
    def __init__(self, folder: Path, versions: tuple[bytes, bytes, bytes], meaning: MergeKind) -> None:
        for name, data in zip(("base", "ours", "theirs"), versions, strict=True):
            (folder / name).write_bytes(data)
        words = {"O": "base", "A": "ours", "B": "theirs", "L": "9", "P": "'a b'", "%": "%"}
        command = re.sub("%(.)", lambda found: words[found[1]], merge_driver._command(meaning))
        ran = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, check=False)
        self.code = ran.returncode
        self.said = ran.stderr.decode()
        self.data = (folder / "ours").read_bytes()
        self.left = {path.name for path in folder.iterdir()} - {"base", "ours", "theirs"}


def merge(folder: Path, base: str | bytes, ours: str | bytes, theirs: str | bytes, what: str = "board") -> Done:
    versions = tuple(data if isinstance(data, bytes) else data.encode() for data in (base, ours, theirs))
    done = Done(folder, versions, MergeKind(what))  # type: ignore[arg-type]
    assert not done.left
    return done


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_merge_by_meaning_is_written_and_says_nothing(tmp_path: Path, end: str) -> None:
    done = merge(tmp_path, *(text.replace("\n", end) for text in (BASE, OURS, THEIRS)))
    assert (done.code, done.data, done.said) == (0, BOTH.replace("\n", end).encode(), "")


def test_both_sides_began_the_file(tmp_path: Path) -> None:
    assert merge(tmp_path, "", OURS, THEIRS).data == BOTH.encode()


def test_two_changes_of_one_row_are_told(tmp_path: Path) -> None:
    done = merge(tmp_path, BASE, OURS, BASE.replace("backlog", "review"))
    assert (done.code, done.data) == (0, OURS.encode())
    assert done.said == "bmad: a b: 1-2-b: done here, review there; done stands\n"


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        ("a\n", "a\nours\n", "a\ntheirs\n"),  # neither board nor anything
        (BASE, f"{OURS}x: [\n".encode(), f"{THEIRS}y: 1\n".encode()),
        (BASE, OURS.replace("done", "\xff").encode("latin-1"), BASE.replace("backlog", "theirs")),
        (b"a\0", OURS.encode(), b"theirs\0"),
        (BASE.encode("utf-16"), OURS.encode("utf-16"), THEIRS.encode("utf-16")),
    ],
)
def test_what_is_no_board_has_both_sides_and_marks(
    tmp_path: Path, base: str | bytes, ours: str | bytes, theirs: str | bytes
) -> None:
    done = merge(tmp_path, base, ours, theirs)
    assert done.code == 1
    assert b"<<<<<<<" in done.data
    assert b">>>>>>>" in done.data
    assert "look at it" in done.said
    sides = [side.encode() if isinstance(side, str) else side for side in (ours, theirs)]
    lines = [line for side in sides for line in side.split(b"\n")]
    assert all(line in done.data for line in lines)


def test_marks_are_as_long_as_git_wants_them(tmp_path: Path) -> None:
    assert b"<" * 9 + b" ours\n" in merge(tmp_path, "a", "b\n", "c\n").data


def test_a_merge_of_lines_is_never_taken_for_done(tmp_path: Path) -> None:
    """git would be content with it."""
    done = merge(tmp_path, "1\n2\n3\n4\n", "0\n1\n2\n3\n4\n", "1\n2\n3\n4\n5\n")
    assert (done.code, done.data) == (1, b"0\n1\n2\n3\n4\n5\n")


def test_an_over_large_file_is_merged_by_git(tmp_path: Path) -> None:
    large = "#" * 60 + "\n"
    done = merge(tmp_path, BASE, OURS + large * 280_000, THEIRS)
    assert done.code == 1
    assert "too large" in done.said
    assert done.data.startswith(b"development_status:\n<<<<<<<<<")


def test_deferred_work(tmp_path: Path) -> None:
    assert merge(tmp_path, "- a\n", "- a\n- b\n", "- a\n- c\n", "deferred").data == b"- a\n- b\n- c\n"
    done = merge(tmp_path, "- a\n", "- b\n", "- c\n", "deferred")
    assert done.code == 1
    assert b"<<<<<<<<< ours\n- b\n" in done.data


def test_modules_of_the_work_tree_are_not_ours(tmp_path: Path) -> None:
    for name in ("re.py", "bmad_autopilot.py", "yaml.py", "enum.py", "sitecustomize.py"):
        (tmp_path / name).write_text("raise SystemExit(0)\n")
    done = Done(tmp_path, (BASE.encode(), OURS.encode(), THEIRS.encode()), MergeKind.BOARD)
    assert (done.code, done.data) == (0, BOTH.encode())


def test_odd_boards_find_their_parser(tmp_path: Path) -> None:
    odd = "development_status: {1-1-a: review}\n"
    assert merge(tmp_path, odd, odd.replace("review", "done"), odd).data == odd.replace("review", "done").encode()


@pytest.mark.parametrize("program", ["/no/such/python", "/dev/null", "false"])
def test_a_program_that_cannot_run_leaves_both_sides(
    tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    done = merge(tmp_path, BASE, OURS, THEIRS)
    assert done.code == 1
    assert b"1-2-b: done" in done.data
    assert b"1-1-a: done" in done.data


def test_an_interpreter_with_a_strange_name_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / '100% it\'s "$HOME" `x` %A'
    folder.mkdir()
    program = folder / "py thon"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    (tmp_path / "work").mkdir()
    assert merge(tmp_path / "work", BASE, OURS, THEIRS).data == BOTH.encode()


def test_without_a_name_of_the_interpreter_nothing_is_begun(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(GitError), driver_settings(repository.git, {}):
        pass


def attributes(repository: Repository, names: list[str]) -> dict[str, str]:
    """Which names git would give to our driver, when it is told of the first."""
    with driver_settings(repository.git, {names[0]: MergeKind.BOARD}) as given:
        return overridden_files(repository.git, given, dict.fromkeys(names, MergeKind.BOARD))


@given(odd_paths)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_git_reads_a_path_as_itself(repository: Repository, name: str) -> None:
    assert attributes(repository, [name, "d0/other", "x/" + name]) == {
        "d0/other": "unspecified",
        "x/" + name: "unspecified",
    }


def test_git_reads_odd_names_as_themselves(repository: Repository) -> None:
    files = dict.fromkeys(ODD_NAMES, MergeKind.DEFERRED)
    with driver_settings(repository.git, files) as given:
        assert overridden_files(repository.git, given, files) == {}


def test_a_path_out_of_the_repository_is_passed_over(repository: Repository) -> None:
    with driver_settings(repository.git, {"../x": MergeKind.BOARD, ".git/config": MergeKind.BOARD}) as given:
        assert Path(given[0].partition("=")[2]).read_bytes() == b""


def test_the_attributes_that_the_user_named_stay(repository: Repository, home: Path) -> None:
    (home / "mine").write_text("*.txt merge=union")
    repository.run("config", "core.attributesFile", "~/mine")
    with driver_settings(repository.git, {"a.yaml": MergeKind.BOARD}) as given:
        said = repository.git.ask("check-attr", "merge", "--", "a.txt", "a.yaml", settings=given).text
        folder = Path(given[0].partition("=")[2]).parent
    assert said == "a.txt: merge: union\na.yaml: merge: bmad-board"
    assert not folder.exists()
