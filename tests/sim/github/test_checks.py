"""CI of the simulated GitHub: jobs by head, states, flakes, starting again."""

import json

import pytest

from bmad_autopilot.github.forge import CheckState
from bmad_autopilot.sim.github import checks
from bmad_autopilot.sim.github.checks import CIJob, JobResult, ReadFile, SimCI, fails_first, scripted_conclusions
from bmad_autopilot.sim.github.records import GitHubRefusal, SimPull
from tests.fake_github.act_runner import ActJobResult, parse_job_results
from tests.support.simulated_github import Hub, memory_hub


@pytest.fixture
def hub() -> Hub:
    return memory_hub()


def states(hub: Hub, pull: SimPull) -> dict[str, CheckState]:
    return {check.name: checks.state_of(check) for check in checks.latest_checks(hub.model, pull.head)}


def by_files(read: ReadFile, attempt: int) -> JobResult:
    return JobResult("failure", b"broken\n") if read("broken.py") else JobResult("success")


def test_a_job_appears_is_pending_and_ends_as_the_pushed_files_say(hub: Hub) -> None:
    SimCI(hub.model, [CIJob("test", by_files, appears_after=5, starts_after=5, duration=60)])
    hub.push_work({"broken.py": b"x\n"})
    pull = hub.open_pull()
    hub.advance(4)
    assert states(hub, pull) == {}
    assert checks.rollup(hub.model, pull.head) == ""
    hub.advance(2)
    assert states(hub, pull) == {"test": CheckState.PENDING}
    hub.advance(70)
    assert states(hub, pull) == {"test": CheckState.FAILED}
    assert checks.rollup(hub.model, pull.head) == "FAILURE"
    hub.push_work({"broken.py": None})
    assert checks.rollup(hub.model, pull.head) == ""
    hub.advance(100)
    assert states(hub, pull) == {"test": CheckState.PASSED}
    assert checks.rollup(hub.model, pull.head) == "SUCCESS"


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
    SimCI(hub.model, [CIJob("test", scripted_conclusions(conclusion))])
    pull = hub.open_pull()
    hub.advance(500)
    assert states(hub, pull) == {"test": state}


def test_a_job_that_never_appears_leaves_no_trace(hub: Hub) -> None:
    SimCI(hub.model, [CIJob("ghost", appears_after=-1), CIJob("status", workflow="")])
    pull = hub.open_pull()
    hub.advance(500)
    assert states(hub, pull) == {"status": CheckState.PASSED}
    assert checks.latest_checks(hub.model, pull.head)[0].is_status


def test_a_flaky_job_is_green_when_it_is_started_again(hub: Hub) -> None:
    SimCI(hub.model, [CIJob("test", fails_first), CIJob("lint")])
    pull = hub.open_pull()
    hub.advance(100)
    failed = next(one for one in checks.latest_checks(hub.model, pull.head) if one.name == "test")
    checks.rerun_failed(hub.model, failed.run)
    assert states(hub, pull) == {"test": CheckState.FAILED, "lint": CheckState.PASSED}, "not seen yet"
    for _ in range(2):  # nor later, while it is under way
        with pytest.raises(GitHubRefusal, match="already running"):
            checks.rerun_failed(hub.model, failed.run)
        hub.advance(checks.RERUN_SECONDS)
        assert states(hub, pull) == {"test": CheckState.PENDING, "lint": CheckState.PASSED}
    again = next(one for one in checks.latest_checks(hub.model, pull.head) if one.name == "test")
    hub.advance(100)
    assert checks.rollup(hub.model, pull.head) == "SUCCESS"
    assert again.id != failed.id
    with pytest.raises(GitHubRefusal, match="cannot be retried"):
        checks.rerun_failed(hub.model, failed.run)
    with pytest.raises(GitHubRefusal):
        checks.rerun_failed(hub.model, failed.run + 1000)


def test_nothing_of_a_run_is_started_again_before_all_of_it_is_over(hub: Hub) -> None:
    SimCI(hub.model, [CIJob("fast", fails_first, duration=5.0), CIJob("slow", duration=100.0)])
    pull = hub.open_pull()
    hub.advance(30)
    assert states(hub, pull) == {"fast": CheckState.FAILED, "slow": CheckState.PENDING}
    with pytest.raises(GitHubRefusal, match="already running"):
        checks.rerun_failed(hub.model, checks.latest_checks(hub.model, pull.head)[0].run)


def test_an_older_heads_jobs_are_cancelled_where_the_workflow_says_so(hub: Hub) -> None:
    SimCI(hub.model, cancels_older=True)
    pull = hub.open_pull()
    old = pull.head
    hub.advance(20)
    hub.push_work({"more.py": b"x\n"})
    assert [check.conclusion for check in checks.latest_checks(hub.model, old)] == ["cancelled"]
    hub.advance(100)
    assert states(hub, pull) == {"test": CheckState.PASSED}


def test_the_base_is_checked_too(hub: Hub) -> None:
    SimCI(hub.model, [CIJob("test", by_files)])
    hub.push_work({"broken.py": b"x\n"}, "main")
    hub.advance(100)
    assert checks.rollup(hub.model, hub.main) == "FAILURE"


def test_what_act_tells_is_understood() -> None:
    lines = [
        {"job": "CI/test", "jobID": "test", "msg": "it is\n", "raw_output": True},
        {"job": "CI/lint", "jobID": "lint", "msg": "other"},
        {"job": "CI/test", "jobID": "test", "msg": "broken\n"},
        {"job": "CI/test", "jobID": "test", "jobResult": "failure", "msg": "Job failed"},
        {"job": "CI/lint", "jobID": "lint", "jobResult": "success", "msg": "Job succeeded"},
    ]
    out = b"no json\n" + b"\n".join(json.dumps(line).encode() for line in lines)
    test, lint = parse_job_results(out)
    assert test == ActJobResult("CI", "test", "failure", b"it is\nbroken\nJob failed\n")
    assert (lint.job, lint.conclusion) == ("lint", "success")
