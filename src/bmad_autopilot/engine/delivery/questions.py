"""The questions of a delivery: their words, what each answer means, what they are about."""

from collections.abc import Callable, Mapping

from ...core.causes import ABORT, OFFERS, RETRY, Cause
from ...core.facts import Threads
from ...core.records import RunRecord
from ...github.pulls import CheckState, Pull
from ...github.quoting import clean_text, one_line
from ..doors import Question
from ..forms import Form
from ..looking import Look
from .branch_facts import aim_key, conflict_key, foreign_key
from .pull_facts import merge_key
from .threads import Point, reply_key

MAX_SHOWN = 2000

_LOOK = {RETRY: "look", ABORT: "abort"}

FORMS: Mapping[str, Form] = {
    "forge": Form(
        "{pull} cannot go on. Once that is mended: try again?",
        _LOOK,
        RETRY,
        "nothing is lost; what is missing must be there first",
        Cause.FORGE,
    ),
    "work-tree": Form(
        "{pull} needs the work tree, and something is in the way there. Once that is cleared: try again?",
        _LOOK,
        RETRY,
        "nothing is lost; what is not committed there must be committed or put back first",
        Cause.GROUND,
    ),
    "otherwise": Form(
        "{pull} is merged, but the commit on {base} is not what was tested. Have you looked at it?",
        {RETRY: "look", "accept": "merged-fine", ABORT: "abort"},
        RETRY,
        "something came in between; the checks on the base branch say whether it holds",
        Cause.MERGE,
    ),
    "closed": Form(
        "Somebody has closed {pull}. Open it again?",
        {"reopen": "reopen", **_LOOK},
        ABORT,
        "whoever closed it had a reason; the branch stays as it is",
        Cause.CLOSED,
    ),
    "retargeted": Form(
        "Somebody has set {pull} to go to {other}, and not to {base}. Set it back?",
        {RETRY: "retarget", ABORT: "abort"},
        RETRY,
        "it is proven with that base alone; what is meant for another, a person merges",
        Cause.MERGE,
    ),
    "foreign": Form(
        "Commits that are not ours are on {branch}. Take them in and go on from there?",
        {"take": "take-over", **_LOOK},
        "take",
        "nothing of them is lost; until then nothing is pushed to that branch",
        Cause.FOREIGN,
    ),
    "base-conflict": Form(
        "{base} has moved, and does not go together with {branch}. Once that is resolved: go on?",
        _LOOK,
        RETRY,
        "the steps stand above; what you commit there is taken in",
        Cause.CONFLICT,
    ),
    "base-restless": Form(
        "{base} has moved each time before {branch} could be merged. Go on trying?",
        {RETRY: "more-bases", ABORT: "abort"},
        RETRY,
        "it is merged as soon as the base stays as it is for the length of its checks",
        Cause.CONFLICT,
    ),
    "unfit": Form(
        "The project's checks still fail on what is to be delivered of {epic}. Allow more rounds of mending?",
        {RETRY: "more-pull-rounds", ABORT: "abort"},
        RETRY,
        "what you commit on its branch meanwhile is looked at first",
        Cause.CHECKS,
    ),
    "unfit-here": Form(
        "The project's checks cannot run here on what is to be delivered of {epic}. Once that is mended: again?",
        {RETRY: "recheck", ABORT: "abort"},
        RETRY,
        "no change to the code would help; what is missing must be there first",
        Cause.ENVIRONMENT,
    ),
    "pull-rounds": Form(
        "{pull} still wants changes after {rounds} rounds. Allow as many again?",
        {"more": "more-pull-rounds", **_LOOK},
        RETRY,
        "look at it first: what it wants stands above",
        Cause.PULL_ROUNDS,
    ),
    "disputed": Form(
        "The agent does not agree with a reviewer of {pull}. Who is right?",
        {"insist": "insist", "resolve": "close-thread", "leave": "leave-thread", ABORT: "abort"},
        "leave",
        "insist: it is done after all; resolve: the thread is closed as it is; leave: you settle it there",
        Cause.THREADS,
    ),
    "ci": Form(
        "A check of {pull} waits for somebody, or says what nobody understands. Look again?",
        {RETRY: "look", ABORT: "abort"},
        RETRY,
        "what it waits for is on the forge; nothing is merged before it is green",
        Cause.REMOTE_CHECKS,
    ),
    "ci-late": Form(
        "The checks of {pull} are still not over. Wait as long again?",
        {RETRY: "wait-more", ABORT: "abort"},
        RETRY,
        "nothing is merged before they are green",
        Cause.REMOTE_CHECKS,
    ),
    "no-checks": Form(
        "{pull} has no checks at all. Look again, or go on without?",
        {RETRY: "look", "without": "without-checks", ABORT: "abort"},
        RETRY,
        "only the project's own checks here have passed; `require_checks = false` says that they are enough",
        Cause.REMOTE_CHECKS,
    ),
    "silence": Form(
        "The review of {pull} that was asked for has not come. Wait as long again?",
        {"wait": "wait-more", "without": "without-review", ABORT: "abort"},
        "wait",
        "`require_review` says whose review is needed",
        Cause.SILENCE,
    ),
    "approval-late": Form(
        "{pull} is green, and what it waits for has not come. Wait as long again?",
        {"wait": "wait-more", ABORT: "abort"},
        "wait",
        "once that is there, it is merged",
        Cause.SILENCE,
    ),
    "merge-refused": Form(
        "The forge would not merge {pull}. Try again?",
        {RETRY: "try-merge", ABORT: "abort"},
        RETRY,
        "it says why above; a rule of the branch may want something more",
        Cause.MERGE,
    ),
}


