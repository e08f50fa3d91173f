"""The Forge port on the simulated GitHub: in memory, without gh or HTTP, with the same answers and faults."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from ...core.forge_errors import ForgeError, ForgeErrorKind
from ...github.forge import Forge, NewPull, Pull, PullSummary, RemoteCheck, Repository, ReviewState
from ...github.untrusted_text import outgoing_body, outgoing_line, outgoing_message
from ..faults import CrashPhase
from . import checks, merge, reviews
from .forge_view import show_mark, show_pull, show_repository
from .model import VIEWER, SimGitHub
from .records import RETRY_AFTER, GitHubFault, GitHubFaults, GitHubRefusal, Replica, SimClock
from .refs import BareRefs

LOG_TAIL_BYTES = 20_000

T = TypeVar("T")

_TROUBLES = {401: ForgeErrorKind.LOGIN, 403: ForgeErrorKind.DENIED, 404: ForgeErrorKind.MISSING}


class SimForge:
    def __init__(self, model: SimGitHub, faults: GitHubFaults | None = None, viewer: str = VIEWER) -> None:
        self.model = model
        self.viewer = viewer
        self.calls = 0
        self._faults = faults or GitHubFaults()
        self._replica = Replica()

    # reading

    def repository(self) -> Repository:
        return self._read("repository", (), lambda: show_repository(self.model, self.viewer))

    def watch(self, numbers: Sequence[int]) -> list[PullSummary]:
        def fresh() -> list[PullSummary]:
            known = [self.model.pulls[number] for number in dict.fromkeys(numbers) if number in self.model.pulls]
            return [show_mark(self.model, pull) for pull in known]

        return self._read("watch", tuple(numbers), fresh)

    def pulls_of(self, prefix: str) -> list[PullSummary]:
        def fresh() -> list[PullSummary]:
            every = self.model.pulls.values()
            return [show_mark(self.model, one) for one in every if one.is_open and one.head_ref.startswith(prefix)]

        return self._read("pulls_of", prefix, fresh)

    def pulls_from(self, head_ref: str) -> list[PullSummary]:
        def fresh() -> list[PullSummary]:
            every = sorted(self.model.pulls.values(), key=lambda one: -one.number)
            own = [one for one in every if one.head_ref == head_ref and not one.is_foreign]
            return [show_mark(self.model, one) for one in own]

        return self._read("pulls_from", head_ref, fresh)

    def pull(self, number: int) -> Pull:
        return self._read("pull", number, lambda: show_pull(self.model, self.model.pull(number)))

    def log_tail(self, check: RemoteCheck) -> str:
        def fresh() -> str:
            return (
                checks.find_job(self.model, check.job).log[-LOG_TAIL_BYTES:].decode(errors="replace")
                if check.job
                else ""
            )

        return self._read("log_tail", check.job, fresh)

    def changed_files(self, number: int) -> list[str]:
        def fresh() -> list[str]:
            pull = self.model.pull(number)
            return self.model.refs.changed(self.model.refs.head_of(pull.base_ref), pull.head)

        return self._read("changed_files", number, fresh)

    def pace(self, seconds: float) -> float:
        return seconds

    # effects

    def open_pull(self, order: NewPull) -> int:
        outgoing = order._replace(title=outgoing_line(order.title), body=outgoing_body(order.body))
        return self._effect("open_pull", lambda: self.model.open_pull(outgoing, by=self.viewer).number)

    def edit_pull(
        self, number: int, *, title: str | None = None, body: str | None = None, base_ref: str | None = None
    ) -> None:
        change = {
            "title": None if title is None else outgoing_line(title),
            "body": None if body is None else outgoing_body(body),
            "base_ref": base_ref,
        }
        self._effect("edit_pull", lambda: self.model.edit_pull(number, **change, by=self.viewer))

    def close_pull(self, number: int) -> None:
        self._effect("close_pull", lambda: self.model.close_pull(number, by=self.viewer))

    def reopen_pull(self, number: int) -> None:
        self._effect("reopen_pull", lambda: self.model.reopen_pull(number, by=self.viewer))

    def mark_ready(self, pull: Pull) -> None:
        self._effect("mark_ready", lambda: self.model.mark_ready(pull.number, by=self.viewer))

    def add_labels(self, number: int, labels: Sequence[str]) -> None:
        self._effect("add_labels", lambda: self.model.add_labels(number, list(labels), by=self.viewer))

    def request_review(self, pull: Pull, reviewer: str) -> None:
        reviewers = [reviewer]
        self._effect(
            "request_review", lambda: reviews.request_reviews(self.model, pull.number, reviewers, by=self.viewer)
        )

    def comment(self, number: int, body: str) -> None:
        self._effect("comment", lambda: reviews.comment(self.model, number, outgoing_body(body), by=self.viewer))

    def reply(self, thread: str, body: str) -> None:
        self._effect("reply", lambda: reviews.reply(self.model, thread, outgoing_body(body), by=self.viewer))

    def resolve(self, thread: str) -> None:
        self._effect("resolve", lambda: reviews.resolve(self.model, thread, by=self.viewer))

    def rerun(self, check: RemoteCheck) -> None:
        self._effect("rerun", lambda: checks.rerun_failed(self.model, check.run, by=self.viewer))

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        self._effect("dispatch", lambda: self.model.dispatch(workflow, dict(inputs), by=self.viewer))

    def approve(self, number: int, head: str, body: str) -> None:
        def act() -> None:
            outgoing = outgoing_body(body)
            reviews.review(self.model, number, ReviewState.APPROVED, by=self.viewer, body=outgoing, head=head)

        self._effect("approve", act)

    def dismiss(self, number: int, review: int, why: str) -> None:
        self._effect(
            "dismiss", lambda: reviews.dismiss(self.model, number, review, outgoing_body(why), by=self.viewer)
        )

    def merge(self, number: int, head: str, subject: str, body: str) -> str:
        message = {"subject": outgoing_line(subject), "body": outgoing_message(body), "by": self.viewer}
        return self._effect("merge", lambda: merge.merge(self.model, number, head, **message))

    def enqueue(self, pull: Pull) -> None:
        self._effect("enqueue", lambda: merge.enqueue(self.model, pull.number, pull.head, by=self.viewer))

    def delete_branch(self, ref: str, head: str) -> None:
        self._effect("delete_branch", lambda: self._delete(ref, head))

    def _delete(self, ref: str, head: str) -> None:
        current = self.model.refs.head_of(ref)
        if current and current != head:
            raise ForgeError(ForgeErrorKind.REFUSED, f"{ref} holds {current[:8]}, not {head[:8]}")
        if current:
            self.model.delete_branch(ref, by=self.viewer)

    # faults and refusals

    def _read(self, call: str, key: object, fresh: Callable[[], T]) -> T:
        fault = self._begin(call, is_effect=False)
        self.model.sync_branches()
        with _TranslateRefusals():
            return self._replica.read((call, key), self.model.now, fresh, is_stale=fault is GitHubFault.STALE)

    def _effect(self, call: str, act: Callable[[], T]) -> T:
        fault = self._begin(call, is_effect=True)
        self.model.sync_branches()
        with _TranslateRefusals():
            answer = act()
        if fault is GitHubFault.LOST:
            raise ForgeError(ForgeErrorKind.UNAVAILABLE, "the answer was lost")
        return answer

    def _begin(self, call: str, *, is_effect: bool) -> GitHubFault | None:
        self.calls += 1
        fault = self._faults.pick(call, is_effect=is_effect)
        until = self.model.now + RETRY_AFTER
        if fault is GitHubFault.LIMIT:
            raise ForgeError(ForgeErrorKind.LIMIT, "too many requests", until=until, status=429)
        if fault is GitHubFault.SECONDARY:
            raise ForgeError(ForgeErrorKind.LIMIT, "a secondary rate limit", until=until, status=403)
        if fault is GitHubFault.GATEWAY:
            raise ForgeError(ForgeErrorKind.UNAVAILABLE, "bad gateway", status=502)
        if fault is GitHubFault.TIMEOUT:
            raise ForgeError(ForgeErrorKind.UNAVAILABLE, "no answer in time")
        return fault


class _TranslateRefusals:
    """Turns a GitHubRefusal into the port's ForgeError."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, GitHubRefusal):
            trouble = _TROUBLES.get(error.status, ForgeErrorKind.REFUSED)
            raise ForgeError(trouble, error.message, status=error.status) from None


