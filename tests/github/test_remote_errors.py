"""What git and servers really say, by the trouble that it is."""

import pytest

from bmad_autopilot.github.forge import Trouble
from bmad_autopilot.github.remote_errors import remote_error

HUNG_UP = (
    "\nfatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\n"
)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (Trouble.AWAY, "fatal: unable to access 'https://h/x/': Could not resolve host: h"),
        (Trouble.AWAY, "ssh: connect to host h port 22: Connection refused" + HUNG_UP),
        (Trouble.AWAY, "fatal: unable to access 'https://h/x/': The requested URL returned error: 503"),
        (Trouble.AWAY, "error: RPC failed; curl 56 GnuTLS recv error\nfatal: early EOF"),
        (Trouble.AWAY, "fatal: the remote end hung up unexpectedly"),
        (Trouble.AWAY, "error: cannot lock ref 'refs/remotes/origin/x': Unable to create '/x/.git/x.lock'"),
        (Trouble.AWAY, "git fetch: did not answer in 180 s"),
        (Trouble.LOGIN, "fatal: could not read Username for 'https://h': terminal prompts disabled"),
        (Trouble.LOGIN, "remote: Invalid username or token.\nfatal: Authentication failed for 'https://h/x/'"),
        (Trouble.LOGIN, "git@h: Permission denied (publickey)." + HUNG_UP),
        (Trouble.LOGIN, "Host key verification failed." + HUNG_UP),
        (Trouble.DENIED, "remote: Permission to a/b.git denied to bob.\nfatal: unable to access: error: 403"),
        (Trouble.DENIED, "ERROR: Permission to a/b.git denied to bob." + HUNG_UP),
        (Trouble.DENIED, "ERROR: This repository was archived so it is read-only." + HUNG_UP),
        (Trouble.DENIED, "remote: error: GH013: Repository rule violations found for refs/heads/x."),
        (Trouble.DENIED, "ERROR: The key you are authenticating with has been marked as read only." + HUNG_UP),
        (Trouble.MISSING, "ERROR: Repository not found." + HUNG_UP),
        (Trouble.MISSING, "remote: Not Found\nfatal: repository 'https://h/a/b.git/' not found"),
        (Trouble.MISSING, "fatal: 'origin' does not appear to be a git repository" + HUNG_UP),
        (Trouble.ODD, "fatal: something else"),
        (Trouble.ODD, ""),
    ],
)
def test_troubles(trouble: Trouble, said: str) -> None:
    error = remote_error("push x", "origin", said)
    assert error.trouble is trouble
    assert error.message.startswith("origin: push x: ")
    assert "\n" not in error.message


def test_what_is_told_is_short() -> None:
    error = remote_error("push x", "origin", "remote: a\x1b[31m" + "b" * 5000)
    assert len(error.message) < 600
    assert "\x1b" not in error.message
