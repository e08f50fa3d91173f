"""Pull requests of the simulated GitHub: opened once, following their branches, ended as GitHub ends them."""

import pytest

from bmad_autopilot.github.forge import NewPull, PullState
from bmad_autopilot.sim.github import merge
from bmad_autopilot.sim.github.people import SimHuman
from bmad_autopilot.sim.github.records import GitHubRefusal
from tests.support.simulated_github import BRANCH, Hub, memory_hub


@pytest.fixture
def hub() -> Hub:
    return memory_hub()


def refused(status: int) -> pytest.RaisesExc[GitHubRefusal]:
    return pytest.RaisesExc(GitHubRefusal, check=lambda error: error.status == status)


def test_one_branch_has_one_open_pull_request_for_one_base(hub: Hub) -> None:
    pull = hub.open_pull()
    with pytest.raises(GitHubRefusal, match=r"A pull request already exists for acme:feature/epic-1\.") as refusal:
        hub.open_pull()
    assert refusal.value.status == 422
    hub.model.close_pull(pull.number)
    assert hub.open_pull().number == 2


def test_there_must_be_something_to_merge(hub: Hub) -> None:
    hub.model.push("same", hub.main, "")
    with pytest.raises(GitHubRefusal, match="No commits between main and same"):
        hub.open_pull("same")
    with pytest.raises(GitHubRefusal, match="head invalid"):
        hub.model.open_pull(NewPull("nowhere", "main", "x", ""))
    with pytest.raises(GitHubRefusal, match="base invalid"):
        hub.model.open_pull(NewPull(BRANCH, "nowhere", "x", ""))


def test_its_head_follows_pushes_and_a_forced_one_is_seen(hub: Hub) -> None:
    pull = hub.open_pull()
    first, human = pull.head, SimHuman(hub.model)
    hub.advance(60)
    second = human.push(BRANCH, {"theirs.py": b"x\n"})
    assert (pull.head, pull.pushed) == (second, hub.clock.now)
    hub.advance(60)
    human.force_push(BRANCH, hub.main, {"anew.py": b"x\n"})
    assert [(before, after) for _, before, after in pull.force_pushes] == [(second, pull.head)]
    last = list(hub.model.effects.select("push"))[-1]
    assert last.data["forced"]
    assert last.data["lost"] == ((first, ""), (second, "maria"))


def test_it_is_closed_with_its_branch_and_not_reopened_without_it(hub: Hub) -> None:
    pull = hub.open_pull()
    hub.model.delete_branch(BRANCH)
    assert pull.state is PullState.CLOSED
    with pytest.raises(GitHubRefusal, match="head invalid"):
        hub.model.reopen_pull(pull.number)
    hub.model.push(BRANCH, pull.head, "")
    hub.model.reopen_pull(pull.number)
    assert pull.is_open


def test_one_whose_branch_was_made_anew_is_not_reopened(hub: Hub) -> None:
    pull = hub.open_pull()
    hub.model.close_pull(pull.number)
    SimHuman(hub.model).force_push(BRANCH, hub.main, {"anew.py": b"x\n"})
    with pytest.raises(GitHubRefusal, match="force-pushed or recreated"):
        hub.model.reopen_pull(pull.number)


def test_a_stacked_one_moves_onto_the_base_when_the_branch_below_is_merged_and_deleted(hub: Hub) -> None:
    below = hub.open_pull()
    hub.push_work({"second.py": b"x\n"}, "feature/epic-2", below.head)
    above = hub.open_pull("feature/epic-2", BRANCH)
    merge.merge(hub.model, below.number, below.head)
    assert above.base_ref == BRANCH
    hub.model.delete_branch(BRANCH)
    assert (above.state, above.base_ref) == (PullState.OPEN, "main")


def test_a_stacked_one_is_closed_when_the_branch_below_goes_unmerged(hub: Hub) -> None:
    below = hub.open_pull()
    hub.push_work({"second.py": b"x\n"}, "feature/epic-2", below.head)
    above = hub.open_pull("feature/epic-2", BRANCH)
    hub.model.delete_branch(BRANCH)
    assert (below.state, above.state) == (PullState.CLOSED, PullState.CLOSED)


def test_a_base_is_changed_unless_that_makes_a_duplicate(hub: Hub) -> None:
    hub.push_work({"other.py": b"x\n"}, "other")
    pull = hub.open_pull(base="other")
    hub.open_pull()
    with pytest.raises(GitHubRefusal, match="already exists"):
        hub.model.edit_pull(pull.number, base_ref="main")
    hub.model.close_pull(2)
    hub.model.edit_pull(pull.number, base_ref="main", title="Another")
    assert (pull.base_ref, pull.title) == ("main", "Another")


def test_it_counts_as_merged_when_somebody_pushes_its_commits_to_the_base(hub: Hub) -> None:
    pull = hub.open_pull()
    hub.model.push("main", pull.head, hub.main)
    assert (pull.state, pull.merged_as) == (PullState.MERGED, pull.head)


def test_nothing_is_written_to_an_archived_repository_or_by_a_stranger(hub: Hub) -> None:
    hub.open_pull()
    SimHuman(hub.model, "stranger", "NONE")
    with refused(403):
        hub.model.close_pull(1, by="stranger")
    hub.model.repository.is_archived = True
    with refused(403):
        hub.model.add_labels(1, ["epic"])
    with refused(404):
        hub.model.pull(9)
