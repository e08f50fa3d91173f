"""GitHub, by gh: the Forge of those who have one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from time import sleep, time
from typing import Any
from urllib.parse import quote

from .approval import MOST_FILES
from .forge import COPILOT, ForgeError, Trouble
from .gh import Gh
from .gh_checks import read_checks
from .gh_logs import tail
from .gh_pages import Pages
from .gh_queries import (
    CHECKS,
    ENQUEUE,
    MARK_READY,
    MAX_WATCHED,
    MORE_COMMENTS,
    MORE_REVIEWS,
    MORE_THREADS,
    OPEN_PULLS,
    PULL,
    PULLS_FROM,
    REPLY,
    REPOSITORY,
    REQUEST_REVIEW,
    RESOLVE,
    watch,
)
from .gh_reading import (
    Node,
    inner,
    node,
    number,
    odd,
    optional,
    read_mark,
    read_pull,
    read_repository,
    read_review,
    read_thread,
    text,
)
from .gh_remote import find_address
from .git import Git
from .pulls import Pull, PullMark, PullOrder, RemoteCheck, Repository
from .quoting import outgoing_body, outgoing_line, outgoing_message

KNOWN_SECONDS = 600.0
MAX_LOG = 32 * 1024 * 1024
_PER_PAGE = 100


def find_forge(
    git: Git,
    remote: str = "origin",
    *,
    wait: Callable[[float], object] = sleep,
    clock: Callable[[], float] = time,
) -> "GhForge":
    """The repository that this remote leads to. gh is not asked yet."""
    found = find_address(git, remote)
    return GhForge(Gh(found.host, wait=wait, clock=clock), found.owner, found.name)


class GhForge:
    def __init__(self, gh: Gh, owner: str, name: str) -> None:
        self.gh = gh
        self._here = {"owner": owner, "name": name}
        self._pages = Pages(gh, self._here)
        self._root = f"repos/{_part(owner)}/{_part(name)}"
        self._repository: tuple[Repository, float] | None = None

    def pace(self, seconds: float) -> float:
        """How long to wait between two looks, so that others who use this login have enough left."""
        return self.gh.pace(seconds)

    def repository(self) -> Repository:
        """As it was some minutes ago at most: every look at a pull request wants to know who we are there."""
        known, now = self._repository, self.gh.now()
        if known is None or not 0 <= now - known[1] < KNOWN_SECONDS:
            known = (read_repository(self.gh.graphql(REPOSITORY, self._here), self.gh.host), now)
            self._repository = known
        return known[0]

    def watch(self, numbers: Sequence[int]) -> list[PullMark]:
        """One that is not there, or that nobody understands, is left out."""
        wanted = list(dict.fromkeys(numbers))
        marks: list[PullMark] = []
        for start in range(0, len(wanted), MAX_WATCHED):
            some = wanted[start : start + MAX_WATCHED]
            asked = {f"n{i}": number for i, number in enumerate(some)}
            data = self.gh.graphql(watch(len(some)), self._here | asked, serious=_but_missing_pulls)
            found = node(data.get("repository"), "repository")
            for i in range(len(some)):
                with suppress(ForgeError):
                    marks.append(read_mark(node(found.get(f"p{i}"), "a pull request")))
        return marks

    def pulls_of(self, prefix: str) -> list[PullMark]:
        pages = self._pages.all(OPEN_PULLS, {}, "repository", "pullRequests")
        return self.watch([number(one, "number") for one in pages if text(one, "headRefName").startswith(prefix)])

    def pulls_from(self, head_ref: str) -> list[PullMark]:
        pages = self._pages.all(PULLS_FROM, {"head": head_ref}, "repository", "pullRequests")
        return [mark for mark in map(read_mark, pages) if not mark.is_foreign]

    def pull(self, number: int) -> Pull:
        data = self.gh.graphql(PULL, self._here | {"number": number})
        found = node(inner(data, "repository", "pullRequest"), f"pull request {number}")
        pull, here = read_pull(found), {"number": number}
        road = ("repository", "pullRequest")
        reviews = self._pages.rest(found.get("reviews"), MORE_REVIEWS, here, *road, "reviews")
        threads = self._pages.rest(found.get("reviewThreads"), MORE_THREADS, here, *road, "reviewThreads")
        return pull._replace(
            reviews=tuple(map(read_review, reviews)),
            threads=tuple(read_thread(thread, self._comments(thread)) for thread in threads),
            checks=read_checks(self._checks(found, pull)),
        )

    def _comments(self, thread: Node) -> Iterator[Node]:
        return self._pages.rest(
            thread.get("comments"), MORE_COMMENTS, {"thread": text(thread, "id")}, "node", "comments"
        )

    def _checks(self, found: Node, pull: Pull) -> Iterator[Node]:
        """Of exactly this head: a branch may be ahead of what its pull request knows, or be deleted."""
        here = {"number": pull.number, "head": pull.head}
        road = ("repository", "object", "statusCheckRollup", "contexts")
        commit = inner(found, "headRef", "target")
        if optional(commit, "oid") != pull.head:
            return self._pages.all(CHECKS, here, *road)
        first = inner(commit, "statusCheckRollup", "contexts")
        return iter(()) if first is None else self._pages.rest(first, CHECKS, here, *road)

    def log_tail(self, check: RemoteCheck) -> str:
        if not check.job:
            return ""
        try:
            answer = self.gh.get(f"{self._root}/actions/jobs/{check.job}/logs", limit=MAX_LOG)
        except ForgeError as error:
            if error.trouble is Trouble.MISSING:  # not written yet, or deleted by now
                return ""
            raise
        return tail(answer.body, is_whole=answer.is_whole)

    def changed_files(self, number: int) -> list[str]:
        """Under their old names too, where they were renamed. GitHub lists no more than MOST_FILES."""
        files: dict[str, None] = {}
        for page in range(1, MOST_FILES // _PER_PAGE + 1):
            path = f"{self._root}/pulls/{number}/files?per_page={_PER_PAGE}&page={page}"
            found = self.gh.get(path).json()
            if not isinstance(found, list):
                raise odd("a list of files", found)
            for one in found:
                old = optional(one, "previous_filename")
                files |= dict.fromkeys((text(node(one, "a file"), "filename"), *([old] if old else [])))
            if len(found) < _PER_PAGE:
                break
        return list(files)

    def open_pull(self, order: PullOrder) -> int:
        body = {
            "head": order.head_ref,
            "base": order.base_ref,
            "title": outgoing_line(order.title),
            "body": outgoing_body(order.body),
            "draft": order.is_draft,
        }
        made = node(self.gh.send("POST", f"{self._root}/pulls", body), "a pull request")
        if not isinstance(made.get("number"), int):
            raise odd("the number of the new pull request", made.get("number"))
        return int(made["number"])

    def edit_pull(
        self, number: int, *, title: str | None = None, body: str | None = None, base_ref: str | None = None
    ) -> None:
        changes = {
            "title": None if title is None else outgoing_line(title),
            "body": None if body is None else outgoing_body(body),
            "base": base_ref,
        }
        self._patch(number, {name: value for name, value in changes.items() if value is not None})

    def close_pull(self, number: int) -> None:
        self._patch(number, {"state": "closed"})

    def reopen_pull(self, number: int) -> None:
        self._patch(number, {"state": "open"})

    def _patch(self, number: int, changes: dict[str, str]) -> None:
        if changes:
            self.gh.send("PATCH", f"{self._root}/pulls/{number}", changes)

    def mark_ready(self, pull: Pull) -> None:
        self.gh.graphql(MARK_READY, {"pull": pull.id})

    def add_labels(self, number: int, labels: Sequence[str]) -> None:
        """Those the repository does not know yet, GitHub makes."""
        if labels:
            self.gh.send("POST", f"{self._root}/issues/{number}/labels", {"labels": list(labels)})

    def request_review(self, pull: Pull, reviewer: str) -> None:
        path = f"{self._root}/pulls/{pull.number}/requested_reviewers"
        if reviewer != COPILOT:
            kind, name = (
                ("team_reviewers", reviewer.rpartition("/")[2]) if "/" in reviewer else ("reviewers", reviewer)
            )
            self.gh.send("POST", path, {kind: [name]})
            return
        try:
            self.gh.graphql(REQUEST_REVIEW, {"pull": pull.id, "bots": [COPILOT]})
        except ForgeError as error:
            if error.trouble is Trouble.MISSING:
                hint = "Copilot's code review is switched on in the settings of the repository or its owner"
                raise ForgeError(Trouble.REFUSED, error.message, status=error.status, hint=hint) from None
            if error.trouble is not Trouble.ODD:
                raise
            # A server whose schema has no such mutation yet.
            self.gh.send("POST", path, {"reviewers": [f"{COPILOT}[bot]"]})

    def comment(self, number: int, body: str) -> None:
        self.gh.send("POST", f"{self._root}/issues/{number}/comments", {"body": outgoing_body(body)})

    def reply(self, thread: str, body: str) -> None:
        self.gh.graphql(REPLY, {"thread": thread, "body": outgoing_body(body)})

    def resolve(self, thread: str) -> None:
        self.gh.graphql(RESOLVE, {"thread": thread})

    def rerun(self, check: RemoteCheck) -> None:
        if not check.run:
            raise ForgeError(Trouble.REFUSED, f"{check.name} is no job of GitHub Actions: it cannot be run again")
        self.gh.send("POST", f"{self._root}/actions/runs/{check.run}/rerun-failed-jobs")

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        path = f"{self._root}/actions/workflows/{_part(workflow)}/dispatches"
        self.gh.send("POST", path, {"ref": ref, "inputs": dict(inputs)})

    def approve(self, number: int, head: str, body: str) -> None:
        review = {"event": "APPROVE", "commit_id": head, "body": outgoing_body(body)}
        self.gh.send("POST", f"{self._root}/pulls/{number}/reviews", review)

    def dismiss(self, number: int, review: int, why: str) -> None:
        path = f"{self._root}/pulls/{number}/reviews/{review}/dismissals"
        self.gh.send("PUT", path, {"message": outgoing_body(why), "event": "DISMISS"})

    def merge(self, number: int, head: str, subject: str, body: str) -> str:
        order = {
            "merge_method": "squash",
            "sha": head,
            "commit_title": outgoing_line(subject),
            "commit_message": outgoing_message(body),
        }
        made = self.gh.send("PUT", f"{self._root}/pulls/{number}/merge", order)
        if inner(made, "merged") is not True:
            said = optional(made, "message")[:200] or "no reason given"
            raise ForgeError(Trouble.REFUSED, f"pull request {number} was not merged: {said}")
        return optional(made, "sha")

    def enqueue(self, pull: Pull) -> None:
        self.gh.graphql(ENQUEUE, {"pull": pull.id, "head": pull.head})

    def delete_branch(self, ref: str, head: str) -> None:
        holds = self._head_of(ref)
        if holds == "":
            return
        if holds != head:
            message = f"{ref} holds {holds[:12]} and not {head[:12]}: it is not deleted"
            raise ForgeError(Trouble.REFUSED, message, hint=f"git log {head[:12]}..{holds[:12]}")
        try:
            self.gh.send("DELETE", f"{self._root}/git/refs/heads/{_part(ref)}")
        except ForgeError as error:
            gone = error.trouble is Trouble.MISSING or "does not exist" in error.message
            if not gone:
                raise

    def _head_of(self, ref: str) -> str:
        """Empty: there is no such branch."""
        try:
            found = self.gh.get(f"{self._root}/git/ref/heads/{_part(ref)}").json()
        except ForgeError as error:
            if error.trouble is Trouble.MISSING:
                return ""
            raise
        return text(node(inner(found, "object"), "a branch"), "sha")


def _part(name: str) -> str:
    """Fit for a path; a slash too, else `../` could lead elsewhere."""
    return quote(name, safe="")


def _but_missing_pulls(errors: list[Any]) -> list[Any]:
    """One pull request that is not there is no reason to hear nothing of the others."""
    return [error for error in errors if not _is_missing_pull(error)]


def _is_missing_pull(error: Any) -> bool:
    path = error.get("path") if isinstance(error, dict) else None
    return isinstance(path, list) and len(path) == 2 and error.get("type") == "NOT_FOUND"
