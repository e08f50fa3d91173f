"""Builds the environment of an agent's process: what it needs to work, and none of our keys.

It is an allow-list, so unknown tokens stay out too. It is not a security boundary: the agent runs as the user,
with the user's home folder. See docs/security-agents.md."""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..core.errors import UsageError
from ..io.patterns import is_forge_variable, is_variable_name
from ..io.processes import BASE_ENVIRONMENT, BASE_ENVIRONMENT_PREFIXES
from .shim.redact import looks_secret

# May contain the proxy's password, without which nothing reaches the network.
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

# Sockets of the user's keyrings and key agents. gh finds its token on the bus even with an empty config folder.
_SOCKET_VARIABLES = frozenset("XDG_RUNTIME_DIR XDG_SESSION_ID XDG_SEAT XDG_VTNR".split())
_NO_BUS = "unix:path=/dev/null"

# No key agent, no key file, no shared connection, no prompt.
_SSH = (
    "ssh -F /dev/null -o BatchMode=yes -o IdentityAgent=none -o IdentitiesOnly=yes -o IdentityFile=none "
    "-o ControlPath=none -o PreferredAuthentications=none"
)
_NO_PUSH = "pushes-are-made-by-bmad-autopilot::"

# An empty helper also disables the URL-specific helpers that `gh auth setup-git` writes. An empty header applies
# only to its own URL; the one for GitHub is what actions/checkout leaves in .git/config.
_GIT_SETTINGS: tuple[tuple[str, str], ...] = (
    ("credential.helper", ""),
    ("credential.interactive", "false"),
    ("http.extraHeader", ""),
    ("http.https://github.com/.extraHeader", ""),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    *((f"url.{_NO_PUSH}.pushInsteadOf", start) for start in ("https://", "http://", "ssh://", "git://", "git@")),
)

_NON_INTERACTIVE = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",  # no user is present to close an editor
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


class AgentIdentity(NamedTuple):
    """The git identity an agent commits with."""

    name: str
    email: str
    author: tuple[str, str] | None = None  # the user's name and address; None: not configured, use ours


def agent_environment(
    outer: Mapping[str, str],
    *,
    variables: Iterable[str],
    pass_through: Iterable[str],
    temp_folder: str,
    identity: AgentIdentity | None,
) -> dict[str, str]:
    """`variables` are the agent's own, `pass_through` those of the user's settings: names, or `PREFIX_*`.
    `temp_folder` is the attempt's own folder, which contains `gh` and `tmp`, both empty."""
    passed_through = _passed_through(outer, pass_through)
    own = _select_matching(outer, tuple(variables))
    environment = {name: value for name, value in outer.items() if _is_allowed(name, value)}
    environment |= _essentials(outer) | _NON_INTERACTIVE | _git_variables(identity)
    environment |= {name: value for name, value in own.items() if not is_forge_variable(name)}
    environment |= passed_through
    return environment | {"GH_CONFIG_DIR": f"{temp_folder}/gh", "TMPDIR": f"{temp_folder}/tmp"}  # noqa: S108


def _is_allowed(name: str, value: str) -> bool:
    if name in _SOCKET_VARIABLES:
        return False
    if name in BASE_ENVIRONMENT or name in _PROXIES:
        return True
    known = name in _CERTIFICATES or name in _TOOLS or name in _GIT_FILES
    # A known name is not enough: there is a MISE_GITHUB_TOKEN, and an index URL may contain a password.
    return (known or name.startswith((*BASE_ENVIRONMENT_PREFIXES, *_TOOL_PREFIXES))) and not looks_secret(
        name, value
    )


def _essentials(outer: Mapping[str, str]) -> dict[str, str]:
    """Defaults for variables that a bare environment (cron, a service) lacks and every program needs."""
    home = outer.get("HOME") or os.path.expanduser("~")
    path = outer.get("PATH") or os.defpath
    has_language = any(outer.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return {"HOME": home, "PATH": path} | ({} if has_language else {"LANG": "C.UTF-8"})


def _passed_through(outer: Mapping[str, str], passed: Iterable[str]) -> dict[str, str]:
    wanted = tuple(passed)
    for name in wanted:
        if not is_variable_name(name):
            raise UsageError(
                f"environment.pass: not a variable's name: {name!r}",
                expected="a name, or the start of names: AWS_*",
            )
    found = _select_matching(outer, wanted)
    for name in (*wanted, *found):
        if is_forge_variable(name):
            raise UsageError(
                f"environment.pass: {name} is not handed to agents",
                found=f"it is in environment.pass{'' if name in wanted else ' by its prefix'}",
                hint="pushes and pull requests are made by bmad itself; take the line out",
            )
    return found


def _select_matching(outer: Mapping[str, str], wanted: tuple[str, ...]) -> dict[str, str]:
    names = {name for name in wanted if not name.endswith("*")}
    prefixes = tuple(name[:-1] for name in wanted if name.endswith("*"))
    return {name: value for name, value in outer.items() if name in names or name.startswith(prefixes)}


def _git_variables(identity: AgentIdentity | None) -> dict[str, str]:
    environment = {"GIT_CONFIG_COUNT": str(len(_GIT_SETTINGS))}
    for number, (key, value) in enumerate(_GIT_SETTINGS):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    if identity is not None:
        environment |= {"GIT_COMMITTER_NAME": identity.name, "GIT_COMMITTER_EMAIL": identity.email}
        name, email = identity.author or (identity.name, identity.email)
        environment |= {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email}
    return environment
