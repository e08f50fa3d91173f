"""git over the network: reads, fetches, pushes and deletes a remote's branches. The only module where git uses the
user's credentials; it never prompts at a terminal, and every call has a timeout."""

import os
import re

from ..core.errors import ConflictError
from ..core.forge_errors import ForgeError, ForgeErrorKind
from .git import Git, GitError, GitResult, check_revision, error_line
from .history import is_ancestor, trailer_value

# Maps git's error messages for a remote to `Trouble`.

# Order matters: a refusing server also hangs up, and git reports both. In English, because LC_ALL=C is set below.
_PATTERNS = (
    (
        ForgeErrorKind.DENIED,
        r"protected branch|GH006|GH013|repository rule|permission to .* denied|write access .* not granted"
        r"|not allowed to push|read[- ]only|(?:was|is) archived|returned error: 403|SAML SSO",
    ),
    (
        ForgeErrorKind.LOGIN,
        r"authentication failed|could not read (?:username|password)|terminal prompts disabled"
        r"|permission denied|host key verification failed|invalid username or|returned error: 401"
        r"|access denied|authentication failures|no such identity|password authentication was removed",
    ),
    (
        ForgeErrorKind.MISSING,
        r"repository not found|does not appear to be a git repository|repository '.*' not found"
        r"|returned error: 404|no such remote|project you were looking for",
    ),
    (
        ForgeErrorKind.UNAVAILABLE,
        r"could not resolve|connection (?:refused|timed out|reset|closed|aborted)|timed out|unreachable"
        r"|failed to connect|could(?: not|n't) connect|no route to host|early EOF|RPC failed"
        r"|returned error: (?:5\d\d|429)|hung up unexpectedly|unexpected disconnect|kex_exchange"
        r"|ssl_(?:connect|error|read|write)|gnutls_|tls connect|did not (?:answer|end) in|too slow"
        r"|internal server error|cannot lock ref|unable to create '.*\.lock'",
    ),
)
_HINTS = {
    ForgeErrorKind.LOGIN: "log in as you do for git push: gh auth setup-git, or an ssh key that the forge knows",
    ForgeErrorKind.DENIED: "ask for the right to push there, or see the rules of the branch",
    ForgeErrorKind.MISSING: "see what the remote is called and where it lies: git remote -v",
    ForgeErrorKind.UNAVAILABLE: "it passes, or see whether the network is up",
}
_USERINFO = re.compile(r"(?<=://)[^/\s@]*@")
_TOKENS = re.compile(r"\b(?:gh[a-z]_|github_pat_|glpat-)[\w.-]{8,}")


def remote_error(
    action: str, remote: str, output: str, fallback: ForgeErrorKind = ForgeErrorKind.UNRECOGNIZED
) -> ForgeError:
    trouble = next((kind for kind, words in _PATTERNS if re.search(words, output, re.IGNORECASE)), fallback)
    return ForgeError(trouble, f"{remote}: {action}: {failure_reason(output)}", hint=_HINTS.get(trouble))


def failure_reason(output: str) -> str:
    """The server's message, or git's reason, on one line without credentials."""
    theirs = [line.removeprefix("remote:").strip() for line in output.splitlines() if line.startswith("remote:")]
    words = " ".join(line for line in theirs if line) or error_line(output) or "no reason was given"
    return trailer_value(hide_credentials(words))


def hide_credentials(text: str) -> str:
    return _TOKENS.sub("…", _USERINFO.sub("", text))


SECONDS = 180.0
HEADS = "refs/heads/"
MAX_FETCH_ROUNDS = 3  # attempts if a branch changes between ls-remote and fetch
_RACE_MESSAGES = ("remote ref", "cannot lock ref")  # deleted on the remote meanwhile; fetched by another lane

