"""The questions of a delivery: text, options, the meaning of each answer, and the context shown."""

from collections.abc import Callable, Mapping

from ...core.answers import AnswerMeaning
from ...core.facts import ThreadsFact
from ...core.messages import translate
from ...core.run_record import RunRecord
from ...core.stop_causes import ABORT, CAUSE_MENUS, RETRY, Cause
from ...github.forge import CheckState, Pull
from ...github.untrusted_text import clean_line, clean_text
from ..ports import LaneQuestion
from ..question_texts import QuestionText
from .observe import conflict_key, foreign_key, retarget_key
from .pull_facts import merge_key
from .snapshot import DeliveryObservation, SnapshotObservation
from .threads import ReviewPoint, reply_key

MAX_SHOWN = 2000

_CHECK_AGAIN = {RETRY: AnswerMeaning.OBSERVE, ABORT: AnswerMeaning.ABORT}

DELIVERY_QUESTIONS: Mapping[str, QuestionText] = {
    "forge": QuestionText(
        "{pull} is blocked. Retry once the cause is fixed?",
        _CHECK_AGAIN,
        RETRY,
        "nothing is lost; fix what is reported above first",
        Cause.FORGE,
    ),
    "work-tree": QuestionText(
        "{pull} needs the worktree, which has uncommitted changes or an unfinished operation. Retry once it is "
        "clean?",
        _CHECK_AGAIN,
        RETRY,
        "nothing is lost; commit or restore the changes there first",
        Cause.UNSAFE_WORKTREE,
    ),
    "otherwise": QuestionText(
        "{pull} is merged, but the commit on {base} is not the one that was tested. Have you reviewed it?",
        {RETRY: AnswerMeaning.OBSERVE, "accept": AnswerMeaning.ACCEPT_MERGE, ABORT: AnswerMeaning.ABORT},
        RETRY,
        "another change came in between; the checks on the base branch show whether it works",
        Cause.MERGE,
    ),
    "closed": QuestionText(
        "{pull} was closed by someone. Reopen it?",
        {"reopen": AnswerMeaning.REOPEN, **_CHECK_AGAIN},
        ABORT,
        "whoever closed it had a reason; the branch is kept",
        Cause.CLOSED,
    ),
    "retargeted": QuestionText(
        "Someone changed the base of {pull} from {base} to {other}. Change it back?",
        {RETRY: AnswerMeaning.RETARGET, ABORT: AnswerMeaning.ABORT},
        RETRY,
        "it was verified with its own base only; to merge it elsewhere, merge it yourself",
        Cause.MERGE,
    ),
    "foreign": QuestionText(
        "{branch} has commits that bmad did not make. Include them and continue?",
        {"take": AnswerMeaning.TAKE_OVER, **_CHECK_AGAIN},
        "take",
        "they are all kept; nothing is pushed to that branch before you answer",
        Cause.FOREIGN,
    ),
    "base-conflict": QuestionText(
        "{branch} conflicts with {base}. Continue once the conflict is resolved?",
        _CHECK_AGAIN,
        RETRY,
        "the steps are listed above; your commits there are included",
        Cause.CONFLICT,
    ),
    "base-restless": QuestionText(
        "{base} received new commits each time before {branch} could be merged. Keep trying?",
        {RETRY: AnswerMeaning.MORE_BASES, ABORT: AnswerMeaning.ABORT},
        RETRY,
        "it is merged as soon as the base is stable for the duration of its checks",
        Cause.CONFLICT,
    ),
    "unfit": QuestionText(
        "The project's checks still fail on the branch of {epic}. Allow more attempts to fix it?",
        {RETRY: AnswerMeaning.MORE_PULL_ROUNDS, ABORT: AnswerMeaning.ABORT},
        RETRY,
        "your own commits on its branch are used first",
        Cause.CHECKS,
    ),
    "unfit-here": QuestionText(
        "The project's checks cannot run on this machine for {epic}. Rerun them once that is fixed?",
        {RETRY: AnswerMeaning.RECHECK, ABORT: AnswerMeaning.ABORT},
        RETRY,
        "no code change would help; install or configure what is missing first",
        Cause.ENVIRONMENT,
    ),
    "pull-rounds": QuestionText(
        "{pull} still has requested changes after {rounds} rounds. Allow as many again?",
        {"more": AnswerMeaning.MORE_PULL_ROUNDS, **_CHECK_AGAIN},
        RETRY,
        "review it first: the requested changes are listed above",
        Cause.PULL_ROUNDS,
    ),
    "disputed": QuestionText(
        "The agent disagrees with a reviewer of {pull}. Who is right?",
        {
            "insist": AnswerMeaning.INSIST,
            "resolve": AnswerMeaning.CLOSE_THREAD,
            "leave": AnswerMeaning.LEAVE_THREAD,
            ABORT: AnswerMeaning.ABORT,
        },
        "leave",
        "insist: make the change; resolve: close the thread without it; leave: you settle it on the forge",
        Cause.THREADS,
    ),
    "ci": QuestionText(
        "A check of {pull} needs manual action, or has an unknown state. Check again?",
        {RETRY: AnswerMeaning.OBSERVE, ABORT: AnswerMeaning.ABORT},
        RETRY,
        "see the check on the forge; nothing is merged before it passes",
        Cause.REMOTE_CHECKS,
    ),
    "ci-late": QuestionText(
        "The checks of {pull} are still running. Wait as long again?",
        {RETRY: AnswerMeaning.WAIT_MORE, ABORT: AnswerMeaning.ABORT},
        RETRY,
        "nothing is merged before they pass",
        Cause.REMOTE_CHECKS,
    ),
    "no-checks": QuestionText(
        "{pull} has no checks. Check again, or continue without?",
        {RETRY: AnswerMeaning.OBSERVE, "without": AnswerMeaning.WITHOUT_CHECKS, ABORT: AnswerMeaning.ABORT},
        RETRY,
        "only the local checks passed; set `require_checks = false` if they are enough",
        Cause.REMOTE_CHECKS,
    ),
    "silence": QuestionText(
        "The requested review of {pull} has not arrived. Wait as long again?",
        {"wait": AnswerMeaning.WAIT_MORE, "without": AnswerMeaning.WITHOUT_REVIEW, ABORT: AnswerMeaning.ABORT},
        "wait",
        "the setting `require_review` names the required reviewer",
        Cause.NO_REVIEW,
    ),
    "approval-late": QuestionText(
        "The checks of {pull} pass, but the approval it needs has not arrived. Wait as long again?",
        {"wait": AnswerMeaning.WAIT_MORE, ABORT: AnswerMeaning.ABORT},
        "wait",
        "it is merged as soon as it is approved",
        Cause.NO_REVIEW,
    ),
    "merge-refused": QuestionText(
        "The forge refused to merge {pull}. Retry?",
        {RETRY: AnswerMeaning.TRY_MERGE, ABORT: AnswerMeaning.ABORT},
        RETRY,
        "the reason is above; a branch rule may require more",
        Cause.MERGE,
    ),
}


