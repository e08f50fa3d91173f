"""What reaches an agent's process, seen by real processes."""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.environment import AgentIdentity, agent_environment
from bmad_autopilot.core.errors import UsageError

TOKEN = "ghp_" + "Ab1" * 12
IDENTITY = AgentIdentity(
    "robot (BMAD Autopilot)", "robot@bmad-autopilot.invalid", ("A Person", "person@example.invalid")
)


@pytest.fixture
def private(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    for name in ("gh", "tmp"):
        (folder / name).mkdir(parents=True)
    return folder


@pytest.fixture
def user(home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment as people have it: tokens, helpers and agents everywhere."""
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")  # the home folder's is meant
    (home / ".git-credentials").write_text(f"https://me:{TOKEN}@example.com\nhttp://me:{TOKEN}@127.0.0.1\n")
    (home / ".gitconfig").write_text(
        "[user]\n\tname = A Person\n\temail = person@example.invalid\n"
        f"[core]\n\taskPass = {home}/askpass\n"
        f"[http]\n\textraHeader = Authorization: Bearer {TOKEN}\n"
        "[credential]\n\thelper = store\n"
        '[credential "https://github.com"]\n\thelper =\n'
        f'\thelper = "!f() {{ echo username=me; echo password={TOKEN}; }}; f"\n'
        '[credential "https://git.example.org"]\n\tuseHttpPath = true\n'
        '[credential "https://git.example.org/acme"]\n'
        f'\thelper = "!f() {{ echo username=me; echo password={TOKEN}; }}; f"\n'
    )
    (home / "askpass").write_text(f"#!/bin/sh\necho {TOKEN}\n")
    (home / "askpass").chmod(0o755)
    hosts = home / ".config" / "gh" / "hosts.yml"
    hosts.parent.mkdir(parents=True)
    hosts.write_text(f"github.com:\n    oauth_token: {TOKEN}\n    user: me\n")
    return {
        **os.environ,
        "GH_TOKEN": TOKEN,
        "GITHUB_TOKEN": TOKEN,
        "GH_ENTERPRISE_TOKEN": TOKEN,
        "MISE_GITHUB_TOKEN": TOKEN,
        "NPM_TOKEN": TOKEN,
        "AWS_SECRET_ACCESS_KEY": TOKEN,
        "DATABASE_URL": f"postgres://me:{TOKEN}@localhost/db",
        "PIP_INDEX_URL": f"https://me:{TOKEN}@pypi.example.com/simple",
        "SSH_AUTH_SOCK": f"{home}/agent.sock",
        "GIT_ASKPASS": f"{home}/askpass",
        "SSH_ASKPASS": f"{home}/askpass",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "http.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Bearer {TOKEN}",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus",
        "XDG_RUNTIME_DIR": "/run/user/1000",
        "JAVA_HOME": "/opt/java",
        "MISE_DATA_DIR": "/opt/mise",
        "HTTPS_PROXY": "http://me:secret12@127.0.0.1:9",
        "AGENT_KEY": "the agent's own",
        "AGENT_MODEL_URL": "http://127.0.0.1:1",
    }


def made(
    outer: dict[str, str], private: Path, *passed: str, identity: AgentIdentity | None = IDENTITY
) -> dict[str, str]:
    return agent_environment(
        outer, variables=("AGENT_*",), pass_through=passed, temp_folder=str(private), identity=identity
    )


def run(
    environment: dict[str, str], *argv: str, stdin: str = "", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, env=environment, input=stdin, cwd=cwd, capture_output=True, text=True, timeout=30, check=False
    )


def fill(environment: dict[str, str], url: str) -> subprocess.CompletedProcess[str]:
    return run(environment, "git", "credential", "fill", stdin=f"url={url}\n\n")


def test_a_child_sees_the_tools_and_no_token(user: dict[str, str], private: Path) -> None:
    seen = run(made(user, private), "env").stdout
    assert TOKEN not in seen
    lines = dict(line.partition("=")[::2] for line in seen.splitlines())
    for name in ("PATH", "HOME", "JAVA_HOME", "MISE_DATA_DIR", "HTTPS_PROXY", "AGENT_KEY", "AGENT_MODEL_URL"):
        assert lines[name] == user[name]
    assert lines["TMPDIR"] == f"{private}/tmp"
    assert lines["GH_CONFIG_DIR"] == f"{private}/gh"
    assert lines["TERM"] == "dumb"
    absent = {"SSH_AUTH_SOCK", "SSH_ASKPASS", "GH_TOKEN", "GITHUB_TOKEN", "XDG_RUNTIME_DIR", "PIP_INDEX_URL"}
    assert not absent & lines.keys()


@pytest.mark.parametrize(
    "url",
    [
        "https://asked.example.com/x",
        "https://github.com/acme/widgets.git",
        "https://example.com/x",
        "http://127.0.0.1/x",
        "https://git.example.org/acme/x",
    ],
)
def test_git_gives_no_credentials(user: dict[str, str], private: Path, url: str) -> None:
    ours = fill(user, url)
    assert TOKEN in ours.stdout  # the helpers are real ones
    theirs = fill(made(user, private), url)
    assert theirs.returncode != 0
    assert "terminal prompts disabled" in theirs.stderr
    assert TOKEN not in theirs.stdout + theirs.stderr


GH = """\
#!/bin/sh
# As gh does it: the environment first, then hosts.yml in its folder.
[ -n "$GH_TOKEN" ] && { echo "$GH_TOKEN"; exit 0; }
[ -n "$GITHUB_TOKEN" ] && { echo "$GITHUB_TOKEN"; exit 0; }
sed -n 's/ *oauth_token: //p' "${GH_CONFIG_DIR:-${XDG_CONFIG_HOME:-$HOME/.config}/gh}/hosts.yml" | grep . \
    || { echo "no oauth token found for github.com" >&2; exit 1; }
"""


def test_gh_has_no_token(user: dict[str, str], private: Path, tmp_path: Path) -> None:
    if shutil.which("gh") is None:
        script = tmp_path / "bin" / "gh"
        script.parent.mkdir()
        script.write_text(GH)
        script.chmod(0o755)
        user["PATH"] = f"{script.parent}:{user['PATH']}"
    outer = {name: value for name, value in user.items() if not name.startswith(("GH_", "GITHUB_"))}
    for mine in (user, outer):
        assert run(mine, "gh", "auth", "token").stdout.strip() == TOKEN
    theirs = run(made(user, private), "gh", "auth", "token")
    assert theirs.returncode != 0
    assert TOKEN not in theirs.stdout + theirs.stderr


@pytest.mark.skipif(not shutil.which("ssh-add"), reason="no ssh-add")
def test_the_ssh_agent_is_out_of_reach(user: dict[str, str], private: Path, tmp_path: Path) -> None:
    socket = tmp_path / "s"
    agent = subprocess.Popen(
        ["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert agent.stdout is not None
        agent.stdout.readline()  # it listens now
        user["SSH_AUTH_SOCK"] = str(socket)
        key = tmp_path / "key"
        run(user, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
        run(user, "ssh-add", "-q", str(key))
        assert "ED25519" in run(user, "ssh-add", "-l").stdout
        theirs = run(made(user, private), "ssh-add", "-l")
        assert theirs.returncode == 2
        assert "ED25519" not in theirs.stdout
    finally:
        agent.terminate()
        agent.communicate(timeout=10)


@pytest.mark.skipif(not shutil.which("ssh"), reason="no ssh")
def test_gits_ssh_takes_no_key(user: dict[str, str], private: Path, home: Path) -> None:
    (home / ".ssh").mkdir()
    (home / ".ssh" / "config").write_text("Host *\n  IdentityFile ~/.ssh/mine\n  ControlPath ~/.ssh/%C\n")
    command = made(user, private)["GIT_SSH_COMMAND"].split()
    told = run(user, *command, "-G", "github.com").stdout
    assert ".ssh/mine" not in told
    assert "identityfile none" in told
    assert "identityagent none" in told
    assert "preferredauthentications none" in told
    assert "controlpath" not in told
    assert "batchmode yes" in told


@contextmanager
def web(seen: list[str]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(f"{self.path} {self.headers}")
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def repository(user: dict[str, str], folder: Path) -> Path:
    run(user, "git", "init", "-q", str(folder))
    return folder


def test_no_header_of_the_users_goes_out(user: dict[str, str], private: Path, tmp_path: Path) -> None:
    seen: list[str] = []
    user["NO_PROXY"] = "127.0.0.1"
    with web(seen) as url:
        run(user, "git", "ls-remote", f"{url}/x.git")
        assert any(TOKEN in request for request in seen)
        seen.clear()
        theirs = run(made(user, private), "git", "ls-remote", f"{url}/x.git")
    assert theirs.returncode != 0
    assert seen
    assert not any("Authorization" in request for request in seen)


def test_the_header_that_ci_leaves_for_github_is_emptied(
    user: dict[str, str], private: Path, tmp_path: Path
) -> None:
    work = repository(user, tmp_path / "work")
    run(user, "git", "config", "http.https://github.com/.extraheader", f"AUTHORIZATION: basic {TOKEN}", cwd=work)
    asked = ("git", "config", "--get-urlmatch", "http.extraheader", "https://github.com/acme/widgets")
    assert TOKEN in run({**user, "GIT_CONFIG_COUNT": "0"}, *asked, cwd=work).stdout
    assert run(made(user, private), *asked, cwd=work).stdout == "\n"


@pytest.mark.parametrize(
    "remote", ["http://127.0.0.1:9/x.git", "https://me:pw@127.0.0.1:9/x", "git@127.0.0.1:x.git"]
)
def test_git_cannot_push_away(user: dict[str, str], private: Path, tmp_path: Path, remote: str) -> None:
    work = repository(user, tmp_path / "work")
    environment = made(user, private)
    run(environment, "git", "commit", "-q", "--allow-empty", "-m", "one", cwd=work)
    run(environment, "git", "remote", "add", "origin", remote, cwd=work)
    for target in ("origin", remote):
        pushed = run(environment, "git", "push", target, "HEAD", cwd=work)
        assert pushed.returncode != 0
        assert "pushes-are-made-by-bmad-autopilot" in pushed.stderr


def test_a_test_suite_may_push_to_a_folder(user: dict[str, str], private: Path, tmp_path: Path) -> None:
    work = repository(user, tmp_path / "work")
    environment = made(user, private)
    run(environment, "git", "init", "-q", "--bare", str(tmp_path / "bare"))
    run(environment, "git", "commit", "-q", "--allow-empty", "-m", "one", cwd=work)
    assert run(environment, "git", "push", str(tmp_path / "bare"), "HEAD", cwd=work).returncode == 0


def test_the_agent_commits_and_the_person_stays_the_author(
    user: dict[str, str], private: Path, tmp_path: Path, home: Path
) -> None:
    work = repository(user, tmp_path / "work")
    run(user, "git", "config", "commit.gpgSign", "true", cwd=work)
    shown = ("git", "log", "-1", "--format=%an %ae|%cn %ce")
    environment = made(user, private)
    assert run(environment, "git", "commit", "--allow-empty", "-m", "one", cwd=work).returncode == 0
    assert run(environment, *shown, cwd=work).stdout.strip() == (
        "A Person person@example.invalid|robot (BMAD Autopilot) robot@bmad-autopilot.invalid"
    )
    (home / ".gitconfig").unlink()
    environment = made(user, private, identity=IDENTITY._replace(author=None))
    assert run(environment, "git", "commit", "--allow-empty", "-m", "two", cwd=work).returncode == 0
    assert run(environment, *shown, cwd=work).stdout.startswith("robot (BMAD Autopilot) robot@")


def test_no_editor_waits(user: dict[str, str], private: Path, tmp_path: Path) -> None:
    work = repository(user, tmp_path / "work")
    done = run(made(user, private), "git", "commit", "--allow-empty", cwd=work)
    assert "empty commit message" in done.stderr


def test_what_the_settings_name_is_handed_on(user: dict[str, str], private: Path) -> None:
    environment = made(user, private, "DATABASE_URL", "AWS_*", "SSH_AUTH_SOCK", "NOT_SET")
    for name in ("DATABASE_URL", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK"):
        assert environment[name] == user[name]
    assert "NOT_SET" not in environment


@pytest.mark.parametrize(
    "name", ["GH_TOKEN", "GITHUB_TOKEN", "GH_*", "GITHUB_*", "GIT_CONFIG_COUNT", "GH_CONFIG_DIR"]
)
def test_a_token_of_the_forge_is_refused_even_by_name(user: dict[str, str], private: Path, name: str) -> None:
    with pytest.raises(UsageError, match="not handed to agents"):
        made(user, private, name)


@pytest.mark.parametrize("name", ["*", "A=B", "", "A B", "A*B", "$(id)", "_*"])
def test_a_name_must_be_one(user: dict[str, str], private: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"not a variable's name"):
        made(user, private, name)


def test_an_agents_own_variables_never_bring_a_forge_token(user: dict[str, str], private: Path) -> None:
    environment = agent_environment(
        user,
        variables=("GH_*", "GITHUB_TOKEN", "GIT_CONFIG_*"),
        pass_through=(),
        temp_folder=str(private),
        identity=None,
    )
    assert TOKEN not in environment.values()
    assert environment["GIT_CONFIG_COUNT"] != "1"
    assert environment["GH_CONFIG_DIR"] == f"{private}/gh"


def test_a_bare_environment_is_made_workable(private: Path) -> None:
    environment = made({}, private)
    assert os.path.isabs(environment["HOME"])
    assert run(environment, "git", "--version").returncode == 0
    assert environment["LANG"] == "C.UTF-8"


names = st.from_regex(r"[A-Z_]{1,12}(TOKEN|SECRET|PASSWORD|API_KEY)", fullmatch=True)


@given(names, st.sampled_from(["", "XDG_", "LC_", "MISE_", "ASDF_", "FNM_", "GIT_", "GH_", "NPM_CONFIG_"]))
def test_no_unnamed_secret_gets_in(name: str, prefix: str) -> None:
    outer = {"PATH": "/bin", "HOME": "/root", prefix + name: "s3cr3t-v4lue-77"}
    environment = agent_environment(outer, variables=(), pass_through=(), temp_folder="/p", identity=IDENTITY)
    assert "s3cr3t-v4lue-77" not in environment.values()
