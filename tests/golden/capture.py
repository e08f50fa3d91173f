"""What the golden tests share: comparing with recorded files, running `bmad`, masking what differs by run.

A recorded file is text made of sections. `BMAD_UPDATE_GOLDEN=1 .venv/bin/python -m pytest tests/golden` writes all
files anew and skips every test, so that a run that records is never taken for one that passes."""

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from bmad_autopilot import __version__
from bmad_autopilot.cli import bmad

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = Path(__file__).resolve().parent / "files"

MAX_LINES = 60  # of a difference that is shown
MAX_SHOWN = 4000  # letters of a line

# A section of a recorded file: its title, and its text.
Section = tuple[str, str]


def assert_recorded(name: str, sections: Iterable[Section]) -> None:
    """Compare the sections with the file of this name. BMAD_UPDATE_GOLDEN=1 writes the file and skips the test."""
    text = "".join(f"##### {title}\n{_ended(body)}" for title, body in sections)
    path = FILES / name
    if os.environ.get("BMAD_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
        if os.environ.get("CI"):
            pytest.fail(f"{name} was recorded anew, and nothing was compared")
        pytest.skip(f"{name} was recorded anew, and nothing was compared")
    assert path.is_file(), f"{name} was never recorded: BMAD_UPDATE_GOLDEN=1 records it"
    recorded = path.read_bytes().decode()
    if text != recorded:
        lines = unified_diff(recorded.split("\n"), text.split("\n"), "recorded", "now", n=0, lineterm="")
        shown = "\n".join(line if len(line) <= MAX_SHOWN else _cut(line) for line in islice(lines, MAX_LINES))
        pytest.fail(f"{name} differs from what was recorded:\n{shown}", pytrace=False)


def _cut(line: str) -> str:
    return f"{line[:MAX_SHOWN]}… ({len(line)} letters)"


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n(no newline at the end)\n"


class Typed:
    """Commands as a user types them in one project, each with its output and exit code, one section each."""

    def __init__(self, root: Path, temporary: Path, *, path: str = "") -> None:
        self.root = root
        self.sections: list[Section] = []
        self._environment = _environment(temporary, path or os.environ["PATH"])

    def run(self, *words: str) -> str:
        """In a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "bmad_autopilot", *words],
            cwd=self.root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self._add(words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def read(self, *words: str) -> None:
        """A command that only reads, in this process: it costs no start."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.root)
            done = CliRunner().invoke(bmad, words, prog_name="bmad")
        error = done.exception
        told = "" if error is None or isinstance(error, SystemExit) else f"{error}\n"
        self._add(words, done.exit_code, done.stdout, f"{done.stderr}{told}")

    def each(self, *lines: str) -> None:
        """Several commands that only read, each given as one line."""
        for line in lines:
            self.read(*line.split())

    def _add(self, words: tuple[str, ...], code: int, out: str, err: str) -> None:
        self.sections.append((f"$ bmad {' '.join(words)}", out + (f"--- stderr\n{err}" if err else "")))
        self.sections.append((f"exit code {code}", ""))


def _environment(temporary: Path, path: str) -> dict[str, str]:
    """Just what is needed: an agent's record names the variables that it was given."""
    names = ("HOME", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_TERMINAL_PROMPT", "TERM", "LC_ALL", "TZ")
    kept = {name: os.environ[name] for name in names}
    source = str(REPOSITORY / "src")
    return {**kept, "PATH": path, "TMPDIR": str(temporary), "PYTHONPATH": source, "NO_COLOR": "1"}


class Mask:
    """Replaces what differs from run to run: folders, times, process ids, and every hash by its number.

    A hash keeps its number in all texts of one mask, so that it is seen which ones are the same."""

    def __init__(self, *folders: Path) -> None:
        places = [(str(folder), f"<FOLDER {number}>") for number, folder in enumerate(folders, 1)]
        places += [(os.path.realpath(place), word) for place, word in places]
        places += [
            (shutil.which("sh") or "/bin/sh", "<SH>"),
            (sys.executable, "<PYTHON>"),
            (os.environ["HOME"], "<HOME>"),
            (str(REPOSITORY), "<REPOSITORY>"),
        ]
        self._places = sorted(places, key=lambda pair: -len(pair[0]))
        self._numbers: dict[str, str] = {}

    def know(self, *texts: str) -> None:
        """Number the hashes of these texts first."""
        for text in texts:
            self(text)

    def __call__(self, text: str) -> str:
        for place, word in self._places:
            text = text.replace(place, word)
        for pattern, word in _PATTERNS:
            text = pattern.sub(word, text)
        text = _LONG_NUMBER.sub(lambda found: repr(round(float(found[0]), 6)), text)
        for found in _HASH.findall(text):
            self._numbers.setdefault(found, f"<HASH{len(found)} {len(self._numbers) + 1}>")
        text = _HASH.sub(lambda found: self._numbers[found[0]], text)
        return _SHORT.sub(self._short, text)

    def sections(self, sections: Iterable[Section]) -> Iterator[Section]:
        return ((self(title), self(text)) for title, text in sections)

    def _short(self, found: re.Match[str]) -> str:
        """The first letters of a hash that is known."""
        whole = next((one for one in self._numbers if one.startswith(found[0])), None)
        return found[0] if whole is None else f"{self._numbers[whole][:-1]}, {len(found[0])} letters>"


# Since Python 3.12 `sum` rounds differently in the last digits.
_LONG_NUMBER = re.compile(r"(?<![\w.])\d+\.\d{9,}(?![\w.])")
_HASH = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})(?![0-9a-f])")
_SHORT = re.compile(r"(?<![0-9a-zA-Z.,:])[0-9a-f]{6,16}(?![0-9a-zA-Z])")
_PATTERNS = [
    (re.compile(pattern, re.MULTILINE), word)
    for pattern, word in (
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "<TIME>"),
        (r"\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? \+0000", "<TIME>"),
        (r"\b20\d{6}-\d{6}(-\d)?\b", "<STAMP>"),
        (r"^\d+ 1[789]\d{8}\.\d+$", "<PID> <EPOCH>"),
        (r"\b1[789]\d{8}(\.\d+)?\b", "<EPOCH>"),
        (r"\b\d\d:\d\d:\d\d\b", "<CLOCK>"),
        (r'("[a-z_]*seconds": ?)\d[\d.e-]*', r"\1<SECONDS>"),
        (r'("(?:at|ago|age)": ?)\d+(\.\d+)?', r"\1<SECONDS>"),
        (r'(\["(?:[^"\\]|\\.)*", ?-?\d+, ?)\d[\d.e-]*\]', r"\1<SECONDS>]"),
        (r"\b(?:\d+ min )?\d+(?:\.\d)? s\b", "<SECONDS> s"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<UUID>"),
        (r'("pid": ?)\d+', r"\1<PID>"),
        (r'("host": ?)"[^"]*"', r'\1"<HOST>"'),
        (r"\b\d\d-\d\d-20\d\d \d\d:\d\d\b", "<TIME>"),
        (r"\b20\d\d-\d\d-\d\d \d\d:\d\d\b", "<TIME>"),
        (r"\b20\d\d-\d\d-\d\d\b", "<DATE>"),
        (r"^ +\d+\.\ds  ", "<SECONDS>  "),
        # A call may end before or after its start is written down.
        (r'("rule": ?"state-behind", ?"facts": ?\{"call": ?)"(?:running|ended)"', r'\1"<RUNNING OR ENDED>"'),
        (r"(?<=  )\d\d:\d\d\b", "<CLOCK>"),
        (r"\bjust now\b|\b\d+ (?:s|seconds?|min|minutes?) ago\b", "<AGO>"),
        (r"(\bthe board says (?:last updated|generated) )\d+ days ago\b", r"\1<DAYS> days ago"),
        # The board's date has minutes: an edit in a later minute changes a second line.
        (r"(\bsprint-status\.yaml) \(\+[12] −[12]\)", r"\1 (+<LINES> −<LINES>)"),
        (r'("seconds": ?\{"low": ?)[\d.e-]+(, ?"middle": ?)[\d.e-]+(, ?"high": ?)[\d.e-]+', r"\1<N>\2<N>\3<N>"),
        (r'("(?:begins|ends)": ?)[\d.e-]+', r"\1<SECONDS>"),
        (r"(\.(?:yaml|md|json)\.)[0-9a-f]{8}(\.bak)", r"\1<NAME>\2"),
        (r"(/bmad-)[0-9a-f]{12}(/tmp)", r"\1<NAME>\2"),
        (r'("lines": ?\d+, ?"bytes": ?)\d+', r"\1<BYTES>"),
        (r'("mark": ?)"[0-9a-f]{16}"', r'\1"<MARK>"'),
        (r'("fingerprint": ?)"[0-9a-f]{16}"', r'\1"<FINGERPRINT>"'),
    )
]


