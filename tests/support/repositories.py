"""Real git repositories for tests, and file names that are hard to parse."""

import atexit
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

from bmad_autopilot.git.git import Git
from bmad_autopilot.git.history import GitIdentity

USER = GitIdentity("Test Person", "test@example.invalid")

# Valid file names that break a careless parser of git's output.
ODD_NAMES = (
    "a b.txt",
    'quo"te',
    "line\nbreak",
    "tab\there",
    "-n",
    "--all",
    ":(glob)*",
    ":/top",
    "!not",
    "#hash",
    "star*",
    "back\\slash",
    "café",  # one character
    "cafe\u0301",  # the same to the eye
    "日本",
    "\udcff\udcfe.bin",  # bytes that are no UTF-8
    " lead",
    "trail ",
    "dir/in side/fi'le",
    "=>",
    "a => b",
    "{a => b}",
)

_LETTERS = st.characters(codec="utf-8", exclude_characters="/\0\\")
_BYTES = st.binary(min_size=1, max_size=8).map(lambda raw: raw.replace(b"/", b"x").replace(b"\0", b"y"))
_PART = st.one_of(
    st.sampled_from([name for name in ODD_NAMES if "/" not in name]),
    st.text(_LETTERS, min_size=1, max_size=8),
    _BYTES.map(lambda raw: raw.decode("utf-8", "surrogateescape")),
).filter(
    lambda part: not part.lower().startswith((".", "git")) and len(part.encode("utf-8", "surrogateescape")) < 60
)
# Always below a folder, so that no name is a file in one example and a folder in another.
odd_paths = st.tuples(st.integers(0, 3), _PART).map(lambda pair: f"d{pair[0]}/{pair[1]}")


class Repository:
    """A work tree with a first commit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.git = Git(str(path))

    def run(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.path, check=True, capture_output=True)
        return done.stdout.decode("utf-8", "surrogateescape").strip("\n")

    def write(self, name: str, content: str | bytes) -> Path:
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def commit(self, message: str = "More") -> str:
        self.run("add", "--all")
        self.run("commit", "--quiet", "--allow-empty", "--message", message)
        return self.head

    @property
    def head(self) -> str:
        return self.run("rev-parse", "HEAD")

    def tree(self, revision: str = "HEAD") -> str:
        return self.run("rev-parse", f"{revision}^{{tree}}")

    def status(self) -> list[str]:
        out = self.run("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
        return sorted(filter(None, out.split("\0")))

    def names(self, revision: str = "HEAD") -> list[str]:
        return [name for name in self.run("ls-tree", "-r", "-z", "--name-only", revision).split("\0") if name]


def make_repository(path: Path) -> Repository:
    """A copy of a template, which is ten times as fast as `git init` and a commit."""
    shutil.copytree(_template(), path)
    return Repository(path)


@cache
def _template() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="repository-"))
    atexit.register(shutil.rmtree, folder)
    template = Repository(folder)
    template.run("init", "--quiet")
    shutil.rmtree(folder / ".git/hooks")
    template.write("readme.txt", "hello\n")
    template.commit("Begin")
    return folder


# Makes a bare repository as a work tree's origin, by copying instead of running git.


def make_origin(repository: Repository, path: Path) -> Path:
    shutil.copytree(repository.path / ".git", path)
    settings = path / "config"
    settings.write_text(settings.read_text().replace("bare = false", "bare = true"))
    with (repository.path / ".git/config").open("a") as own:
        own.write(f'[remote "origin"]\n\turl = {path}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n')
    return path
