"""How things stand with an epic on its way to the base branch, as facts of the table."""

from ...core.delivery import Data, DeliveryRecord
from ...core.errors import AutopilotError
from ...core.facts import (
    Base,
    Ci,
    Delivery,
    Epic,
    Facts,
    Forge,
    Line,
    Merge,
    Pull,
    Question,
    Review,
    Target,
    Threads,
)
from ...core.records import RunRecord
from ...github.approval import MOST_FILES
from ...github.forge import ForgeError, Trouble
from ...github.git import LockedError
from ...github.pulls import PullState
from ...github.quoting import one_line
from ..doors import Doors
from ..lane import Lane
from ..looking import DeliveryLook, Look
from .branch_facts import of_branch
from .lines import Lines
from .plan import LOCAL, MANUAL
from .pull_facts import of_pull, until_of
from .said import asked_at
from .seeing import LAG, SETTLES, Seen, see
from .threads import FIXED, Point, points_of

MAX_TROUBLES = 10  # times that an effect is tried without an answer: an hour in all
PATIENCE = 600.0  # seconds that something may be in the way in the repository before a person is asked
AGAIN = 60.0  # seconds after which a forge that is away is asked again
ELSEWHERE = 600.0  # after which it is looked whether what was merged into another branch has come to the base
WORK_TREE = "work-tree"  # the effect that fails where something is in the way there
PASSING = (Trouble.AWAY, Trouble.LIMIT)


def observe_delivery(doors: Doors, lane: Lane, run: RunRecord, facts: Facts) -> Look:
    facts = facts._replace(delivery=Delivery.ON, target=Target.OVER, epic=Epic.UNLISTED)
    if facts.stop or facts.pause or facts.question is not Question.NONE:
        return Look(facts, subject=lane.key)
    now = doors.now()
    unsettled = _unsettled(run.delivery, now)
    if unsettled:
        return Look(facts._replace(forge=Forge.AWAY), subject=lane.key, until=unsettled)
    try:
        seen = see(doors, lane, run.delivery, run.checks)
    except ForgeError as error:
        return _blind(lane, facts, error, now)
    except LockedError as error:
        return _locked(lane, facts, error, run.delivery, now)
    except AutopilotError as error:  # git's, such as a base whose history is another by now: other epics go on
        return Look(facts._replace(forge=Forge.REFUSED), subject=lane.key, why=str(error))
    if seen.unseen and now < seen.unseen + AGAIN:
        return Look(facts._replace(forge=Forge.AWAY), subject=lane.key, until=now + LAG)
    if seen.pull is not None and seen.pull.state is PullState.MERGED and not seen.is_in:
        return _merged_elsewhere(lane, facts, seen, run, now)
    points = _points(doors.lines(), seen, run)
    facts = of_branch(doors.lines(), facts, seen, run)
    blocked = run.delivery.failed.get(f"{WORK_TREE}:{run.delivery.head}", "")
    if blocked and not (facts.here and seen.local == run.delivery.head and facts.line is not Line.ALLOWED):
        return Look(facts._replace(usable=False), subject=lane.key, why=blocked)
    refused = _refused(facts, run.delivery)
    if refused:
        return Look(facts._replace(forge=Forge.REFUSED), subject=lane.key, why=refused)
    if seen.plan.kind == LOCAL:
        merge = Merge.MANUAL if seen.plan.merge == MANUAL else Merge.FREE
        facts = facts._replace(ci=Ci.GREEN, review=Review.ENOUGH, merge=merge)
    elif facts.pull is Pull.OPEN:
        facts = of_pull(facts, seen, run, points, now)
    facts = facts._replace(turn=doors.has_turn())
    until = until_of(facts, seen, run, now)
    return Look(
        facts,
        subject=lane.key,
        until=until,
        why=_why(doors.lines(), facts, seen),
        delivery=DeliveryLook(seen, points),
    )


def _unsettled(record: DeliveryRecord, now: float) -> float:
    """Until when an effect whose answer is lost may still not be seen, or one that came too late is not tried
    again; 0: nothing of the kind."""
    waits = [float(one["at"]) + _settles(record, name) for name, one in record.begun.items()]
    waits += [float(one["raced"]) + _pause(one) for one in record.troubles.values() if one.get("raced")]
    return max((until for until in waits if until > now), default=0.0)


def _settles(record: DeliveryRecord, name: str) -> float:
    """Longer each time: what fails again and again holds nobody else up."""
    times = int(record.troubles.get(name, {}).get("times", 0))
    return SETTLES * float(2 ** min(max(times - 1, 0), 6))


def _pause(raced: Data) -> float:
    """At once after the first time, then longer each time."""
    return min(2.0 ** (int(raced["times"]) - 1) - 1.0, AGAIN)


