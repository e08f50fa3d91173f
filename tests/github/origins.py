"""A bare repository as a work tree's origin: copied, no git process is needed for it."""

import shutil
from pathlib import Path

from tests.github.repositories import Repository


def make_origin(repository: Repository, path: Path) -> Path:
    shutil.copytree(repository.path / ".git", path)
    settings = path / "config"
    settings.write_text(settings.read_text().replace("bare = false", "bare = true"))
    with (repository.path / ".git/config").open("a") as own:
        own.write(f'[remote "origin"]\n\turl = {path}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n')
    return path
