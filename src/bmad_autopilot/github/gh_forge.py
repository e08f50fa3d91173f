"""The Forge implementation for GitHub, over gh."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from time import sleep, time
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from ..core.forge_errors import ForgeError, ForgeErrorKind
from ..git.git import Git
from ..io.processes import Probe, run_probe
from .approval import MOST_FILES
from .decode import (
    Node,
    get_nested,
    next_cursor,
    optional_text,
    read_checks,
    read_pull,
    read_pull_summary,
    read_repository,
    read_review,
    read_thread,
    require_node,
    require_nodes,
    require_number,
    require_text,
    unexpected_answer,
)
from .forge import COPILOT, NewPull, Pull, PullSummary, RemoteCheck, Repository
from .gh import Gh
from .queries import (
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
    watch_query,
)
from .untrusted_text import outgoing_body, outgoing_line, outgoing_message

# End of a job's log, which has the reason for the failure.

MAX_LINES = 200
MAX_LETTERS = 64 * 1024
LINES_AFTER_ERROR = 5  # lines kept after the last error; the rest is the runner's cleanup

# The runner prefixes each line with the time and marks errors.
_TIME = re.compile(r"\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ?")
_ERROR = "##[error]"


def tail_of_log(log: bytes, *, is_whole: bool = True) -> str:
    """`is_whole` False: the log was too long to read to its end; a note is appended."""
    lines = [_TIME.sub("", line, count=1) for line in log.decode("utf-8", "replace").splitlines()]
    errors = [i for i, line in enumerate(lines) if _ERROR in line]
    if errors:
        del lines[errors[-1] + 1 + LINES_AFTER_ERROR :]
    if not is_whole:
        lines.append("(the log is too long; its end was not read)")
    return "\n".join(lines[-MAX_LINES:])[-MAX_LETTERS:]


# Host and repository of a git remote.

SETTING = 'without GitHub: delivery = "local" in bmad-autopilot.toml'

_SCP = re.compile(r"(?:[^@/\s]+@)?([\w.-]+):(?!//)(.+)\Z")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?\Z")
_NAME = re.compile(r"[\w.-]{1,100}\Z", re.ASCII)
_GITHUB_ALIASES = {"ssh.github.com": "github.com", "www.github.com": "github.com"}
_OTHER_FORGES = re.compile(
    r"(^|\.)(gitlab|bitbucket|codeberg|gitea|forgejo|gitee|sr\.ht|dev\.azure|visualstudio|sourceforge|notabug)\b"
)


class Address(NamedTuple):
    host: str
    owner: str
    name: str


def find_address(git: Git, remote: str = "origin") -> Address:
    """From the remote's URL after the user's `insteadOf` rewriting, else as configured."""
    top = git.top  # raises if there is no repository
    written = git.ask("config", "--get", f"remote.{remote}.url", codes=(0, 1)).text
    if not written:
        names = git.ask("remote").text.split()
        other = f"name another in bmad-autopilot.toml: {', '.join(names[:5])}" if names else ""
        hint = other or f"git remote add {remote} git@github.com:OWNER/NAME.git"
        raise ForgeError(
            ForgeErrorKind.MISSING, f"this repository has no remote {remote}", hint=f"{hint}; {SETTING}"
        )
    rewritten = git.ask("remote", "get-url", remote, codes=(0, 2, 128)).text.splitlines()
    for url in (*rewritten[:1], written):
        found = read_address(url)
        if found is not None:
            return _check_host(found, remote, top)
    raise ForgeError(
        ForgeErrorKind.MISSING,
        f"the remote {remote} leads to no repository on GitHub: {_without_password(written)}",
        hint=f"git remote set-url {remote} git@github.com:OWNER/NAME.git; {SETTING}",
    )


def read_address(url: str) -> Address | None:
    """None for a local path, or a URL without owner and name."""
    try:
        parts = urlsplit(url.strip())
        host, path = (parts.hostname or "", parts.path) if parts.netloc else ("", "")
    except ValueError:
        return None
    if not host and parts.scheme != "file" and (short := _SCP.match(url.strip())):
        host, path = short[1], short[2]
    names = [unquote(name) for name in path.strip("/").removesuffix(".git").rstrip("/").split("/")]
    if parts.scheme == "file" or not _HOST.match(host) or len(names) != 2 or not all(map(_is_name, names)):
        return None
    host = host.lower()
    return Address(_GITHUB_ALIASES.get(host, host), *names)


def _is_name(name: str) -> bool:
    return bool(_NAME.match(name)) and name.strip(".") != ""


def _check_host(found: Address, remote: str, folder: str) -> Address:
    if "." not in found.host and found.host != "localhost":
        found = found._replace(host=_ssh_host(found.host, folder))
    if _OTHER_FORGES.search(found.host):
        message = f"the remote {remote} is on {found.host}; only GitHub is spoken to, by gh"
        raise ForgeError(ForgeErrorKind.MISSING, message, hint=SETTING)
    return found


def _ssh_host(alias: str, folder: str) -> str:
    """Resolves an alias such as `github-work` through the user's ssh config."""
    answer = run_probe(Probe(("ssh", "-G", alias)), folder)
    lines = answer.text.splitlines() if answer is not None and answer.ok else []
    named = [line.split(" ", 1)[1].strip().lower() for line in lines if line.startswith("hostname ")]
    host = named[0] if named and _HOST.match(named[0]) else alias
    return _GITHUB_ALIASES.get(host, host)


