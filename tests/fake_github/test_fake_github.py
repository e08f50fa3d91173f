"""The fake GitHub server on a unix socket, with requests as gh sends them."""

import http.client
import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bmad_autopilot.github.forge import NewPull
from bmad_autopilot.github.gate_reader import PULL_QUERY
from bmad_autopilot.github.queries import (
    DOCUMENTS,
    ENQUEUE,
    MARK_READY,
    MORE_COMMENTS,
    PULL,
    PULLS_FROM,
    REPLY,
    REQUEST_REVIEW,
    RESOLVE,
    watch_query,
)
from bmad_autopilot.sim.github.checks import CIJob, SimCI, scripted_conclusions
from bmad_autopilot.sim.github.people import SimHuman
from bmad_autopilot.sim.github.records import GitHubFault
from bmad_autopilot.sim.github.reviews import Remark
from tests.fake_github.client_environment import ssh_environment
from tests.fake_github.graphql_document import BadDocument, Document
from tests.fake_github.server import SimServer, serve
from tests.support.agent_stubs import wait_until
from tests.support.simulated_github import BRANCH, Hub, bare_hub, memory_hub

HERE = {"owner": "acme", "name": "widgets"}


class ServerReply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Line:
    def __init__(self, server: SimServer) -> None:
        self.server = server

    def __call__(self, method: str, path: str, body: object = None, **headers: str) -> ServerReply:
        line = http.client.HTTPConnection("api.github.com", timeout=30)
        line.sock = socket.socket(socket.AF_UNIX)
        line.sock.connect(str(self.server.path))
        own = {
            "Authorization": "token simulated",
            **{name.replace("_", "-"): text for name, text in headers.items()},
        }
        try:
            line.request(method, path, None if body is None else json.dumps(body), own)
            answer = line.getresponse()
            return ServerReply(answer.status, dict(answer.headers.items()), answer.read())
        finally:
            line.close()

    def raw(self, request: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(self.server.path))
            line.sendall(request)
            return line.recv(65536)

    def graphql(self, document: str, **variables: object) -> Any:
        return self("POST", "/graphql", {"query": document, "variables": HERE | variables}).json


@pytest.fixture
def hub() -> Hub:
    found = memory_hub()
    found.push_work({"a.py": b"new\n"})
    return found


@pytest.fixture
def line(hub: Hub, tmp_path: Path) -> Iterator[Line]:
    with serve(hub.model, tmp_path / "s") as server:
        yield Line(server)


def test_pull_requests_by_rest(hub: Hub, line: Line) -> None:
    order = {"head": BRANCH, "base": "main", "title": "Epic 1", "body": "x"}
    made = line("POST", "/repos/acme/widgets/pulls", order)
    assert (made.status, made.json["number"]) == (201, 1)
    again = line("POST", "/repos/acme/widgets/pulls", order)
    assert again.status == 422
    assert again.json["errors"][0]["message"] == "A pull request already exists for acme:feature/epic-1."
    line("PATCH", "/repos/acme/widgets/pulls/1", {"title": "Other", "state": "closed"})
    assert line("GET", "/repos/acme/widgets/pulls/1").json["title"] == "Other"
    assert line("GET", "/repos/acme/widgets/pulls?state=all&head=acme:feature/epic-1").json[0]["state"] == "closed"
    assert line("PATCH", "/repos/acme/widgets/pulls/1", {"state": "open"}).json["state"] == "open"
    moved = line("PUT", "/repos/acme/widgets/pulls/1/merge", {"sha": "0" * 40, "merge_method": "squash"})
    assert moved.status == 409
    head = hub.model.pulls[1].head
    merged = line("PUT", "/repos/acme/widgets/pulls/1/merge", {"sha": head, "merge_method": "squash"})
    assert merged.json["merged"] is True
    assert line("GET", "/repos/acme/widgets/git/ref/heads/feature%2Fepic-1").json["object"]["sha"] == head
    assert line("DELETE", "/repos/acme/widgets/git/refs/heads/feature%2Fepic-1").status == 204
    assert line("GET", "/repos/acme/widgets/git/ref/heads/feature%2Fepic-1").status == 404


