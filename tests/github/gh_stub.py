"""A gh that says what it was told to, and remembers how it was asked."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from bmad_autopilot.github.gh import Gh

SCRIPT = """#!/bin/sh
cd {folder} || exit 99
n=$(cat count)
echo $((n + 1)) > count
for one in "$@"; do printf '%s\\n' "$one"; done > "$n.argv"
env > "$n.env"
cat > "$n.stdin"
[ -e "$n.hang" ] && exec sleep 60
cat "$n.out"
cat "$n.err" >&2
exit "$(cat "$n.code")"
"""


class Asked(NamedTuple):
    argv: list[str]
    stdin: str
    environment: dict[str, str]


class StubGh:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "count").write_text("0")
        program = folder / "bin" / "gh"
        program.parent.mkdir()
        program.write_text(SCRIPT.format(folder=folder))
        program.chmod(0o755)
        self._prepared = 0

    @property
    def path(self) -> str:
        return f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def answer(self, status: int, body: str | bytes = "", code: int | None = None, **headers: str) -> None:
        """The next answer, as `gh api -i` prints it. Header names with `_` for `-`."""
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        data = body.encode() if isinstance(body, str) else body
        failed = status >= 300
        self._prepare(f"HTTP/2.0 {status} Word\n{lines}\r\n".encode() + data, "", failed if code is None else code)

    def silent(self, code: int, err: str) -> None:
        self._prepare(b"", err, code)

    def hang(self) -> None:
        (self.folder / f"{self._prepared}.hang").touch()
        self._prepared += 1

    def _prepare(self, out: bytes, err: str, code: int) -> None:
        for name, data in (("out", out), ("err", err.encode()), ("code", str(int(code)).encode())):
            (self.folder / f"{self._prepared}.{name}").write_bytes(data)
        self._prepared += 1

    @property
    def asked(self) -> list[Asked]:
        """Every call so far; that nothing more was asked than prepared shows in their number."""
        count = int((self.folder / "count").read_text())
        return [self._read(i) for i in range(count)]

    def _read(self, i: int) -> Asked:
        argv = (self.folder / f"{i}.argv").read_text().splitlines()
        lines = (self.folder / f"{i}.env").read_text().splitlines()
        return Asked(
            argv,
            (self.folder / f"{i}.stdin").read_text(),
            dict(line.split("=", 1) for line in lines if "=" in line),
        )


class Waits(list[float]):
    """What was waited for, in a time that passes only so."""

    now = 1_800_000_000.0

    def wait(self, seconds: float) -> None:
        self.append(round(seconds, 3))
        self.now += seconds

    def clock(self) -> float:
        return self.now


def stub(folder: Path, patch: pytest.MonkeyPatch) -> StubGh:
    made = StubGh(folder)
    patch.setenv("PATH", made.path)
    return made


def gh_with(waits: Waits, host: str = "github.com", seconds: float = 30.0) -> Gh:
    return Gh(host, wait=waits.wait, clock=waits.clock, seconds=seconds)
