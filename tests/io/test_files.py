"""The door to the file system: what cannot be read is said, what is written is whole."""

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.io import exchange as exchange_module
from bmad_autopilot.io import files
from bmad_autopilot.io.exchange import exchange_files, replace_if_unchanged


def refused(path: Path) -> FileError:
    with pytest.raises(FileError) as caught:
        files.read_text(str(path))
    return caught.value


def test_a_directory_in_place_of_a_file(tmp_path: Path) -> None:
    assert refused(tmp_path).found == "a directory"


def test_a_missing_file(tmp_path: Path) -> None:
    assert refused(tmp_path / "x").message == "no such file"


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert refused(tmp_path / "fifo").found == "a named pipe"


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(path: str, flags: int) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:  # the module is everybody's: fixtures open files too
        patch.setattr("bmad_autopilot.io.files.os.open", forbidden)
        error = refused(tmp_path / "x")
    assert error.message == "cannot be read: Permission denied"


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big"
    with path.open("wb") as handle:
        handle.truncate(50_000_000)
    error = refused(path)
    assert (error.found, error.expected) == ("50.0 MB", "at most 17 MB")


@pytest.mark.parametrize(
    ("raw", "line", "column", "says"),
    [
        (b"a: b\nc\0d\n", 2, 2, "NUL"),
        (b"a: b\n\nxy\xff\n", 3, 3, "UTF-8"),
        ("a: é\n".encode("latin-1"), 1, 4, "UTF-8"),
        ("a: b".encode("utf-16"), 1, 1, "UTF-8"),
    ],
)
def test_what_is_not_utf8_text_is_shown_where(
    tmp_path: Path, raw: bytes, line: int, column: int, says: str
) -> None:
    path = tmp_path / "x"
    path.write_bytes(raw)
    error = refused(path)
    assert says in error.message
    assert error.location == (str(path), line, column)