# A wrapper for any forge that calls a hook before and after each effect, to log it or to crash there.

EffectHook = Callable[[str, CrashPhase, dict[str, Any]], None]


class WatchedForge:
    """Calls `on_effect(kind, phase, data)` with BEFORE_INTENT, and with AFTER_EFFECT once the call returned."""

    def __init__(self, forge: Forge, on_effect: EffectHook) -> None:
        self._forge = forge
        self._hook = on_effect

    def _effect(self, kind: str, act: Callable[[], T], **data: Any) -> T:
        self._hook(kind, CrashPhase.BEFORE_INTENT, data)
        answer = act()
        self._hook(kind, CrashPhase.AFTER_EFFECT, {**data, "answer": answer})
        return answer

    def repository(self) -> Repository:
        return self._forge.repository()

    def watch(self, numbers: Sequence[int]) -> list[PullSummary]:
        return self._forge.watch(numbers)

    def pulls_of(self, prefix: str) -> list[PullSummary]:
        return self._forge.pulls_of(prefix)

    def pulls_from(self, head_ref: str) -> list[PullSummary]:
        return self._forge.pulls_from(head_ref)

    def pull(self, number: int) -> Pull:
        return self._forge.pull(number)

    def log_tail(self, check: RemoteCheck) -> str:
        return self._forge.log_tail(check)

    def changed_files(self, number: int) -> list[str]:
        return self._forge.changed_files(number)

    def pace(self, seconds: float) -> float:
        return self._forge.pace(seconds)

    def open_pull(self, order: NewPull) -> int:
        return self._effect("open-pull", lambda: self._forge.open_pull(order), head=order.head_ref)

    def edit_pull(
        self, number: int, *, title: str | None = None, body: str | None = None, base_ref: str | None = None
    ) -> None:
        def act() -> None:
            self._forge.edit_pull(number, title=title, body=body, base_ref=base_ref)

        self._effect("edit-pull", act, number=number, base_ref=base_ref)

    def close_pull(self, number: int) -> None:
        self._effect("close", lambda: self._forge.close_pull(number), number=number)

    def reopen_pull(self, number: int) -> None:
        self._effect("reopen", lambda: self._forge.reopen_pull(number), number=number)

    def mark_ready(self, pull: Pull) -> None:
        self._effect("ready", lambda: self._forge.mark_ready(pull), number=pull.number)

    def add_labels(self, number: int, labels: Sequence[str]) -> None:
        self._effect("label", lambda: self._forge.add_labels(number, labels), number=number)

    def request_review(self, pull: Pull, reviewer: str) -> None:
        data = {"number": pull.number, "reviewer": reviewer}
        self._effect("request-review", lambda: self._forge.request_review(pull, reviewer), **data)

    def comment(self, number: int, body: str) -> None:
        self._effect("comment", lambda: self._forge.comment(number, body), number=number)

    def reply(self, thread: str, body: str) -> None:
        self._effect("reply", lambda: self._forge.reply(thread, body), thread=thread)

    def resolve(self, thread: str) -> None:
        self._effect("resolve", lambda: self._forge.resolve(thread), thread=thread)

    def rerun(self, check: RemoteCheck) -> None:
        self._effect("rerun", lambda: self._forge.rerun(check), name=check.name)

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        self._effect("dispatch", lambda: self._forge.dispatch(workflow, ref, inputs), workflow=workflow)

    def approve(self, number: int, head: str, body: str) -> None:
        self._effect("approve", lambda: self._forge.approve(number, head, body), number=number)

    def dismiss(self, number: int, review: int, why: str) -> None:
        self._effect("dismiss", lambda: self._forge.dismiss(number, review, why), number=number)

    def merge(self, number: int, head: str, subject: str, body: str) -> str:
        return self._effect("merge", lambda: self._forge.merge(number, head, subject, body), number=number)

    def enqueue(self, pull: Pull) -> None:
        self._effect("enqueue", lambda: self._forge.enqueue(pull), number=pull.number)

    def delete_branch(self, ref: str, head: str) -> None:
        self._effect("delete-branch", lambda: self._forge.delete_branch(ref, head), ref=ref)


# The simulated GitHub in real time, for the demo and for tests with real git.


class LiveForge(SimForge):
    """Before each call, runs the events that are due by the wall clock."""

    def __init__(
        self, model: SimGitHub, faults: GitHubFaults | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(model, faults, VIEWER)
        self._clock = clock

    def _begin(self, call: str, *, is_effect: bool) -> GitHubFault | None:
        timeline = self.model.clock
        assert isinstance(timeline, SimClock)
        timeline.advance(self._clock())
        return super()._begin(call, is_effect=is_effect)


def live_github(folder: Path, seed: int = 0) -> SimGitHub:
    """A simulated GitHub on a bare repository in this folder, which real git can push to."""
    return SimGitHub(SimClock(time.time()), BareRefs(folder), Random(seed))  # noqa: S311 - seeds, not secrets