def test_reviews_labels_comments_and_files_by_rest(hub: Hub, line: Line) -> None:
    pull = hub.open_pull()
    SimHuman(hub.model, "robot")
    line.server.responder.logins["other"] = "robot"
    root = "/repos/acme/widgets"
    given = {"event": "APPROVE", "commit_id": pull.head}
    made = line("POST", f"{root}/pulls/1/reviews", given, Authorization="token other")
    assert (made.json["state"], made.json["user"]["login"]) == ("APPROVED", "robot")
    line("PUT", f"{root}/pulls/1/reviews/{made.json['id']}/dismissals", {"message": "no"})
    assert line("GET", f"{root}/pulls/1/reviews").json[0]["state"] == "DISMISSED"
    assert line("POST", f"{root}/pulls/1/reviews", given).status == 422
    line("POST", f"{root}/issues/1/labels", {"labels": ["epic"]})
    line("POST", f"{root}/issues/1/comments", {"body": "hello"})
    reviewer = {"reviewers": ["copilot-pull-request-reviewer[bot]"]}
    asked = line("POST", f"{root}/pulls/1/requested_reviewers", reviewer).json
    assert [one["login"] for one in asked["requested_reviewers"]] == ["copilot-pull-request-reviewer[bot]"]
    assert line("GET", f"{root}/issues/1/comments").json[0]["body"] == "hello"
    (file,) = line("GET", f"{root}/pulls/1/files").json
    assert (file["filename"], file["status"]) == ("a.py", "modified")
    assert "+new" in file["patch"]
    raw = line("GET", f"{root}/contents/a.py?ref={BRANCH}", Accept="application/vnd.github.raw+json")
    assert raw.body == b"new\n"
    assert line("GET", f"{root}/activity?ref=refs%2Fheads%2Ffeature%2Fepic-1").json[0]["after"] == pull.head


def test_a_jobs_log_lies_behind_a_redirect_and_it_runs_again(hub: Hub, line: Line) -> None:
    SimCI(hub.model, [CIJob("test", scripted_conclusions("failure", "success", log=b"\xff broken\n"))])
    pull = hub.open_pull()
    line.server.advance(100)
    check = hub.model.checks[pull.head][0]
    told = line("GET", f"/repos/acme/widgets/actions/jobs/{check.id}/logs")
    assert told.status == 302
    blob = told.headers["Location"].partition(".example")[2]
    assert line("GET", blob).body == b"\xff broken\n"
    assert line("POST", f"/repos/acme/widgets/actions/runs/{check.run}/rerun-failed-jobs").status == 201
    line.server.advance(100)
    assert hub.model.checks[pull.head][-1].conclusion == "success"


def test_pages_tags_and_limits(hub: Hub, line: Line) -> None:
    for number in range(2, 8):
        hub.open_pull(f"feature/epic-{number}")
    page = line("GET", "/repos/acme/widgets/pulls?per_page=4")
    assert [one["number"] for one in page.json] == [6, 5, 4, 3]
    assert 'page=2>; rel="next"' in page.headers["Link"]
    last = line("GET", "/repos/acme/widgets/pulls?per_page=4&page=2")
    assert "Link" not in last.headers
    before = int(last.headers["X-RateLimit-Remaining"])
    same = line("GET", "/repos/acme/widgets/pulls?per_page=4&page=2", If_None_Match=last.headers["ETag"])
    assert (same.status, same.body) == (304, b"")
    assert int(same.headers["X-RateLimit-Remaining"]) == before
    assert line("GET", "/rate_limit").json["resources"]["core"]["remaining"] == before
    line.server.responder.requests.limit = 2
    assert line("GET", "/repos/acme/widgets").status == 403
    line.server.advance(3601)
    assert line("GET", "/repos/acme/widgets").status == 200


def test_strangers_and_unknown_paths_are_told_so(line: Line) -> None:
    assert line("GET", "/user", Authorization="").status == 401
    assert line("GET", "/repos/acme/other").status == 404
    assert line("POST", "/repos/acme/widgets/pulls", {"head": BRANCH}).status == 422
    assert line("POST", "/graphql", {"query": "query {"}).json["errors"]
    unmodelled = line("GET", "/repos/acme/widgets/releases")
    assert unmodelled.json["message"] == "SIMULATOR: unmodelled GET /repos/acme/widgets/releases"


