"""[worktrees]: read, and refused with the line where it cannot be meant so."""

from pathlib import Path

import pytest

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.project.config import Config, WorktreeSettings, load_config
from bmad_autopilot.project.root import Root


def config(folder: Path, text: str) -> Config:
    (folder / "bmad-autopilot.toml").write_text(text)
    return load_config(Root(str(folder), str(folder), None))


def test_all_of_it(tmp_path: Path) -> None:
    text = """\
[worktrees]
folder = "../lanes"
copy = [".env", "config/local.*"]
post_create = ["npm ci", "make 'all of it'"]
keep = true
"""
    expected = WorktreeSettings("../lanes", (".env", "config/local.*"), ("npm ci", "make 'all of it'"), True)
    assert config(tmp_path, text).worktrees == expected


def test_nothing_said_and_nothing_wanted_differ(tmp_path: Path) -> None:
    assert config(tmp_path, "").worktrees.post_create is None
    assert config(tmp_path, "[worktrees]\npost_create = []\n").worktrees.post_create == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('copy = ["/etc/passwd"]', "no file of the project"),
        ('copy = ["~/.ssh/*"]', "no file of the project"),
        ('copy = ["a/../../b"]', "no file of the project"),
        ('post_create = ["npm \'ci"]', "cannot be read"),
        ('post_create = ["cd x && npm ci"]', "a line for a shell"),
        ("keep = 1", "true or false"),
        ("folder = 3", "must be a text"),
        ('posts_create = ["x"]', "unknown key"),
    ],
)
def test_refused_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(FileError, match=message) as caught:
        config(tmp_path, f"# settings\n[worktrees]\n{line}\n")
    assert caught.value.location is not None
    assert caught.value.location.line == 3
