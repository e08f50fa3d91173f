"""What people do on the simulated GitHub when nobody expects it, by a seed."""

from collections.abc import Callable, Sequence
from random import Random

from .model import SimGitHub
from .people import SimHuman
from .records import GitHubRefusal, SimPull
from .refs import RefMoved
from .reviewing import Remark

OBJECTS = 900.0  # seconds that somebody stays by an objection, or by a thread that they have opened again

Act = Callable[[SimGitHub, SimHuman, SimPull, Random], None]


def _push(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    human.push(pull.head_ref, {f"theirs-{rng.randrange(99)}.txt": b"theirs\n"}, "A commit by hand")


def _force_push(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    base = model.refs.merge_base(model.refs.head_of(pull.base_ref), pull.head)
    human.force_push(pull.head_ref, base, {"anew.txt": b"made anew\n"})


def _move_base(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    name = f"base-{rng.randrange(9999)}.txt"
    human.push(model.repository.default_branch, {name: b"moved\n"}, "Meanwhile on the base")


def _remark(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    changed = model.refs.changed(model.refs.head_of(pull.base_ref), pull.head)
    if changed:
        human.remark(pull.number, Remark(rng.choice(changed), 1, "Is this right?"))


def _object(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    human.object_to(pull.number)
    model.later(OBJECTS, lambda: _quietly(lambda: human.approve(pull.number)))


def _resolve(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    unresolved = [thread for thread in pull.threads if not thread.is_resolved]
    if unresolved:
        human.resolve(rng.choice(unresolved).id)


def _unresolve(model: SimGitHub, human: SimHuman, pull: SimPull, rng: Random) -> None:
    resolved = [thread for thread in pull.threads if thread.is_resolved]
    if resolved:
        thread = rng.choice(resolved)
        human.unresolve(thread.id)
        model.later(OBJECTS, lambda: _quietly(lambda: human.resolve(thread.id)))


ACTS: dict[str, Act] = {
    "approve": lambda model, human, pull, rng: _said(human.approve(pull.number)),
    "object": _object,
    "remark": _remark,
    "comment": lambda model, human, pull, rng: human.comment(pull.number, "Nice."),
    "resolve": _resolve,
    "unresolve": _unresolve,
    "push": _push,
    "force-push": _force_push,
    "move-base": _move_base,
    "close": lambda model, human, pull, rng: human.close(pull.number),
    "merge": lambda model, human, pull, rng: _said(human.merge(pull.number)),
    "delete-branch": lambda model, human, pull, rng: human.delete_branch(pull.head_ref),
}


def _said(answer: object) -> None:
    return None


def stir(model: SimGitHub, human: SimHuman, acts: Sequence[str], rng: Random, *, within: float) -> None:
    """Each act once, some time in `within` seconds, on a pull request that is open then."""

    def go(name: str) -> None:
        chosen = [pull for pull in model.pulls.values() if pull.is_open]
        if chosen:
            _quietly(lambda: ACTS[name](model, human, rng.choice(chosen), rng))

    for act in acts:
        model.later(rng.uniform(0.0, within), lambda act=act: go(act))  # type: ignore[misc]


def _quietly(act: Callable[[], object]) -> None:
    """A button that GitHub greys out: nothing happens."""
    try:
        act()
    except (GitHubRefusal, RefMoved):
        return
