"""Checks: what is kept of their output, to the byte."""

import os
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.gates import checks
from bmad_autopilot.gates.checks import run_checks
from tests.gates.test_checks import run


def log_of(folder: Path, size: int) -> bytes:
    report = run(folder, f"head -c {size} /dev/zero | tr '\\0' x")
    return Path(report.checks[0].log).read_bytes()


@pytest.mark.parametrize(
    ("size", "kept"),
    [
        (50, b"x" * 50),
        (51, b"x" * 51),
        (100, b"x" * 100),
        (101, b"x" * 50 + "\n[… 1 bytes left out …]\n".encode() + b"x" * 50),
        (5000, b"x" * 50 + "\n[… 4900 bytes left out …]\n".encode() + b"x" * 50),
    ],
)
def test_half_is_kept_from_each_end(tmp_path, monkeypatch, size, kept):
    monkeypatch.setattr(checks, "MAX_OUTPUT", 100)
    assert log_of(tmp_path, size) == kept


def test_a_flood_in_small_pieces_is_bounded_as_it_comes(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "MAX_OUTPUT", 100)
    monkeypatch.setattr(checks, "READ", 30)
    report = run(tmp_path, "for n in $(seq 100 299); do echo $n; done; exit 1")
    log = Path(report.checks[0].log).read_bytes()
    every = "".join(f"{n}\n" for n in range(100, 300)).encode()
    assert log == every[:50] + "\n[… 700 bytes left out …]\n".encode() + every[-50:]
    assert report.failures[0].excerpt.startswith("100\n101")
    assert report.failures[0].excerpt.endswith("298\n299")


def test_a_log_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "logs" / "01.log").mkdir(parents=True)
    with pytest.raises(FileError) as caught:
        run(tmp_path, "true")
    assert caught.value.place is not None
    assert caught.value.place.file.endswith("01.log")


def test_why_a_check_could_not_be_started_stands_in_its_log(tmp_path):
    folder = str(tmp_path / "logs")
    report = run_checks(["true"], str(tmp_path / "nowhere"), {"PATH": os.environ["PATH"]}, folder, seconds=60)
    assert "cannot be started" in Path(report.checks[0].log).read_text()


def test_a_signature_is_sixteen_letters_and_tells_failures_apart(tmp_path):
    one = run(tmp_path, "echo error a; exit 1").signature
    assert len(one) == 16
    assert one != run(tmp_path, "echo error b; exit 1").signature
    assert one != run(tmp_path, "echo error a; exit 1", "echo error b; exit 1").signature


def test_a_check_cannot_end_its_keeper_by_the_way(tmp_path):
    report = run(tmp_path, "kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; echo still here; exit 3")
    assert [(one.exit, one.excerpt) for one in report.failures] == [(3, "still here")]


def test_a_check_that_is_told_has_time_to_tidy_up(tmp_path):
    tidy = "trap 'sleep 0.5; echo done > tidied; exit 0' TERM"
    run(tmp_path, f"{tidy}; while :; do sleep 0.05; done", seconds=0.5)
    assert (tmp_path / "work" / "tidied").exists()


def test_the_time_it_took_is_kept(tmp_path):
    assert 0 < run(tmp_path, "true").checks[0].seconds < 60


def test_the_time_limit_is_told(tmp_path):
    report = run(tmp_path, "exec sleep 60", seconds=0.5)
    assert report.failures[0].excerpt == "[did not end in 0.5 s, and was stopped]"
    assert report.checks[0].exit is None