def test_the_byte_order_mark_is_taken_off_and_remembered(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xef\xbb\xbfa")
    text = files.read_text(str(path))
    assert (text.text, text.bom, text.raw) == ("a", True, b"\xef\xbb\xbfa")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    path.write_text("old")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bmad_autopilot.io.files.os.fsync", full)
    with pytest.raises(FileError, match="No space left"):
        files.write_atomic(str(path), b"new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x"]


def test_a_write_into_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be written"):
        files.write_atomic(str(tmp_path / "none" / "x"), b"new")


def test_what_we_write_is_known_to_be_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader need not wait for a file that was renamed into place, however young it is."""
    path = tmp_path / "x"
    files.write_atomic(str(path), b"new")
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("waited"))
    assert files.read_stable(str(path)).raw == b"new"


def test_a_half_written_file_that_was_renamed_is_still_half(tmp_path: Path) -> None:
    """An editor truncates, and the file is moved before it is filled: its inode has changed, its content not."""
    path, other = tmp_path / "x", tmp_path / "y"
    with path.open("w") as handle:
        os.rename(path, other)
        os.rename(other, path)
        fill = threading.Timer(0.1, lambda: print("whole", file=handle, flush=True))
        fill.start()
        assert files.read_stable(str(path)).text == "whole\n"
        fill.join()


def test_an_empty_file_is_empty_after_a_while(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("")
    os.utime(path, (1, 1))
    assert files.read_stable(str(path)).text == ""


def test_a_lock_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError, match="symbolic link"), files.hold_lock(str(tmp_path / "lock")):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_exchange_swaps_two_files(tmp_path: Path) -> None:
    one, two = tmp_path / "1", tmp_path / "2"
    one.write_text("one")
    two.write_text("two")
    if not exchange_files(str(one), str(two)):
        pytest.skip("this file system cannot exchange files")
    assert (one.read_text(), two.read_text()) == ("two", "one")
    assert not exchange_files(str(one), str(tmp_path / "none"))


def test_a_lock_excludes_and_is_free_again(tmp_path: Path) -> None:
    lock = str(tmp_path / "lock")
    with files.hold_lock(lock):
        pass
    with files.hold_lock(lock, seconds=0.1):
        pass


# In the place of a regular file


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the address of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link to a file": (lambda path: path.symlink_to(path.parent / "users"), "a symbolic link to "),
    "a link to nothing": (lambda path: path.symlink_to("nothing"), "a symbolic link to nothing"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "a symbolic link to x"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "a symbolic link to /dev/zero"),
    "a pipe": (lambda path: os.mkfifo(path), "a named pipe"),
    "a folder": (lambda path: path.mkdir(), "a directory"),
    "a socket": (_socket, "a socket"),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_regular_file_is_neither_read_nor_written(tmp_path: Path, odd: str) -> None:
    make, found = ODD[odd]
    users, path = tmp_path / "users", tmp_path / "x"
    users.write_text("mine")
    make(path)
    acts: list[Callable[[], object]] = [
        lambda: files.read_bytes(str(path), follow=False),
        lambda: files.read_stable(str(path), follow=False),
        lambda: files.write_atomic(str(path), b"ours"),
        lambda: files.copy_file(str(path), str(tmp_path / "copy")),
        lambda: files.copy_file(str(users), str(path)),
        lambda: replace_if_unchanged(str(path), b"mine", b"ours", str(tmp_path / "backup")),
        lambda: files.hold_lock(str(path)).__enter__(),
    ]
    for act in acts:
        with pytest.raises(FileError) as caught:
            act()
        assert str(caught.value.location) == str(path)
        assert (caught.value.found or "").startswith(found)
        assert "ls -ld" in (caught.value.hint or "")
    assert users.read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["users", "x"]


def test_a_device_behind_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("/dev/zero")
    assert refused(tmp_path / "x").found == "a symbolic link to /dev/zero, which is a character device"


def test_another_name_of_the_same_file_keeps_its_content(tmp_path: Path) -> None:
    users, path = tmp_path / "users", tmp_path / "x"
    users.write_text("mine")
    os.link(users, path)
    files.write_atomic(str(path), b"ours")
    assert replace_if_unchanged(str(path), b"ours", b"ours again", str(tmp_path / "backup"))
    assert (path.read_text(), users.read_text()) == ("ours again", "mine")


def test_a_link_that_comes_while_a_file_is_exchanged_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    users, path = tmp_path / "users", tmp_path / "x"
    users.write_text("before")
    path.write_text("before")
    real = files.write_temporary

    def meanwhile(target: str, data: bytes) -> str:
        written = real(target, data)
        if target == str(path):
            path.unlink()
            path.symlink_to(users)
        return written

    monkeypatch.setattr(exchange_module, "write_temporary", meanwhile)
    assert not replace_if_unchanged(str(path), b"before", b"after", str(tmp_path / "backup"))
    with pytest.raises(FileError, match="symbolic link"):
        files.read_stable(str(path), follow=False)
    assert users.read_text() == "before"


def test_a_copy_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 100)
    with pytest.raises(FileError, match="too large"):
        files.copy_file(str(tmp_path / "large"), str(tmp_path / "copy"), limit=99)
    files.copy_file(str(tmp_path / "large"), str(tmp_path / "copy"), limit=100)
    assert (tmp_path / "copy").read_bytes() == b"x" * 100


def test_a_link_may_lead_elsewhere_inside_but_not_out(tmp_path: Path) -> None:
    inside, outside = tmp_path / "project", tmp_path / "project-of-mine"
    inside.mkdir()
    outside.mkdir()
    (inside / "board").symlink_to("shared/board")
    assert files.resolve_inside(str(inside / "board"), str(inside)) == str(inside / "shared/board")
    (inside / "folder").symlink_to(outside)
    for path in ("folder/board", "../project-of-mine/board"):
        with pytest.raises(FileError, match="leads out of the project"):
            files.resolve_inside(str(inside / path), str(inside))
