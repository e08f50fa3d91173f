"""The forge's door straight onto the simulated GitHub: no processes, no wire, the same answers and faults."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ...github.forge import ForgeError, Trouble
from ...github.pulls import Pull, PullMark, PullOrder, RemoteCheck, Repository, ReviewState
from ...github.quoting import outgoing_body, outgoing_line, outgoing_message
from . import checking, joining, reviewing
from .faults import RETRY_AFTER, Fault, GitHubFaults, Replica
from .model import VIEWER, SimGitHub
from .records import GitHubRefusal
from .showing import show_mark, show_pull, show_repository

TAIL = 20_000

T = TypeVar("T")

_TROUBLES = {401: Trouble.LOGIN, 403: Trouble.DENIED, 404: Trouble.MISSING}


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

    def watch(self, numbers: Sequence[int]) -> list[PullMark]:
        def fresh() -> list[PullMark]:
            known = [self.model.pulls[number] for number in dict.fromkeys(numbers) if number in self.model.pulls]
            return [show_mark(self.model, pull) for pull in known]

        return self._read("watch", tuple(numbers), fresh)

    def pulls_of(self, prefix: str) -> list[PullMark]:
        def fresh() -> list[PullMark]:
            every = self.model.pulls.values()
            return [show_mark(self.model, one) for one in every if one.is_open and one.head_ref.startswith(prefix)]

        return self._read("pulls_of", prefix, fresh)

    def pulls_from(self, head_ref: str) -> list[PullMark]:
        def fresh() -> list[PullMark]:
            every = sorted(self.model.pulls.values(), key=lambda one: -one.number)
            own = [one for one in every if one.head_ref == head_ref and not one.is_foreign]
            return [show_mark(self.model, one) for one in own]

        return self._read("pulls_from", head_ref, fresh)

    def pull(self, number: int) -> Pull:
        return self._read("pull", number, lambda: show_pull(self.model, self.model.pull(number)))

    def log_tail(self, check: RemoteCheck) -> str:
        def fresh() -> str:
            return checking.job(self.model, check.job).log[-TAIL:].decode(errors="replace") if check.job else ""

        return self._read("log_tail", check.job, fresh)

    def changed_files(self, number: int) -> list[str]:
        def fresh() -> list[str]:
            pull = self.model.pull(number)
            return self.model.refs.changed(self.model.refs.head_of(pull.base_ref), pull.head)

        return self._read("changed_files", number, fresh)

    def pace(self, seconds: float) -> float:
        return seconds

    # effects

    def open_pull(self, order: PullOrder) -> int:
        said = order._replace(title=outgoing_line(order.title), body=outgoing_body(order.body))
        return self._effect("open_pull", lambda: self.model.open_pull(said, by=self.viewer).number)

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
        asked = [reviewer]
        self._effect("request_review", lambda: reviewing.request(self.model, pull.number, asked, by=self.viewer))

    def comment(self, number: int, body: str) -> None:
        self._effect("comment", lambda: reviewing.comment(self.model, number, outgoing_body(body), by=self.viewer))

    def reply(self, thread: str, body: str) -> None:
        self._effect("reply", lambda: reviewing.reply(self.model, thread, outgoing_body(body), by=self.viewer))

    def resolve(self, thread: str) -> None:
        self._effect("resolve", lambda: reviewing.resolve(self.model, thread, by=self.viewer))

    def rerun(self, check: RemoteCheck) -> None:
        self._effect("rerun", lambda: checking.rerun(self.model, check.run, by=self.viewer))

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        self._effect("dispatch", lambda: self.model.dispatch(workflow, dict(inputs), by=self.viewer))

    def approve(self, number: int, head: str, body: str) -> None:
        def act() -> None:
            said = outgoing_body(body)
            reviewing.review(self.model, number, ReviewState.APPROVED, by=self.viewer, body=said, head=head)

        self._effect("approve", act)

    def dismiss(self, number: int, review: int, why: str) -> None:
        self._effect(
            "dismiss", lambda: reviewing.dismiss(self.model, number, review, outgoing_body(why), by=self.viewer)
        )

    def merge(self, number: int, head: str, subject: str, body: str) -> str:
        message = {"subject": outgoing_line(subject), "body": outgoing_message(body), "by": self.viewer}
        return self._effect("merge", lambda: joining.merge(self.model, number, head, **message))

    def enqueue(self, pull: Pull) -> None:
        self._effect("enqueue", lambda: joining.enqueue(self.model, pull.number, pull.head, by=self.viewer))

    def delete_branch(self, ref: str, head: str) -> None:
        self._effect("delete_branch", lambda: self._delete(ref, head))

    def _delete(self, ref: str, head: str) -> None:
        held = self.model.refs.head_of(ref)
        if held and held != head:
            raise ForgeError(Trouble.REFUSED, f"{ref} holds {held[:8]}, not {head[:8]}")
        if held:
            self.model.delete_branch(ref, by=self.viewer)

    # between us and it

    def _read(self, call: str, key: object, fresh: Callable[[], T]) -> T:
        fault = self._begin(call, is_effect=False)
        self.model.look_at_branches()
        with _Refusals():
            return self._replica.read((call, key), self.model.now, fresh, is_stale=fault is Fault.STALE)

    def _effect(self, call: str, act: Callable[[], T]) -> T:
        fault = self._begin(call, is_effect=True)
        self.model.look_at_branches()
        with _Refusals():
            answer = act()
        if fault is Fault.LOST:
            raise ForgeError(Trouble.AWAY, "the answer was lost")
        return answer

    def _begin(self, call: str, *, is_effect: bool) -> Fault | None:
        self.calls += 1
        fault = self._faults.pick(call, is_effect=is_effect)
        until = self.model.now + RETRY_AFTER
        if fault is Fault.LIMIT:
            raise ForgeError(Trouble.LIMIT, "too many requests", until=until, status=429)
        if fault is Fault.SECONDARY:
            raise ForgeError(Trouble.LIMIT, "a secondary rate limit", until=until, status=403)
        if fault is Fault.GATEWAY:
            raise ForgeError(Trouble.AWAY, "bad gateway", status=502)
        if fault is Fault.TIMEOUT:
            raise ForgeError(Trouble.AWAY, "no answer in time")
        return fault


class _Refusals:
    """A refusal in the door's own words."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, GitHubRefusal):
            trouble = _TROUBLES.get(error.status, Trouble.REFUSED)
            raise ForgeError(trouble, error.message, status=error.status) from None
