"""What an agent says became of each point: a file that is checked, not believed."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.adapter import AttemptVerdict, Outcome
from bmad_autopilot.core.step_output import StepOutput
from bmad_autopilot.engine.delivery.threads import (
    MAX_WHY,
    NO_COMMIT,
    PREVIOUS_ANSWERS,
    collect_answers,
    set_aside_answers,
)
from bmad_autopilot.engine.ports import AgentCall, AgentResult, CallId, WorktreeSnapshot
from bmad_autopilot.gates.evidence import Evidence
from bmad_autopilot.git.git import Git
from bmad_autopilot.workflows.agent_call import PromptPoint
from bmad_autopilot.workflows.contract import threads_path
from bmad_autopilot.workflows.workflow import FIX_ISSUES
from tests.support.bmad_project import git

STORY = "epic-1.pr-1"
ORDER = AgentCall(
    CallId(1, "fix-issues", 1),
    STORY,
    FIX_ISSUES,
    tree="before",
    points=(PromptPoint("T1", "about it", "Rename it."), PromptPoint("T2", "about it", "Test it.")),
)
FIXED = {"answer": "fixed", "why": "Renamed."}
DISAGREES = {"answer": "disagrees", "why": "It is right."}
LOOK = Evidence(
    StepOutput.NOTHING,
    STORY,
    "",
    (),
    lambda path, after: None,
    differs_from_baseline=True,
    changed_in_attempt=True,
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "one")
    return tmp_path


def gathered(tree: str = "after") -> AgentResult:
    return AgentResult(
        AttemptVerdict(Outcome.COMPLETED), 1.0, WorktreeSnapshot("h", "b", tree, tree), "", "", LOOK
    )


def answers(folder: Path, data: object, *, tree: str = "after", order: AgentCall = ORDER) -> AgentResult:
    path = Path(threads_path(str(folder), STORY))
    if isinstance(data, bytes):
        path.write_bytes(data)
    elif data is not None:
        path.write_text(json.dumps(data))
    return collect_answers(gathered(tree), order, str(folder), Git(str(folder)))


def one(folder: Path, answer: object, *, tree: str = "after", since: str = "") -> tuple[object, str]:
    """What is taken of an answer to the first point, and what is missing. `since`: the head it is about."""
    order = ORDER._replace(points=(ORDER.points[0]._replace(since=since), ORDER.points[1]))
    got = answers(folder, {"threads": {"T1": answer, "T2": DISAGREES}}, tree=tree, order=order)
    return got.replies.get("T1"), " ".join(got.missing)


def test_each_point_has_its_answer(tmp_path: Path) -> None:
    got = answers(tmp_path, {"threads": {"T1": FIXED, "T2": DISAGREES, "T3": FIXED}})
    assert (got.replies, got.missing) == ({"T1": FIXED, "T2": DISAGREES}, ())


def test_of_other_calls_nothing_is_asked(tmp_path: Path) -> None:
    got = gathered()
    assert collect_answers(got, ORDER._replace(points=()), str(tmp_path), Git(str(tmp_path))) is got


@pytest.mark.parametrize(
    ("data", "missing"),
    [
        (None, "There is no epic-1.pr-1.threads.json"),
        (b"fixed, all of it", "is no JSON"),
        (b"\xff\xfe{", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"", "is no JSON"),
        ([], 'no object called "threads"'),
        ({"threads": [FIXED]}, 'no object called "threads"'),
        ({"T1": FIXED, "T2": FIXED}, 'no object called "threads"'),
    ],
)
def test_a_file_that_says_nothing(tmp_path: Path, data: object, missing: str) -> None:
    got = answers(tmp_path, data)
    assert got.replies == {}
    assert len(got.missing) == 1
    assert missing in got.missing[0]


def test_a_file_without_end_is_not_read(tmp_path: Path) -> None:
    assert answers(tmp_path, b" " * (513 * 1024) + b"{}").replies == {}


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_only_a_plain_file_of_the_folder_is_read(tmp_path: Path, kind: str) -> None:
    path = threads_path(str(tmp_path), STORY)
    os.mkdir(path) if kind == "folder" else os.symlink("/dev/zero", path)
    assert "There is no" in answers(tmp_path, None).missing[0]


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        (None, "nothing is said of it"),
        ("fixed", "nothing is said of it"),
        ({"answer": "done", "why": "x"}, "`answer` is fixed or disagrees"),
        ({"answer": "Fixed", "why": "x"}, "`answer` is fixed or disagrees"),
        ({"answer": ["fixed"], "why": "x"}, "`answer` is fixed or disagrees"),
        ({"why": "x"}, "`answer` is fixed or disagrees"),
        ({"answer": "fixed"}, "`why` is missing"),
        ({"answer": "disagrees", "why": " \n"}, "`why` is missing"),
        ({"answer": "disagrees", "why": 7}, "`why` is missing"),
    ],
)
def test_an_answer_that_is_none(tmp_path: Path, answer: object, missing: str) -> None:
    taken, problem = one(tmp_path, answer)
    assert taken is None
    assert "T1: " in problem
    assert missing in problem


def test_fixed_without_any_change_is_not_believed(tmp_path: Path) -> None:
    taken, problem = one(tmp_path, FIXED, tree="before")
    assert (taken, "nothing has changed" in problem) == (None, True)
    assert one(tmp_path, DISAGREES, tree="before") == (DISAGREES, "")


def test_a_long_answer_is_cut(tmp_path: Path) -> None:
    taken, _ = one(tmp_path, {"answer": "fixed", "why": "x" * 50_000})
    assert isinstance(taken, dict)
    assert len(taken["why"]) == MAX_WHY


def commit(folder: Path, message: str) -> str:
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD").strip()


def test_a_commit_since_the_point_was_made_settles_it_without_a_change(repository: Path) -> None:
    since, sha = git(repository, "rev-parse", "HEAD").strip(), commit(repository, "two")
    commit(repository, "three")
    for name in (sha, sha[:10]):
        taken = one(repository, {**FIXED, "commit": name}, tree="before", since=since)
        assert taken == ({**FIXED, "commit": sha}, "")


def test_what_the_reviewer_saw_already_settles_nothing(repository: Path) -> None:
    """The root commit, an older one, the very head that it is about, and where nobody knows that, any."""
    root, older, since = git(repository, "rev-parse", "HEAD").strip(), *(commit(repository, n) for n in "ab")
    later = commit(repository, "c")
    for name, known in ((root, since), (older, since), (since, since), (later, ""), (later, "f" * 40)):
        taken, problem = one(repository, {**FIXED, "commit": name}, tree="before", since=known)
        assert (taken, NO_COMMIT in problem) == (None, True), (name, known)


def test_what_came_in_with_the_base_settles_nothing(repository: Path) -> None:
    since = commit(repository, "ours")
    git(repository, "checkout", "--quiet", "-b", "base", "HEAD~")
    theirs = commit(repository, "theirs")
    git(repository, "checkout", "--quiet", "-")
    git(repository, "merge", "--quiet", "--no-ff", "--message", "Take base", "base")
    assert one(repository, {**FIXED, "commit": theirs}, tree="before", since=since)[0] is None


def test_any_other_commit_does_not(repository: Path) -> None:
    since = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "checkout", "--quiet", "-b", "foreign")
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "elsewhere")
    foreign = git(repository, "rev-parse", "HEAD").strip()
    tree = git(repository, "rev-parse", "HEAD^{tree}").strip()
    git(repository, "checkout", "--quiet", "-")
    for name in (foreign, tree, "HEAD", "foreign", "0" * 40, "--all", "$(id)", "abc", 7, ["x"], "a" * 70):
        taken, problem = one(repository, {**FIXED, "commit": name}, since=since)
        assert (taken, NO_COMMIT in problem) == (None, True), name


def test_where_checks_failed_nothing_but_a_change_will_do(tmp_path: Path) -> None:
    order = ORDER._replace(points=(), must_change=True)
    assert answers(tmp_path, None, tree="before", order=order).missing == (
        "Nothing has changed, and the checks still fail.",
    )
    assert answers(tmp_path, None, order=order).missing == ()


def test_an_answer_of_before_is_set_aside(tmp_path: Path) -> None:
    attempt = tmp_path / "attempt"
    attempt.mkdir()
    path = Path(threads_path(str(tmp_path), STORY))
    path.write_text(json.dumps({"threads": {"T1": FIXED, "T2": FIXED}}))
    set_aside_answers(str(tmp_path), STORY, str(attempt))
    assert [one.name for one in attempt.iterdir()] == [PREVIOUS_ANSWERS]
    assert answers(tmp_path, None).replies == {}
    set_aside_answers(str(tmp_path), STORY, str(attempt))  # where there is none, nothing happens


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["fixed", "disagrees"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["threads", "T1", "T2", "answer", "why", "commit"]), inner)
    ),
    max_leaves=12,
)


@given(anything)
def test_whatever_stands_there_each_point_is_answered_or_missed(
    tmp_path_factory: pytest.TempPathFactory, data: object
) -> None:
    got = answers(tmp_path_factory.getbasetemp(), json.dumps(data).encode())
    assert got.replies.keys() <= {"T1", "T2"}
    assert bool(got.missing) == (got.replies.keys() != {"T1", "T2"})
