"""The rows of the transition table from a finished epic to a merged pull request.

What is broken comes first, then what only we can do, then what others have to do; and last of all the merge. Local
delivery goes the same way, without a pull request."""

from .facts import Base, Ci, Delivery, Forge, Gate, Line, Merge, Proof, Pull, Review, Threads
from .rules import Action, Phase, Rule, Wait, Wake, when

_FORGE = Wait("the time at which it is tried again, on disk", (Wake.TIMER, Wake.HUMAN))
_TREE = Wait("the patience for the work tree; then a person is asked", (Wake.TIMER, Wake.HUMAN))
_PULL = Wait("the patience for checks, reviews and approval", (Wake.FORGE, Wake.TIMER, Wake.HUMAN))


def _delivery(
    name: str,
    action: Action,
    phase: Phase,
    question: str = "",
    wait: Wait | None = None,
    /,
    **facts: object,
) -> Rule:
    return Rule(name, when(delivery=Delivery.ON, **facts), action, question, wait, phase)


TO_MERGED: tuple[Rule, ...] = (
    _delivery("delivery-paused", Action.LEAVE, Phase.WAIT_COPILOT, pause=True),
    _delivery("forge-refused", Action.ASK, Phase.BLOCKED, "forge", forge=Forge.REFUSED),
    _delivery("forge-away", Action.WAIT_FOR_FORGE, Phase.WAIT_COPILOT, "", _FORGE, forge=Forge.AWAY),
    _delivery("merged-unproven", Action.PROVE, Phase.MERGE_PR, pull=Pull.MERGED, proof=Proof.NONE),
    _delivery("merged-otherwise", Action.ASK, Phase.BLOCKED, "otherwise", pull=Pull.MERGED, proof=Proof.DIFFERS),
    _delivery("merged-branch", Action.CLEAR_BRANCH, Phase.MERGE_PR, pull=Pull.MERGED, cleared=False),
    _delivery("delivered", Action.FINISH, Phase.DONE, pull=Pull.MERGED),
    _delivery("pull-closed", Action.ASK, Phase.BLOCKED, "closed", pull=Pull.CLOSED),
    _delivery("pull-retargeted", Action.ASK, Phase.BLOCKED, "retargeted", pull=Pull.RETARGETED),
    _delivery("work-tree-blocked", Action.ASK, Phase.BLOCKED, "work-tree", usable=False),
    _delivery("foreign-allowed", Action.TAKE_FOREIGN, Phase.CREATE_PR, "", _TREE, line=Line.ALLOWED),
    _delivery("foreign-commits", Action.ASK, Phase.BLOCKED, "foreign", line=Line.FOREIGN),
    # The commit that we have in hand passes here before anybody else sees it.
    _delivery("unproven-elsewhere", Action.STAND, Phase.CODE_REVIEW, "", _TREE, gate=Gate.DUE, here=False),
    _delivery("unproven", Action.CHECK, Phase.CODE_REVIEW, gate=Gate.DUE),
    _delivery("unfit-elsewhere", Action.STAND, Phase.FIX_ISSUES, "", _TREE, gate=Gate.CODE, here=False),
    _delivery("unfit", Action.OPEN_ROUND, Phase.FIX_ISSUES, gate=Gate.CODE, rounds=True),
    _delivery("unfit-for-good", Action.ASK, Phase.BLOCKED, "unfit", gate=(Gate.CODE, Gate.SAME)),
    _delivery("unfit-here", Action.ASK, Phase.BLOCKED, "unfit-here", gate=Gate.ENVIRONMENT),
    _delivery("unpushed", Action.PUSH, Phase.CREATE_PR, "", _TREE, line=Line.AHEAD),
    _delivery("pull-wanted", Action.REOPEN, Phase.CREATE_PR, pull=Pull.WANTED),
    _delivery("no-pull", Action.OPEN_PULL, Phase.CREATE_PR, pull=Pull.NONE),
    _delivery("unlabelled", Action.LABEL, Phase.CREATE_PR, labelled=False),
    _delivery("stacked", Action.RETARGET, Phase.CREATE_PR, aim=False),
    _delivery("in-the-queue", Action.WAIT_FOR_PULL, Phase.MERGE_PR, "", _PULL, merge=Merge.QUEUED),
    _delivery("conflict-elsewhere", Action.STAND, Phase.FIX_ISSUES, "", _TREE, base=Base.MENDABLE, here=False),
    _delivery("conflict-mendable", Action.OPEN_ROUND, Phase.FIX_ISSUES, base=Base.MENDABLE, rounds=True),
    _delivery("conflict", Action.ASK, Phase.BLOCKED, "base-conflict", base=(Base.CONFLICT, Base.MENDABLE)),
    # What reviewers and checks found.
    _delivery("reply-due", Action.REPLY, Phase.FIX_ISSUES, threads=Threads.REPLY),
    _delivery("resolve-due", Action.RESOLVE, Phase.FIX_ISSUES, threads=Threads.RESOLVE),
    _delivery("check-flaky", Action.RERUN, Phase.WAIT_COPILOT, ci=Ci.FLAKY),
    _delivery("points-elsewhere", Action.STAND, Phase.FIX_ISSUES, "", _TREE, threads=Threads.OPEN, here=False),
    _delivery("points", Action.OPEN_ROUND, Phase.FIX_ISSUES, threads=Threads.OPEN, rounds=True),
    _delivery("points-without-end", Action.ASK, Phase.BLOCKED, "pull-rounds", threads=Threads.OPEN),
    # What is red may have been mended on the base meanwhile, or in the epic that it stands on.
    _delivery("red-behind", Action.TAKE_BASE, Phase.FIX_ISSUES, "", _TREE, ci=Ci.RED, base=Base.MOVED),
    _delivery("red-elsewhere", Action.STAND, Phase.FIX_ISSUES, "", _TREE, ci=Ci.RED, here=False),
    _delivery("red", Action.OPEN_ROUND, Phase.FIX_ISSUES, ci=Ci.RED, rounds=True),
    _delivery("red-without-end", Action.ASK, Phase.BLOCKED, "pull-rounds", ci=Ci.RED),
    _delivery("disputed", Action.ASK, Phase.FIX_ISSUES, "disputed", threads=Threads.DISPUTED),
    # What others have to do.
    _delivery("review-due", Action.REQUEST_REVIEW, Phase.WAIT_COPILOT, review=Review.DUE),
    _delivery("checks-fresh", Action.NOTE_GREEN, Phase.WAIT_COPILOT, ci=Ci.FRESH),
    _delivery("checks-stopped", Action.ASK, Phase.BLOCKED, "ci", ci=Ci.STOPPED),
    _delivery("checks-late", Action.ASK, Phase.BLOCKED, "ci-late", ci=Ci.LATE),
    _delivery("checks-missing", Action.ASK, Phase.BLOCKED, "no-checks", ci=Ci.NONE),
    _delivery("checks-run", Action.WAIT_FOR_PULL, Phase.WAIT_COPILOT, "", _PULL, ci=Ci.PENDING),
    _delivery("review-silent", Action.ASK, Phase.WAIT_COPILOT, "silence", review=Review.SILENT),
    _delivery("review-waited", Action.WAIT_FOR_PULL, Phase.WAIT_COPILOT, "", _PULL, review=Review.WAITED),
    _delivery("approval-late", Action.ASK, Phase.BLOCKED, "approval-late", merge=Merge.LATE),
    _delivery("threads-strange", Action.WAIT_FOR_PULL, Phase.WAIT_COPILOT, "", _PULL, threads=Threads.STRANGE),
    _delivery("by-hand", Action.WAIT_FOR_PULL, Phase.WAIT_COPILOT, "", _PULL, merge=Merge.MANUAL),
    _delivery("robot-due", Action.START_ROBOT, Phase.WAIT_COPILOT, merge=Merge.UNAPPROVED, robot=False),
    _delivery("unapproved", Action.WAIT_FOR_PULL, Phase.WAIT_COPILOT, "", _PULL, merge=Merge.UNAPPROVED),
    # Green, answered, approved. One at a time: each merge moves the base under all others.
    _delivery("not-its-turn", Action.WAIT_FOR_PULL, Phase.MERGE_PR, "", _PULL, turn=False),
    _delivery("base-restless", Action.ASK, Phase.BLOCKED, "base-restless", base=Base.RESTLESS),
    _delivery("base-moved", Action.TAKE_BASE, Phase.MERGE_PR, "", _TREE, base=Base.MOVED),
    # Our login may be allowed to merge over a rule of the branch: it is not for us to do so.
    _delivery("blocked", Action.WAIT_FOR_PULL, Phase.MERGE_PR, "", _PULL, merge=Merge.BLOCKED),
    _delivery("merge-refused", Action.ASK, Phase.BLOCKED, "merge-refused", merge=Merge.REFUSED),
    _delivery("merge", Action.MERGE, Phase.MERGE_PR),
)
