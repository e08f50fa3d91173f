"""What an agent's process finds in its environment: what it needs to work, and none of our keys.

An allow-list, so that a token nobody thought of stays out too. It is no wall: the agent runs as the user, with
the user's home folder. docs/security-agents.md says what that means."""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..core.errors import UsageError
from ..project.handed_on import is_forges, is_name
from ..project.programs import PLAIN, PLAIN_PREFIXES
from .shim.redaction import looks_secret

# May hold the proxy's password, without which nothing reaches the network.
_PROXIES = frozenset("HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy".split())
_CERTIFICATES = frozenset(
    "SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS "
    "GIT_SSL_CAINFO GIT_SSL_CAPATH PIP_CERT AWS_CA_BUNDLE DENO_CERT CARGO_HTTP_CAINFO UV_NATIVE_TLS".split()
)
_TOOLS = frozenset(
    "JAVA_HOME JDK_HOME MAVEN_HOME M2_HOME GRADLE_HOME GRADLE_USER_HOME SDKMAN_DIR ANDROID_HOME ANDROID_SDK_ROOT "
    "GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOPROXY GOPRIVATE GONOSUMDB GOTOOLCHAIN CARGO_HOME CARGO_TARGET_DIR "
    "RUSTUP_HOME RUSTUP_TOOLCHAIN PYENV_ROOT PYENV_VERSION VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYTHONPATH "
    "PIP_INDEX_URL PIP_CACHE_DIR UV_INDEX_URL UV_DEFAULT_INDEX UV_CACHE_DIR UV_PYTHON POETRY_HOME PIPX_HOME "
    "NVM_BIN VOLTA_HOME N_PREFIX NODENV_ROOT PNPM_HOME BUN_INSTALL DENO_DIR DENO_INSTALL COREPACK_HOME "
    "NPM_CONFIG_REGISTRY NPM_CONFIG_CACHE NPM_CONFIG_PREFIX npm_config_registry npm_config_cache "
    "DOTNET_ROOT NUGET_PACKAGES GEM_HOME GEM_PATH RBENV_ROOT BUNDLE_PATH COMPOSER_HOME MIX_HOME HEX_HOME "
    "FLUTTER_ROOT PUB_CACHE GHCUP_INSTALL_BASE_PREFIX NIX_PATH NIX_PROFILES LD_LIBRARY_PATH PKG_CONFIG_PATH "
    "HOMEBREW_PREFIX PLAYWRIGHT_BROWSERS_PATH PUPPETEER_EXECUTABLE_PATH CHROME_BIN".split()
)
_TOOL_PREFIXES = ("ASDF_", "MISE_", "FNM_")
_GIT_FILES = frozenset("GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM".split())  # where, not what

# Where the user's keyrings and agents listen. gh finds its token on the bus even with an empty folder of its own.
_DOORS = frozenset("XDG_RUNTIME_DIR XDG_SESSION_ID XDG_SEAT XDG_VTNR".split())
_NO_BUS = "unix:path=/dev/null"

# No agent, no key file, no connection that is already open, no question.
_SSH = (
    "ssh -F /dev/null -o BatchMode=yes -o IdentityAgent=none -o IdentitiesOnly=yes -o IdentityFile=none "
    "-o ControlPath=none -o PreferredAuthentications=none"
)
_NO_PUSH = "pushes-are-made-by-bmad-autopilot::"

# An empty helper switches off those that URLs have of their own too, which `gh auth setup-git` writes; an empty
# header does so only for its own URL, and the one for GitHub is what actions/checkout leaves in .git/config.
_GIT_SETTINGS: tuple[tuple[str, str], ...] = (
    ("credential.helper", ""),
    ("credential.interactive", "false"),
    ("http.extraHeader", ""),
    ("http.https://github.com/.extraHeader", ""),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    *((f"url.{_NO_PUSH}.pushInsteadOf", start) for start in ("https://", "http://", "ssh://", "git://", "git@")),
)

