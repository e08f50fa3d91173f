"""Reviews, threads and comments of the simulated GitHub."""

import pytest

from bmad_autopilot.github.forge import COPILOT, ReviewState
from bmad_autopilot.sim.github import reviews
from bmad_autopilot.sim.github.model import ACTIONS, VIEWER
from bmad_autopilot.sim.github.people import SimCopilot, SimHuman, no_review, scripted_reviews
from bmad_autopilot.sim.github.records import GitHubRefusal, SimPull
from bmad_autopilot.sim.github.reviews import Remark
from tests.support.simulated_github import BRANCH, FILES, Hub, memory_hub

A = FILES["a.py"]


@pytest.fixture
def hub() -> Hub:
    return memory_hub()


@pytest.fixture
def pull(hub: Hub) -> SimPull:
    hub.push_work({"a.py": A + b"six\n"})
    return hub.open_pull()


def test_an_author_and_a_robot_that_may_not_do_not_approve(hub: Hub, pull: SimPull) -> None:
    with pytest.raises(GitHubRefusal, match="approve your own pull request"):
        reviews.review(hub.model, pull.number, ReviewState.APPROVED, by=VIEWER)
    with pytest.raises(GitHubRefusal, match="not part of the pull request"):
        reviews.review(hub.model, pull.number, ReviewState.APPROVED, by=ACTIONS, head=hub.main)
    hub.model.repository.actions_approve = False
    with pytest.raises(GitHubRefusal, match="not permitted to approve"):
        reviews.review(hub.model, pull.number, ReviewState.APPROVED, by=ACTIONS)


def test_each_persons_last_word_counts_and_a_comment_takes_nothing_back(hub: Hub, pull: SimPull) -> None:
    hub.protect(approvals=1)
    human = SimHuman(hub.model)
    assert reviews.decision(hub.model, pull) == "REVIEW_REQUIRED"
    human.approve(pull.number)
    human.remark(pull.number)
    assert reviews.decision(hub.model, pull) == "APPROVED"
    human.request_changes(pull.number)
    assert reviews.decision(hub.model, pull) == "CHANGES_REQUESTED"
    reviews.dismiss(hub.model, pull.number, pull.reviews[-1].number, "settled")
    assert reviews.decision(hub.model, pull) == "REVIEW_REQUIRED"


def test_a_strangers_approval_counts_for_nothing(hub: Hub, pull: SimPull) -> None:
    SimHuman(hub.model, "stranger", "NONE").approve(pull.number)
    assert reviews.approvals(hub.model, pull) == []


def test_a_push_makes_approvals_stale_only_where_the_branch_says_so(hub: Hub, pull: SimPull) -> None:
    SimHuman(hub.model).approve(pull.number)
    hub.push_work({"b.py": b"more\n"})
    assert reviews.approvals(hub.model, pull) == ["maria"]
    hub.protect(dismiss_stale=True)
    hub.push_work({"b.py": b"even more\n"})
    assert reviews.approvals(hub.model, pull) == []


def test_a_thread_follows_its_line_and_is_outdated_when_that_changes(hub: Hub, pull: SimPull) -> None:
    SimHuman(hub.model).remark(pull.number, Remark("a.py", 2, "why?"), Remark("b.py", 1, "and this?"))
    thread, other = pull.threads
    assert thread.hunk.endswith("+one\n+two")
    hub.push_work({"a.py": b"zero\n" + A})
    assert (thread.line, thread.is_outdated) == (3, False)
    hub.push_work({"a.py": b"zero\n" + A.replace(b"two", b"2"), "b.py": None})
    assert (thread.line, thread.is_outdated) == (None, True)
    assert (other.line, other.is_outdated) == (None, True)
    assert pull.unresolved == 2


def test_threads_are_answered_and_resolved_by_whoever_may(hub: Hub, pull: SimPull) -> None:
    human = SimHuman(hub.model)
    human.remark(pull.number, Remark("a.py", 2, "why?"))
    thread = pull.threads[0].id
    reviews.reply(hub.model, thread, "fixed")
    reviews.resolve(hub.model, thread)
    reviews.resolve(hub.model, thread)
    assert [comment.author.login for comment in pull.threads[0].comments] == ["maria", VIEWER]
    assert pull.unresolved == 0
    assert len(list(hub.model.effects.select("resolve"))) == 1
    human.unresolve(thread)
    assert pull.unresolved == 1
    with pytest.raises(GitHubRefusal, match="Could not resolve to a node"):
        reviews.reply(hub.model, "PRRT_999", "x")


def test_copilot_comments_some_time_after_it_was_asked_and_never_approves(hub: Hub, pull: SimPull) -> None:
    SimCopilot(
        hub.model, scripted_reviews([Remark("a.py", 1, "one"), Remark("gone.py", 1, "no such file")]), duration=90
    )
    reviews.request_reviews(hub.model, pull.number, [COPILOT])
    hub.advance(89)
    assert pull.requested == [COPILOT]
    assert pull.reviews == []
    hub.advance(2)
    assert pull.requested == []
    assert [review.state for review in pull.reviews] == [ReviewState.COMMENTED]
    assert [thread.path for thread in pull.threads] == ["a.py"]
    reviews.request_reviews(hub.model, pull.number, [COPILOT])
    hub.advance(100)
    assert len(pull.reviews) == 2
    assert len(pull.threads) == 1


def test_copilot_reviews_what_was_there_when_it_began(hub: Hub, pull: SimPull) -> None:
    SimCopilot(hub.model, on_push=True, duration=90)
    first = hub.push_work({"b.py": b"more\n"})
    hub.advance(30)
    second = hub.push_work({"b.py": b"even more\n"})
    hub.advance(200)
    assert [review.commit for review in pull.reviews] == [first, second]


def test_copilot_may_be_silent_or_not_there(hub: Hub, pull: SimPull) -> None:
    SimCopilot(hub.model, no_review)
    reviews.request_reviews(hub.model, pull.number, [COPILOT])
    hub.advance(9999)
    assert pull.requested == [COPILOT]
    hub.model.repository.copilot = False
    with pytest.raises(GitHubRefusal, match="not enabled"):
        reviews.request_reviews(hub.model, pull.number, [COPILOT])
    with pytest.raises(GitHubRefusal, match="collaborators"):
        reviews.request_reviews(hub.model, pull.number, ["nobody"])


def test_what_is_closed_is_not_judged(hub: Hub, pull: SimPull) -> None:
    human = SimHuman(hub.model)
    human.close(pull.number)
    with pytest.raises(GitHubRefusal, match="closed"):
        human.approve(pull.number)
    human.reopen(pull.number)
    assert hub.refs.head_of(BRANCH) == pull.head
    human.approve(pull.number)