def test_a_whole_pull_request_by_graphql(hub: Hub, line: Line) -> None:
    SimCI(hub.model, [CIJob("test"), CIJob("status", workflow="")])
    hub.protect(checks=("test",))
    pull = hub.open_pull()
    SimHuman(hub.model).remark(pull.number, Remark("a.py", 1, "why?"))
    line.server.advance(100)
    told = line.graphql(PULL, number=1)
    assert "errors" not in told
    found = told["data"]["repository"]["pullRequest"]
    assert found["headRef"]["target"]["oid"] == pull.head
    contexts = found["headRef"]["target"]["statusCheckRollup"]["contexts"]["nodes"]
    assert [(one["__typename"], one["isRequired"]) for one in contexts] == [
        ("CheckRun", True),
        ("StatusContext", False),
    ]
    (thread,) = found["reviewThreads"]["nodes"]
    assert thread["comments"]["nodes"][0]["author"] == {"__typename": "User", "login": "maria"}
    assert told["data"]["rateLimit"]["remaining"] == 4999


def test_a_missing_pull_request_is_null_with_an_error_beside_the_others(hub: Hub, line: Line) -> None:
    hub.open_pull()
    told = line.graphql(watch_query(2), n0=1, n1=99)
    assert told["data"]["repository"]["p0"]["number"] == 1
    assert told["data"]["repository"]["p1"] is None
    (error,) = told["errors"]
    assert (error["type"], error["path"]) == ("NOT_FOUND", ["repository", "p1"])


def test_what_is_not_modelled_is_loud(line: Line) -> None:
    told = line.graphql("query Q { viewer { login avatarUrl } }")
    assert told["errors"][0]["message"] == "SIMULATOR: unmodelled User.avatarUrl"
    assert "data" not in told


def test_connections_go_page_by_page_in_both_directions(hub: Hub, line: Line) -> None:
    pull = hub.open_pull()
    SimHuman(hub.model).remark(pull.number, *(Remark("a.py", 1, str(i)) for i in range(250)))
    page = "pageInfo { hasNextPage endCursor hasPreviousPage } nodes { id }"
    document = f"""query Q($owner: String!, $name: String!, $after: String) {{
      repository(owner: $owner, name: $name) {{ pullRequest(number: 1) {{
        forward: reviewThreads(first: 100, after: $after) {{ totalCount {page} }}
        back: reviewThreads(last: 2) {{ {page} }}
      }} }} }}"""
    found, after = [], None
    for _ in range(3):
        told = line.graphql(document, after=after)["data"]["repository"]["pullRequest"]
        found += [one["id"] for one in told["forward"]["nodes"]]
        after = told["forward"]["pageInfo"]["endCursor"]
    assert found == [thread.id for thread in pull.threads]
    assert not told["forward"]["pageInfo"]["hasNextPage"]
    assert told["forward"]["totalCount"] == 250
    assert [one["id"] for one in told["back"]["nodes"]] == found[-2:]
    assert told["back"]["pageInfo"]["hasPreviousPage"]


def test_points_are_counted_by_the_documented_rule() -> None:
    """The example of GitHub's own documentation: 5,101 requests are 51 points."""
    document = """query Q { viewer { repositories(first: 100) { edges { repository: node { issues(first: 50) {
      edges { node { labels(first: 60) { edges { node { name } } } } } } } } } } }"""
    assert Document(document, {}).points == 51
    hundred = {f"n{i}": i for i in range(100)}
    assert Document(watch_query(100), hundred).points == 3
    with pytest.raises(BadDocument, match="`first` or `last`"):
        Document("query Q { viewer { repositories { nodes { name } } } }", {}).check_size()
    with pytest.raises(BadDocument, match="limit of 100"):
        Document("query Q { viewer { repositories(first: 101) { nodes { name } } } }", {}).check_size()


