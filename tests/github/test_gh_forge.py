"""GitHub as a Forge: what is asked, what is read, what is sent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.git.git import Git
from bmad_autopilot.github.approval import MOST_FILES
from bmad_autopilot.github.forge import COPILOT, CheckState, Forge, NewPull, PullState, RemoteCheck
from bmad_autopilot.github.gh_forge import Address, GhForge, find_address, find_forge, read_address
from tests.support.repositories import Repository
from tests.support.scripted_github import (
    BASE,
    HEAD,
    Data,
    Response,
    ScriptedGh,
    ScriptedGitHub,
    check_run,
    comment,
    page,
    page_after,
    pull,
    pull_mark,
    review,
    thread,
)

ROOT = "repos/acme/widgets"


@pytest.fixture
def script() -> ScriptedGitHub:
    return ScriptedGitHub()


@pytest.fixture
def forge(script: ScriptedGitHub) -> Forge:
    return GhForge(ScriptedGh(script), "acme", "widgets")


def trouble(ask: Callable[[], object]) -> ForgeErrorKind:
    with pytest.raises(ForgeError) as caught:
        ask()
    return caught.value.kind


def in_repository(**found: Any) -> Callable[[Data], Data]:
    return lambda variables: {"repository": found}


def show(script: ScriptedGitHub, **changes: Any) -> None:
    script.queries["AutopilotPull"] = in_repository(pullRequest=pull(**changes))


def test_a_repository_tells_what_may_be_done_there(forge: Forge, script: ScriptedGitHub) -> None:
    found = {
        "id": "R_1",
        "name": "widgets",
        "owner": {"login": "acme"},
        "isArchived": True,
        "isFork": True,
        "viewerPermission": "READ",
        "squashMergeAllowed": False,
        "deleteBranchOnMerge": True,
        "defaultBranchRef": None,
        "parent": {"nameWithOwner": "up/widgets"},
    }
    script.queries["AutopilotRepository"] = lambda variables: {"viewer": {"login": "me[bot]"}, "repository": found}
    seen = forge.repository()
    assert (seen.full_name, seen.viewer, seen.default_branch, seen.parent) == (
        "acme/widgets",
        "me",
        "",
        "up/widgets",
    )
    assert (seen.is_archived, seen.is_fork, seen.can_push, seen.squash_allowed) == (True, True, False, False)
    found["viewerPermission"] = "WRITE"
    assert not forge.repository().can_push, "as it was some minutes ago at most"
    assert GhForge(ScriptedGh(script), "acme", "widgets").repository().can_push


def test_a_hundred_are_watched_by_one_query(forge: Forge, script: ScriptedGitHub) -> None:
    script.queries["AutopilotWatch"] = lambda variables: {
        "repository": {f"p{i}": pull_mark(variables[f"n{i}"]) for i in range(100)}
    }
    assert [seen.number for seen in forge.watch(range(1, 101))] == list(range(1, 101))
    assert len(script.requests) == 1
    assert forge.watch([]) == []
    assert len(script.requests) == 1


def test_one_that_is_not_there_does_not_hide_the_others(forge: Forge, script: ScriptedGitHub) -> None:
    error = {"type": "NOT_FOUND", "path": ["repository", "p0"], "message": "Could not resolve to a PullRequest"}
    data = {"repository": {"p0": None, "p1": pull_mark(8)}}
    script.queries["AutopilotWatch"] = lambda variables: {"data": data, "errors": [error]}
    assert [seen.number for seen in forge.watch([7, 8])] == [8]
    data["repository"]["p0"] = {**pull_mark(7), "state": "of a newer version"}
    assert [seen.number for seen in forge.watch([7, 8])] == [8]
    error["path"] = ["repository"]
    assert trouble(lambda: forge.watch([7, 8])) is ForgeErrorKind.MISSING


@pytest.mark.parametrize(
    "changes",
    [
        {"headRefOid": "d" * 40},
        {"baseRef": {"target": {"oid": "d" * 40}}},
        {"baseRefName": "other"},
        {"state": "MERGED"},
        {"isDraft": True},
        {"isInMergeQueue": True},
        {"mergeable": "CONFLICTING"},
        {"reviewDecision": "APPROVED"},
        {"updatedAt": "2026-11-16T10:00:01Z"},
        {"headRef": {"target": {"oid": HEAD, "statusCheckRollup": {"state": "FAILURE"}}}},
        {
            "headRef": {
                "target": {"oid": HEAD, "statusCheckRollup": {"state": "SUCCESS", "counted": {"totalCount": 2}}}
            }
        },
        {"headRef": None},
        {"lastReviews": {"totalCount": 1, "nodes": [{"id": "R1", "state": "DISMISSED"}]}},
        {"lastThreads": {"totalCount": 1, "nodes": [{"isResolved": True, "isOutdated": False}]}},
    ],
)
def test_whatever_matters_changes_the_fingerprint(forge: Forge, script: ScriptedGitHub, changes: Data) -> None:
    marks = iter([pull_mark(), pull_mark(), pull_mark(**changes)])
    script.queries["AutopilotWatch"] = lambda variables: {"repository": {"p0": next(marks)}}
    first, same, other = (forge.watch([7])[0].fingerprint for _ in range(3))
    assert first == same != other


def test_the_whole_has_the_fingerprint_of_its_mark(forge: Forge, script: ScriptedGitHub) -> None:
    show(script)
    script.queries["AutopilotWatch"] = in_repository(p0=pull_mark())
    assert forge.pull(7).fingerprint == forge.watch([7])[0].fingerprint


def test_ours_are_found_among_the_open_ones(forge: Forge, script: ScriptedGitHub) -> None:
    names = [f"x/{i}" for i in range(150)] + ["feature/epic-2"]
    rows = [{"number": i, "headRefName": name} for i, name in enumerate(names)]
    script.queries["AutopilotOpenPulls"] = lambda variables: {
        "repository": {"pullRequests": page_after(rows, 100, variables["after"])}
    }
    script.queries["AutopilotWatch"] = lambda variables: {"repository": {"p0": pull_mark(variables["n0"])}}
    assert [seen.number for seen in forge.pulls_of("feature/epic-")] == [150]
    assert len(script.requests) == 3


def test_a_forks_branch_of_the_same_name_is_not_ours(forge: Forge, script: ScriptedGitHub) -> None:
    rows = [pull_mark(9, state="CLOSED"), pull_mark(8, isCrossRepository=True), pull_mark(7, state="MERGED")]
    script.queries["AutopilotPullsFrom"] = in_repository(pullRequests=page(rows))
    found = forge.pulls_from("feature/epic-1")
    assert [(seen.number, seen.state) for seen in found] == [(9, PullState.CLOSED), (7, PullState.MERGED)]


def test_a_pull_request_is_read_whole(forge: Forge, script: ScriptedGitHub) -> None:
    show(script)
    seen = forge.pull(7)
    assert (seen.id, seen.head, seen.base, seen.labels) == ("PR_7", HEAD, BASE, ("epic",))
    assert (seen.author.login, seen.author.is_bot, seen.requested) == ("bot", True, (COPILOT,))
    assert seen.pushed - seen.created == 1.5 * 3600
    (check,) = seen.checks
    assert (check.name, check.state, check.required, check.workflow) == ("unit", CheckState.PASSED, True, "CI")
    assert (check.job, check.run) == (70, 9)
    assert (seen.threads[0].hunk, seen.threads[0].commit) == ("@@ -1 +1 @@ 1", HEAD)


def test_250_threads_and_their_comments_are_read_to_the_end(forge: Forge, script: ScriptedGitHub) -> None:
    said = [comment(i, f"words {i}") for i in range(170)]
    rows = [thread(i) for i in range(250)]
    rows[120] = thread(120, page_after(said, 50, None))
    reviews = [review(i) for i in range(130)]
    show(script, reviewThreads=page_after(rows, 100, None), reviews=page_after(reviews, 100, None))

    def more(name: str, items: list[Data]) -> Callable[[Data], Data]:
        return lambda v: {"repository": {"pullRequest": {name: page_after(items, 100, v["after"])}}}

    script.queries["AutopilotThreads"] = more("reviewThreads", rows)
    script.queries["AutopilotReviews"] = more("reviews", reviews)
    script.queries["AutopilotThreadComments"] = lambda v: {"node": {"comments": page_after(said, 100, v["after"])}}
    seen = forge.pull(7)
    assert [one.id for one in seen.threads] == [f"T{i}" for i in range(250)]
    assert [one.body for one in seen.threads[120].comments] == [f"words {i}" for i in range(170)]
    assert [one.number for one in seen.reviews] == list(range(130))


def test_checks_are_those_of_exactly_this_head(forge: Forge, script: ScriptedGitHub) -> None:
    rollup = {"contexts": page([check_run("other")])}
    ahead = {"target": {"oid": "d" * 40, "checkSuites": {"nodes": []}, "statusCheckRollup": rollup}}
    rows = [check_run(f"job {i}") for i in range(150)]
    script.queries["AutopilotChecks"] = lambda v: {
        "repository": {"object": {"statusCheckRollup": {"contexts": page_after(rows, 100, v["after"])}}}
    }
    for head_ref in (ahead, None):
        show(script, headRef=head_ref)
        assert len(forge.pull(7).checks) == 150
    assert script.requests[-1].body["variables"]["head"] == HEAD


def test_a_commit_without_checks_has_none_and_an_unknown_one_is_waited_for(
    forge: Forge, script: ScriptedGitHub
) -> None:
    show(script, headRef=None)
    script.queries["AutopilotChecks"] = in_repository(object={"statusCheckRollup": None})
    assert forge.pull(7).checks == ()
    script.queries["AutopilotChecks"] = in_repository(object=None)
    assert trouble(lambda: forge.pull(7)) is ForgeErrorKind.UNAVAILABLE


def test_pages_without_an_end_are_given_up(forge: Forge, script: ScriptedGitHub) -> None:
    show(script, reviews=page([], "0"))
    script.queries["AutopilotReviews"] = in_repository(pullRequest={"reviews": page([], "0")})
    assert trouble(lambda: forge.pull(7)) is ForgeErrorKind.UNRECOGNIZED


def test_the_log_of_a_job_is_read_to_its_error(forge: Forge, script: ScriptedGitHub) -> None:
    lines = [f"2026-11-16T10:00:00.1234567Z line {i}" for i in range(500)]
    lines[450] = "2026-11-16T10:00:00.1234567Z ##[error]It broke"
    data = "\n".join(lines).encode() + b"\xff\xfe"
    script.rest[f"GET {ROOT}/actions/jobs/70/logs"] = Response(200, data, {"content-type": "text/plain"})
    seen = forge.log_tail(RemoteCheck("unit", CheckState.FAILED, job=70)).splitlines()
    assert (len(seen), seen[-6], seen[-1]) == (200, "##[error]It broke", "line 455")
    assert forge.log_tail(RemoteCheck("unit", CheckState.FAILED, job=71)) == ""
    assert forge.log_tail(RemoteCheck("status", CheckState.FAILED)) == ""


def test_renamed_files_are_listed_under_both_names(forge: Forge, script: ScriptedGitHub) -> None:
    many = [{"filename": f"f{i}"} for i in range(99)]
    renamed = {"filename": "new", "previous_filename": ".github/workflows/ci.yml"}
    script.rest[f"GET {ROOT}/pulls/7/files?per_page=100&page=1"] = Response(200, [*many, renamed])
    script.rest[f"GET {ROOT}/pulls/7/files?per_page=100&page=2"] = Response(200, [{"filename": "last"}])
    assert forge.changed_files(7)[-3:] == ["new", ".github/workflows/ci.yml", "last"]


def test_of_more_files_than_github_lists_so_many_are_told_that_no_robot_judges(
    forge: Forge, script: ScriptedGitHub
) -> None:
    for number in range(1, 32):
        files = [{"filename": f"f{number}-{i}"} for i in range(100)]
        script.rest[f"GET {ROOT}/pulls/7/files?per_page=100&page={number}"] = Response(200, files)
    assert len(forge.changed_files(7)) == MOST_FILES


def test_a_pull_request_is_opened_with_harmless_words(forge: Forge, script: ScriptedGitHub) -> None:
    script.rest[f"POST {ROOT}/pulls"] = Response(201, {"number": 12})
    order = NewPull("feature/epic-1", "main", "Epic 1 by @bob", "fixes #3\n\n<!-- x -->", is_draft=True)
    assert forge.open_pull(order) == 12
    sent = script.effects()[0].body
    assert (sent["head"], sent["base"], sent["draft"]) == ("feature/epic-1", "main", True)
    assert (sent["title"], sent["body"]) == ("Epic 1 by ＠bob", "fixes no. 3")


def test_a_second_one_is_refused(forge: Forge, script: ScriptedGitHub) -> None:
    body = {"message": "Validation Failed", "errors": [{"message": "A pull request already exists for acme:x."}]}
    script.rest[f"POST {ROOT}/pulls"] = Response(422, body)
    assert trouble(lambda: forge.open_pull(NewPull("x", "main", "t", "b"))) is ForgeErrorKind.REFUSED


def test_small_effects_are_sent_as_github_takes_them(forge: Forge, script: ScriptedGitHub) -> None:
    show(script)
    seen = forge.pull(7)
    script.queries |= dict.fromkeys(
        ("AutopilotMarkReady", "AutopilotReply", "AutopilotResolve", "AutopilotEnqueue"),
        lambda variables: {"x": {}},
    )
    for path in (
        "pulls/7",
        "issues/7/labels",
        "issues/7/comments",
        "pulls/7/reviews",
        "pulls/7/requested_reviewers",
    ):
        script.rest[f"POST {ROOT}/{path}"] = script.rest[f"PATCH {ROOT}/{path}"] = Response(200, {})
    script.rest[f"PUT {ROOT}/pulls/7/reviews/5/dismissals"] = Response(200, {})
    forge.edit_pull(7, base_ref="main")
    forge.edit_pull(7)
    forge.close_pull(7)
    forge.reopen_pull(7)
    forge.add_labels(7, ["epic"])
    forge.add_labels(7, [])
    forge.comment(7, "@x")
    forge.approve(7, HEAD, "good")
    forge.dismiss(7, 5, "stale")
    forge.request_review(seen, "ann")
    forge.request_review(seen, "acme/core")
    forge.mark_ready(seen)
    forge.reply("T1", "done @x")
    forge.resolve("T1")
    forge.enqueue(seen)
    sent = [(one.path.removeprefix(f"{ROOT}/"), one.body) for one in script.effects()]
    assert sent[:-4] == [
        ("pulls/7", {"base": "main"}),
        ("pulls/7", {"state": "closed"}),
        ("pulls/7", {"state": "open"}),
        ("issues/7/labels", {"labels": ["epic"]}),
        ("issues/7/comments", {"body": "＠x"}),
        ("pulls/7/reviews", {"event": "APPROVE", "commit_id": HEAD, "body": "good"}),
        ("pulls/7/reviews/5/dismissals", {"message": "stale", "event": "DISMISS"}),
        ("pulls/7/requested_reviewers", {"reviewers": ["ann"]}),
        ("pulls/7/requested_reviewers", {"team_reviewers": ["core"]}),
    ]
    assert [body["variables"] for _, body in sent[-4:]] == [
        {"pull": "PR_7"},
        {"thread": "T1", "body": "done ＠x"},
        {"thread": "T1"},
        {"pull": "PR_7", "head": HEAD},
    ]


def test_copilot_is_asked_by_login_and_on_old_servers_by_rest(forge: Forge, script: ScriptedGitHub) -> None:
    show(script)
    seen = forge.pull(7)
    error = {"message": "Field 'requestReviewsByLogin' doesn't exist on type 'Mutation'"}
    script.queries["AutopilotRequestReview"] = lambda v: {"errors": [error]}
    script.rest[f"POST {ROOT}/pulls/7/requested_reviewers"] = Response(201, {})
    forge.request_review(seen, COPILOT)
    assert [one.body for one in script.effects()][1] == {"reviewers": [f"{COPILOT}[bot]"]}
    error |= {"type": "NOT_FOUND", "message": "Could not resolve to a Bot"}
    assert trouble(lambda: forge.request_review(seen, COPILOT)) is ForgeErrorKind.REFUSED
    script.queries["AutopilotRequestReview"] = lambda v: {"requestReviewsByLogin": {}}
    forge.request_review(seen, COPILOT)
    assert script.effects()[-1].body["variables"] == {"pull": "PR_7", "bots": [COPILOT]}


def test_all_of_a_run_that_failed_is_run_again(forge: Forge, script: ScriptedGitHub) -> None:
    script.rest[f"POST {ROOT}/actions/runs/9/rerun-failed-jobs"] = Response(201)
    forge.rerun(RemoteCheck("a", CheckState.FAILED, job=70, run=9))
    assert [one.path.rsplit("/", 1)[1] for one in script.requests] == ["rerun-failed-jobs"]
    assert trouble(lambda: forge.rerun(RemoteCheck("a", CheckState.FAILED))) is ForgeErrorKind.REFUSED


def test_a_merge_is_a_squash_of_this_head(forge: Forge, script: ScriptedGitHub) -> None:
    script.rest[f"PUT {ROOT}/pulls/7/merge"] = Response(200, {"sha": "e" * 40, "merged": True})
    trailers = "Text\n\nAutopilot-Step: r/dev/1\nCo-authored-by: A <a@b.example>"
    assert forge.merge(7, HEAD, "Epic 1 (#7)", trailers) == "e" * 40
    assert script.effects()[0].body == {
        "merge_method": "squash",
        "sha": HEAD,
        "commit_title": "Epic 1 (#7)",
        "commit_message": trailers,
    }


@pytest.mark.parametrize(
    "response",
    [
        Response(405, {"message": "Pull Request is not mergeable"}),
        Response(409, {"message": "Head branch was modified. Review and try the merge again."}),
        Response(200, {"merged": False, "message": "no"}),
        Response(200, {}),
    ],
)
def test_what_is_not_merged_is_refused(forge: Forge, script: ScriptedGitHub, response: Response) -> None:
    script.rest[f"PUT {ROOT}/pulls/7/merge"] = response
    assert trouble(lambda: forge.merge(7, HEAD, "s", "b")) is ForgeErrorKind.REFUSED


def test_a_branch_is_deleted_only_while_it_holds_that_commit(forge: Forge, script: ScriptedGitHub) -> None:
    place = "heads/feature%2Fepic-1"
    forge.delete_branch("feature/epic-1", HEAD)
    assert script.effects() == []
    script.rest[f"GET {ROOT}/git/ref/{place}"] = Response(200, {"object": {"sha": "d" * 40}})
    assert trouble(lambda: forge.delete_branch("feature/epic-1", HEAD)) is ForgeErrorKind.REFUSED
    assert script.effects() == []
    script.rest[f"GET {ROOT}/git/ref/{place}"] = Response(200, {"object": {"sha": HEAD}})
    for response in (Response(204), Response(422, {"message": "Reference does not exist"}), Response(404, {})):
        script.rest[f"DELETE {ROOT}/git/refs/{place}"] = response
        forge.delete_branch("feature/epic-1", HEAD)
    assert len(script.effects()) == 3
    script.rest[f"DELETE {ROOT}/git/refs/{place}"] = Response(422, {"message": "Protected"})
    assert trouble(lambda: forge.delete_branch("feature/epic-1", HEAD)) is ForgeErrorKind.REFUSED


WIDGETS = Address("github.com", "acme", "widgets")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://github.com/acme/widgets.git", WIDGETS),
        ("https://github.com/acme/widgets", WIDGETS),
        ("https://github.com/acme/widgets/", WIDGETS),
        ("https://user:secret@GitHub.com/acme/widgets.git", WIDGETS),
        ("http://github.com:8080/acme/widgets", WIDGETS),
        ("git@github.com:acme/widgets.git", WIDGETS),
        ("github.com:acme/widgets", WIDGETS),
        ("git@github.com:/acme/widgets.git", WIDGETS),
        ("ssh://git@github.com/acme/widgets.git", WIDGETS),
        ("ssh://git@ssh.github.com:443/acme/widgets.git", WIDGETS),
        ("git://github.com/acme/widgets.git", WIDGETS),
        ("git+ssh://git@github.com/acme/widgets.git", WIDGETS),
        ("https://github.com/acme/wid.gets", Address("github.com", "acme", "wid.gets")),
        ("ssh://git@git.example.com:2222/team/app.git", Address("git.example.com", "team", "app")),
        ("https://acme.ghe.com/team/app", Address("acme.ghe.com", "team", "app")),
        ("/srv/git/widgets.git", None),
        ("../widgets", None),
        ("file:///srv/git/widgets", None),
        ("C:\\repos\\widgets", None),
        ("https://github.com/acme", None),
        ("https://github.com/acme/widgets/extra", None),
        ("https://github.com/acme/..", None),
        ("https://github.com/-x/%2e%2e", None),
        ("git@github.com:acme", None),
        ("ext::sh -c touch% /tmp/x", None),
        ("https://[bad/acme/widgets", None),
        ("", None),
    ],
)
def test_an_address_is_read_from_every_form_of_a_url(url: str, address: Address | None) -> None:
    assert read_address(url) == address


@given(st.text(max_size=60))
def test_no_url_breaks_us(url: str) -> None:
    found = read_address(url)
    assert found is None or ("/" not in found.owner and "/" not in found.name)


def test_the_repository_is_found_by_its_remote(repository: Repository) -> None:
    repository.run("remote", "add", "origin", "git@github.com:acme/widgets.git")
    assert find_address(repository.git) == WIDGETS
    assert find_forge(repository.git).gh.host == "github.com"


def test_what_git_rewrites_is_read_as_rewritten_or_as_written(repository: Repository) -> None:
    repository.run("config", "url.git@github.com:.insteadOf", "gh:")
    repository.run("remote", "add", "origin", "gh:acme/widgets")
    assert find_address(repository.git) == WIDGETS
    repository.run("config", "url./srv/mirror/.insteadOf", "https://github.com/")
    repository.run("remote", "add", "mirror", "https://github.com/acme/widgets.git")
    assert find_address(repository.git, "mirror") == WIDGETS


def test_no_remote_says_how_to_add_one(repository: Repository) -> None:
    with pytest.raises(ForgeError, match="no remote origin") as caught:
        find_address(repository.git)
    assert caught.value.kind is ForgeErrorKind.MISSING
    assert caught.value.hint is not None
    assert "git remote add origin" in caught.value.hint


@pytest.mark.parametrize("url", ["/srv/git/widgets", "https://gitlab.com/a/b", "git@bitbucket.org:a/b.git"])
def test_another_forge_and_a_path_are_told(repository: Repository, url: str) -> None:
    repository.run("remote", "add", "origin", url)
    with pytest.raises(ForgeError) as caught:
        find_address(repository.git)
    assert caught.value.hint is not None
    assert 'delivery = "local"' in caught.value.hint


def test_a_password_in_an_address_is_not_shown(repository: Repository) -> None:
    repository.run("remote", "add", "origin", "https://me:hunter2@github.com/acme")
    with pytest.raises(ForgeError) as caught:
        find_address(repository.git)
    assert "hunter2" not in str(caught.value)


def test_outside_a_repository_that_is_said_in_plain_words(tmp_path: Path) -> None:
    with pytest.raises(AutopilotError) as found:
        find_address(Git(str(tmp_path)))
    assert (found.value.message, found.value.hint) == ("is under no git repository", "git init")