def pull_question(code: str, look: Look, run: RunRecord) -> Question:
    form = FORMS[code]
    seen = look.delivery.seen if look.delivery else None
    number = run.delivery.pull
    names = {
        "pull": f"Pull request #{number} of {look.subject}" if number else f"The delivery of {look.subject}",
        "base": seen.target if seen else "the base",
        "other": one_line(seen.pull.base_ref, 200) if seen and seen.pull else "another branch",
        "branch": seen.branch if seen else "the branch",
        "epic": look.subject,
        "rounds": len(run.delivery.rounds) - run.delivery.counted_from,
    }
    text = form.text.format(**names)
    options = tuple(option for option in OFFERS[form.cause].options if option in form.options)
    context = _CONTEXTS.get(code, _why)(look, run)
    return Question(
        code, look.subject, None, text, context, options, form.recommended, cause=form.cause, because=form.because
    )


def question_key(code: str, look: Look, run: RunRecord) -> str:
    """What exactly is asked about: the answer counts for just that."""
    record = run.delivery
    seen = look.delivery.seen if look.delivery else None
    if code == "disputed":
        return reply_key(_disputed(look))
    if code == "foreign" and seen is not None:
        return foreign_key(seen)
    if code == "base-conflict" and seen is not None:
        return conflict_key(seen, record)
    if code == "retargeted" and seen is not None:
        return aim_key(seen)
    if code in ("silence", "no-checks") and seen is not None:
        return (seen.content or (record.head,))[-1]  # a base taken in asks nothing anew
    if code == "merge-refused" and seen is not None:
        return merge_key(seen, run)
    if code == "closed" and seen is not None and seen.pull is not None:
        return str(seen.pull.number)
    return record.head


def _disputed(look: Look) -> Point:
    assert look.delivery is not None
    return next(one for one in look.delivery.points if one.due is Threads.DISPUTED)


def _why(look: Look, run: RunRecord) -> str:
    return look.why or _url(look)


def _url(look: Look) -> str:
    seen = look.delivery.seen if look.delivery else None
    return seen.pull.url if seen and seen.pull else ""


