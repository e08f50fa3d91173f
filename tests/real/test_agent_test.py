"""`bmad agent test claude` with Claude Code itself: the whole way from the command line to the verdict."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real import clients
from tests.real.attempts import offline_environment
from tests.real.claude_server import Refuse, Reply, Say, Server, Use, serve
from tests.support.bmad_project import ProjectMaker
from tests.support.terminals import COMMAND

pytestmark = pytest.mark.real

SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture(scope="module")
def program(real: Path) -> Path:
    return clients.install(real, clients.CLAUDE, "claude")


def ask(program: Path, server: Server, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = offline_environment(
        folder / "home",
        ANTHROPIC_BASE_URL=server.url,
        ANTHROPIC_API_KEY="sk-ant-dummy",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        CLAUDE_CODE_MAX_RETRIES="1",
        PYTHONPATH=str(SOURCE),
    )
    environment["PATH"] = f"{program.parent}:{environment['PATH']}"
    return subprocess.run(
        [*COMMAND, "agent", "test", "claude", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def write_the_word(body: dict[str, Any]) -> Reply:
    """What a model would do with our prompt: the tool's result comes back in the second request."""
    text = json.dumps(body)
    word = re.search(r"this word: ([0-9a-f]{8})", text)
    tree = re.search(r"/[^\s\"\\]*bmad-agent-test-[^\s\"\\/]*/work", text)
    assert word is not None
    assert tree is not None
    if "tool_result" in text:
        return Say("Done.")
    return Use("Write", {"file_path": f"{tree[0]}/hello.txt", "content": f"{word[1]}\n"})


def test_it_works_under_our_permissions_and_environment(
    program: Path, project: ProjectMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = project()
    with serve(Say("never")) as server:
        scripted = server.next_reply
        monkeypatch.setattr(
            server, "next_reply", lambda body: write_the_word(body) if body.get("tools") else scripted(body)
        )
        done = ask(program, server, sample.root)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "outcome   completed\n" in done.stdout
    assert "hello.txt holds the word" in done.stdout
    assert "tokens in" in done.stdout
    assert "claude works here" in done.stdout
    assert not (sample.root / "hello.txt").exists()


def test_a_key_that_is_refused_is_told_with_the_way_to_log_in(program: Path, project: ProjectMaker) -> None:
    with serve(Refuse(401, "authentication_error")) as server:
        done = ask(program, server, project().root)
    assert done.returncode == 1
    assert "outcome   auth: " in done.stdout
    assert "fix: claude, then /login" in done.stdout
