"""git over the network: one remote's heads, fetched, pushed, deleted. The one place where git has the user's own
credentials; nobody is asked at a terminal, and every call has a bound."""

import os

from ..core.errors import ConflictError
from .forge import ForgeError, Trouble
from .git import Answer, Git, GitError, check_revision
from .history import is_ancestor
from .remote_errors import remote_error

SECONDS = 180.0
HEADS = "refs/heads/"
ROUNDS = 3  # how often a branch may change between looking and fetching
_MEANWHILE = ("remote ref", "cannot lock ref")  # deleted there since we looked; fetched here by another lane

_KEPT = ("GIT_SSH_COMMAND", "GIT_SSH", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_PROXY_COMMAND")
# Its words are read, so they must be git's own; and no helper may open a window.
_SET = {"LC_ALL": "C", "LANGUAGE": "C", "GCM_INTERACTIVE": "never"}
_SETTINGS = (
    "protocol.ext.allow=never",  # an address can be a command
    "push.followTags=false",
    "push.gpgSign=false",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
)
_ANY_CODE = tuple(range(256))
_SHA = frozenset("0123456789abcdef")


class Remote:
    """A remote of the repository, by its name."""

    def __init__(self, git: Git, name: str) -> None:
        if not name or name.startswith("-") or any(char.isspace() or not char.isprintable() for char in name):
            raise GitError("is no remote's name", found=name[:80] or "nothing", expected="such as origin")
        self._git = git
        self.name = name

    def tracking(self, branch: str) -> str:
        """The ref by which we remember where its branch stood."""
        return f"refs/remotes/{self.name}/{branch}"

    def default_branch(self) -> str | None:
        """The branch its HEAD names; None: it names none."""
        answer = self._ask(
            "look at it", "ls-remote", "--upload-pack=git-upload-pack", "--symref", self.name, "HEAD"
        )
        for line in answer.text.splitlines():
            target, _, name = line.partition("\t")
            if name == "HEAD" and target.startswith(f"ref: {HEADS}"):
                return target.removeprefix(f"ref: {HEADS}")
        return None

    def heads(self, *branches: str) -> dict[str, str]:
        """Where these branches stand; empty: there is none."""
        self._check_names(branches)
        found = dict.fromkeys(branches, "")
        names = [f"{HEADS}{branch}" for branch in branches]
        answer = self._ask("look at it", "ls-remote", "--upload-pack=git-upload-pack", self.name, *names)
        for line in answer.text.splitlines():
            sha, _, ref = line.partition("\t")
            if (branch := ref.removeprefix(HEADS)) in found and ref.startswith(HEADS):
                found[branch] = sha
        return found

    def fetch(self, *branches: str) -> dict[str, str]:
        """The same, and their commits are here afterwards, under the refs that remember them."""
        for last in reversed(range(ROUNDS)):
            heads, known = self.heads(*branches), self._known(branches)
            changed = [branch for branch in branches if heads[branch] != known[branch]]
            for branch in changed:
                if not heads[branch]:
                    self._git.ask("update-ref", "-d", self.tracking(branch))
            try:
                self._fetch([branch for branch in changed if heads[branch]])
                break
            except ForgeError as error:
                if last == 0 or not any(word in error.message for word in _MEANWHILE):
                    raise
        return self._known(branches)

    def _fetch(self, branches: list[str]) -> None:
        if not branches:
            return
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap=")
        refs = [f"+{HEADS}{branch}:{self.tracking(branch)}" for branch in branches]
        quiet = ("--no-auto-maintenance", "--upload-pack=git-upload-pack")
        self._ask("fetch", "fetch", *options, *quiet, self.name, *refs)

    def push(self, branch: str, sha: str, expect: str) -> None:
        """Move its branch from `expect` (empty: there is none) to `sha`, never over commits that `sha` does not
        hold. Already there is as good."""
        self._check_names((branch,))
        _check_shas(sha, *([expect] if expect else []))
        if expect and not self._holds(sha, expect):
            raise ConflictError(
                f"{branch} on {self.name} holds commits that ours does not; nothing was pushed",
                found=expect[:12],
                expected=f"something that {sha[:12]} contains",
                hint=f"see them: git fetch {self.name} {branch} && git log {sha[:12]}..{expect[:12]}",
            )
        self._send(branch, expect, f"{sha}:{HEADS}{branch}")

    def delete(self, branch: str, expect: str) -> None:
        """Gone afterwards, also where it was before; REFUSED where it holds something else."""
        self._check_names((branch,))
        _check_shas(expect)
        try:
            self._send(branch, expect, f":{HEADS}{branch}")
        except ForgeError as error:
            if error.trouble is not Trouble.REFUSED or self.heads(branch)[branch]:
                raise

    def _send(self, branch: str, expect: str, refspec: str) -> None:
        lease = f"--force-with-lease={HEADS}{branch}:{expect}"
        options = ("--porcelain", "--no-verify", "--recurse-submodules=no", "--receive-pack=git-receive-pack")
        answer = self._talk(f"push {branch}", "push", *options, lease, self.name, refspec)
        if answer.code == 0:
            return
        rows = [line.split("\t") for line in answer.text.splitlines() if line.startswith("!\t")]
        why = rows[0][2] if rows and len(rows[0]) > 2 else ""
        if why.startswith("[rejected]"):
            message = f"{self.name}: {branch} is not where it was: somebody else pushed or deleted it"
            hint = f"git fetch {self.name} && git log --all --oneline -5"
            raise ForgeError(Trouble.REFUSED, message, hint=hint)
        # `[remote failure]`: whether it was done was not told.
        fallback = Trouble.REFUSED if why.startswith("[remote rejected]") else Trouble.AWAY if why else Trouble.ODD
        raise remote_error(f"push {branch}", self.name, f"{answer.err}\n{why}", fallback)

    def _holds(self, newer: str, older: str) -> bool:
        try:
            return is_ancestor(self._git, older, newer)
        except GitError:  # one of them was never fetched
            return False

    def _known(self, branches: tuple[str, ...]) -> dict[str, str]:
        refs = {self.tracking(branch): branch for branch in branches}
        found = dict.fromkeys(branches, "")
        for line in self._git.ask("for-each-ref", "--format=%(objectname) %(refname)", *refs).text.splitlines():
            sha, _, ref = line.partition(" ")
            if ref in refs:
                found[refs[ref]] = sha
        return found

    def _check_names(self, branches: tuple[str, ...]) -> None:
        if not branches:
            raise GitError("no branch was named")
        for branch in branches:
            name = f"{HEADS}{branch}"
            if branch.startswith("-") or self._git.ask("check-ref-format", name, codes=(0, 1)).code != 0:
                raise GitError("is no branch's name", found=branch[:80] or "nothing")

    def _ask(self, doing: str, *arguments: str) -> Answer:
        answer = self._talk(doing, *arguments)
        if answer.code != 0:
            raise remote_error(doing, self.name, answer.err)
        return answer

    def _talk(self, doing: str, *arguments: str) -> Answer:
        own = {name: os.environ[name] for name in _KEPT if name in os.environ} | _SET
        try:
            return self._git.ask(*arguments, codes=_ANY_CODE, settings=_SETTINGS, environment=own, seconds=SECONDS)
        except GitError as error:
            raise remote_error(doing, self.name, error.message) from None


def _check_shas(*shas: str) -> None:
    """A lease on a name would be a lease on whatever that means by then."""
    check_revision(*shas)
    for sha in shas:
        if len(sha) not in (40, 64) or not _SHA.issuperset(sha):
            raise GitError("is no full commit id", found=sha[:80])
