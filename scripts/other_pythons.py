"""Print the further Python interpreters of this machine that we support, one path in each line.

`make smoke` runs a part of the tests on each of them. An interpreter is looked for on PATH (`python3.12`) and, as
version managers keep them, beside the folder of the running one (`…/versions/3.11.7` → `…/versions/3.12.1`)."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VERSIONS = ("3.12", "3.13")
SECONDS = 10.0  # for an interpreter to say its version
_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


def find_pythons(versions: tuple[str, ...] = VERSIONS, prefix: str = sys.base_prefix) -> dict[str, str]:
    """Version → interpreter, for each version that is here and is not the running one."""
    running = "{}.{}".format(*sys.version_info)
    found = {}
    for version in versions:
        works = (path for path in _candidates(version, prefix) if _says(path) == version)
        path = next(works, None)
        if path is not None and version != running:
            found[version] = path
    return found


def _candidates(version: str, prefix: str) -> Iterator[str]:
    on_path = shutil.which(f"python{version}")
    if on_path is not None:
        yield on_path
    for folder in sorted(Path(prefix).parent.glob(f"*{version}*"), reverse=True):
        yield str(folder / "bin" / f"python{version}")


def _says(path: str) -> str:
    """The version that the interpreter reports. Empty: it does not run, as a version manager's unset shim."""
    try:
        done = subprocess.run([path, "-c", _VERSION], capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    pythons = find_pythons()
    if not pythons:
        print(f"no other Python of {', '.join(VERSIONS)} was found", file=sys.stderr)
    print("\n".join(pythons.values()))
