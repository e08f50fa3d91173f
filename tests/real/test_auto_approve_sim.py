"""The auto-approve workflow by act and real gh on the simulated GitHub, with real git behind it."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.github.approval import COPILOT, GATE_SCRIPT
from bmad_autopilot.github.auto_approve import WORKFLOW_PATH
from bmad_autopilot.github.forge import ReviewState
from bmad_autopilot.sim.github import checks, reviews
from bmad_autopilot.sim.github.model import ACTIONS
from bmad_autopilot.sim.github.records import SimClock
from bmad_autopilot.sim.github.reviews import Remark
from tests.fake_github.server import SimServer
from tests.real.act import TOKEN, act, find_tools, make_repo
from tests.support.simulated_github import BRANCH, Hub, bare_hub

pytestmark = pytest.mark.real


class Stage:
    """A pull request that waits for nothing but time, on a GitHub whose clock goes with ours."""

    def __init__(self, real: Path, folder: Path) -> None:
        self.tools = find_tools(real)
        self.repo = make_repo(folder / "repo")
        self.hub: Hub = bare_hub(folder)
        clock = self.hub.model.clock
        assert isinstance(clock, SimClock)
        clock.advance(time.time())
        files: dict[str, bytes | None] = {
            path: (self.repo / path).read_bytes() for path in (WORKFLOW_PATH, GATE_SCRIPT)
        }
        self.hub.model.push("main", self.hub.refs.commit(self.hub.main, files, "Auto-approve", "dev"))
        self.number = self.hub.open_pull().number
        self.pass_checks()
        self.copilot()
        self.server = SimServer(self.hub.model, folder / "s", speed=1.0)
        self.server.responder.logins[TOKEN] = ACTIONS

    @property
    def head(self) -> str:
        return self.hub.model.pull(self.number).head

    def run(self, **how: Any) -> str:
        return act(self.tools, self.repo, self.server.path, number=self.number, **how)

    def copilot(self, *remarks: Remark) -> None:
        reviews.review(self.hub.model, self.number, ReviewState.COMMENTED, by=COPILOT, remarks=remarks)

    def pass_checks(self) -> None:
        checks.finish_check(self.hub.model, checks.start_check(self.hub.model, self.head, "test"), "success")

    def take_base_in(self, extra: str = "") -> None:
        """A merge commit on our branch, as git makes it; `extra`: something slipped into it."""
        with self.server.lock:
            git = ["git", "--git-dir", str(next((self.repo.parent / "acme").iterdir()))]
            tree = _out(*git, "merge-tree", "--write-tree", self.head, self.hub.main)
            if extra:
                blob = _out(*git, "hash-object", "-w", "--stdin", given=extra)
                tree = _out(*git, "mktree", given=_out(*git, "ls-tree", tree) + f"\n100644 blob {blob}\tevil.py\n")
            identity = ["-c", "user.name=GitHub", "-c", "user.email=noreply@github.com"]
            words = [
                "commit-tree",
                tree,
                "-p",
                self.head,
                "-p",
                self.hub.main,
                "-m",
                f"Merge branch 'main' into {BRANCH}",
            ]
            self.hub.model.push(BRANCH, _out(git[0], *identity, *git[1:], *words), self.head)
            self.pass_checks()

    def reviews(self) -> list[tuple[str, str]]:
        found = self.hub.model.pull(self.number).reviews
        return [(one.state.value, one.commit) for one in found if one.author.login == ACTIONS]


def _out(*argv: str, given: str = "") -> str:
    done = subprocess.run(argv, input=given, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def stage(real: Path, tmp_path: Path) -> Iterator[Stage]:
    made = Stage(real, tmp_path)
    with made.server:
        yield made


def test_it_waits_for_the_time_and_approves_the_head(stage: Stage) -> None:
    log = stage.run()
    assert "gate, wait: 0.0333333 minutes have not passed since its last content push" in log
    assert stage.reviews() == [("APPROVED", stage.head)]


def test_an_approval_stays_over_a_clean_merge_of_the_base_and_goes_with_a_dirty_one(stage: Stage) -> None:
    stage.run()
    first = stage.head
    stage.hub.model.push("main", stage.hub.refs.commit(stage.hub.main, {"c.py": b"c\n"}, "Theirs", "dev"))
    stage.take_base_in()
    stage.run()
    assert stage.reviews() == [("APPROVED", first)]
    stage.hub.model.push("main", stage.hub.refs.commit(stage.hub.main, {"d.py": b"d\n"}, "Theirs", "dev"))
    stage.take_base_in(extra="import os\n")
    assert "gate, dismiss: copilot-pull-request-reviewer has not reviewed what it holds now" in stage.run()
    assert stage.reviews() == [("DISMISSED", first)]


def test_an_open_thread_takes_the_approval_back(stage: Stage) -> None:
    stage.run()
    stage.copilot(Remark("b.py", 1, "Why?"))
    assert "gate, dismiss: 1 review threads are open" in stage.run()
    assert stage.reviews() == [("DISMISSED", stage.head)]


def test_a_change_to_workflows_is_refused(stage: Stage) -> None:
    stage.hub.push_work({".github/workflows/ci.yml": b"on: push\n"})
    stage.pass_checks()
    stage.copilot()
    assert "gate, refuse: it changes what judges it: .github/workflows/ci.yml" in stage.run()
    assert stage.reviews() == []


def test_without_the_setting_the_job_fails(stage: Stage) -> None:
    stage.hub.model.repository.actions_approve = False
    assert "allow GitHub Actions to create and approve pull requests" in stage.run(code=1)
