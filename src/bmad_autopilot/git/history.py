"""Commit history: identities, messages with trailers, and lookup of commits by trailer."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ..agents.shim.redact import redact
from ..core.text import without_controls
from .git import Git, GitError, check_revision

# Author and committer identities.


class GitIdentity(NamedTuple):
    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"

    def as_environment(self, role: str) -> dict[str, str]:
        """`role`: AUTHOR or COMMITTER."""
        return {f"GIT_{role}_NAME": self.name, f"GIT_{role}_EMAIL": self.email}


# The committer identifies our commits. The author stays the user.
AGENT_MARK = " (BMAD Autopilot) <"  # part of the committer of every agent commit
AUTOPILOT_IDENTITY = GitIdentity("BMAD Autopilot", "autopilot@bmad-autopilot.invalid")


# Commit messages from untrusted text: a story's title may contain line breaks or look like a trailer.

STEP_TRAILER = "Autopilot-Step"
RUN_TRAILER = "Autopilot-Run"
MAX_SUBJECT = 200
MAX_BODY = 16 * 1024
MAX_VALUE = 500
_DEFAULT_SUBJECT = "Autopilot"

_OWN_TRAILER = re.compile(rf"(?:{STEP_TRAILER}|{RUN_TRAILER}): \S[^\n]{{0,{MAX_VALUE}}}")
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9-]*\Z")
_CUT = re.compile("(?<=-{24} )>8(?= -{24})")  # git ignores trailers below such a line


def write_message(message: str, trailers: Mapping[str, str]) -> str:
    """Subject, body, and the trailers as a separate paragraph, whatever the body ends with. Redaction happens
    before truncation: half a secret would not be recognised."""
    subject, _, body = redact(_clean(message)).strip().partition("\n")
    parts = [subject.strip()[:MAX_SUBJECT] or _DEFAULT_SUBJECT]
    if body.strip():
        parts.append(body.strip()[:MAX_BODY])
    if trailers:
        parts.append("\n".join(f"{_check_key(key)}: {trailer_value(value)}" for key, value in trailers.items()))
    return "\n\n".join(parts) + "\n"


def split_trailers(message: str) -> tuple[str, str]:
    """The message without our trailer paragraph, and that paragraph; empty if there is none."""
    text, _, last = message.rstrip().rpartition("\n\n")
    if all(_OWN_TRAILER.fullmatch(line) for line in last.split("\n")):
        return text, last
    return message, ""


def redact_message(message: str) -> str:
    """Redacts a message. Our trailers stay unchanged: commits are looked up by them."""
    text, trailers = split_trailers(message)
    return f"{redact(text)}\n\n{trailers}\n" if text and trailers else redact(message)


def trailer_value(value: str) -> str:
    """On one line, so that a lookup matches it as written."""
    return " ".join(_clean(value).split())[:MAX_VALUE].strip()


def _clean(text: str) -> str:
    return _CUT.sub("8<", without_controls(text, " "))


def _check_key(key: str) -> str:
    if not _KEY.match(key):
        raise GitError("is no trailer's key", found=key[:80], expected="letters, digits and dashes")
    return key


MAX_PATHS = 1000  # per command line
MAX_COMMITS = 10_000
_ENTRY = "%H%x00%an%x00%ae%x00%cn%x00%ce%x00%s%x00%(trailers:only=true,unfold=true)"
_PARTS = 7


class CommitInfo(NamedTuple):
    sha: str
    author: GitIdentity
    committer: GitIdentity
    subject: str
    trailers: tuple[tuple[str, str], ...]  # a key may occur more than once


def current_head(git: Git) -> str | None:
    """None if there is no commit or no repository."""
    if git.work_tree is None:
        return None
    return git.ask("rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)).text or None


def current_branch(git: Git) -> str:
    """Empty if no branch is checked out."""
    return "" if git.work_tree is None else git.ask("branch", "--show-current").text


def is_ancestor(git: Git, older: str, newer: str) -> bool:
    """Whether `older` is in the history of `newer`. A commit is its own ancestor."""
    check_revision(older, newer)
    return git.ask("merge-base", "--is-ancestor", older, newer, codes=(0, 1)).code == 0


def commits_between(git: Git, older: str, newer: str, *excluding: str) -> list[CommitInfo]:
    """Commits in `newer` but not in `older` or any of `excluding`, newest first."""
    check_revision(older, newer, *excluding)
    return _commits(git, f"{older}..{newer}", excluding=excluding)


def commits_touching(git: Git, revisions: str, paths: Iterable[str]) -> list[CommitInfo]:
    """Commits of these revisions that changed one of the paths, newest first."""
    return _commits(git, revisions, tuple(paths))


def find_commit(git: Git, step: str, since: str | None) -> str | None:
    """Our commit in `since..HEAD` whose trailer names this step. `since` None: all of HEAD's history, bounded."""
    if since is not None:
        check_revision(since)
    elif git.ask("rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)).code == 1:
        return None
    wanted = (STEP_TRAILER, trailer_value(step))
    found = _commits(git, "HEAD" if since is None else f"{since}..HEAD")
    return next((one.sha for one in found if wanted in one.trailers and one.committer == AUTOPILOT_IDENTITY), None)


def _commits(
    git: Git, revisions: str, paths: tuple[str, ...] = (), *, excluding: tuple[str, ...] = ()
) -> list[CommitInfo]:
    options = ("-z", f"--max-count={MAX_COMMITS}", f"--format={_ENTRY}")
    others = [f"^{revision}" for revision in excluding]
    fields = git.ask("log", *options, revisions, *others, "--", *paths[:MAX_PATHS]).fields
    rows = zip(*[iter(fields)] * _PARTS, strict=True)
    return [
        CommitInfo(
            sha, GitIdentity(author, author_email), GitIdentity(committer, email), subject, _trailers(trailers)
        )
        for sha, author, author_email, committer, email, subject, trailers in rows
    ]


def _trailers(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (line.partition(":") for line in text.split("\n"))
    return tuple((key.strip(), value.strip()) for key, colon, value in pairs if colon)


def base_branch(
    git: Git, configured: str | None, *, remote: str = "origin", ask_remote: Callable[[], str | None] | None = None
) -> str | None:
    """Short name of the branch that work is merged into: the configured one, the remote's default, main, master.
    `ask_remote`: queries the remote's default branch if it is not stored locally; without it no network is
    used."""
    if configured:
        return configured
    there = f"refs/remotes/{remote}/"
    names = [f"{place}{name}" for name in ("main", "master") for place in ("refs/heads/", there)]
    answer = git.ask("for-each-ref", "--format=%(refname) %(symref)", f"{there}HEAD", *names)
    refs = dict(line.partition(" ")[::2] for line in answer.text.splitlines())
    head = refs.get(f"{there}HEAD", "")
    if head.startswith(there):
        return head.removeprefix(there)
    remote_default = ask_remote() if ask_remote is not None else None
    return remote_default or next((name.rpartition("/")[2] for name in names if name in refs), None)
