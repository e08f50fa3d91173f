"""What every test stands on: an environment of its own, a small real project, the corpus if there is one."""

import gc
import os
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.bmad_project import ProjectMaker, SampleProject, make_project
from tests.support.isolated_path import IsolatedPath
from tests.support.repositories import Repository, make_repository

pytest_plugins = ["pytester"]

REPOSITORY = Path(__file__).resolve().parent.parent

# Kept from the outside, because they say where things are and carry no secret.
_KEPT = {
    *("PATH", "TMPDIR", "CI", "BMAD_CORPUS", "BMAD_REAL", "BMAD_UPDATE_GOLDEN", "MUTANT_UNDER_TEST"),
    *("VIRTUAL_ENV", "PYTHONPATH"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
}
_KEPT_PREFIXES = ("PYTEST_", "HYPOTHESIS_", "COV_", "COVERAGE_", "PIP_", "UV_", "NPM_CONFIG_")

GIT_CONFIG = """\
[user]
\tname = Test Person
\temail = test@example.invalid
[init]
\tdefaultBranch = main
[commit]
\tgpgSign = false
[gc]
\tauto = 0
"""

_homes = count()

_base = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("default", _base, max_examples=60, derandomize=bool(os.environ.get("CI")))
settings.register_profile("soak", _base, max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def _kept(name: str) -> bool:
    return name.upper() in _KEPT or name.upper().startswith(_KEPT_PREFIXES)


def pytest_collection_finish() -> None:
    """Ten thousand tests and all they import stay to the end: not to be looked through again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Nothing of the user's: no token, no git identity, no colours. An allow-list: new tokens are out too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # `make test &` in a script: children would too
        signal.signal(signal.SIGINT, signal.default_int_handler)
    base = tmp_path_factory.mktemp("environment")
    git_config = base / "gitconfig"
    git_config.write_text(GIT_CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if not _kept(name):
                patch.delenv(name)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_CONFIG_GLOBAL", str(git_config))
        patch.setenv("GIT_TERMINAL_PROMPT", "0")
        patch.setenv("TERM", "xterm")
        patch.setenv("LC_ALL", "C.UTF-8")
        patch.setenv("TZ", "UTC")
        _set_home(patch, base / "home")
        yield base


@pytest.fixture(autouse=True)
def home(_environment: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder for each test."""
    folder = _environment / f"home-{next(_homes)}"
    _set_home(monkeypatch, folder)
    return folder


def _set_home(patch: pytest.MonkeyPatch, folder: Path) -> None:
    folder.mkdir()
    patch.setenv("HOME", str(folder))
    for name, part in (
        ("CONFIG", ".config"),
        ("DATA", ".local/share"),
        ("STATE", ".local/state"),
        ("CACHE", ".cache"),
    ):
        patch.setenv(f"XDG_{name}_HOME", str(folder / part))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Files of public projects. No part of the repository, so a test that needs them may be skipped."""
    named = os.environ.get("BMAD_CORPUS")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip(f"no corpus: BMAD_CORPUS is unset or no folder, and there is no {folder}")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> ProjectMaker:
    """Make a small real BMAD project: `project(board=..., stories={"1-1-x": "done"}, era="build")`."""

    def make(name: str = "project", **parts: object) -> SampleProject:
        return make_project(tmp_path / name, **parts)  # type: ignore[arg-type]

    return make


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IsolatedPath:
    """git, a gh that is logged in, claude, node: all that a healthy project needs."""
    made = IsolatedPath(tmp_path / "bin")
    for name in ("git", "sleep"):
        made.link(name)
    made.add("claude", 'echo "2.1.325 (Claude Code)"')
    made.add("gh", 'echo "gh version 2.102.0 (2026-01-01)"')
    made.add("node", "echo v20.0.0")
    made.add("npm", "echo 10.0.0")
    made.add("bmad", "# from bmad_autopilot.cli import main")
    monkeypatch.setenv("PATH", str(made.bin))
    return made


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return make_repository(tmp_path / "work")
