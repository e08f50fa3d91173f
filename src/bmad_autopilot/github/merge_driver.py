"""git's own merging commands, with the board and deferred-work.md merged by what they mean.

Nothing is installed: a driver in .git/config whose program is gone keeps one side and says nothing of the other.
The settings are for one command, and the command line in them falls back on git's merge of lines, with marks.
"""

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec

from ..board.meanings import Meaning
from ..core.errors import FileError
from ..files import read_bytes
from .git import Git, GitError
from .paths import encode, is_inside

_NAME = "bmad-{}"

# Isolated: the work tree that git stands in holds anybody's files, and none of them is a module of ours. Behind
# the standard library for the same reason.
_PROGRAM = "import sys; sys.path += sys.argv[1:3]; from bmad_autopilot.github.merge_program import main; main()"

# For git's sh. Where the program is gone, ends badly or gives up: git's merge of lines; where even that gives up
# (no text), both sides whole. Always exit code 1 then: somebody has to look.
_ELSE = (
    "git merge-file -q --marker-size=%L -L ours -L base -L theirs %A %O %B; "
    "test $? -lt 128 || { { echo '<<<<<<< ours'; cat %A; echo; echo =======; "
    "cat %B; echo; echo '>>>>>>> theirs'; } >%A.both && mv -f %A.both %A; }; "
    "echo bmad: %P: merged line by line, look at it >&2; exit 1"
)


@contextmanager
def driver_settings(git: Git, files: Mapping[str, Meaning]) -> Iterator[tuple[str, ...]]:
    """For Git.ask(settings=…), or behind `git -c`: as long as this is open, and for one repository. `files`: paths
    from the top. What the user's own attributes say of other files stays; what the repository's `.gitattributes`
    or `info/attributes` say of these goes before ours (see `overruled`)."""
    drivers = [f"merge.{_name(meaning)}.driver={_command(meaning)}" for meaning in Meaning]
    with tempfile.TemporaryDirectory(prefix="bmad-merge-") as folder:
        path = os.path.join(folder, "attributes")
        with open(path, "wb") as handle:
            handle.write(_own_attributes(git))
            for name, meaning in files.items():
                if is_inside(name):
                    handle.write(b"%s merge=%s\n" % (_pattern(name), _name(meaning).encode()))
        yield (f"core.attributesFile={path}", *drivers)


def overruled(git: Git, settings: tuple[str, ...], files: Mapping[str, Meaning]) -> dict[str, str]:
    """Files for which the repository names another way to merge, and which."""
    names = [name for name in files if is_inside(name)]
    fields = git.ask("check-attr", "-z", "merge", "--", *names, settings=settings).fields if names else []
    found = zip(fields[::3], fields[2::3], strict=True)
    return {name: value for name, value in found if value != _name(files[name])}


def _name(meaning: Meaning) -> str:
    return _NAME.format(meaning.value)


def _command(meaning: Meaning) -> str:
    if not sys.executable:
        raise GitError("the interpreter that runs this has no name, so git cannot be told of it")
    program = (sys.executable, "-I", "-S", "-c", _PROGRAM, *_folders(), meaning.value)
    return f"{shlex.join(program).replace('%', '%%')} %O %A %B %P || {{ {_ELSE}; }}"


def _folders() -> tuple[str, str]:
    """Where our package and PyYAML lie: with -S nothing outside the standard library is found by itself."""
    ours = os.path.abspath(__file__)
    for _ in range(3):
        ours = os.path.dirname(ours)
    found = find_spec("yaml")
    assert found is not None
    assert found.origin is not None
    return ours, os.path.dirname(os.path.dirname(os.path.abspath(found.origin)))


def _own_attributes(git: Git) -> bytes:
    """What stands in the file that ours takes the place of."""
    path = git.ask("config", "--type=path", "--get", "core.attributesFile", codes=(0, 1)).text
    if not path:
        folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        path = os.path.join(folder, "git", "attributes")
    with suppress(FileError):  # missing, most of all; git passes over what it cannot read, too
        return read_bytes(os.path.join(git.top, path)) + b"\n"
    return b""


def _pattern(path: str) -> bytes:
    """A path that git reads as this one path, whatever stands in it: no glob, and quoted as in C."""
    literal = b"".join(b"\\" + bytes((byte,)) if byte in b"\\*?[" else bytes((byte,)) for byte in encode(path))
    quoted = b"".join(
        bytes((byte,)) if 32 <= byte < 127 and byte not in b'\\"' else b"\\%03o" % byte for byte in literal
    )
    return b'"/' + quoted + b'"'
