"""Which repository of which host a git remote leads to."""

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from ..project.programs import Question, ask
from .forge import ForgeError, Trouble
from .git import Git

SETTING = 'without GitHub: delivery = "local" in bmad-autopilot.toml'

_SCP = re.compile(r"(?:[^@/\s]+@)?([\w.-]+):(?!//)(.+)\Z")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?\Z")
_NAME = re.compile(r"[\w.-]{1,100}\Z", re.ASCII)
_GITHUB_TOO = {"ssh.github.com": "github.com", "www.github.com": "github.com"}
_OTHERS = re.compile(
    r"(^|\.)(gitlab|bitbucket|codeberg|gitea|forgejo|gitee|sr\.ht|dev\.azure|visualstudio|sourceforge|notabug)\b"
)


class Address(NamedTuple):
    host: str
    owner: str
    name: str


def find_address(git: Git, remote: str = "origin") -> Address:
    """By the remote's address, as git rewrites it for the user (`insteadOf`), else as it is written."""
    top = git.top  # where there is no repository, that is what is said
    written = git.ask("config", "--get", f"remote.{remote}.url", codes=(0, 1)).text
    if not written:
        names = git.ask("remote").text.split()
        other = f"name another in bmad-autopilot.toml: {', '.join(names[:5])}" if names else ""
        hint = other or f"git remote add {remote} git@github.com:OWNER/NAME.git"
        raise ForgeError(Trouble.MISSING, f"this repository has no remote {remote}", hint=f"{hint}; {SETTING}")
    rewritten = git.ask("remote", "get-url", remote, codes=(0, 2, 128)).text.splitlines()
    for url in (*rewritten[:1], written):
        found = read_address(url)
        if found is not None:
            return _check(found, remote, top)
    raise ForgeError(
        Trouble.MISSING,
        f"the remote {remote} leads to no repository on GitHub: {_shown(written)}",
        hint=f"git remote set-url {remote} git@github.com:OWNER/NAME.git; {SETTING}",
    )


def read_address(url: str) -> Address | None:
    """None: a path on this machine, or nothing that has an owner and a name."""
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
    return Address(_GITHUB_TOO.get(host, host), *names)


def _is_name(name: str) -> bool:
    return bool(_NAME.match(name)) and name.strip(".") != ""


def _check(found: Address, remote: str, folder: str) -> Address:
    if "." not in found.host and found.host != "localhost":
        found = found._replace(host=_ssh_host(found.host, folder))
    if _OTHERS.search(found.host):
        message = f"the remote {remote} is on {found.host}; only GitHub is spoken to, by gh"
        raise ForgeError(Trouble.MISSING, message, hint=SETTING)
    return found


def _ssh_host(alias: str, folder: str) -> str:
    """What the user's ssh settings mean by a short name such as `github-work`."""
    answer = ask(Question(("ssh", "-G", alias)), folder)
    lines = answer.out.splitlines() if answer is not None and answer.ok else []
    named = [line.split(" ", 1)[1].strip().lower() for line in lines if line.startswith("hostname ")]
    host = named[0] if named and _HOST.match(named[0]) else alias
    return _GITHUB_TOO.get(host, host)


def _shown(url: str) -> str:
    """Without what may be a password."""
    return re.sub(r"//[^/@]*@", "//", url)[:200]
