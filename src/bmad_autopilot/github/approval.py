"""May this pull request be approved? The rules, pure: `bmad pr gate`, the queue of pending pull requests and the
auto-approve workflow judge by this file.

Its source is copied whole into the workflow's gate script. So: the standard library alone, nothing of ours
imported, no syntax newer than Python 3.9.

Content. A review, an approval and the waiting time are for what the pull request itself changes. Merges of the
base that were taken in cleanly are not content; `content` holds the head and the heads before it that differ from
it by such merges alone (pull_content.py finds them)."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

COPILOT = "copilot-pull-request-reviewer"
ROBOT = "github-actions"  # whoever approves with a workflow's own token
PREFIX = "feature/epic-"
GATE_WORKFLOW = "BMAD auto-approve"
GATE_SCRIPT = ".github/scripts/auto-approve-gate.py"

TRUSTED = ("OWNER", "MEMBER", "COLLABORATOR")
JUDGING_FOLDERS = (".github/workflows/", ".github/actions/")
JUDGING_FILES = (
    GATE_SCRIPT,
    "bmad-autopilot.toml",
    ".autopilot/config",
    "codeowners",
    ".github/codeowners",
    "docs/codeowners",
)
MOST_FILES = 3000  # GitHub lists no more
MOST_NAMED = 5

APPROVE, WAIT, DISMISS, REFUSE = "approve", "wait", "dismiss", "refuse"
GREEN, PENDING, RED, NONE, ACTION, UNKNOWN = "green", "pending", "red", "none", "action", "unknown"
_OPINIONS = ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")  # a comment leaves an earlier opinion as it was
_LEFT_OUT = ("skipped", "neutral")


class CheckFact(NamedTuple):
    name: str
    state: str  # passed, pending, failed, cancelled, skipped, neutral, action-required, unknown
    required: bool = False
    is_own: bool = False  # the gate's own: it cannot wait for itself


class ReviewFact(NamedTuple):
    login: str  # without `[bot]`
    is_bot: bool
    association: str
    state: str  # APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING
    commit: str
    at: float
    number: int = 0  # the id that REST takes


class Situation(NamedTuple):
    now: float
    head: str
    pushed: float  # the last content push; 0: not known
    arrived: float  # when this head came; 0: not known
    head_ref: str
    state: str = "OPEN"
    is_draft: bool = False
    is_foreign: bool = False
    unresolved: int = 0
    content: tuple[str, ...] = ()  # heads with the same content; the head itself need not be named
    checks: tuple[CheckFact, ...] = ()
    reviews: tuple[ReviewFact, ...] = ()  # the oldest first
    files: tuple[str, ...] = ()  # all that are changed, under their old names too


class Rules(NamedTuple):
    min_age: float = 600.0
    grace: float = 120.0
    reviewer: str = COPILOT  # empty: no review is asked for
    require_checks: bool = True
    robot: str = ROBOT
    prefix: str = PREFIX


class Ruling(NamedTuple):
    word: str  # approve, wait, dismiss, refuse
    reasons: tuple[str, ...] = ()
    again_at: float = 0.0  # only time is missing, until then; 0: something else is
    needs_people: bool = False  # waiting alone does not help
    dismissals: tuple[int, ...] = ()  # the robot's approvals that may not stand
    is_standing: bool = False  # the robot has approved this content already


def judge(situation: Situation, rules: Rules) -> Ruling:
    """What to do now. Decided from how things are, so it may be asked again at any time."""
    hands_off = _hands_off(situation, rules)
    if hands_off:
        return Ruling(REFUSE, tuple(hands_off))
    content = {situation.head, *situation.content}
    given = [r for r in standing(situation.reviews) if _is_robot(r, rules) and r.state == "APPROVED"]
    refusals = _refusals(situation)
    broken = _broken(situation, rules, content)
    unwelcome = given if refusals or broken else [r for r in given if r.commit not in content]
    if unwelcome:
        reasons = refusals + broken or ["what was approved is no longer what it holds"]
        return Ruling(DISMISS, tuple(reasons), dismissals=tuple(r.number for r in unwelcome))
    if situation.is_draft:
        refusals.append("it is a draft")
    if refusals:
        return Ruling(REFUSE, tuple(refusals))
    if broken:
        return Ruling(WAIT, tuple(broken), needs_people=True)
    return _in_time(situation, rules)._replace(is_standing=bool(given))


def _in_time(situation: Situation, rules: Rules) -> Ruling:
    """Nothing speaks against it: is it all there yet?"""
    word = _ci(situation, rules)
    if word == NONE and rules.require_checks:
        return Ruling(WAIT, ("there are no checks",), needs_people=True)
    if word == UNKNOWN:
        return Ruling(WAIT, ("a check is in a state that is not known here",))
    if word == PENDING:
        names = [c.name for c in situation.checks if c.state == "pending" and not c.is_own]
        return Ruling(WAIT, (f"checks are under way: {_named(names)}" if names else "checks have not begun",))
    if not situation.pushed or not situation.arrived:
        return Ruling(WAIT, ("it is not known when it was pushed",))
    ripe, settled = situation.pushed + rules.min_age, situation.arrived + rules.grace
    if situation.now < max(ripe, settled):
        last = "its last content push" if situation.now < ripe else "its head came"
        least = rules.min_age if situation.now < ripe else rules.grace
        return Ruling(WAIT, (f"{least / 60:g} minutes have not passed since {last}",), max(ripe, settled))
    return Ruling(APPROVE)


def ci(checks: Sequence[CheckFact], pushed: float, now: float, grace: float) -> str:
    """green, pending, red, none, action or unknown. No checks at all is `none` only after the grace."""
    states = [check.state for check in checks if not check.is_own]
    if any(state in ("failed", "cancelled") for state in states):
        return RED
    if "action-required" in states:
        return ACTION
    if any(state not in ("passed", "pending", *_LEFT_OUT) for state in states):
        return UNKNOWN
    if "pending" in states:
        return PENDING
    if "passed" in states:
        return GREEN
    return NONE if pushed and now >= pushed + grace else PENDING


def standing(reviews: Sequence[ReviewFact]) -> list[ReviewFact]:
    """Each author's last opinion. One that was dismissed is none, and a later comment takes nothing back."""
    last: dict[tuple[str, bool], ReviewFact] = {}
    for review in sorted(reviews, key=lambda review: review.at):
        if review.state in _OPINIONS:
            last[review.login.casefold(), review.is_bot] = review
    return [review for review in last.values() if review.state != "DISMISSED"]


