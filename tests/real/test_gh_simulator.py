"""The real gh, both versions, and the real git against the simulated GitHub."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.github.forge import COPILOT, CheckState, NewPull, Pull, PullState
from bmad_autopilot.github.gh import Gh
from bmad_autopilot.github.gh_forge import GhForge
from bmad_autopilot.sim.github.checks import CIJob, JobResult, SimCI
from bmad_autopilot.sim.github.forge import SimForge
from bmad_autopilot.sim.github.model import SimGitHub
from bmad_autopilot.sim.github.people import SimCopilot, scripted_reviews
from bmad_autopilot.sim.github.records import GitHubFault, SimClock
from bmad_autopilot.sim.github.refs import BareRefs
from bmad_autopilot.sim.github.reviews import Remark
from tests.fake_github.act_runner import ActRunner
from tests.fake_github.client_environment import gh_config, ssh_environment
from tests.fake_github.server import SimServer, serve
from tests.support.graphql_schema import SHARED

pytestmark = pytest.mark.real

BRANCH = "feature/epic-1"
VERSIONS = {"2.102": "tools/bin", "2.23": "gh-debian/usr/bin"}
WORKFLOW = b"""\
name: CI
on: [pull_request]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: sh test.sh
"""


class Bench:
    """A clone whose remote is called GitHub's, and the simulator behind it."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.refs = BareRefs(folder / "acme" / "widgets.git")
        files: dict[str, bytes | None] = {"a.py": b"one\ntwo\n", "test.sh": b"exit 0\n"}
        files[".github/workflows/ci.yml"] = WORKFLOW
        self.refs.set("main", self.refs.commit("", files, "The plan", "dev"))
        self.model = SimGitHub(SimClock(time.time()), self.refs, Random(5))
        for name, value in (
            gh_config(folder / "gh", folder / "s") | ssh_environment(folder, folder / "s")
        ).items():
            patch.setenv(name, value)
        self.clone = folder / "clone"
        self.git("clone", "--quiet", "git@github.com:acme/widgets.git", str(self.clone))

    def git(self, *arguments: str) -> str:
        where = self.clone if self.clone.exists() else self.folder
        done = subprocess.run(
            ["git", *arguments], cwd=where, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def push(self, **files: str) -> str:
        self.git("switch", "--quiet", "--force-create", BRANCH)
        for name, text in files.items():
            (self.clone / name.replace("_", ".")).write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Work")
        self.git("push", "--quiet", "origin", BRANCH)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


@pytest.fixture
def server(bench: Bench) -> Iterator[SimServer]:
    schema = SHARED if SHARED.exists() else None
    with serve(bench.model, bench.folder / "s", schema=schema) as found:
        yield found


@pytest.fixture
def forge(
    request: pytest.FixtureRequest, real: Path, monkeypatch: pytest.MonkeyPatch, server: SimServer
) -> GhForge:
    folder = real / VERSIONS[getattr(request, "param", "2.102")]
    if not (folder / "gh").exists():
        pytest.skip(f"no gh in {folder}; run `make tools`")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return GhForge(Gh(wait=server.advance), "acme", "widgets")


def alike(pull: Pull) -> Pull:
    """Without what each door words in its own way, in whole seconds."""
    return pull._replace(
        fingerprint="",
        url="",
        created=int(pull.created),
        pushed=0.0,
        threads=tuple(
            thread._replace(comments=tuple(one._replace(url="", at=int(one.at)) for one in thread.comments))
            for thread in pull.threads
        ),
        reviews=tuple(review._replace(at=int(review.at)) for review in pull.reviews),
        checks=tuple(
            check._replace(url="", started=int(check.started), ended=int(check.ended)) for check in pull.checks
        ),
    )


@pytest.mark.parametrize("forge", list(VERSIONS), indirect=True)
def test_from_a_push_to_a_merged_pull_request(bench: Bench, server: SimServer, forge: GhForge) -> None:
    verdicts = iter([JobResult("failure", b"\xffit broke\n"), JobResult("success")])
    SimCI(bench.model, [CIJob("test", lambda read, attempt: next(verdicts, JobResult("success")))])
    SimCopilot(bench.model, scripted_reviews([Remark("a.py", 1, "why?")]))
    first = bench.push(a_py="ONE\ntwo\n")
    number = forge.open_pull(NewPull(BRANCH, "main", "Epic 1", "Body"))
    forge.request_review(forge.pull(number), COPILOT)
    server.advance(200)
    pull = forge.pull(number)
    assert pull.head == first
    assert [check.state for check in pull.checks] == [CheckState.FAILED]
    assert "it broke" in forge.log_tail(pull.checks[0])
    second = bench.push(b_py="more\n")
    assert bench.model.pulls[number].head == second
    server.advance(200)
    forge.reply(pull.threads[0].id, f"Fixed in {second[:8]}.")
    forge.resolve(pull.threads[0].id)
    pull = forge.pull(number)
    assert (pull.head, [check.state for check in pull.checks]) == (second, [CheckState.PASSED])
    assert [thread.is_resolved for thread in pull.threads] == [True]
    assert alike(pull) == alike(SimForge(bench.model).pull(number))
    with pytest.raises(ForgeError) as moved:
        forge.merge(number, first, "Epic 1", "Body")
    assert (moved.value.kind, moved.value.status) == (ForgeErrorKind.REFUSED, 409)
    sha = forge.merge(number, second, "Epic 1", "Autopilot-Step: run/1/1")
    forge.delete_branch(BRANCH, second)
    assert forge.pull(number).state is PullState.MERGED
    bench.git("fetch", "--quiet", "--prune", "origin")
    assert bench.git("rev-parse", "origin/main") == sha
    assert bench.git("rev-parse", f"{sha}^{{tree}}") == bench.git("rev-parse", f"{second}^{{tree}}")


def test_gh_sees_faults_as_we_name_them(bench: Bench, server: SimServer, forge: GhForge) -> None:
    bench.push(a_py="ONE\n")
    order = NewPull(BRANCH, "main", "Epic 1", "Body")
    server.responder.faults.script("POST /repos/acme/widgets/pulls", [GitHubFault.LOST])
    with pytest.raises(ForgeError) as lost:
        forge.open_pull(order)
    assert lost.value.kind is ForgeErrorKind.UNAVAILABLE
    assert [mark.number for mark in forge.pulls_from(BRANCH)] == [1]
    with pytest.raises(ForgeError, match="already exists"):
        forge.open_pull(order)
    server.responder.faults.script("AutopilotPull", [GitHubFault.SECONDARY])
    with pytest.raises(ForgeError) as limit:
        forge.pull(1)
    assert limit.value.kind is ForgeErrorKind.LIMIT


def test_ci_by_really_running_the_workflow(bench: Bench, server: SimServer, forge: GhForge, real: Path) -> None:
    act = real / "tools" / "bin" / "act"
    if not act.exists():
        pytest.skip(f"no act in {act.parent}; run `make tools`")
    ActRunner(bench.model, bench.refs, act, bench.folder / "act")
    bench.push(test_sh="echo something is wrong\nexit 1\n")
    number = forge.open_pull(NewPull(BRANCH, "main", "Epic 1", "Body"))
    server.advance(60)
    (check,) = forge.pull(number).checks
    assert (check.name, check.workflow, check.state) == ("test", "CI", CheckState.FAILED)
    assert "something is wrong" in forge.log_tail(check)
    bench.push(test_sh="echo fine\n")
    server.advance(60)
    assert [check.state for check in forge.pull(number).checks] == [CheckState.PASSED]
