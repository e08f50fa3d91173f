"""Merging on the simulated GitHub: what stands against it, what it leaves, and what is written down."""

import pytest

from bmad_autopilot.github.forge import PullState
from bmad_autopilot.sim.github import merge as github_merge
from bmad_autopilot.sim.github.checks import CIJob, SimCI, scripted_conclusions
from bmad_autopilot.sim.github.people import SimHuman
from bmad_autopilot.sim.github.records import GitHubRefusal
from bmad_autopilot.sim.github.refs import SquashResult
from bmad_autopilot.sim.github.reviews import Remark
from tests.support.simulated_github import BRANCH, FILES, Hub, memory_hub


@pytest.fixture
def hub() -> Hub:
    return memory_hub()


def refusal(hub: Hub, number: int = 1, head: str = "") -> tuple[int, str]:
    with pytest.raises(GitHubRefusal) as caught:
        github_merge.merge(hub.model, number, head)
    return caught.value.status, caught.value.message


def test_whether_it_merges_is_known_a_moment_after_somebody_asks(hub: Hub) -> None:
    pull = hub.open_pull()
    hub.advance(60)
    assert github_merge.mergeable_state(hub.model, pull) == "UNKNOWN"
    hub.advance(3)
    assert github_merge.mergeable_state(hub.model, pull) == "MERGEABLE"
    SimHuman(hub.model).push("main", {"epic-1.py": b"theirs\n"})
    assert github_merge.merge_state(hub.model, pull) == "UNKNOWN"
    hub.advance(3)
    assert github_merge.mergeable_state(hub.model, pull) == "CONFLICTING"
    assert github_merge.merge_state(hub.model, pull) == "DIRTY"
    assert refusal(hub) == (405, "Pull Request is not mergeable")


def test_a_squash_brings_all_of_it_in_one_commit(hub: Hub) -> None:
    hub.push_work({"a.py": b"first\n"})
    pull = hub.open_pull()
    head = hub.push_work({"a.py": b"second\n"})
    base = hub.main
    sha = github_merge.merge(hub.model, pull.number, head, subject="Epic 1", body="Autopilot-Step: x")
    assert hub.main == sha
    assert hub.refs.parents(sha) == (base,)
    assert hub.refs.ahead(base, sha)[0].message == "Epic 1\n\nAutopilot-Step: x\n"
    assert (pull.state, pull.merged_as) == (PullState.MERGED, sha)
    assert refusal(hub, head=head)[0] == 405


def test_a_moved_head_is_not_merged(hub: Hub) -> None:
    pull = hub.open_pull()
    old = pull.head
    SimHuman(hub.model).push(BRANCH, {"theirs.py": b"x\n"})
    assert refusal(hub, head=old) == (409, "Head branch was modified. Review and try the merge again.")


def test_a_merge_tells_what_was_true_at_that_moment(hub: Hub) -> None:
    SimCI(hub.model, [CIJob("test", scripted_conclusions("failure"))])
    human = SimHuman(hub.model)
    pull = hub.open_pull()
    hub.advance(100)
    human.remark(pull.number, Remark("a.py", 1, "why?"))
    human.approve(pull.number)
    human.push("main", {"moved.py": b"x\n"})
    github_merge.merge(hub.model, pull.number, pull.head)
    (merge,) = hub.model.effects.select("merge")
    assert (merge.data["rollup"], merge.data["unresolved"], merge.data["approvals"]) == ("FAILURE", 1, ("maria",))
    assert not merge.data["same_tree"]
    assert not merge.data["held_base"]


def test_one_that_holds_its_base_merges_to_the_very_tree_that_was_tested(hub: Hub) -> None:
    pull = hub.open_pull()
    github_merge.merge(hub.model, pull.number, pull.head)
    (merge,) = hub.model.effects.select("merge")
    assert merge.data["same_tree"]
    assert merge.data["held_base"]


