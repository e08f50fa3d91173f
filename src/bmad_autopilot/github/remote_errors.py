"""What git says when a remote did not do what it was asked, as one of the forge's troubles."""

import re

from .forge import ForgeError, Trouble
from .git import last_line
from .messages import trailer_value

# In this order: a server that refuses also hangs up, and git says both. In git's own English: see remotes.py.
_SAID = (
    (
        Trouble.DENIED,
        r"protected branch|GH006|GH013|repository rule|permission to .* denied|write access .* not granted"
        r"|not allowed to push|read[- ]only|(?:was|is) archived|returned error: 403|SAML SSO",
    ),
    (
        Trouble.LOGIN,
        r"authentication failed|could not read (?:username|password)|terminal prompts disabled"
        r"|permission denied|host key verification failed|invalid username or|returned error: 401"
        r"|access denied|authentication failures|no such identity|password authentication was removed",
    ),
    (
        Trouble.MISSING,
        r"repository not found|does not appear to be a git repository|repository '.*' not found"
        r"|returned error: 404|no such remote|project you were looking for",
    ),
    (
        Trouble.AWAY,
        r"could not resolve|connection (?:refused|timed out|reset|closed|aborted)|timed out|unreachable"
        r"|failed to connect|could(?: not|n't) connect|no route to host|early EOF|RPC failed"
        r"|returned error: (?:5\d\d|429)|hung up unexpectedly|unexpected disconnect|kex_exchange"
        r"|ssl_(?:connect|error|read|write)|gnutls_|tls connect|did not (?:answer|end) in|too slow"
        r"|internal server error|cannot lock ref|unable to create '.*\.lock'",
    ),
)
_HINTS = {
    Trouble.LOGIN: "log in as you do for git push: gh auth setup-git, or an ssh key that the forge knows",
    Trouble.DENIED: "ask for the right to push there, or see the rules of the branch",
    Trouble.MISSING: "see what the remote is called and where it lies: git remote -v",
    Trouble.AWAY: "it passes, or see whether the network is up",
}
_USERINFO = re.compile(r"(?<=://)[^/\s@]*@")
_TOKENS = re.compile(r"\b(?:gh[a-z]_|github_pat_|glpat-)[\w.-]{8,}")


def remote_error(doing: str, remote: str, said: str, fallback: Trouble = Trouble.ODD) -> ForgeError:
    trouble = next((kind for kind, words in _SAID if re.search(words, said, re.IGNORECASE)), fallback)
    return ForgeError(trouble, f"{remote}: {doing}: {told(said)}", hint=_HINTS.get(trouble))


def told(said: str) -> str:
    """What the other side wrote, or git's reason, on one line, without anybody's credentials."""
    theirs = [line.removeprefix("remote:").strip() for line in said.splitlines() if line.startswith("remote:")]
    words = " ".join(line for line in theirs if line) or last_line(said) or "no reason was given"
    return trailer_value(hide(words))


def hide(text: str) -> str:
    return _TOKENS.sub("…", _USERINFO.sub("", text))