_INHERITED = ("GIT_SSH_COMMAND", "GIT_SSH", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_PROXY_COMMAND")
# Messages are parsed, so they must be in English; and no credential helper may open a window.
_FIXED_ENVIRONMENT = {"LC_ALL": "C", "LANGUAGE": "C", "GCM_INTERACTIVE": "never"}
_SETTINGS = (
    "protocol.ext.allow=never",  # a URL can be a command
    "push.followTags=false",
    "push.gpgSign=false",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
)
_ANY_CODE = tuple(range(256))
_SHA = frozenset("0123456789abcdef")


class Remote:
    """One named remote of the repository."""

    def __init__(self, git: Git, name: str) -> None:
        if not name or name.startswith("-") or any(char.isspace() or not char.isprintable() for char in name):
            raise GitError("is no remote's name", found=name[:80] or "nothing", expected="such as origin")
        self._git = git
        self.name = name

    def tracking_ref(self, branch: str) -> str:
        """The remote-tracking ref of the branch."""
        return f"refs/remotes/{self.name}/{branch}"

    def default_branch(self) -> str | None:
        """The branch that the remote's HEAD points to; None if it points to none."""
        answer = self._run_checked(
            "look at it", "ls-remote", "--upload-pack=git-upload-pack", "--symref", self.name, "HEAD"
        )
        for line in answer.text.splitlines():
            target, _, name = line.partition("\t")
            if name == "HEAD" and target.startswith(f"ref: {HEADS}"):
                return target.removeprefix(f"ref: {HEADS}")
        return None

    def heads(self, *branches: str) -> dict[str, str]:
        """Heads of these branches; empty if missing."""
        self._check_names(branches)
        found = dict.fromkeys(branches, "")
        names = [f"{HEADS}{branch}" for branch in branches]
        answer = self._run_checked("look at it", "ls-remote", "--upload-pack=git-upload-pack", self.name, *names)
        for line in answer.text.splitlines():
            sha, _, ref = line.partition("\t")
            if (branch := ref.removeprefix(HEADS)) in found and ref.startswith(HEADS):
                found[branch] = sha
        return found

    def fetch(self, *branches: str) -> dict[str, str]:
        """The same, after fetching their commits into the remote-tracking refs."""
        for last in reversed(range(MAX_FETCH_ROUNDS)):
            heads, known = self.heads(*branches), self._tracked_heads(branches)
            changed = [branch for branch in branches if heads[branch] != known[branch]]
            for branch in changed:
                if not heads[branch]:
                    self._git.ask("update-ref", "-d", self.tracking_ref(branch))
            try:
                self._fetch([branch for branch in changed if heads[branch]])
                break
            except ForgeError as error:
                if last == 0 or not any(word in error.message for word in _RACE_MESSAGES):
                    raise
        return self._tracked_heads(branches)

    def _fetch(self, branches: list[str]) -> None:
        if not branches:
            return
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap=")
        refs = [f"+{HEADS}{branch}:{self.tracking_ref(branch)}" for branch in branches]
        quiet = ("--no-auto-maintenance", "--upload-pack=git-upload-pack")
        self._run_checked("fetch", "fetch", *options, *quiet, self.name, *refs)

    def push(self, branch: str, sha: str, expect: str) -> None:
        """Moves the branch from `expect` (empty: missing) to `sha`; never discards commits that `sha` does not
        contain. Succeeds if it is already there."""
        self._check_names((branch,))
        _check_shas(sha, *([expect] if expect else []))
        if expect and not self._contains(sha, expect):
            raise ConflictError(
                f"{branch} on {self.name} holds commits that ours does not; nothing was pushed",
                found=expect[:12],
                expected=f"something that {sha[:12]} contains",
                hint=f"see them: git fetch {self.name} {branch} && git log {sha[:12]}..{expect[:12]}",
            )
        self._send(branch, expect, f"{sha}:{HEADS}{branch}")

    def delete(self, branch: str, expect: str) -> None:
        """Deletes the branch; succeeds if already deleted. REFUSED if its head is not `expect`."""
        self._check_names((branch,))
        _check_shas(expect)
        try:
            self._send(branch, expect, f":{HEADS}{branch}")
        except ForgeError as error:
            if error.kind is not ForgeErrorKind.REFUSED or self.heads(branch)[branch]:
                raise

    def _send(self, branch: str, expect: str, refspec: str) -> None:
        lease = f"--force-with-lease={HEADS}{branch}:{expect}"
        options = ("--porcelain", "--no-verify", "--recurse-submodules=no", "--receive-pack=git-receive-pack")
        answer = self._run(f"push {branch}", "push", *options, lease, self.name, refspec)
        if answer.code == 0:
            return
        rows = [line.split("\t") for line in answer.text.splitlines() if line.startswith("!\t")]
        why = rows[0][2] if rows and len(rows[0]) > 2 else ""
        if why.startswith("[rejected]"):
            message = f"{self.name}: {branch} is not where it was: somebody else pushed or deleted it"
            hint = f"git fetch {self.name} && git log --all --oneline -5"
            raise ForgeError(ForgeErrorKind.REFUSED, message, hint=hint)
        # `[remote failure]`: unknown whether the push was done.
        fallback = (
            ForgeErrorKind.REFUSED
            if why.startswith("[remote rejected]")
            else ForgeErrorKind.UNAVAILABLE
            if why
            else ForgeErrorKind.UNRECOGNIZED
        )
        raise remote_error(f"push {branch}", self.name, f"{answer.err}\n{why}", fallback)

    def _contains(self, newer: str, older: str) -> bool:
        try:
            return is_ancestor(self._git, older, newer)
        except GitError:  # one of them was never fetched
            return False

    def _tracked_heads(self, branches: tuple[str, ...]) -> dict[str, str]:
        refs = {self.tracking_ref(branch): branch for branch in branches}
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

    def _run_checked(self, action: str, *arguments: str) -> GitResult:
        answer = self._run(action, *arguments)
        if answer.code != 0:
            raise remote_error(action, self.name, answer.err)
        return answer

    def _run(self, action: str, *arguments: str) -> GitResult:
        own = {name: os.environ[name] for name in _INHERITED if name in os.environ} | _FIXED_ENVIRONMENT
        try:
            return self._git.ask(*arguments, codes=_ANY_CODE, settings=_SETTINGS, environment=own, seconds=SECONDS)
        except GitError as error:
            raise remote_error(action, self.name, error.message) from None


def _check_shas(*shas: str) -> None:
    """Requires full ids: a lease on a name would be resolved later, to another commit."""
    check_revision(*shas)
    for sha in shas:
        if len(sha) not in (40, 64) or not _SHA.issuperset(sha):
            raise GitError("is no full commit id", found=sha[:80])