def test_a_spent_hour_is_told_and_passes(hub: Hub, line: Line) -> None:
    line.server.responder.points.limit = 1
    document = "query Q { viewer { login } rateLimit { cost remaining resetAt } }"
    assert line.graphql(document)["data"]["rateLimit"]["remaining"] == 0
    assert line.graphql(document)["errors"][0]["type"] == "RATE_LIMITED"
    line.server.advance(3601)
    assert line.graphql(document)["data"]["viewer"]["login"] == "dev"


def test_faults_reach_the_wire(hub: Hub, line: Line) -> None:
    hub.open_pull()
    faults = line.server.responder.faults
    faults.script("Q", [GitHubFault.LIMIT, GitHubFault.SECONDARY, GitHubFault.GATEWAY])
    ask = {"query": "query Q { viewer { login } }"}
    told = [line("POST", "/graphql", ask) for _ in range(4)]
    assert [one.status for one in told] == [429, 403, 502, 200]
    assert told[0].headers["Retry-After"] == "30"
    faults.script("POST /repos/acme/widgets/issues/1/comments", [GitHubFault.LOST])
    with pytest.raises(http.client.RemoteDisconnected):
        line("POST", "/repos/acme/widgets/issues/1/comments", {"body": "hello"})
    assert [comment.body for comment in hub.model.pulls[1].comments] == ["hello"]
    faults.script("POST /repos/acme/widgets/issues/1/comments", [GitHubFault.TIMEOUT])
    with pytest.raises(http.client.RemoteDisconnected):
        line("POST", "/repos/acme/widgets/issues/1/comments", {"body": "again"})
    assert len(hub.model.pulls[1].comments) == 1


def test_a_stale_answer_is_what_was_said_before(hub: Hub, line: Line) -> None:
    assert line.graphql(PULLS_FROM, head=BRANCH)["data"]["repository"]["pullRequests"]["nodes"] == []
    hub.model.open_pull(NewPull(BRANCH, "main", "x", ""))
    line.server.responder.faults.script("AutopilotPullsFrom", [GitHubFault.STALE])
    assert line.graphql(PULLS_FROM, head=BRANCH)["data"]["repository"]["pullRequests"]["nodes"] == []
    assert len(line.graphql(PULLS_FROM, head=BRANCH)["data"]["repository"]["pullRequests"]["nodes"]) == 1


def test_every_document_that_we_send_is_parsed_and_small() -> None:
    for text in DOCUMENTS:
        document = Document(text, {})
        document.check_size()
        assert document.points <= 3


def test_the_gate_of_the_auto_approve_workflow_is_answered(hub: Hub, line: Line) -> None:
    SimCI(hub.model)
    hub.protect(checks=("test",))
    pull = hub.open_pull()
    SimHuman(hub.model).approve(pull.number)
    line.server.advance(100)
    told = line.graphql(PULL_QUERY, number=1)
    assert "errors" not in told
    found = told["data"]["repository"]["pullRequest"]
    assert found["baseRef"]["refUpdateRule"]["requiredStatusCheckContexts"] == ["test"]
    assert found["last"]["nodes"][0]["commit"]["oid"] == pull.head
    assert found["reviews"]["nodes"][0]["fullDatabaseId"] == str(pull.reviews[0].number)
    before = line("GET", f"/repos/acme/widgets/compare/{hub.main}...{pull.head}").json["files"]
    assert [file["filename"] for file in before] == ["a.py"]
    assert line("GET", "/repos/acme/widgets/actions/permissions/workflow").json["can_approve_pull_request_reviews"]
    dispatch = "/repos/acme/widgets/actions/workflows/auto-approve.yml/dispatches"
    assert line("POST", dispatch, {"ref": "main", "inputs": {"pr_number": "1"}}).status == 204
    assert [one.data["inputs"] for one in hub.model.effects.select("dispatch")] == [{"pr_number": "1"}]
    assert line("GET", "/repos/acme/widgets/branches/main/protection").json["required_status_checks"]["contexts"]