def _sentence(template: str, names: Mapping[str, object]) -> str:
    """Names of branches and epics keep their spelling at the beginning of a sentence; "pull request" does not."""
    text = translate(template, **names)
    return text[:1].upper() + text[1:] if text.startswith(str(names["pull"])) else text


def pull_question(code: str, observation: DeliveryObservation, run: RunRecord) -> LaneQuestion:
    form, number = DELIVERY_QUESTIONS[code], run.delivery.pull
    snapshot = observation.snapshot if isinstance(observation, SnapshotObservation) else None
    names = {
        "pull": translate("pull request #{number} of {epic}", number=number, epic=observation.epic)
        if number
        else translate("the delivery of {epic}", epic=observation.epic),
        "base": snapshot.target if snapshot else translate("the base"),
        "other": clean_line(snapshot.pull.base_ref, 200)
        if snapshot and snapshot.pull
        else translate("another branch"),
        "branch": snapshot.branch if snapshot else translate("the branch"),
        "epic": observation.epic,
        "rounds": len(run.delivery.rounds) - run.delivery.rounds_counted_from,
    }
    options = tuple(option for option in CAUSE_MENUS[form.cause].options if option in form.options)
    return LaneQuestion(
        code,
        observation.epic,
        None,
        _sentence(form.text, names),
        _context(code, observation, run),
        options,
        form.recommended,
        cause=form.cause,
        because=translate(form.because),
    )


def _context(code: str, observation: DeliveryObservation, run: RunRecord) -> str:
    if not isinstance(observation, SnapshotObservation):
        return observation.worktree_problem
    return _CONTEXTS.get(code, _why)(observation, run)


def question_key(code: str, observation: DeliveryObservation, run: RunRecord) -> str:
    """The subject of the question; an answer is valid for this key only."""
    record = run.delivery
    if not isinstance(observation, SnapshotObservation):
        return record.head
    snapshot = observation.snapshot
    if code == "disputed":
        return reply_key(_disputed_point(observation))
    if code == "foreign":
        return foreign_key(snapshot)
    if code == "base-conflict":
        return conflict_key(snapshot, record)
    if code == "retargeted":
        return retarget_key(snapshot)
    if code in ("silence", "no-checks"):
        return (snapshot.equivalent_heads or (record.head,))[-1]  # merging the base does not repeat the question
    if code == "merge-refused":
        return merge_key(snapshot, run)
    if code == "closed" and snapshot.pull is not None:
        return str(snapshot.pull.number)
    return record.head


