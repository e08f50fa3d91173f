"""What a delivery does with its pull request on the forge."""

from collections.abc import Callable

from ...core.facts import Threads
from ...core.rules import Rule
from ...github.forge import COPILOT, ForgeError, Trouble
from ...github.gate_running import WORKFLOW_FILE
from ...github.pulls import PullOrder
from ..looking import DeliveryLook, Look
from ..loop_state import Loop
from .effects import OPTIONAL, Came, effect, looked, nicety
from .pull_facts import green_key, jobs_of, review_key
from .said import asked_mark
from .telling import reply_text
from .threads import Point, reply_key

AT_ONCE = 20  # threads


def open_pull(loop: Loop, look: Look, rule: Rule) -> None:
    seen = looked(look).seen
    title, body = loop.doors.pull_text(loop.run)
    order = PullOrder(seen.branch, seen.target, title, body, seen.plan.draft)
    act = lambda: {"number": loop.doors.forge().open_pull(order)}  # noqa: E731
    effect(loop, "open-pull", seen.branch, act, base=seen.target)


def note_found(loop: Loop, found: DeliveryLook) -> None:
    """One whose opening nobody heard the end of, or that somebody else has opened: from now on by its number."""
    pull = found.seen.pull
    if pull is not None and not loop.run.delivery.pull:
        loop.note("did", do="open-pull", key=found.seen.branch, number=pull.number, found=True)


def reopen(loop: Loop, look: Look, rule: Rule) -> None:
    pull = looked(look).seen.pull
    assert pull is not None
    effect(loop, "reopen", asked_mark(loop.run, "closed"), lambda: loop.doors.forge().reopen_pull(pull.number))


def label(loop: Loop, look: Look, rule: Rule) -> None:
    seen = looked(look).seen
    assert seen.pull is not None
    number = seen.pull.number
    nicety(loop, "label", "", lambda: loop.doors.forge().add_labels(number, seen.plan.labels))


def retarget(loop: Loop, look: Look, rule: Rule) -> None:
    seen = looked(look).seen
    assert seen.pull is not None
    number = seen.pull.number
    act = lambda: loop.doors.forge().edit_pull(number, base_ref=seen.target)  # noqa: E731
    effect(loop, "retarget", seen.target, act, base=seen.target)


def request_review(loop: Loop, look: Look, rule: Rule) -> None:
    seen = looked(look).seen
    assert seen.pull is not None
    pull, key = seen.pull, review_key(seen, loop.run.delivery)
    done = nicety(loop, "request-review", key, lambda: loop.doors.forge().request_review(pull, COPILOT))
    if not done:
        loop.note("did", do="no-review", key="")


def reply(loop: Loop, look: Look, rule: Rule) -> None:
    _one_by_one(look, Threads.REPLY, lambda point: _reply(loop, point))


def _reply(loop: Loop, point: Point) -> Came | None:
    body = reply_text(point)
    forge, number = loop.doors.forge(), loop.run.delivery.pull

    def act() -> None:
        if point.is_thread:
            forge.reply(point.thread, body)
        else:
            forge.comment(number, body)

    return _on_thread(loop, "reply", reply_key(point), act)


def resolve(loop: Loop, look: Look, rule: Rule) -> None:
    def one(point: Point) -> Came | None:
        act = lambda: loop.doors.forge().resolve(point.thread)  # noqa: E731
        return _on_thread(loop, "resolve", reply_key(point), act)

    _one_by_one(look, Threads.RESOLVE, one)


def _one_by_one(look: Look, due: Threads, act: Callable[[Point], Came | None]) -> None:
    """Some at once: a look between each two costs more than they do. The first that fails is looked at."""
    for point in [one for one in looked(look).points if one.due is due][:AT_ONCE]:
        if act(point) is None:
            return


def _on_thread(loop: Loop, do: str, key: str, act: Callable[[], None]) -> Came | None:
    """A thread that is gone needs nothing any more."""

    def tried() -> Came:
        try:
            act()
        except ForgeError as error:
            if error.trouble is Trouble.MISSING:
                return {"gone": True}
            raise
        return {}

    return effect(loop, do, key, tried)


def rerun(loop: Loop, look: Look, rule: Rule) -> None:
    """Each run once, with all of it that failed: the forge starts nothing of a run that is under way."""
    broken = looked(look).seen.broken
    runs = {one.run: one for one in broken if one.run}

    def act() -> None:
        refused = []
        for one in runs.values():
            try:
                loop.doors.forge().rerun(one)
            except ForgeError as error:
                if error.trouble not in OPTIONAL:
                    raise
                refused.append(error)
        if len(refused) == len(runs):
            raise refused[-1]

    nicety(loop, "rerun", loop.run.delivery.head, act, jobs=jobs_of(broken))


def note_green(loop: Loop, look: Look, rule: Rule) -> None:
    loop.note("green", key=green_key(looked(look).seen, loop.run.delivery.head))


def start_robot(loop: Loop, look: Look, rule: Rule) -> None:
    seen = looked(look).seen
    assert seen.pull is not None
    inputs = {"pr_number": str(seen.pull.number)}
    act = lambda: loop.doors.forge().dispatch(WORKFLOW_FILE, seen.plan.base, inputs)  # noqa: E731
    nicety(loop, "start-robot", loop.run.delivery.head, act)