def _without_password(url: str) -> str:
    """The URL without a possible password."""
    return re.sub(r"//[^/@]*@", "//", url)[:200]


# Pagination of GraphQL connections.

MAX_PAGES = 50


class Paginator:
    """`here`: the query variables that identify the repository."""

    def __init__(self, gh: Gh, here: Mapping[str, str]) -> None:
        self._gh = gh
        self._here = dict(here)

    def iterate(self, document: str, variables: Mapping[str, Any], *path: str) -> Iterator[Node]:
        """All nodes of the connection at this path."""
        return self._read(document, variables, path, None)

    def iterate_from(self, first: Any, document: str, variables: Mapping[str, Any], *path: str) -> Iterator[Node]:
        """All nodes of a connection whose first page is already loaded."""
        yield from require_nodes(first, path[-1])
        if after := next_cursor(first):
            yield from self._read(document, variables, path, after)

    def _read(
        self, document: str, variables: Mapping[str, Any], path: tuple[str, ...], after: str | None
    ) -> Iterator[Node]:
        named = dict(variables) if path[0] == "node" else self._here | dict(variables)
        for _ in range(MAX_PAGES):
            data = self._gh.graphql(document, named | {"after": after})
            connection = get_nested(data, *path)
            if connection is None and _has_no_checks(data, path):
                return
            yield from require_nodes(connection, path[-1])
            after = next_cursor(connection)
            if not after:
                return
        raise ForgeError(
            ForgeErrorKind.UNRECOGNIZED, f"{path[-1]}: more than {MAX_PAGES} pages", hint="look at it by hand"
        )


def _has_no_checks(data: Node, path: tuple[str, ...]) -> bool:
    """A commit without checks has no rollup. A commit that GitHub does not know yet may get one: AWAY."""
    if path[-1] != "contexts":
        return False
    if get_nested(data, "repository", "object") is None:
        raise ForgeError(ForgeErrorKind.UNAVAILABLE, "GitHub does not know the head's commit yet")
    return True


REPOSITORY_CACHE_SECONDS = 600.0
MAX_LOG = 32 * 1024 * 1024
_PER_PAGE = 100


def find_forge(
    git: Git,
    remote: str = "origin",
    *,
    wait: Callable[[float], object] = sleep,
    clock: Callable[[], float] = time,
) -> "GhForge":
    """The forge of this remote's repository. Does not call gh yet."""
    found = find_address(git, remote)
    return GhForge(Gh(found.host, wait=wait, clock=clock), found.owner, found.name)


