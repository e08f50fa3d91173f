"""A story to a merged pull request with the real Claude Code, a real BMAD install, the real gh and the real git.
Only the model, and GitHub behind its socket, are played."""

import json
import time
from pathlib import Path
from random import Random

import pytest

from bmad_autopilot.engine.autopilot.options import AutopilotOptions
from bmad_autopilot.engine.autopilot.supervisor import run_autopilot
from bmad_autopilot.project.project import open_project
from bmad_autopilot.sim.github.checks import CIJob, SimCI
from bmad_autopilot.sim.github.model import VIEWER, SimGitHub
from bmad_autopilot.sim.github.people import SimCopilot, SimMaintainer, scripted_reviews
from bmad_autopilot.sim.github.records import SimClock
from bmad_autopilot.sim.github.refs import BareRefs
from bmad_autopilot.sim.github.reviews import Remark
from tests.fake_github.client_environment import gh_config, ssh_environment
from tests.fake_github.server import SimServer
from tests.real import clients, story_parts
from tests.real.claude_server import Say
from tests.real.conftest import BmadMethod
from tests.real.delivery_bench import REMOTE, SETTINGS, use_gh
from tests.real.played_run import Part, playing
from tests.real.story_bench import StoryBench, use_client
from tests.real.story_pages import BOARD, EPICS, FOLDER, KEY
from tests.support.graphql_schema import SHARED

pytestmark = pytest.mark.real

SAID = "An empty name gives an odd greeting. Greet nobody in particular then."
ANSWER = {"answer": "fixed", "why": "Without a name it says Hello!, and a test holds that."}


def with_remote(bench: StoryBench, folder: Path, patch: pytest.MonkeyPatch) -> SimGitHub:
    """One story, on a GitHub of its own."""
    bench.write(f"{FOLDER}/sprint-status.yaml", BOARD.replace("  1-2-say-goodbye: backlog\n", ""))
    bench.write("_bmad-output/planning-artifacts/epics.md", EPICS.replace("### Story 1.2: Say goodbye\n", ""))
    bench.write("bmad-autopilot.toml", SETTINGS)
    bench.git("add", "--all")
    bench.git("commit", "--quiet", "--message", "One story")
    refs = BareRefs(folder / "acme" / "widgets.git")
    for name, value in (gh_config(folder / "gh", folder / "s") | ssh_environment(folder, folder / "s")).items():
        patch.setenv(name, value)
    bench.git("remote", "add", "origin", REMOTE)
    bench.git("push", "--quiet", "origin", "main")
    return SimGitHub(SimClock(time.time()), refs, Random(2))


def mend_thread(bench: StoryBench) -> Part:
    told = json.dumps({"threads": {"T1": ANSWER}})
    return Part(
        ("Epic 1 stands in a pull request", "You work unattended", SAID, "T1"),
        (*story_parts.mending(bench), bench.put(f"{FOLDER}/epic-1.pr-1.threads.json", told), Say("It is done.")),
    )


def test_a_story_goes_to_a_merged_pull_request(
    bmad_method: BmadMethod, real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_client(clients.install(real, clients.CLAUDE, "claude"), tmp_path / "tools", monkeypatch)
    use_gh(real, "2.102", monkeypatch)
    bench = StoryBench(tmp_path / "project", bmad_method("6.12.0", "--tools", "claude-code", "--shims"))
    model = with_remote(bench, tmp_path, monkeypatch)
    SimCI(model, [CIJob("test", appears_after=0.1, starts_after=0.1, duration=0.5)])
    SimCopilot(model, scripted_reviews([Remark("src/greet.js", 1, SAID)]), duration=0.5)
    SimMaintainer(model, delay=0.5)
    schema = SHARED if SHARED.exists() else None
    parts = (story_parts.create(bench), story_parts.develop(bench), story_parts.approve(bench), mend_thread(bench))
    with SimServer(model, tmp_path / "s", schema=schema, speed=1.0), playing(*parts) as claude:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", claude.url)
        end = run_autopilot(
            open_project(str(bench.root)), AutopilotOptions(), on_event=lambda kind, data, at: None
        )
    assert claude.problems == []
    assert claude.is_played_out
    assert (end.exit_code, end.merged) == (0, ("epic-1",))
    (thread,) = model.pulls[1].threads
    assert [comment.author.login for comment in thread.comments][1:] == [VIEWER]
    reply = thread.comments[1].body
    assert reply.startswith("Done in ")
    assert ANSWER["why"] in reply
    assert thread.resolved_by == VIEWER
    (merge,) = model.effects.select("merge")
    found = {name: merge.data[name] for name in ("rollup", "unresolved", "same_tree", "held_base")}
    assert found == {"rollup": "SUCCESS", "unresolved": 0, "same_tree": True, "held_base": True}
    assert merge.data["fresh_approvals"] == ("maria",)
    assert list(model.refs.branches()) == ["main"]
    assert "Hello!" in (model.refs.read(merge.data["merged"], "src/greet.js") or b"").decode()
    board = (model.refs.read(merge.data["merged"], f"{FOLDER}/sprint-status.yaml") or b"").decode()
    assert f"{KEY}: done" in board
    assert "epic-1: done" in board