def _blind(lane: Lane, facts: Facts, error: ForgeError, now: float) -> Look:
    if error.trouble in (*PASSING, Trouble.LOGIN):
        until, problem = max(error.until, now + AGAIN), error if error.trouble is Trouble.LOGIN else None
        away = facts._replace(forge=Forge.AWAY)
        return Look(away, subject=lane.key, until=until, why=str(error), problem=problem)
    return Look(facts._replace(forge=Forge.REFUSED), subject=lane.key, why=str(error))


def _locked(lane: Lane, facts: Facts, error: LockedError, record: DeliveryRecord, now: float) -> Look:
    """Another git process is at work in the repository, or one was killed there: tried again for a while."""
    waits = record.waits or {}
    is_overdue = str(error) in str(waits.get("why", "")) and now >= float(waits["since"]) + PATIENCE
    forge = Forge.REFUSED if is_overdue else Forge.AWAY
    return Look(facts._replace(forge=forge), subject=lane.key, until=now + AGAIN, why=str(error))


def _merged_elsewhere(lane: Lane, facts: Facts, seen: Seen, run: RunRecord, now: float) -> Look:
    """The forge lags, or somebody has merged it into another branch; from there it may come to the base."""
    assert seen.pull is not None
    since = max(seen.pull.merged_at, asked_at(run, "forge", run.delivery.head))
    is_over = now >= since + seen.plan.approval_patience
    again = now + (LAG if now < seen.pull.merged_at + AGAIN else ELSEWHERE)
    why = f"{seen.plan.base} does not hold what was merged into {seen.pull.base_ref}"
    forge = Forge.REFUSED if is_over else Forge.AWAY
    return Look(facts._replace(forge=forge), subject=lane.key, until=again, why=why)


def _points(lines: Lines, seen: Seen, run: RunRecord) -> list[Point]:
    """What is said to be fixed by a commit that is not on the head, or was there before, is not fixed."""
    found = points_of(seen.pull, run, seen.plan.trusted, seen.viewer) if seen.pull else []
    return [
        point._replace(due=Threads.OPEN, commit="") if _is_empty_word(lines, point, run.delivery.head) else point
        for point in found
    ]


def _is_empty_word(lines: Lines, point: Point, head: str) -> bool:
    if point.due not in (Threads.REPLY, Threads.RESOLVE) or not point.answer:
        return False
    if point.answer["answer"] != FIXED:
        return False
    return not (point.commit and lines.contains(head, point.commit) and _is_later(lines, point, point.answer))


def _is_later(lines: Lines, point: Point, answer: Data) -> bool:
    """Whoever made the point had not seen it. What came with the base is no later one: it does not hold theirs."""
    named, since = answer.get("commit"), str(answer.get("since") or point.since)
    if not named:
        return True  # the round's own
    return bool(since) and since != named and lines.contains(point.commit, since)


def _refused(facts: Facts, record: DeliveryRecord) -> str:
    """An effect that the forge would not let us have, and that is still wanted."""
    wanted = {"open-pull": facts.pull is Pull.NONE, "push": facts.line is Line.AHEAD, WORK_TREE: False}
    hopeless = {
        name: str(one["why"])
        for name, one in record.troubles.items()
        if one["times"] >= MAX_TROUBLES and (not one.get("raced") or name.endswith(f":{record.head}"))
    }
    named = {**record.failed, **hopeless}
    return next((why for name, why in named.items() if wanted.get(name.partition(":")[0], True)), "")


def _why(lines: Lines, facts: Facts, seen: Seen) -> str:
    if facts.base in (Base.CONFLICT, Base.MENDABLE) and seen.taken is not None:
        return lines.steps_for(seen.branch, seen.target, seen.taken)
    return seen.elsewhere if not facts.here else ""


WAITS_FOR = {
    "checks-run": "its checks",
    "review-waited": "Copilot's review",
    "threads-strange": "review threads that a person has to close",
    "by-hand": "a person to merge it",
    "unapproved": "an approval",
    "in-the-queue": "the merge queue",
    "blocked": "what a rule of the branch demands",
    "not-its-turn": "its turn to be merged",
}


def waits_for(rule: str, seen: Seen | None) -> str:
    """What a pull request waits for, in words."""
    if rule == "by-hand" and seen is not None and seen.pull is not None:
        if seen.is_stacked:
            return f"the pull request of {seen.target}, which it stands on"
        if seen.pull.is_draft:
            return "a person to take it out of draft"
    if rule == "unapproved" and seen is not None and seen.objections:
        names = ", ".join(one_line(one.login, 60) for one in seen.objections[:3])
        return f"{names} to take back what they ask for, or somebody to dismiss that review"
    if rule == "unapproved" and seen is not None and len(seen.files) >= MOST_FILES:
        return "a person's approval: it changes more files than a workflow can look at"
    if rule == "blocked" and seen is not None and seen.pull is not None:
        return f"what the rules of {seen.target} demand: GitHub calls it {one_line(seen.pull.merge_state, 40)}"
    return WAITS_FOR.get(rule, rule)