def _disputed_point(observation: SnapshotObservation) -> ReviewPoint:
    return next(one for one in observation.points if one.due is ThreadsFact.DISPUTED)


def _why(observation: SnapshotObservation, run: RunRecord) -> str:
    return observation.worktree_problem or _url(observation)


def _url(observation: SnapshotObservation) -> str:
    return observation.snapshot.pull.url if observation.snapshot.pull else ""


def _thread_context(observation: SnapshotObservation, run: RunRecord) -> str:
    point = _disputed_point(observation)
    comments = "\n".join(f"{clean_line(who, 60)}: {clean_text(words, MAX_SHOWN)}" for who, words in point.comments)
    why = clean_text(str((point.answer or {}).get("why", "")), MAX_SHOWN)
    location = clean_line(point.path, 200) + (f":{point.line}" if point.line else "")
    return "\n".join(part for part in (location, comments, f"The agent: {why}", _url(observation)) if part)


def _points_context(observation: SnapshotObservation, run: RunRecord) -> str:
    wants = [one for one in observation.points if one.due is ThreadsFact.OPEN]
    shown = [
        f"{clean_line(one.path, 100) or 'review'}: {clean_line(one.comments[-1][1], 200)}" for one in wants[:10]
    ]
    return "\n".join([*shown, *_bad_checks(observation), _url(observation)])


def _bad_checks(observation: SnapshotObservation) -> list[str]:
    fine = (CheckState.PASSED, CheckState.SKIPPED, CheckState.NEUTRAL)
    checks = observation.snapshot.pull.checks if observation.snapshot.pull else ()
    return [f"{clean_line(one.name, 100)}: {one.state}" for one in checks if one.state not in fine][:10]


def _checks_context(observation: SnapshotObservation, run: RunRecord) -> str:
    return "\n".join([*_bad_checks(observation), _url(observation)])


def _refusal_context(observation: SnapshotObservation, run: RunRecord) -> str:
    key = question_key("merge-refused", observation, run)
    refused = run.delivery.completed_effects.get(f"merge-refused:{key}")
    snapshot = observation.snapshot
    if refused:
        why = str(refused.get("why", ""))
    elif snapshot.pull is not None and not snapshot.pull.needs_queue:
        why = _block_text(snapshot.pull, snapshot.target)
    else:
        why = "the merge queue has put it out, or somebody has"
    return f"{why}\n{_url(observation)}".strip()


def _block_text(pull: Pull, base: str) -> str:
    """Also if our login could bypass the rule: a person who wants that merges on the forge."""
    return (
        f"GitHub calls it {clean_line(pull.merge_state, 40)}: a rule of {base} is not met. Most often a check that"
        f" the branch requires has never reported; `gh pr checks {pull.number} --required` lists those that have."
        " Start it, or change the rule. Nothing is merged over a rule here: who means to do so merges it there"
    )


def _foreign_context(observation: SnapshotObservation, run: RunRecord) -> str:
    snapshot, record = observation.snapshot, run.delivery
    lines = [f"we left it at {record.pushed[:12] or record.head[:12]}"]
    if snapshot.remote not in ("", record.pushed):
        lines.append(f"the remote has it at {snapshot.remote[:12]}")
    if not snapshot.is_ours:
        lines.append(f"here it is at {snapshot.local[:12]}")
    lines.append(
        f"see them: git log {record.head[:12]}..{(snapshot.remote if snapshot.is_ours else snapshot.local)[:12]}"
    )
    return "\n".join([*lines, _url(observation)])


def _wait_context(observation: SnapshotObservation, run: RunRecord) -> str:
    snapshot = observation.snapshot
    why = "nobody has approved it, or merged it where that is a person's"
    if observation.facts.threads is ThreadsFact.UNTRUSTED:
        why = "review threads are open that a person has to close"
    elif snapshot.pull is not None and snapshot.pull.is_queued:
        why = "the merge queue has it, and does not come to it"
    elif snapshot.is_stacked:
        why = f"it stands on {snapshot.target}, whose pull request is not open"
    return f"{why}\n{_url(observation)}".strip()


_CONTEXTS: Mapping[str, Callable[[SnapshotObservation, RunRecord], str]] = {
    "disputed": _thread_context,
    "pull-rounds": _points_context,
    "ci": _checks_context,
    "ci-late": _checks_context,
    "approval-late": _wait_context,
    "merge-refused": _refusal_context,
    "foreign": _foreign_context,
}
