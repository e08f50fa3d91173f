"""A status change is durable, compared, and loses nobody's edit."""

import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bmad_autopilot.board.sprint_status import read_board
from bmad_autopilot.board.sprint_status_writer import check_status, insert_row, set_status
from bmad_autopilot.core.errors import ConflictError, FileError, UsageError
from bmad_autopilot.core.statuses import RowKind
from bmad_autopilot.io import exchange, files

BOARD = "# keep me\ndevelopment_status:\n  epic-1: in-progress\n  1-1-a: review   # why\n  1-2-b: backlog\n"


@pytest.fixture
def board(tmp_path: Path) -> Path:
    path = tmp_path / "sprint-status.yaml"
    path.write_text(BOARD)
    return path


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def backup(state: str) -> Path:
    (found,) = Path(state).glob("sprint-status.yaml.*.bak")
    return found


def test_the_change_lands_and_the_old_board_is_kept(board: Path, state: str) -> None:
    change = set_status(str(board), "1-1-a", "done", state=state)
    assert (change.before, change.after, change.line) == ("review", "done", 4)
    assert board.read_text() == BOARD.replace("review", "done")
    assert backup(state).read_text() == BOARD
    assert sorted(os.listdir(board.parent)) == ["sprint-status.yaml", "state"]


def test_what_already_stands_is_not_written(board: Path, state: str) -> None:
    before = board.stat()
    set_status(str(board), "1-1-a", "review", state=state)
    assert (board.stat().st_ino, board.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_mode_and_link_are_kept(board: Path, tmp_path: Path, state: str) -> None:
    board.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(board)
    set_status(str(link), "1-2-b", "done", state=state)
    assert link.is_symlink()
    assert board.stat().st_mode & 0o777 == 0o640
    assert "1-2-b: done" in board.read_text()


def test_a_link_out_of_the_folder_is_not_written_through(board: Path, tmp_path: Path, state: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "linked").symlink_to(tmp_path)
    (project / "sprint-status.yaml").symlink_to(board)
    for path in ("sprint-status.yaml", "linked/sprint-status.yaml"):
        with pytest.raises(FileError, match="leads out of the project"):
            set_status(str(project / path), "1-2-b", "done", state=state, allowed_root=str(project))
        with pytest.raises(FileError, match="leads out of the project"):
            insert_row(str(project / path), "1-3-c", "backlog", state=state, allowed_root=str(project))
    assert board.read_text() == BOARD
    set_status(str(project / "sprint-status.yaml"), "1-2-b", "done", state=state, allowed_root=str(tmp_path))
    assert "1-2-b: done" in board.read_text()


def test_compare_and_set(board: Path, state: str) -> None:
    with pytest.raises(ConflictError, match="not backlog any more") as caught:
        set_status(str(board), "1-1-a", "done", state=state, expect="backlog")
    assert caught.value.found == "review"
    assert board.read_text() == BOARD
    set_status(str(board), "1-1-a", "done", state=state, expect="review")


def test_a_step_back_must_be_meant(board: Path, state: str) -> None:
    with pytest.raises(UsageError, match="step back"):
        set_status(str(board), "1-1-a", "backlog", state=state)
    assert board.read_text() == BOARD
    set_status(str(board), "1-1-a", "backlog", state=state, regress=True)
    assert "1-1-a: backlog   # why" in board.read_text()


def test_what_is_done_is_not_parked_by_mistake(board: Path, state: str) -> None:
    set_status(str(board), "1-1-a", "done", state=state)
    with pytest.raises(UsageError, match="step back"):
        set_status(str(board), "1-1-a", "skipped", state=state)
    set_status(str(board), "1-1-a", "skipped", state=state, regress=True)


def test_parking_and_unparking_is_no_step_back(board: Path, state: str) -> None:
    set_status(str(board), "1-1-a", "blocked", state=state)
    set_status(str(board), "1-1-a", "ready-for-dev", state=state)


def test_a_broken_board_is_not_touched(board: Path, state: str) -> None:
    board.write_text("development_status:\n  1-1-a: b: c\n")
    with pytest.raises(FileError, match="not valid YAML"):
        set_status(str(board), "1-1-a", "done", state=state)
    assert board.read_text() == "development_status:\n  1-1-a: b: c\n"


def test_an_edit_that_comes_between_is_kept_and_ours_made_on_top(
    board: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody saves the file after we read it and before we replace it."""
    edits = iter(["1-2-b: ready-for-dev", "1-2-b: in-progress"])
    real = files.write_temporary

    def meanwhile(target: str, data: bytes) -> str:
        temporary = real(target, data)
        for edit in edits:
            files.write_atomic(str(board), re.sub("1-2-b: .*", edit, board.read_text()).encode())
            break
        return temporary

    monkeypatch.setattr(exchange, "write_temporary", meanwhile)
    set_status(str(board), "1-1-a", "done", state=state)
    assert "1-1-a: done   # why" in board.read_text()
    assert "1-2-b: in-progress" in board.read_text()


def test_without_an_exchange_an_edit_that_comes_between_is_kept_too(
    board: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "exchange_files", lambda one, other: False)
    test_an_edit_that_comes_between_is_kept_and_ours_made_on_top(board, state, monkeypatch)
    assert backup(state).exists()


def test_who_never_stops_writing_is_named_as_the_reason(
    board: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = files.write_temporary

    def always(target: str, data: bytes) -> str:
        temporary = real(target, data)
        files.write_atomic(str(board), board.read_bytes() + b"# again\n")
        return temporary

    monkeypatch.setattr(exchange, "write_temporary", always)
    with pytest.raises(ConflictError, match="20 times"):
        set_status(str(board), "1-1-a", "done", state=state)
    assert board.read_text().count("# again") == 20
    assert "1-1-a: review" in board.read_text()


def test_a_lock_that_is_held_too_long_is_said(
    board: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = str(tmp_path / "board.lock")
    with files.hold_lock(lock), pytest.raises(ConflictError, match="lock"), files.hold_lock(lock, seconds=0.05):
        raise AssertionError("two owners")


def test_a_half_written_board_is_waited_for(board: Path) -> None:
    """An editor that truncates and writes: a reader in between must not take the half for the whole."""
    half, rest = BOARD[: BOARD.index("  1-2-b")], BOARD[BOARD.index("  1-2-b") :]
    with board.open("w") as handle:
        handle.write(half)
        handle.flush()
        finish = threading.Timer(0.01, lambda: print(rest, end="", file=handle, flush=True))
        finish.start()
        found = read_board(str(board))
        finish.join()
    assert list(found.rows) == ["epic-1", "1-1-a", "1-2-b"]


@pytest.mark.parametrize(
    ("status", "kind", "hint"),
    [
        ("finished", RowKind.STORY, "did you mean done?"),
        ("review", RowKind.EPIC, "did you mean in-progress?"),
        ("blocked", RowKind.RETROSPECTIVE, None),
        ("zebra", RowKind.STORY, None),
    ],
)
def test_a_word_nobody_can_act_on_is_refused(status: str, kind: RowKind, hint: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        check_status(status, kind)
    assert caught.value.hint == hint


def test_words_that_can_be_set() -> None:
    for status, kind in (("done", RowKind.EPIC), ("optional", RowKind.RETROSPECTIVE), ("blocked", RowKind.STORY)):
        check_status(status, kind)


def test_ctrl_c_at_the_worst_moment_keeps_the_others_file(
    board: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted between the exchange and the look at what came out: that may be somebody's only copy."""
    real_beside, real_read = files.write_temporary, files.read_bytes

    def meanwhile(target: str, data: bytes) -> str:
        temporary = real_beside(target, data)
        files.write_atomic(str(board), BOARD.replace("1-2-b: backlog", "1-2-b: done").encode())
        return temporary

    def interrupted(path: str, *, follow: bool = True) -> bytes:
        if path.endswith("tmp") and real_read(path).count(b"1-2-b: done"):
            monkeypatch.setattr(exchange, "read_bytes", real_read)
            raise KeyboardInterrupt
        return real_read(path)

    monkeypatch.setattr(exchange, "write_temporary", meanwhile)
    monkeypatch.setattr(exchange, "read_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        set_status(str(board), "1-1-a", "done", state=state)
    (kept,) = board.parent.glob(".sprint-status.yaml.*tmp")
    assert "1-2-b: done" in kept.read_text()


def test_their_newest_write_stands_when_ours_has_to_give_way(
    board: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They save before our exchange and once more before theirs is put back."""
    real_beside, real_exchange, calls = files.write_temporary, exchange.exchange_files, iter(range(100))

    def meanwhile(target: str, data: bytes) -> str:
        temporary = real_beside(target, data)
        if next(calls) == 0:
            files.write_atomic(str(board), BOARD.replace("1-2-b: backlog", "1-2-b: review").encode())
        return temporary

    swaps = iter(range(100))

    def swap(one: str, other: str) -> bool:
        if next(swaps) == 1:
            files.write_atomic(str(board), BOARD.replace("1-2-b: backlog", "1-2-b: done").encode())
        return real_exchange(one, other)

    monkeypatch.setattr(exchange, "write_temporary", meanwhile)
    monkeypatch.setattr(exchange, "exchange_files", swap)
    set_status(str(board), "1-1-a", "done", state=state)
    assert "1-2-b: done" in board.read_text()
    assert "1-1-a: done   # why" in board.read_text()


def test_who_holds_the_old_file_open_is_waited_for(board: Path, state: str) -> None:
    """Opened before our exchange, written after it: the write would go into the copy we keep."""
    handle = board.open("r+b")
    data = handle.read()

    def write_late() -> None:
        handle.seek(data.index(b"backlog"))
        handle.write(b"blocked")
        handle.close()

    late = threading.Timer(0.1, write_late)
    late.start()
    set_status(str(board), "1-1-a", "done", state=state)
    late.join()
    assert board.read_text() == BOARD.replace("review", "done").replace("backlog", "blocked")


def test_a_save_right_after_ours_without_our_change_has_it_made_again(
    board: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, turns = files.sync_folder, iter(range(100))

    def saved_over(folder: str) -> None:
        real(folder)
        if next(turns) == 0:
            files.write_atomic(str(board), BOARD.replace("1-2-b: backlog", "1-2-b: done").encode())

    monkeypatch.setattr(exchange, "sync_folder", saved_over)
    set_status(str(board), "1-1-a", "done", state=state)
    assert "1-1-a: done   # why" in board.read_text()
    assert "1-2-b: done" in board.read_text()


Edit = Callable[[Path, tuple[str, str]], None]

WRITER = """
import sys
from bmad_autopilot.board.sprint_status import read_board
from bmad_autopilot.board.sprint_status_writer import set_status
from bmad_autopilot.core.errors import ConflictError
path, state, keys, rounds = sys.argv[1], sys.argv[2], sys.argv[3].split(","), int(sys.argv[4])
words = ["backlog", "ready-for-dev", "in-progress", "review", "done"]
now = dict.fromkeys(keys, "backlog")
overwritten = 0
for turn in range(rounds):
    key = keys[turn % len(keys)]
    word = words[(words.index(now[key]) + 1) % len(words)]
    try:
        set_status(path, key, word, state=state, expect=now[key], regress=True)
    except ConflictError:  # somebody saved an old copy over it
        overwritten += 1
        set_status(path, key, word, state=state, regress=True)
    now[key] = word
print(",".join(f"{key}={word}" for key, word in now.items()), overwritten)
"""


def test_a_writer_killed_at_any_moment_leaves_a_whole_board(tmp_path: Path) -> None:
    """Twenty times: kill -9 in the middle of a row of changes. The board is whole and can be written."""
    path, state = tmp_path / "sprint-status.yaml", str(tmp_path / "state")
    keys = [f"1-{n}-a" for n in range(1, 6)]
    text = "# kept\ndevelopment_status:\n" + "".join(f"  {key}: backlog\n" for key in keys)
    rng = random.Random(11)
    for _ in range(20):
        path.write_text(text)
        before = path.stat().st_ino
        arguments = [str(path), state, ",".join(keys), "100000"]
        with subprocess.Popen([sys.executable, "-c", WRITER, *arguments], stderr=subprocess.DEVNULL) as writer:
            try:
                deadline = time.monotonic() + 30
                while path.stat().st_ino == before:  # until it has begun to write
                    assert time.monotonic() < deadline
                time.sleep(rng.random() / 100)
            finally:
                writer.kill()
        found = read_board(str(path))
        assert list(found.rows) == keys
        assert path.read_text().startswith("# kept\n")
        set_status(str(path), "1-1-a", "blocked", state=state, regress=True)


def _write_in_place(path: Path, change: tuple[str, str]) -> None:
    """A person who changes a word for one as long, through a file held open."""
    with path.open("r+b") as handle:
        data = handle.read()
        handle.seek(data.index(change[0].encode()))
        handle.write(change[1].encode())


def _truncate_and_write(path: Path, change: tuple[str, str]) -> None:
    data = files.read_stable(str(path)).text.replace(*change)
    with path.open("w") as handle:
        half = len(data) // 2
        handle.write(data[:half])
        handle.flush()
        handle.write(data[half:])


def _write_and_rename(path: Path, change: tuple[str, str]) -> None:
    data = path.read_text().replace(*change)
    new = path.with_suffix(".new")
    new.write_text(data)
    new.replace(path)


def _comes(path: Path, key: str, status: str) -> bool:
    """While an edit of theirs is put back, the board without it stands there for a moment."""
    deadline = time.monotonic() + 1
    while read_board(str(path)).rows[key].status.raw != status:
        if time.monotonic() > deadline:
            return False
    return True


@pytest.mark.real
@pytest.mark.parametrize("edit", [_write_in_place, _truncate_and_write, _write_and_rename])
def test_two_writers_and_a_person_lose_nothing(
    tmp_path: Path, edit: Callable[[Path, tuple[str, str]], None]
) -> None:
    """600 interleaved changes by two processes, each of which knows what its rows must hold, beside a person who
    edits other rows without any lock, and a reader who must never see a torn board."""
    path = tmp_path / "sprint-status.yaml"
    own = {name: [f"{epic}-{n}-{name}" for n in range(1, 6)] for epic, name in ((1, "one"), (2, "two"))}
    hand = [f"3-{n}-hand" for n in range(1, 6)]
    keys = [key for group in (*own.values(), hand) for key in group]
    path.write_text("development_status:\n" + "".join(f"  {key}: backlog\n" for key in keys))
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(tmp_path / "state"), ",".join(group), "300"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for group in own.values()
    ]
    rng = random.Random(7)
    wanted = dict.fromkeys(hand, "backlog")
    reads = edits = missed = 0
    last = time.monotonic()
    try:
        while any(writer.poll() is None for writer in writers):
            assert list(read_board(str(path)).rows) == keys
            reads += 1
            if time.monotonic() - last > 0.1:  # ten edits a second are more than a person makes
                last = time.monotonic()
                key = rng.choice(hand)
                old, new = wanted[key], "blocked" if wanted[key] == "backlog" else "backlog"
                edit(path, (f"  {key}: {old}", f"  {key}: {new}"))
                edits += 1
                landed = _comes(path, key, new)
                wanted[key] = new if landed else old
                missed += not landed
        ended = [writer.communicate(timeout=60)[0].split() for writer in writers]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    assert [writer.returncode for writer in writers] == [0, 0]
    found = {key: row.status.raw for key, row in read_board(str(path)).rows.items()}
    assert {key: found[key] for key in hand} == wanted
    assert reads > 20
    assert edits > 5
    assert missed == 0
    if edit is _write_in_place:  # it cannot overwrite what is ours
        assert [int(count) for _, count in ended] == [0, 0]
        assert found == dict(pair.split("=") for line, _ in ended for pair in line.split(",")) | wanted
    assert not list(tmp_path.glob(".*tmp"))


def test_a_row_that_is_gone_comes_back_once(board: Path, state: str) -> None:
    before = board.read_bytes()
    insert_row(str(board), "9-9-new", "review", state=state)
    assert read_board(str(board)).rows["9-9-new"].status.raw == "review"
    assert backup(state).read_bytes() == before
    with pytest.raises(ConflictError):
        insert_row(str(board), "9-9-new", "done", state=state)
    assert read_board(str(board)).rows["9-9-new"].status.raw == "review"