_QUIET = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",  # nobody is there to close an editor
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # empty: git then asks neither core.askPass nor SSH_ASKPASS
    "GIT_SSH_COMMAND": _SSH,
    "SSH_ASKPASS_REQUIRE": "never",
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "DISABLE_AUTOUPDATER": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "NO_UPDATE_NOTIFIER": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "DBUS_SESSION_BUS_ADDRESS": _NO_BUS,
}


class Identity(NamedTuple):
    """Who an agent is to git."""

    name: str
    email: str
    author: tuple[str, str] | None = None  # the user's own name and address; None: they have none, and it is us


def agent_environment(
    outer: Mapping[str, str],
    *,
    variables: Iterable[str],
    passed: Iterable[str],
    private: str,
    identity: Identity | None,
) -> dict[str, str]:
    """`variables` are the agent's own, `passed` those the user's settings hand on: names, or `PREFIX_*`.
    `private` is the attempt's own folder, which holds `gh` and `tmp`, both empty."""
    handed = _handed_on(outer, passed)
    own = _matching(outer, tuple(variables))
    environment = {name: value for name, value in outer.items() if _is_plain(name, value)}
    environment |= _essentials(outer) | _QUIET | _git(identity)
    environment |= {name: value for name, value in own.items() if not is_forges(name)}
    environment |= handed
    return environment | {"GH_CONFIG_DIR": f"{private}/gh", "TMPDIR": f"{private}/tmp"}  # noqa: S108


def _is_plain(name: str, value: str) -> bool:
    if name in _DOORS:
        return False
    if name in PLAIN or name in _PROXIES:
        return True
    known = name in _CERTIFICATES or name in _TOOLS or name in _GIT_FILES
    # Never by its name alone: there is a MISE_GITHUB_TOKEN, and an index may have its password in the URL.
    return (known or name.startswith((*PLAIN_PREFIXES, *_TOOL_PREFIXES))) and not looks_secret(name, value)


def _essentials(outer: Mapping[str, str]) -> dict[str, str]:
    """What nothing works without, where a bare environment (cron, a service) lacks it."""
    home = outer.get("HOME") or os.path.expanduser("~")
    path = outer.get("PATH") or os.defpath
    has_language = any(outer.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return {"HOME": home, "PATH": path} | ({} if has_language else {"LANG": "C.UTF-8"})


def _handed_on(outer: Mapping[str, str], passed: Iterable[str]) -> dict[str, str]:
    wanted = tuple(passed)
    for name in wanted:
        if not is_name(name):
            raise UsageError(
                f"environment.pass: not a variable's name: {name!r}",
                expected="a name, or the start of names: AWS_*",
            )
    found = _matching(outer, wanted)
    for name in (*wanted, *found):
        if is_forges(name):
            raise UsageError(
                f"environment.pass: {name} is not handed to agents",
                found=f"it is in environment.pass{'' if name in wanted else ' by its prefix'}",
                hint="pushes and pull requests are made by bmad itself; take the line out",
            )
    return found


def _matching(outer: Mapping[str, str], wanted: tuple[str, ...]) -> dict[str, str]:
    names = {name for name in wanted if not name.endswith("*")}
    prefixes = tuple(name[:-1] for name in wanted if name.endswith("*"))
    return {name: value for name, value in outer.items() if name in names or name.startswith(prefixes)}


def _git(identity: Identity | None) -> dict[str, str]:
    environment = {"GIT_CONFIG_COUNT": str(len(_GIT_SETTINGS))}
    for number, (key, value) in enumerate(_GIT_SETTINGS):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    if identity is not None:
        environment |= {"GIT_COMMITTER_NAME": identity.name, "GIT_COMMITTER_EMAIL": identity.email}
        name, email = identity.author or (identity.name, identity.email)
        environment |= {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email}
    return environment
