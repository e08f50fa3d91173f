"""The real gh, old and new, on a socket: what the door takes for granted of it."""

from pathlib import Path

import pytest
from graphql import parse, validate

from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.github.forge import CheckState, NewPull, RemoteCheck
from bmad_autopilot.github.gh import Gh
from bmad_autopilot.github.gh_forge import GhForge
from bmad_autopilot.github.queries import DOCUMENTS, REQUEST_REVIEW, watch_query
from tests.real.gh_schema import npm_schema
from tests.support.graphql_schema import load
from tests.support.scripted_github import HEAD, Response, ScriptedGitHub, pull, pull_mark, serve_script

pytestmark = pytest.mark.real

PROGRAMS = {"new": "tools/bin", "debian": "gh-debian/usr/bin"}
ROOT = "repos/acme/widgets"


@pytest.fixture(params=PROGRAMS)
def gh(request: pytest.FixtureRequest, real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gh:
    folder = real / PROGRAMS[request.param]
    if not (folder / "gh").exists():
        pytest.skip(f"no gh in {folder}; run `make tools`")
    config = tmp_path / "config"
    config.mkdir()
    (config / "config.yml").write_text(f'version: "1"\nhttp_unix_socket: {tmp_path / "s"}\nprompt: disabled\n')
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("GH_CONFIG_DIR", str(config))
    monkeypatch.setenv("GH_TOKEN", "dummy")
    monkeypatch.setenv("GH_HOST", "elsewhere.example")  # of the user's other work: not ours
    return Gh(wait=lambda seconds: None)


@pytest.fixture
def script(tmp_path: Path) -> ScriptedGitHub:
    return ScriptedGitHub()


def test_reads_and_effects_go_through(gh: Gh, script: ScriptedGitHub, tmp_path: Path) -> None:
    script.queries["AutopilotPull"] = lambda v: {"repository": {"pullRequest": pull(title="Ünïcode — 日本")}}
    script.queries["AutopilotWatch"] = lambda v: {"repository": {"p0": pull_mark()}}
    script.queries["AutopilotReply"] = lambda v: {"x": {}}
    script.rest[f"POST {ROOT}/pulls"] = Response(201, {"number": 12})
    script.rest[f"PUT {ROOT}/pulls/7/merge"] = Response(200, {"sha": "e" * 40, "merged": True})
    script.rest[f"GET {ROOT}/git/ref/heads/feature%2Fepic-1"] = Response(200, {"object": {"sha": HEAD}})
    script.rest[f"DELETE {ROOT}/git/refs/heads/feature%2Fepic-1"] = Response(204)
    forge = GhForge(gh, "acme", "widgets")
    with serve_script(script, tmp_path / "s"):
        seen = forge.pull(7)
        assert seen.title == "Ünïcode — 日本"
        assert seen.fingerprint != forge.watch([7])[0].fingerprint  # its title differs
        assert forge.open_pull(NewPull("feature/epic-1", "main", "Ünïcode", "a\n$(b)")) == 12
        forge.reply("T1", "`x` — done")
        assert forge.merge(7, HEAD, "s", "b") == "e" * 40
        forge.delete_branch("feature/epic-1", HEAD)
    assert [one.method for one in script.effects()] == ["POST", "POST", "PUT", "DELETE"]
    assert script.effects()[1].body["variables"] == {"thread": "T1", "body": "`x` — done"}


def test_errors_come_with_their_reason(gh: Gh, script: ScriptedGitHub, tmp_path: Path) -> None:
    forge = GhForge(gh, "acme", "widgets")
    limited = {"Retry-After": "900", "X-RateLimit-Remaining": "0"}
    responses = {
        ForgeErrorKind.LOGIN: Response(401, {"message": "Bad credentials"}),
        ForgeErrorKind.DENIED: Response(403, {"message": "Resource not accessible by integration"}),
        ForgeErrorKind.LIMIT: Response(403, {"message": "You have exceeded a secondary rate limit"}, limited),
        ForgeErrorKind.MISSING: Response(404, {"message": "Not Found"}),
        ForgeErrorKind.REFUSED: Response(409, {"message": "Head branch was modified"}),
        ForgeErrorKind.UNAVAILABLE: Response(502, b"<html>Bad gateway</html>", {"Content-Type": "text/html"}),
        ForgeErrorKind.UNRECOGNIZED: Response(418, {"message": "teapot"}),
    }
    with serve_script(script, tmp_path / "s"):
        for trouble, response in responses.items():
            script.rest[f"PUT {ROOT}/pulls/7/merge"] = response
            with pytest.raises(ForgeError) as caught:
                forge.merge(7, HEAD, "s", "b")
            assert (caught.value.kind, caught.value.status) == (trouble, response.status)


def test_graphql_errors_beside_data_are_heard(gh: Gh, script: ScriptedGitHub, tmp_path: Path) -> None:
    error = {"type": "NOT_FOUND", "path": ["repository", "p0"], "message": "Could not resolve to a PullRequest"}
    data = {"repository": {"p0": None, "p1": pull_mark(8)}}
    script.queries["AutopilotWatch"] = lambda v: {"data": data, "errors": [error]}
    with serve_script(script, tmp_path / "s"):
        assert [seen.number for seen in GhForge(gh, "acme", "widgets").watch([7, 8])] == [8]


def test_a_log_lies_elsewhere_and_is_no_utf8(gh: Gh, script: ScriptedGitHub, tmp_path: Path) -> None:
    place = "https://blob.example.com/log?sig=1"
    script.rest[f"GET {ROOT}/actions/jobs/70/logs"] = Response(302, None, {"Location": place})
    script.rest["GET log?sig=1"] = Response(200, b"one\n##[error]tw\xff\n", {"Content-Type": "text/plain"})
    with serve_script(script, tmp_path / "s"):
        log = GhForge(gh, "acme", "widgets").log_tail(RemoteCheck("unit", CheckState.FAILED, job=70))
    assert log == "one\n##[error]tw\ufffd"


def test_what_has_not_changed_is_answered_from_memory(gh: Gh, script: ScriptedGitHub, tmp_path: Path) -> None:
    path = f"{ROOT}/pulls/7/files?per_page=100&page=1"
    script.rest[f"GET {path}"] = Response(200, [{"filename": "a"}], {"ETag": 'W/"1"'})
    forge = GhForge(gh, "acme", "widgets")
    with serve_script(script, tmp_path / "s"):
        assert forge.changed_files(7) == ["a"]
        script.rest[f"GET {path}"] = Response(304, None, {"ETag": 'W/"1"'})
        assert forge.changed_files(7) == ["a"]


def test_nobody_there_and_no_login_are_told_apart(gh: Gh, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ForgeError) as caught:
        gh.get("user")
    assert caught.value.kind is ForgeErrorKind.UNAVAILABLE
    monkeypatch.delenv("GH_TOKEN")
    with pytest.raises(ForgeError) as caught:
        Gh().get("user")
    assert (caught.value.kind, caught.value.hint) == (ForgeErrorKind.LOGIN, "gh auth login")


def test_npms_schema_takes_the_documents_too(real: Path) -> None:
    """An older one than GitHub's own: what enterprise servers may have. It does not know one mutation yet."""
    schema = load(npm_schema(real))
    for document in (*DOCUMENTS, watch_query(100)):
        if document != REQUEST_REVIEW:
            assert validate(schema, parse(document)) == []