def test_the_rules_of_a_protected_branch_one_by_one(hub: Hub) -> None:
    SimCI(hub.model)
    human = SimHuman(hub.model)
    hub.protect(checks=("test",), approvals=1, strict=True, conversations=True)
    pull = hub.open_pull()
    human.remark(pull.number, Remark("a.py", 1, "why?"))
    github_merge.mergeable_state(hub.model, pull)
    hub.advance(3)
    assert github_merge.merge_state(hub.model, pull) == "BLOCKED"
    assert "approving review" in refusal(hub)[1]
    human.approve(pull.number)
    assert refusal(hub) == (405, 'Required status check "test" is expected.')
    hub.advance(100)
    assert "conversation" in refusal(hub)[1]
    human.resolve(pull.threads[0].id)
    human.push("main", {"moved.py": b"x\n"})
    github_merge.mergeable_state(hub.model, pull)
    hub.advance(100)
    assert github_merge.merge_state(hub.model, pull) == "BEHIND"
    assert "not up to date" in refusal(hub)[1]
    human.request_changes(pull.number)
    assert "Changes have been requested" in refusal(hub)[1]


def test_a_check_that_is_not_required_makes_it_unstable_only(hub: Hub) -> None:
    SimCI(hub.model, [CIJob("test"), CIJob("extra", scripted_conclusions("failure"))])
    hub.protect(checks=("test",))
    pull = hub.open_pull()
    github_merge.mergeable_state(hub.model, pull)
    hub.advance(200)
    assert github_merge.merge_state(hub.model, pull) == "UNSTABLE"
    github_merge.merge(hub.model, pull.number, pull.head)


def test_a_draft_and_a_repository_without_squash_are_refused(hub: Hub) -> None:
    pull = hub.open_pull()
    pull.is_draft = True
    assert refusal(hub) == (405, "Pull Request is still a draft")
    hub.model.mark_ready(pull.number)
    hub.model.repository.squash_allowed = False
    assert "Squash merges are not allowed" in refusal(hub)[1]


def test_a_queue_merges_by_itself_or_puts_it_out(hub: Hub) -> None:
    hub.protect(queue=True)
    first, second = hub.open_pull(), hub.open_pull("feature/epic-2")
    assert "merge queue" in refusal(hub)[1]
    github_merge.enqueue(hub.model, first.number, first.head)
    github_merge.enqueue(hub.model, second.number, second.head)
    assert first.is_queued
    hub.push_work({"more.py": b"x\n"}, "feature/epic-2")
    hub.advance(200)
    assert first.state is PullState.MERGED
    assert (second.state, second.is_queued) == (PullState.OPEN, False)


def test_branches_are_deleted_by_github_where_that_is_set(hub: Hub) -> None:
    hub.model.repository.deletes_branches = True
    pull = hub.open_pull()
    github_merge.merge(hub.model, pull.number, pull.head)
    assert hub.refs.head_of(BRANCH) == ""
    assert pull.state is PullState.MERGED
    assert hub.refs.read(hub.main, "a.py") == FILES["a.py"]


def test_a_linear_history_takes_no_merge_commits(hub: Hub) -> None:
    hub.protect(linear=True)
    pull = hub.open_pull()
    with pytest.raises(GitHubRefusal, match="Merge commits are not allowed"):
        github_merge.merge(hub.model, pull.number, method="merge")
    github_merge.merge(hub.model, pull.number, method="squash")


def test_a_base_that_moves_in_the_very_moment_is_refused(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    pull, human, squash = hub.open_pull(), SimHuman(hub.model), hub.refs.squash

    def slowly(base: str, head: str, message: str) -> SquashResult:
        made = squash(base, head, message)
        human.push("main", {"moved.py": b"x\n"})
        return made

    monkeypatch.setattr(hub.refs, "squash", slowly)
    assert refusal(hub, pull.number) == (405, "Base branch was modified. Review and try the merge again.")
    assert pull.is_open
