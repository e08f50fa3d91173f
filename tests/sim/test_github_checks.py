"""CI of the simulated GitHub: jobs by head, states, flakes, starting again."""

import json

import pytest

from bmad_autopilot.github.pulls import CheckState
from bmad_autopilot.sim.github import checking
from bmad_autopilot.sim.github.acting import JobEnd, read_ends
from bmad_autopilot.sim.github.ci import Job, Read, SimCI, Verdict, ends, flaky
from bmad_autopilot.sim.github.records import GitHubRefusal, SimPull
from tests.sim.github_worlds import Hub, memory_hub


@pytest.fixture
def hub() -> Hub:
    return memory_hub()


def states(hub: Hub, pull: SimPull) -> dict[str, CheckState]:
    return {check.name: checking.state_of(check) for check in checking.of_head(hub.model, pull.head)}


def by_files(read: Read, attempt: int) -> Verdict:
    return Verdict("failure", b"broken\n") if read("broken.py") else Verdict("success")


def test_a_job_appears_is_pending_and_ends_as_the_pushed_files_say(hub: Hub) -> None:
    SimCI(hub.model, [Job("test", by_files, appears=5, begins=5, takes=60)])
    hub.work({"broken.py": b"x\n"})
    pull = hub.open()
    hub.wait(4)
    assert states(hub, pull) == {}
    assert checking.rollup(hub.model, pull.head) == ""
    hub.wait(2)
    assert states(hub, pull) == {"test": CheckState.PENDING}
    hub.wait(70)
    assert states(hub, pull) == {"test": CheckState.FAILED}
    assert checking.rollup(hub.model, pull.head) == "FAILURE"
    hub.work({"broken.py": None})
    assert checking.rollup(hub.model, pull.head) == ""
    hub.wait(100)
    assert states(hub, pull) == {"test": CheckState.PASSED}
    assert checking.rollup(hub.model, pull.head) == "SUCCESS"


@pytest.mark.parametrize(
    ("conclusion", "state"),
    [
        ("cancelled", CheckState.CANCELLED),
        ("skipped", CheckState.SKIPPED),
        ("neutral", CheckState.NEUTRAL),
        ("timed_out", CheckState.FAILED),
        ("action_required", CheckState.ACTION),
        ("stale", CheckState.UNKNOWN),
        ("", CheckState.PENDING),
    ],
)
def test_every_way_to_end(hub: Hub, conclusion: str, state: CheckState) -> None:
    SimCI(hub.model, [Job("test", ends(conclusion))])
    pull = hub.open()
    hub.wait(500)
    assert states(hub, pull) == {"test": state}


def test_a_job_that_never_appears_leaves_no_trace(hub: Hub) -> None:
    SimCI(hub.model, [Job("ghost", appears=-1), Job("status", workflow="")])
    pull = hub.open()
    hub.wait(500)
    assert states(hub, pull) == {"status": CheckState.PASSED}
    assert checking.of_head(hub.model, pull.head)[0].is_status


def test_a_flaky_job_is_green_when_it_is_started_again(hub: Hub) -> None:
    SimCI(hub.model, [Job("test", flaky), Job("lint")])
    pull = hub.open()
    hub.wait(100)
    failed = next(one for one in checking.of_head(hub.model, pull.head) if one.name == "test")
    checking.rerun(hub.model, failed.run)
    assert states(hub, pull) == {"test": CheckState.FAILED, "lint": CheckState.PASSED}, "not seen yet"
    for _ in range(2):  # nor later, while it is under way
        with pytest.raises(GitHubRefusal, match="already running"):
            checking.rerun(hub.model, failed.run)
        hub.wait(checking.RERUN_SECONDS)
        assert states(hub, pull) == {"test": CheckState.PENDING, "lint": CheckState.PASSED}
    again = next(one for one in checking.of_head(hub.model, pull.head) if one.name == "test")
    hub.wait(100)
    assert checking.rollup(hub.model, pull.head) == "SUCCESS"
    assert again.id != failed.id
    with pytest.raises(GitHubRefusal, match="cannot be retried"):
        checking.rerun(hub.model, failed.run)
    with pytest.raises(GitHubRefusal):
        checking.rerun(hub.model, failed.run + 1000)


def test_nothing_of_a_run_is_started_again_before_all_of_it_is_over(hub: Hub) -> None:
    SimCI(hub.model, [Job("fast", flaky, takes=5.0), Job("slow", takes=100.0)])
    pull = hub.open()
    hub.wait(30)
    assert states(hub, pull) == {"fast": CheckState.FAILED, "slow": CheckState.PENDING}
    with pytest.raises(GitHubRefusal, match="already running"):
        checking.rerun(hub.model, checking.of_head(hub.model, pull.head)[0].run)


def test_an_older_heads_jobs_are_cancelled_where_the_workflow_says_so(hub: Hub) -> None:
    SimCI(hub.model, cancels=True)
    pull = hub.open()
    old = pull.head
    hub.wait(20)
    hub.work({"more.py": b"x\n"})
    assert [check.conclusion for check in checking.of_head(hub.model, old)] == ["cancelled"]
    hub.wait(100)
    assert states(hub, pull) == {"test": CheckState.PASSED}


def test_the_base_is_checked_too(hub: Hub) -> None:
    SimCI(hub.model, [Job("test", by_files)])
    hub.work({"broken.py": b"x\n"}, "main")
    hub.wait(100)
    assert checking.rollup(hub.model, hub.main) == "FAILURE"


def test_what_act_tells_is_understood() -> None:
    lines = [
        {"job": "CI/test", "jobID": "test", "msg": "it is\n", "raw_output": True},
        {"job": "CI/lint", "jobID": "lint", "msg": "other"},
        {"job": "CI/test", "jobID": "test", "msg": "broken\n"},
        {"job": "CI/test", "jobID": "test", "jobResult": "failure", "msg": "Job failed"},
        {"job": "CI/lint", "jobID": "lint", "jobResult": "success", "msg": "Job succeeded"},
    ]
    out = b"no json\n" + b"\n".join(json.dumps(line).encode() for line in lines)
    test, lint = read_ends(out)
    assert test == JobEnd("CI", "test", "failure", b"it is\nbroken\nJob failed\n")
    assert (lint.job, lint.conclusion) == ("lint", "success")
