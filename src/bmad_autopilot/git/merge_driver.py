"""Settings that make git's merge commands merge the board and deferred-work.md semantically.

Nothing is installed: a driver in .git/config whose program is gone silently keeps one side. The settings apply to
one command, and their command line falls back to git's line merge with conflict markers.
"""

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec

from ..board.merge_files import MergeKind
from ..core.errors import FileError
from ..io.files import read_bytes
from .git import Git, GitError, encode, is_inside

_NAME = "bmad-{}"

# Isolated mode: no file of the work tree may be imported as a module. Our folders come after the standard library
# for the same reason.
_PROGRAM = "import sys; sys.path += sys.argv[1:3]; from bmad_autopilot.git.merge_program import main; main()"

# Shell fallback. If the program is missing, fails or gives up: git's line merge; if that fails too (binary file),
# both sides in full. Always exit code 1, so that a person reviews the result.
_FALLBACK = (
    "git merge-file -q --marker-size=%L -L ours -L base -L theirs %A %O %B; "
    "test $? -lt 128 || { { echo '<<<<<<< ours'; cat %A; echo; echo =======; "
    "cat %B; echo; echo '>>>>>>> theirs'; } >%A.both && mv -f %A.both %A; }; "
    "echo bmad: %P: merged line by line, look at it >&2; exit 1"
)


@contextmanager
def driver_settings(git: Git, files: Mapping[str, MergeKind]) -> Iterator[tuple[str, ...]]:
    """Settings for Git.ask(settings=…) or `git -c`, valid inside the context and for one repository. `files`:
    paths relative to the top. The user's attributes for other files stay active; the repository's `.gitattributes`
    and `info/attributes` take precedence over ours (see `overridden_files`)."""
    drivers = [f"merge.{_name(meaning)}.driver={_command(meaning)}" for meaning in MergeKind]
    with tempfile.TemporaryDirectory(prefix="bmad-merge-") as folder:
        path = os.path.join(folder, "attributes")
        with open(path, "wb") as handle:
            handle.write(_user_attributes(git))
            for name, meaning in files.items():
                if is_inside(name):
                    handle.write(b"%s merge=%s\n" % (_pattern(name), _name(meaning).encode()))
        yield (f"core.attributesFile={path}", *drivers)


def overridden_files(git: Git, settings: tuple[str, ...], files: Mapping[str, MergeKind]) -> dict[str, str]:
    """Files for which the repository configures another merge driver, and that driver."""
    names = [name for name in files if is_inside(name)]
    fields = git.ask("check-attr", "-z", "merge", "--", *names, settings=settings).fields if names else []
    found = zip(fields[::3], fields[2::3], strict=True)
    return {name: value for name, value in found if value != _name(files[name])}


def _name(meaning: MergeKind) -> str:
    return _NAME.format(meaning.value)


def _command(meaning: MergeKind) -> str:
    if not sys.executable:
        raise GitError("the interpreter that runs this has no name, so git cannot be told of it")
    program = (sys.executable, "-I", "-S", "-c", _PROGRAM, *_folders(), meaning.value)
    return f"{shlex.join(program).replace('%', '%%')} %O %A %B %P || {{ {_FALLBACK}; }}"


def _folders() -> tuple[str, str]:
    """Folders of our package and PyYAML: with -S only the standard library is importable by default."""
    ours = os.path.abspath(__file__)
    for _ in range(3):
        ours = os.path.dirname(ours)
    found = find_spec("yaml")
    assert found is not None
    assert found.origin is not None
    return ours, os.path.dirname(os.path.dirname(os.path.abspath(found.origin)))


def _user_attributes(git: Git) -> bytes:
    """Content of the user's attributes file, which ours replaces."""
    path = git.ask("config", "--type=path", "--get", "core.attributesFile", codes=(0, 1)).text
    if not path:
        folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        path = os.path.join(folder, "git", "attributes")
    with suppress(FileError):  # usually missing; git also ignores an unreadable file
        return read_bytes(os.path.join(git.top, path)) + b"\n"
    return b""


def _pattern(path: str) -> bytes:
    """A pattern that matches exactly this path: globs escaped, quoted as in C."""
    literal = b"".join(b"\\" + bytes((byte,)) if byte in b"\\*?[" else bytes((byte,)) for byte in encode(path))
    quoted = b"".join(
        bytes((byte,)) if 32 <= byte < 127 and byte not in b'\\"' else b"\\%03o" % byte for byte in literal
    )
    return b'"/' + quoted + b'"'
