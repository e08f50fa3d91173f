"""Interpreters for `make smoke`: on PATH or beside the running one, and only those that run."""

import sys
from pathlib import Path

import pytest

from scripts.other_pythons import find_pythons


def interpreter(folder: Path, version: str, says: str) -> str:
    path = folder / "bin" / f"python{version}"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture(autouse=True)
def _nothing_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'path' / 'bin'}")


def test_one_on_path_comes_first(tmp_path: Path) -> None:
    found = interpreter(tmp_path / "path", "3.99", "echo 3.99")
    interpreter(tmp_path / "versions" / "3.99.1", "3.99", "echo 3.99")
    assert find_pythons(("3.99",), str(tmp_path / "versions" / "3.11.7")) == {"3.99": found}


def test_one_beside_the_running_version_is_found(tmp_path: Path) -> None:
    found = interpreter(tmp_path / "versions" / "3.99.1", "3.99", "echo 3.99")
    assert find_pythons(("3.98", "3.99"), str(tmp_path / "versions" / "3.11.7")) == {"3.99": found}


@pytest.mark.parametrize("says", ["echo not set >&2; exit 1", "echo 3.8"])
def test_one_that_does_not_run_or_is_another_version_is_passed_over(tmp_path: Path, says: str) -> None:
    interpreter(tmp_path / "path", "3.99", says)
    found = interpreter(tmp_path / "versions" / "3.99.1", "3.99", "echo 3.99")
    assert find_pythons(("3.99",), str(tmp_path / "versions" / "3.11.7")) == {"3.99": found}


def test_the_running_version_is_left_out(tmp_path: Path) -> None:
    running = "{}.{}".format(*sys.version_info)
    interpreter(tmp_path / "path", running, f"echo {running}")
    assert find_pythons((running,), str(tmp_path / "versions" / "x")) == {}
