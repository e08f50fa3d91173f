"""Merging on the simulated GitHub: what stands against it, what it leaves, and what is written down."""

import pytest

from bmad_autopilot.github.pulls import PullState
from bmad_autopilot.sim.github import joining
from bmad_autopilot.sim.github.ci import Job, SimCI, ends
from bmad_autopilot.sim.github.people import SimHuman
from bmad_autopilot.sim.github.records import GitHubRefusal
from bmad_autopilot.sim.github.refs import Squash
from bmad_autopilot.sim.github.reviewing import Remark
from tests.sim.github_worlds import BRANCH, FILES, Hub, memory_hub


@pytest.fixture
def hub() -> Hub:
    return memory_hub()


def refusal(hub: Hub, number: int = 1, head: str = "") -> tuple[int, str]:
    with pytest.raises(GitHubRefusal) as caught:
        joining.merge(hub.model, number, head)
    return caught.value.status, caught.value.message


def test_whether_it_merges_is_known_a_moment_after_somebody_asks(hub: Hub) -> None:
    pull = hub.open()
    hub.wait(60)
    assert joining.mergeable(hub.model, pull) == "UNKNOWN"
    hub.wait(3)
    assert joining.mergeable(hub.model, pull) == "MERGEABLE"
    SimHuman(hub.model).push("main", {"epic-1.py": b"theirs\n"})
    assert joining.merge_state(hub.model, pull) == "UNKNOWN"
    hub.wait(3)
    assert joining.mergeable(hub.model, pull) == "CONFLICTING"
    assert joining.merge_state(hub.model, pull) == "DIRTY"
    assert refusal(hub) == (405, "Pull Request is not mergeable")


def test_a_squash_brings_all_of_it_in_one_commit(hub: Hub) -> None:
    hub.work({"a.py": b"first\n"})
    pull = hub.open()
    head = hub.work({"a.py": b"second\n"})
    base = hub.main
    sha = joining.merge(hub.model, pull.number, head, subject="Epic 1", body="Autopilot-Step: x")
    assert hub.main == sha
    assert hub.refs.parents(sha) == (base,)
    assert hub.refs.ahead(base, sha)[0].message == "Epic 1\n\nAutopilot-Step: x\n"
    assert (pull.state, pull.merged_as) == (PullState.MERGED, sha)
    assert refusal(hub, head=head)[0] == 405


def test_a_moved_head_is_not_merged(hub: Hub) -> None:
    pull = hub.open()
    old = pull.head
    SimHuman(hub.model).push(BRANCH, {"theirs.py": b"x\n"})
    assert refusal(hub, head=old) == (409, "Head branch was modified. Review and try the merge again.")


def test_a_merge_tells_what_was_true_at_that_moment(hub: Hub) -> None:
    SimCI(hub.model, [Job("test", ends("failure"))])
    human = SimHuman(hub.model)
    pull = hub.open()
    hub.wait(100)
    human.remark(pull.number, Remark("a.py", 1, "why?"))
    human.approve(pull.number)
    human.push("main", {"moved.py": b"x\n"})
    joining.merge(hub.model, pull.number, pull.head)
    (merge,) = hub.model.effects.of("merge")
    assert (merge.data["rollup"], merge.data["unresolved"], merge.data["approvals"]) == ("FAILURE", 1, ("maria",))
    assert not merge.data["same_tree"]
    assert not merge.data["held_base"]


def test_one_that_holds_its_base_merges_to_the_very_tree_that_was_tested(hub: Hub) -> None:
    pull = hub.open()
    joining.merge(hub.model, pull.number, pull.head)
    (merge,) = hub.model.effects.of("merge")
    assert merge.data["same_tree"]
    assert merge.data["held_base"]


def test_the_rules_of_a_protected_branch_one_by_one(hub: Hub) -> None:
    SimCI(hub.model)
    human = SimHuman(hub.model)
    hub.protect(checks=("test",), approvals=1, strict=True, conversations=True)
    pull = hub.open()
    human.remark(pull.number, Remark("a.py", 1, "why?"))
    joining.mergeable(hub.model, pull)
    hub.wait(3)
    assert joining.merge_state(hub.model, pull) == "BLOCKED"
    assert "approving review" in refusal(hub)[1]
    human.approve(pull.number)
    assert refusal(hub) == (405, 'Required status check "test" is expected.')
    hub.wait(100)
    assert "conversation" in refusal(hub)[1]
    human.resolve(pull.threads[0].id)
    human.push("main", {"moved.py": b"x\n"})
    joining.mergeable(hub.model, pull)
    hub.wait(100)
    assert joining.merge_state(hub.model, pull) == "BEHIND"
    assert "not up to date" in refusal(hub)[1]
    human.object_to(pull.number)
    assert "Changes have been requested" in refusal(hub)[1]


def test_a_check_that_is_not_required_makes_it_unstable_only(hub: Hub) -> None:
    SimCI(hub.model, [Job("test"), Job("extra", ends("failure"))])
    hub.protect(checks=("test",))
    pull = hub.open()
    joining.mergeable(hub.model, pull)
    hub.wait(200)
    assert joining.merge_state(hub.model, pull) == "UNSTABLE"
    joining.merge(hub.model, pull.number, pull.head)


def test_a_draft_and_a_repository_without_squash_are_refused(hub: Hub) -> None:
    pull = hub.open()
    pull.is_draft = True
    assert refusal(hub) == (405, "Pull Request is still a draft")
    hub.model.mark_ready(pull.number)
    hub.model.repository.squash_allowed = False
    assert "Squash merges are not allowed" in refusal(hub)[1]


def test_a_queue_merges_by_itself_or_puts_it_out(hub: Hub) -> None:
    hub.protect(queue=True)
    first, second = hub.open(), hub.open("feature/epic-2")
    assert "merge queue" in refusal(hub)[1]
    joining.enqueue(hub.model, first.number, first.head)
    joining.enqueue(hub.model, second.number, second.head)
    assert first.is_queued
    hub.work({"more.py": b"x\n"}, "feature/epic-2")
    hub.wait(200)
    assert first.state is PullState.MERGED
    assert (second.state, second.is_queued) == (PullState.OPEN, False)


def test_branches_are_deleted_by_github_where_that_is_set(hub: Hub) -> None:
    hub.model.repository.deletes_branches = True
    pull = hub.open()
    joining.merge(hub.model, pull.number, pull.head)
    assert hub.refs.head_of(BRANCH) == ""
    assert pull.state is PullState.MERGED
    assert hub.refs.read(hub.main, "a.py") == FILES["a.py"]


def test_a_linear_history_takes_no_merge_commits(hub: Hub) -> None:
    hub.protect(linear=True)
    pull = hub.open()
    with pytest.raises(GitHubRefusal, match="Merge commits are not allowed"):
        joining.merge(hub.model, pull.number, method="merge")
    joining.merge(hub.model, pull.number, method="squash")


def test_a_base_that_moves_in_the_very_moment_is_refused(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    pull, human, squash = hub.open(), SimHuman(hub.model), hub.refs.squash

    def slowly(base: str, head: str, message: str) -> Squash:
        made = squash(base, head, message)
        human.push("main", {"moved.py": b"x\n"})
        return made

    monkeypatch.setattr(hub.refs, "squash", slowly)
    assert refusal(hub, pull.number) == (405, "Base branch was modified. Review and try the merge again.")
    assert pull.is_open
