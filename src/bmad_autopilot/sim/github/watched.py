"""Any forge, with somebody who is told before and after each effect: to write them down, or to die there."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ...github.forge import Forge
from ...github.pulls import Pull, PullMark, PullOrder, RemoteCheck, Repository
from ..faults import Phase

Hook = Callable[[str, Phase, dict[str, Any]], None]
T = TypeVar("T")


class WatchedForge:
    """`on_effect(kind, phase, data)`: BEFORE_INTENT, and AFTER_EFFECT when it was done and answered."""

    def __init__(self, forge: Forge, on_effect: Hook) -> None:
        self._forge = forge
        self._hook = on_effect

    def _effect(self, kind: str, act: Callable[[], T], **data: Any) -> T:
        self._hook(kind, Phase.BEFORE_INTENT, data)
        answer = act()
        self._hook(kind, Phase.AFTER_EFFECT, {**data, "answer": answer})
        return answer

    def repository(self) -> Repository:
        return self._forge.repository()

    def watch(self, numbers: Sequence[int]) -> list[PullMark]:
        return self._forge.watch(numbers)

    def pulls_of(self, prefix: str) -> list[PullMark]:
        return self._forge.pulls_of(prefix)

    def pulls_from(self, head_ref: str) -> list[PullMark]:
        return self._forge.pulls_from(head_ref)

    def pull(self, number: int) -> Pull:
        return self._forge.pull(number)

    def log_tail(self, check: RemoteCheck) -> str:
        return self._forge.log_tail(check)

    def changed_files(self, number: int) -> list[str]:
        return self._forge.changed_files(number)

    def pace(self, seconds: float) -> float:
        return self._forge.pace(seconds)

    def open_pull(self, order: PullOrder) -> int:
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