def is_reviewed(reviews: Sequence[ReviewFact], reviewer: str, content: Collection[str]) -> bool:
    """Has the reviewer seen what the head holds now? Copilot is a bot: a person of that name is somebody else."""
    return any(
        _is_by(review, reviewer) and review.state not in ("DISMISSED", "PENDING") and review.commit in content
        for review in reviews
    )


def approvals(
    reviews: Sequence[ReviewFact], content: Collection[str], files: Sequence[str] = (), robot: str = ROBOT
) -> list[ReviewFact]:
    """Those that count: of people who belong here or of the robot, for this content, not taken back since. Where
    `files` holds what judges, or so many that more may be left out, the robot's is worth nothing: the pull request
    may have brought its own robot."""
    robots = () if judging_files(files) or len(files) >= MOST_FILES else (robot,)
    return [
        review
        for review in standing(reviews)
        if review.state == "APPROVED"
        and review.commit in content
        and (_is_person_here(review) or (review.is_bot and review.login in robots))
    ]


def objections(
    reviews: Sequence[ReviewFact], reviewer: str = COPILOT, trusted: Collection[str] = ()
) -> list[ReviewFact]:
    """Changes asked for by those who count, whatever the content was: GitHub keeps these up too. `trusted`: others
    who count, by login; bots end in `[bot]`."""
    return [
        review
        for review in standing(reviews)
        if review.state == "CHANGES_REQUESTED"
        and (_is_person_here(review) or _is_by(review, reviewer) or _full_login(review) in trusted)
    ]


def judging_files(files: Sequence[str]) -> list[str]:
    """Those that judge, approve, or say who must approve: no robot may wave them through."""
    return [
        path for path in files if path.casefold().startswith(JUDGING_FOLDERS) or path.casefold() in JUDGING_FILES
    ]


def with_missing(checks: Sequence[CheckFact], required: Collection[str]) -> tuple[CheckFact, ...]:
    """A check that the base branch demands and that is not there yet is under way."""
    there = {check.name for check in checks}
    return (*checks, *(CheckFact(name, "pending", required=True) for name in sorted({*required} - there)))


def plain(text: str, most: int = 60) -> str:
    """Others' words, fit for a log, a terminal and a comment: one short line without commands and mentions."""
    kept = "".join(c if c.isprintable() and c not in "@`<>#:[]" else " " for c in text[: most * 4])
    line = " ".join(kept.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _hands_off(situation: Situation, rules: Rules) -> list[str]:
    """Not ours to approve, nor to take anybody's approval from."""
    reasons = []
    if situation.state != "OPEN":
        reasons.append(f"it is {plain(situation.state).lower()}")
    if situation.is_foreign:
        reasons.append("it comes from a fork")
    if not situation.head_ref.startswith(rules.prefix):
        reasons.append(f"its branch is none of {rules.prefix}…")
    return reasons


def _refusals(situation: Situation) -> list[str]:
    reasons = []
    if len(situation.files) >= MOST_FILES:
        reasons.append("it changes more files than can be looked at")
    judging = judging_files(situation.files)
    if judging:
        reasons.append(f"it changes what judges it: {_named(judging)}")
    return reasons


def _broken(situation: Situation, rules: Rules, content: Collection[str]) -> list[str]:
    """Speaks against it, whatever the clock says."""
    reasons = []
    if rules.reviewer and not is_reviewed(situation.reviews, rules.reviewer, content):
        reasons.append(f"{plain(rules.reviewer)} has not reviewed what it holds now")
    if situation.unresolved:
        reasons.append(f"{situation.unresolved} review threads are open")
    asking = objections(situation.reviews, rules.reviewer)
    if asking:
        reasons.append(f"changes are asked for by {_named([review.login for review in asking])}")
    word = _ci(situation, rules)
    if word in (RED, ACTION):
        bad = [c.name for c in situation.checks if c.state in ("failed", "cancelled", "action-required")]
        reasons.append(f"checks have not passed: {_named(bad)}")
    return reasons


def _ci(situation: Situation, rules: Rules) -> str:
    return ci(situation.checks, situation.arrived, situation.now, rules.grace)


def _is_robot(review: ReviewFact, rules: Rules) -> bool:
    return review.is_bot and review.login == rules.robot


def _is_by(review: ReviewFact, reviewer: str) -> bool:
    return bool(reviewer) and review.login == reviewer and (review.is_bot or reviewer != COPILOT)


def _is_person_here(review: ReviewFact) -> bool:
    return not review.is_bot and review.association in TRUSTED


def _full_login(review: ReviewFact) -> str:
    return f"{review.login}[bot]" if review.is_bot else review.login


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(plain(name) for name in names[:MOST_NAMED]) + more
