"""What was committed, by whom, and under which key."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from .git import Git, check_revision
from .identities import OURS, Identity
from .messages import STEP, trailer_value

MAX_PATHS = 1000  # named on one command line
MAX_COMMITS = 10_000
_ENTRY = "%H%x00%an%x00%ae%x00%cn%x00%ce%x00%s%x00%(trailers:only=true,unfold=true)"
_PARTS = 7


class Commit(NamedTuple):
    sha: str
    author: Identity
    committer: Identity
    subject: str
    trailers: tuple[tuple[str, str], ...]  # a key may stand more than once


def head_of(git: Git) -> str | None:
    """None: no commit yet, or no repository."""
    if git.work_tree is None:
        return None
    return git.ask("rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)).text or None


def branch_of(git: Git) -> str:
    """Empty where none is checked out."""
    return "" if git.work_tree is None else git.ask("branch", "--show-current").text


def is_ancestor(git: Git, older: str, newer: str) -> bool:
    """Is `older` in the history of `newer`? A commit is in its own."""
    check_revision(older, newer)
    return git.ask("merge-base", "--is-ancestor", older, newer, codes=(0, 1)).code == 0


def commits_between(git: Git, older: str, newer: str, *besides: str) -> list[Commit]:
    """What `newer` has, and neither `older` nor any of `besides`, the newest first."""
    check_revision(older, newer, *besides)
    return _commits(git, f"{older}..{newer}", but=besides)


def commits_touching(git: Git, revisions: str, paths: Iterable[str]) -> list[Commit]:
    """Of these, the ones that changed one of the paths, the newest first."""
    return _commits(git, revisions, tuple(paths))


def find_commit(git: Git, step: str, since: str | None) -> str | None:
    """The commit in `since..HEAD` whose trailer names this step. `since` None: all of HEAD's history, bounded."""
    if since is not None:
        check_revision(since)
    elif git.ask("rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)).code == 1:
        return None
    wanted = (STEP, trailer_value(step))
    found = _commits(git, "HEAD" if since is None else f"{since}..HEAD")
    return next((one.sha for one in found if wanted in one.trailers and one.committer == OURS), None)


def _commits(git: Git, revisions: str, paths: tuple[str, ...] = (), *, but: tuple[str, ...] = ()) -> list[Commit]:
    options = ("-z", f"--max-count={MAX_COMMITS}", f"--format={_ENTRY}")
    others = [f"^{revision}" for revision in but]
    fields = git.ask("log", *options, revisions, *others, "--", *paths[:MAX_PATHS]).fields
    rows = zip(*[iter(fields)] * _PARTS, strict=True)
    return [
        Commit(sha, Identity(author, author_email), Identity(committer, email), subject, _trailers(trailers))
        for sha, author, author_email, committer, email, subject, trailers in rows
    ]


def _trailers(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (line.partition(":") for line in text.split("\n"))
    return tuple((key.strip(), value.strip()) for key, colon, value in pairs if colon)


def base_branch(
    git: Git, configured: str | None, *, remote: str = "origin", ask: Callable[[], str | None] | None = None
) -> str | None:
    """The branch that work goes back to: the one configured, the remote's own, main, master; by its short name.
    `ask`: asks the remote which is its own, where nothing here says so; without it no network is needed."""
    if configured:
        return configured
    there = f"refs/remotes/{remote}/"
    names = [f"{place}{name}" for name in ("main", "master") for place in ("refs/heads/", there)]
    answer = git.ask("for-each-ref", "--format=%(refname) %(symref)", f"{there}HEAD", *names)
    refs = dict(line.partition(" ")[::2] for line in answer.text.splitlines())
    head = refs.get(f"{there}HEAD", "")
    if head.startswith(there):
        return head.removeprefix(there)
    told = ask() if ask is not None else None
    return told or next((name.rpartition("/")[2] for name in names if name in refs), None)