def files_of(
    root: Path, mask: Mask, before: dict[str, bytes] | None = None
) -> tuple[list[Section], dict[str, bytes]]:
    """Every file that a run has left in a project, masked, as sections; and their contents. With the contents of
    an earlier moment: only those that are new or differ."""
    found = {str(path.relative_to(root)): path.read_bytes() for path in _files(root)}
    shown = {name: data for name, data in found.items() if before is None or before.get(name) != data}
    texts = {name: data.decode().replace("\0", "<NUL>") for name, data in shown.items()}
    # Hashes are numbered in the order in which the journals name them.
    mask.know(*(text for name, text in sorted(texts.items()) if name.endswith("journal.jsonl")))
    masked = sorted((mask(name), name) for name in texts)
    return [(shown_name, mask(texts[name])) for shown_name, name in masked], found


def _files(root: Path) -> Iterator[Path]:
    git = root / ".git"
    for folder in (root / "_bmad-output", root / "_docs", git / "bmad-autopilot"):
        yield from (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    yield from (path for path in (git / "info" / "exclude", git / "bmad-autopilot-agent") if path.is_file())


def git_of(root: Path, mask: Mask) -> list[Section]:
    """Every commit's message with its trailers, the oldest first, and the names of all references."""
    form = "--format=%an <%ae>, committed by %cn <%ce>%n%B"
    log = _git(root, "log", "--topo-order", "--reverse", form, "HEAD")
    names = sorted(mask(name) for name in _git(root, "for-each-ref", "--format=%(refname)").splitlines())
    unnumbered = sorted(re.sub(r"<HASH40 \d+>", "<HASH40>", name) for name in names)
    return [("git log", mask(log)), ("git for-each-ref", "\n".join(unnumbered) + "\n")]


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout


def without_versions(text: str) -> str:
    """Of `bmad doctor`: the versions of this machine's programs."""
    git = _git(REPOSITORY, "--version").split()[2]
    for version, word in (
        (git, "<GIT>"),
        (platform.python_version(), "<PYTHON VERSION>"),
        (__version__, "<BMAD>"),
    ):
        text = re.sub(rf"(?<![\w.]){re.escape(version)}(?![\w.])", word, text)
    return text.replace(socket.gethostname(), "<HOST>") if len(socket.gethostname()) > 3 else text