def test_effects_by_graphql_and_their_refusals(hub: Hub, line: Line) -> None:
    hub.protect(queue=True)
    pull = hub.open_pull()
    pull.is_draft = True
    SimHuman(hub.model).remark(pull.number, Remark("a.py", 1, "why?"))
    thread = pull.threads[0].id
    assert "errors" not in line.graphql(MARK_READY, pull=pull.id)
    assert "errors" not in line.graphql(REQUEST_REVIEW, pull=pull.id, bots=["copilot-pull-request-reviewer"])
    assert "errors" not in line.graphql(REPLY, thread=thread, body="so")
    assert line.graphql(RESOLVE, thread=thread)["data"]["resolveReviewThread"]["thread"]["isResolved"]
    moved = line.graphql(ENQUEUE, pull=pull.id, head="0" * 40)
    assert moved["errors"][0]["message"].startswith("Head branch was modified")
    assert "errors" not in line.graphql(ENQUEUE, pull=pull.id, head=pull.head)
    assert pull.is_queued
    assert line.graphql(REPLY, thread="PRRT_0", body="so")["errors"][0]["type"] == "NOT_FOUND"


def test_a_body_in_chunks_is_read_as_gh_sends_it(hub: Hub, line: Line) -> None:
    hub.open_pull()
    head = b"POST /repos/acme/widgets/issues/1/comments HTTP/1.1\r\nAuthorization: token x\r\n"
    told = line.raw(head + b'Transfer-Encoding: chunked\r\n\r\n7\r\n{"body"\r\n7\r\n: "hi"}\r\n0\r\n\r\n')
    assert told.startswith(b"HTTP/1.1 201")
    assert hub.model.pulls[1].comments[0].body == "hi"


def test_documents_are_checked_against_a_schema(hub: Hub, tmp_path: Path) -> None:
    schema = tmp_path / "schema.graphql"
    schema.write_text("type Query { viewer: User } type User { login: String! }")
    with serve(hub.model, tmp_path / "s", schema=schema) as server:
        line = Line(server)
        assert line.graphql("query Q { viewer { login } }")["data"] == {"viewer": {"login": "dev"}}
        wrong = line.graphql("query Q { viewer { logins } }")
    assert "Cannot query field 'logins' on type 'User'" in wrong["errors"][0]["message"]


def test_the_clock_may_go_by_itself(hub: Hub, tmp_path: Path) -> None:
    SimCI(hub.model)
    pull = hub.open_pull()
    with serve(hub.model, tmp_path / "s", speed=100_000.0) as server:
        line = Line(server)
        wait_until(lambda: line("GET", "/user") and pull.head in hub.model.checks, "CI has begun")


def test_real_git_pushes_and_the_simulator_hears_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub, socket_path = bare_hub(tmp_path), tmp_path / "s"
    for name, value in ssh_environment(tmp_path, socket_path).items():
        monkeypatch.setenv(name, value)
    clone = tmp_path / "clone"

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True, timeout=60)

    git("clone", "--quiet", "git@github.com:acme/widgets.git", str(clone))
    git("-C", str(clone), "commit", "--quiet", "--allow-empty", "--message", "Work")
    with serve(hub.model, socket_path):
        git("-C", str(clone), "push", "--quiet", "origin", f"HEAD:{BRANCH}")
        (push,) = hub.model.effects.select("push")
    assert push.data["branch"] == BRANCH
    git("-C", str(clone), "push", "--quiet", "origin", "HEAD:unheard")  # nobody listens any more
    hub.model.sync_branches()
    assert len(list(hub.model.effects.select("push"))) == 2


def test_nodes_are_found_by_their_ids(hub: Hub, line: Line) -> None:
    pull = hub.open_pull()
    SimHuman(hub.model).remark(pull.number, Remark("a.py", 1, "why?"))
    thread = pull.threads[0].id
    document = "query Q($ids: [ID!]!) { nodes(ids: $ids) { __typename ... on PullRequest { number } } }"
    found = line.graphql(document, ids=[pull.id, thread, "X_1"])["data"]["nodes"]
    assert found == [{"__typename": "PullRequest", "number": 1}, {"__typename": "PullRequestReviewThread"}, None]
    comments = line.graphql(MORE_COMMENTS, thread=thread)["data"]["node"]["comments"]["nodes"]
    assert comments[0]["body"] == "why?"
    missing = line.graphql('query Q { repository(owner: "acme", name: "no") { id } }')
    assert missing["errors"][0]["type"] == "NOT_FOUND"
