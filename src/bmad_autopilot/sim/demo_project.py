"""The project that is shown: the sample, made to look the same on every machine."""

import os
import re
import shlex
import subprocess
import sys
import time

from ..core.errors import AutopilotError
from ..files import read_text, write_atomic
from ..project.programs import find_program
from .sample import BOARD, make_sample, scripted

EPICS, STORIES = 2, 3
HABITS = "picky:1-1,asking:1-3"  # 1-1 goes through a review round, 1-3's agent asks
CHECK = "./check"


def make_project(root: str, seconds: float) -> None:
    """`seconds`: how long an agent takes for a call."""
    if find_program("git") is None:
        raise AutopilotError("git is not installed", expected="git 2.30 or newer on PATH")
    os.mkdir(root)
    try:
        make_sample(root, EPICS, STORIES, agent_command=scripted(HABITS, seconds))
        _fit_for_show(root)
        hub = f"{root}.git"
        for words in (
            ("add", "--all"),
            ("commit", "--quiet", "--no-verify", "--amend", "--no-edit"),
            ("init", "--quiet", "--bare", "--initial-branch", "main", hub),
            ("remote", "add", "origin", hub),
            ("push", "--quiet", "origin", "main"),
        ):
            subprocess.run(["git", *words], cwd=root, check=True, stdin=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        said = f"`{' '.join(error.cmd)}` ended with exit code {error.returncode}"
        raise AutopilotError(f"no project could be made to show: {said}", hint="bmad doctor") from None


def use_plain_git() -> None:
    """As on a fresh machine: no hook, signature or pager of the user's, and not the repository of a hook that we
    are called from."""
    for name in [name for name in os.environ if name.startswith("GIT_") and name != "GIT_EXEC_PATH"]:
        del os.environ[name]
    os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"}


def _fit_for_show(root: str) -> None:
    """A board of today, and a check whose name is short: the path of a Python may be long."""
    script = os.path.join(root, CHECK)
    write_atomic(script, f"#!/bin/sh\nexec {shlex.quote(sys.executable)} check.py\n".encode())
    os.chmod(script, 0o700)
    _change(os.path.join(root, "bmad-autopilot.toml"), r"(?m)^test = .*$", f'test = ["{CHECK}"]')
    with open(os.path.join(root, "bmad-autopilot.toml"), "ab") as file:
        file.write(b"\n[github]\ncheck_interval = 5\ncheck_grace = 5\n")
    _change(os.path.join(root, BOARD), r"\d\d-\d\d-\d{4} \d\d:\d\d", time.strftime("%m-%d-%Y %H:%M"))


def _change(path: str, pattern: str, text: str) -> None:
    write_atomic(path, re.sub(pattern, text, read_text(path).text).encode())