def _of_thread(look: Look, run: RunRecord) -> str:
    point = _disputed(look)
    said = "\n".join(f"{one_line(who, 60)}: {clean_text(words, MAX_SHOWN)}" for who, words in point.said)
    why = clean_text(str((point.answer or {}).get("why", "")), MAX_SHOWN)
    place = one_line(point.path, 200) + (f":{point.line}" if point.line else "")
    return "\n".join(part for part in (place, said, f"The agent: {why}", _url(look)) if part)


def _of_points(look: Look, run: RunRecord) -> str:
    assert look.delivery is not None
    wants = [one for one in look.delivery.points if one.due is Threads.OPEN]
    told = [f"{one_line(one.path, 100) or 'review'}: {one_line(one.said[-1][1], 200)}" for one in wants[:10]]
    return "\n".join([*told, *_bad_checks(look), _url(look)])


def _bad_checks(look: Look) -> list[str]:
    seen = look.delivery.seen if look.delivery else None
    fine = (CheckState.PASSED, CheckState.SKIPPED, CheckState.NEUTRAL)
    checks = seen.pull.checks if seen and seen.pull else ()
    return [f"{one_line(one.name, 100)}: {one.state}" for one in checks if one.state not in fine][:10]


def _of_checks(look: Look, run: RunRecord) -> str:
    return "\n".join([*_bad_checks(look), _url(look)])


def _of_refusal(look: Look, run: RunRecord) -> str:
    key = question_key("merge-refused", look, run)
    refused = run.delivery.done.get(f"merge-refused:{key}")
    seen = look.delivery.seen if look.delivery else None
    if refused:
        why = str(refused.get("why", ""))
    elif seen is not None and seen.pull is not None and not seen.pull.needs_queue:
        why = _of_block(seen.pull, seen.target)
    else:
        why = "the merge queue has put it out, or somebody has"
    return f"{why}\n{_url(look)}".strip()


def _of_block(pull: Pull, base: str) -> str:
    """Also where our login might: who wants that merges it there."""
    return (
        f"GitHub calls it {one_line(pull.merge_state, 40)}: a rule of {base} is not met. Most often a check that"
        f" the branch requires has never reported; `gh pr checks {pull.number} --required` lists those that have."
        " Start it, or change the rule. Nothing is merged over a rule here: who means to do so merges it there"
    )


def _of_foreign(look: Look, run: RunRecord) -> str:
    assert look.delivery is not None
    seen, record = look.delivery.seen, run.delivery
    lines = [f"we left it at {record.pushed[:12] or record.head[:12]}"]
    if seen.remote not in ("", record.pushed):
        lines.append(f"the remote has it at {seen.remote[:12]}")
    if not seen.is_ours:
        lines.append(f"here it is at {seen.local[:12]}")
    lines.append(f"see them: git log {record.head[:12]}..{(seen.remote if seen.is_ours else seen.local)[:12]}")
    return "\n".join([*lines, _url(look)])


def _of_wait(look: Look, run: RunRecord) -> str:
    seen = look.delivery.seen if look.delivery else None
    why = "nobody has approved it, or merged it where that is a person's"
    if look.facts.threads is Threads.STRANGE:
        why = "review threads are open that a person has to close"
    elif seen is not None and seen.pull is not None and seen.pull.is_queued:
        why = "the merge queue has it, and does not come to it"
    elif seen is not None and seen.is_stacked:
        why = f"it stands on {seen.target}, whose pull request is not open"
    return f"{why}\n{_url(look)}".strip()


_CONTEXTS: Mapping[str, Callable[[Look, RunRecord], str]] = {
    "disputed": _of_thread,
    "pull-rounds": _of_points,
    "ci": _of_checks,
    "ci-late": _of_checks,
    "approval-late": _of_wait,
    "merge-refused": _of_refusal,
    "foreign": _of_foreign,
}