class GhForge:
    def __init__(self, gh: Gh, owner: str, name: str) -> None:
        self.gh = gh
        self._here = {"owner": owner, "name": name}
        self._pages = Paginator(gh, self._here)
        self._root = f"repos/{_quote_part(owner)}/{_quote_part(name)}"
        self._repository: tuple[Repository, float] | None = None

    def pace(self, seconds: float) -> float:
        """Seconds between two polls, so that other users of this login have enough requests left."""
        return self.gh.pace(seconds)

    def repository(self) -> Repository:
        """Cached for some minutes: every read of a pull request needs our own login."""
        known, now = self._repository, self.gh.now()
        if known is None or not 0 <= now - known[1] < REPOSITORY_CACHE_SECONDS:
            known = (read_repository(self.gh.graphql(REPOSITORY, self._here), self.gh.host), now)
            self._repository = known
        return known[0]

    def watch(self, numbers: Sequence[int]) -> list[PullSummary]:
        """Leaves out pull requests that are missing or cannot be decoded."""
        wanted = list(dict.fromkeys(numbers))
        marks: list[PullSummary] = []
        for start in range(0, len(wanted), MAX_WATCHED):
            some = wanted[start : start + MAX_WATCHED]
            asked = {f"n{i}": number for i, number in enumerate(some)}
            data = self.gh.graphql(watch_query(len(some)), self._here | asked, filter_errors=_ignore_missing_pulls)
            found = require_node(data.get("repository"), "repository")
            for i in range(len(some)):
                with suppress(ForgeError):
                    marks.append(read_pull_summary(require_node(found.get(f"p{i}"), "a pull request")))
        return marks

    def pulls_of(self, prefix: str) -> list[PullSummary]:
        pages = self._pages.iterate(OPEN_PULLS, {}, "repository", "pullRequests")
        return self.watch(
            [require_number(one, "number") for one in pages if require_text(one, "headRefName").startswith(prefix)]
        )

    def pulls_from(self, head_ref: str) -> list[PullSummary]:
        pages = self._pages.iterate(PULLS_FROM, {"head": head_ref}, "repository", "pullRequests")
        return [mark for mark in map(read_pull_summary, pages) if not mark.is_from_fork]

    def pull(self, number: int) -> Pull:
        data = self.gh.graphql(PULL, self._here | {"number": number})
        found = require_node(get_nested(data, "repository", "pullRequest"), f"pull request {number}")
        pull, here = read_pull(found), {"number": number}
        path = ("repository", "pullRequest")
        reviews = self._pages.iterate_from(found.get("reviews"), MORE_REVIEWS, here, *path, "reviews")
        threads = self._pages.iterate_from(found.get("reviewThreads"), MORE_THREADS, here, *path, "reviewThreads")
        return pull._replace(
            reviews=tuple(map(read_review, reviews)),
            threads=tuple(read_thread(thread, self._comments(thread)) for thread in threads),
            checks=read_checks(self._checks(found, pull)),
        )

    def _comments(self, thread: Node) -> Iterator[Node]:
        return self._pages.iterate_from(
            thread.get("comments"), MORE_COMMENTS, {"thread": require_text(thread, "id")}, "node", "comments"
        )

    def _checks(self, found: Node, pull: Pull) -> Iterator[Node]:
        """Checks of exactly this head: the branch may be ahead of the pull request, or deleted."""
        here = {"number": pull.number, "head": pull.head}
        path = ("repository", "object", "statusCheckRollup", "contexts")
        commit = get_nested(found, "headRef", "target")
        if optional_text(commit, "oid") != pull.head:
            return self._pages.iterate(CHECKS, here, *path)
        first = get_nested(commit, "statusCheckRollup", "contexts")
        return iter(()) if first is None else self._pages.iterate_from(first, CHECKS, here, *path)

    def log_tail(self, check: RemoteCheck) -> str:
        if not check.job:
            return ""
        try:
            answer = self.gh.get(f"{self._root}/actions/jobs/{check.job}/logs", limit=MAX_LOG)
        except ForgeError as error:
            if error.kind is ForgeErrorKind.MISSING:  # not written yet, or already deleted
                return ""
            raise
        return tail_of_log(answer.body, is_whole=answer.is_whole)

    def changed_files(self, number: int) -> list[str]:
        """Includes the old names of renamed files. GitHub lists at most MOST_FILES."""
        files: dict[str, None] = {}
        for page in range(1, MOST_FILES // _PER_PAGE + 1):
            path = f"{self._root}/pulls/{number}/files?per_page={_PER_PAGE}&page={page}"
            found = self.gh.get(path).json()
            if not isinstance(found, list):
                raise unexpected_answer("a list of files", found)
            for one in found:
                old = optional_text(one, "previous_filename")
                files |= dict.fromkeys(
                    (require_text(require_node(one, "a file"), "filename"), *([old] if old else []))
                )
            if len(found) < _PER_PAGE:
                break
        return list(files)

    def open_pull(self, order: NewPull) -> int:
        body = {
            "head": order.head_ref,
            "base": order.base_ref,
            "title": outgoing_line(order.title),
            "body": outgoing_body(order.body),
            "draft": order.is_draft,
        }
        made = require_node(self.gh.send("POST", f"{self._root}/pulls", body), "a pull request")
        if not isinstance(made.get("number"), int):
            raise unexpected_answer("the number of the new pull request", made.get("number"))
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
        """GitHub creates labels that do not exist yet."""
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
            if error.kind is ForgeErrorKind.MISSING:
                hint = "Copilot's code review is switched on in the settings of the repository or its owner"
                raise ForgeError(ForgeErrorKind.REFUSED, error.message, status=error.status, hint=hint) from None
            if error.kind is not ForgeErrorKind.UNRECOGNIZED:
                raise
            # The server's schema does not have this mutation yet.
            self.gh.send("POST", path, {"reviewers": [f"{COPILOT}[bot]"]})

    def comment(self, number: int, body: str) -> None:
        self.gh.send("POST", f"{self._root}/issues/{number}/comments", {"body": outgoing_body(body)})

    def reply(self, thread: str, body: str) -> None:
        self.gh.graphql(REPLY, {"thread": thread, "body": outgoing_body(body)})

    def resolve(self, thread: str) -> None:
        self.gh.graphql(RESOLVE, {"thread": thread})

    def rerun(self, check: RemoteCheck) -> None:
        if not check.run:
            raise ForgeError(
                ForgeErrorKind.REFUSED, f"{check.name} is no job of GitHub Actions: it cannot be run again"
            )
        self.gh.send("POST", f"{self._root}/actions/runs/{check.run}/rerun-failed-jobs")

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        path = f"{self._root}/actions/workflows/{_quote_part(workflow)}/dispatches"
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
        if get_nested(made, "merged") is not True:
            reason = optional_text(made, "message")[:200] or "no reason given"
            raise ForgeError(ForgeErrorKind.REFUSED, f"pull request {number} was not merged: {reason}")
        return optional_text(made, "sha")

    def enqueue(self, pull: Pull) -> None:
        self.gh.graphql(ENQUEUE, {"pull": pull.id, "head": pull.head})

    def delete_branch(self, ref: str, head: str) -> None:
        holds = self._head_of(ref)
        if holds == "":
            return
        if holds != head:
            message = f"{ref} holds {holds[:12]} and not {head[:12]}: it is not deleted"
            raise ForgeError(ForgeErrorKind.REFUSED, message, hint=f"git log {head[:12]}..{holds[:12]}")
        try:
            self.gh.send("DELETE", f"{self._root}/git/refs/heads/{_quote_part(ref)}")
        except ForgeError as error:
            gone = error.kind is ForgeErrorKind.MISSING or "does not exist" in error.message
            if not gone:
                raise

    def _head_of(self, ref: str) -> str:
        """Empty if there is no such branch."""
        try:
            found = self.gh.get(f"{self._root}/git/ref/heads/{_quote_part(ref)}").json()
        except ForgeError as error:
            if error.kind is ForgeErrorKind.MISSING:
                return ""
            raise
        return require_text(require_node(get_nested(found, "object"), "a branch"), "sha")


def _quote_part(name: str) -> str:
    """Quoted for a path, slashes included: otherwise `../` could escape."""
    return quote(name, safe="")


def _ignore_missing_pulls(errors: list[Any]) -> list[Any]:
    """Drops errors about missing pull requests, so that the others are still returned."""
    return [error for error in errors if not _is_missing_pull(error)]


def _is_missing_pull(error: Any) -> bool:
    path = error.get("path") if isinstance(error, dict) else None
    return isinstance(path, list) and len(path) == 2 and error.get("type") == "NOT_FOUND"
