"""What must hold of every merge: proven, approved, no thread open, and noticed where it came out otherwise."""

from collections.abc import Iterator

from ..core.folding import fold
from ..engine.books import DEFERRED
from ..engine.delivery.plan import WHEN_APPROVED
from ..github.approval import TRUSTED
from ..github.pulls import ReviewState
from .github.effects import GitHubEffect
from .github.model import ACTIONS, VIEWER
from .github.records import SimPull
from .memory_git import changed_paths
from .memory_hub import Hub
from .played import Played, Session


def hub_of(played: Played) -> Hub:
    assert played.world.hub is not None
    return played.world.hub


def ours(played: Played, *kinds: str) -> Iterator[GitHubEffect]:
    return hub_of(played).model.effects.of(*kinds, by=VIEWER)


def answers_of(played: Played, session: Session) -> set[str]:
    return {str(data.get("means")) for kind, data, _ in played.journal(session.run) if kind == "answered"}


def session_of(played: Played, pull: SimPull) -> Session | None:
    return next((one for one in played.sessions if one.lane.branch == pull.head_ref), None)


def nothing_is_merged_unproven(played: Played) -> Iterator[str]:
    for effect in ours(played, "merge"):
        yield from (f"#{effect.data['number']}: {problem}" for problem in _against_merge(played, effect))


def _against_merge(played: Played, effect: GitHubEffect) -> Iterator[str]:
    data = effect.data
    session = session_of(played, hub_of(played).model.pulls[data["number"]])
    plan = session.lane.delivery if session else None
    if session is None or plan is None:
        yield "it is none of ours"
        return
    without = "without-checks" in answers_of(played, session)
    if data["rollup"] != "SUCCESS" and not (data["rollup"] == "" and (without or not plan.checks)):
        yield f"its checks are {data['rollup'] or 'none'}"
    if data["unresolved"]:
        yield f"{data['unresolved']} threads are open"
    if data["obstacle"]:
        yield f"a rule of the branch is not met: {data['obstacle']}"
    if data["objections"]:
        yield f"{data['objections']} ask for changes"
    if plan.merge == WHEN_APPROVED and not _approved(played, effect):
        yield "nobody has approved what it holds"
    if not _checked_here(played, session, data["head"], effect.at):
        yield "our own checks have not passed on it"


def _approved(played: Played, effect: GitHubEffect) -> bool:
    """By somebody who counts, for this content: heads that differ from it by the base alone are as good."""
    pull = hub_of(played).model.pulls[effect.data["number"]]
    base, head = effect.data["base"], effect.data["head"]
    given = [
        one
        for one in pull.reviews
        if one.state is ReviewState.APPROVED
        and one.at <= effect.at
        and (one.author.association in TRUSTED or one.author.login == ACTIONS)
    ]
    return any(_is_base_alone(played, one.commit, head, base) for one in given)


def _is_base_alone(played: Played, before: str, head: str, base: str) -> bool:
    """Whether all that came since is the base's; the board and the list of deferred work are merged by what they
    mean."""
    refs, books = hub_of(played).refs, played.world.books
    old, new, there = refs.files(before), refs.files(head), refs.files(base)
    apart = (books.board, f"{books.folder}/{DEFERRED}")
    return all(new.get(path) == there.get(path) for path in changed_paths(old, new) if path not in apart)


def _checked_here(played: Played, session: Session, head: str, at: float) -> bool:
    from .memory_lines import MemoryLines

    code = MemoryLines(played.world, hub_of(played), session.run, f"{session.lane.key}.pr-1", ()).code(head)
    record = fold(entry for entry in played.journal(session.run) if entry[2] <= at)
    check = record.checks.get(code)
    return check is not None and check.passed


def what_was_merged_otherwise_is_noticed(played: Played) -> Iterator[str]:
    """The tree on the base is not the one that was tested: the run says so, and asks."""
    for effect in ours(played, "merge"):
        session = session_of(played, hub_of(played).model.pulls[effect.data["number"]])
        if session is None or effect.data["same_tree"]:
            continue
        proofs = [data["proof"] for kind, data, _ in played.journal(session.run) if kind == "merged"]
        if session.ending == "completed" and "differs" not in proofs:
            yield f"#{effect.data['number']}"
