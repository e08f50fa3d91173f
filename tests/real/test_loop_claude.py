"""A story from backlog to done with the real Claude Code and real BMAD installs: the loop, the skills, the checks,
the commits. Only the model is played."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bmad_autopilot.agents import limits
from bmad_autopilot.agents.verdicts import read_verdict
from bmad_autopilot.runs.layout import find_attempts, runs_folder
from tests.engine.laning import Person, Ran
from tests.real import clients
from tests.real.claude_server import Say
from tests.real.conftest import BmadMethod
from tests.real.playing import Model, Part, playing
from tests.real.story_bench import (
    BLOCKED,
    CODE,
    FINDING,
    FOLDER,
    KEY,
    NOBODY,
    SPEC,
    STORY,
    TEST,
    StoryBench,
    bash,
    limit,
    read_printed_path,
    subagent,
    use_client,
)

pytestmark = pytest.mark.real

PAGE, SPEC_PAGE = f"{FOLDER}/{KEY}.md", f"{FOLDER}/spec-{KEY}.md"

Play = Callable[..., Ran]


@pytest.fixture(scope="module")
def classic(bmad_method: BmadMethod) -> Path:
    return bmad_method("6.12.0", "--tools", "claude-code", "--shims")


@pytest.fixture(scope="module")
def build(bmad_method: BmadMethod) -> Path:
    return bmad_method("6.12.0", "--tools", "claude-code")


@pytest.fixture(autouse=True)
def _client(real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_client(clients.install(real, clients.CLAUDE, "claude"), tmp_path / "tools", monkeypatch)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    """Run the story with a model that plays these parts, to its end and to its last word."""
    return partial(_play, monkeypatch)


def _play(patch: pytest.MonkeyPatch, bench: StoryBench, *parts: Part, person: Person | None = None) -> Ran:
    with playing(*parts) as model:
        patch.setenv("ANTHROPIC_BASE_URL", model.url)
        ran = bench.run(person)
    assert model.problems == []
    check_bill(ran, model)
    check_end(ran, bench)
    assert model.is_played_out
    return ran


def check_bill(ran: Ran, model: Model) -> None:
    """What the journal says of each call is what the server has billed for it; and nothing else was paid."""
    ended = ran.entries("ended")
    assert [entry["tokens"] for entry in ended] == [bill.tokens for bill in model.bills]
    assert [entry["dollars"] for entry in ended] == pytest.approx([bill.dollars for bill in model.bills])
    assert ran.end.record.dollars == pytest.approx(sum(bill.dollars for bill in model.bills))


def check_end(ran: Ran, bench: StoryBench) -> None:
    """Done, in our commits, on checks of ours, with nothing left about and nothing refused."""
    assert ran.end.status == "completed", ran.log[-3:]
    assert bench.rows() == {
        "epic-1": "in-progress",
        KEY: "done",
        "1-2-say-goodbye": "backlog",
        "epic-1-retrospective": "optional",
    }
    assert "# the first" in (bench.root / FOLDER / "sprint-status.yaml").read_text()
    assert bench.git("status", "--porcelain") == ""
    checks = ran.entries("check")
    assert checks
    assert all(check["passed"] and check["ran"][0][:2] == ["npm run test", 0] for check in checks)
    for place in find_attempts(runs_folder(str(bench.root))):
        verdict = read_verdict(place.folder)
        assert verdict is not None
        assert verdict.denials == ()
        prompt = Path(place.folder, "spec.json").read_text()
        assert "bypassPermissions" not in prompt
    commits = bench.git("log", "--format=%H %(trailers:key=Autopilot-Run,valueonly,separator=%x2C)").splitlines()
    ours = [line.split()[0] for line in commits if ran.end.run_id in line]
    assert bench.git("rev-parse", "HEAD") == ours[0]
    assert bench.git("show", "HEAD:src/greet.js") == (bench.root / "src/greet.js").read_text().strip()


def steps(ran: Ran) -> list[str]:
    return [f"{call['step']}/{call['attempt']}" for call in ran.entries("call")]


# -- the parts of a classic story


def create(bench: StoryBench) -> Part:
    return bench.part(
        "create-story",
        bench.resolve("create-story"),
        bench.read("_bmad-output/planning-artifacts/epics.md"),
        bench.put(PAGE, STORY),
        *bench.row("backlog", "ready-for-dev"),
        Say("The story is ready for development."),
    )


def develop(bench: StoryBench) -> Part:
    return bench.part(
        "dev-story",
        bench.resolve("dev-story"),
        bench.read(PAGE),
        lambda body: bench.edit(
            PAGE,
            "# Story 1.1: Greet by name\n\nStatus: ready-for-dev",
            f"---\nbaseline_commit: {bench.git('rev-parse', 'HEAD')}\n---\n\n"
            "# Story 1.1: Greet by name\n\nStatus: in-progress",
        ),
        bench.put("test/greet.test.js", TEST),
        bench.put("src/greet.js", CODE),
        bash("npm test"),
        bench.edit(PAGE, "- [ ] Write", "- [x] Write"),
        bench.edit(PAGE, "- [ ] Test", "- [x] Test"),
        bench.edit(PAGE, "### File List\n", "### File List\n\n- src/greet.js\n- test/greet.test.js\n"),
        bench.edit(PAGE, "Status: in-progress", "Status: review"),
        *bench.row("in-progress", "review"),
        Say("Every task is done, and the tests pass."),
    )


def refuse(bench: StoryBench) -> Part:
    findings = f"### Review Findings\n\n- [ ] [Review][Patch] {FINDING}\n\n## Dev Agent Record"
    return bench.part(
        "code-review",
        bench.resolve("code-review"),
        bash("git diff HEAD --stat"),
        *subagent("Hunt for edge cases.", "An empty name."),
        bench.read(PAGE),
        bench.edit(PAGE, "## Dev Agent Record", findings),
        bench.edit(PAGE, "Status: review", "Status: in-progress"),
        *bench.row("review", "in-progress"),
        bench.verdict("changes-requested", FINDING),
        Say("One patch is left to make."),
    )


def mend(bench: StoryBench) -> Part:
    return bench.part(
        "dev-story",
        bench.resolve("dev-story"),
        bench.read(PAGE),
        bench.read("src/greet.js"),
        bench.edit("src/greet.js", "`Hello, ${name}!`", "(name ? `Hello, ${name}!` : 'Hello!')"),
        bench.read("test/greet.test.js"),
        bench.put("test/greet.test.js", TEST + NOBODY),
        bash("npm test"),
        bench.edit(PAGE, f"- [ ] [Review][Patch] {FINDING}", f"- [x] [Review][Patch] {FINDING}"),
        bench.edit(PAGE, "Status: in-progress", "Status: review"),
        *bench.row("in-progress", "review"),
        Say("The review's point is dealt with."),
        told=("The last review asked for changes", FINDING),
    )


def approve(bench: StoryBench) -> Part:
    return bench.part(
        "code-review",
        bench.resolve("code-review"),
        bash("git diff HEAD~1 --stat"),
        *subagent("Hunt for edge cases.", "Nothing."),
        bench.read(PAGE),
        bench.edit(PAGE, "Status: review", "Status: done"),
        *bench.row("review", "done"),
        bench.verdict("approved", "The greeting holds the name."),
        Say("A clean review."),
    )


def test_a_classic_story_with_a_review_round(classic: Path, tmp_path: Path, play: Play) -> None:
    bench = StoryBench(tmp_path / "project", classic)
    parts = (create(bench), develop(bench), refuse(bench), mend(bench), approve(bench))
    ran = play(bench, *parts)
    assert steps(ran) == ["create-story/1", "dev/1", "code-review/1", "dev/1", "code-review/1"]
    assert ran.questions == []
    subjects = bench.git("log", "--reverse", "--format=%s").splitlines()
    assert subjects == ["Plan it", f"Story {KEY}: round 1, changes requested", f"Story {KEY}"]
    assert len(ran.entries("check")) == 2
    state = json.loads((Path(ran.end.folder) / "state.json").read_text())
    assert state["status"] == "completed"


# -- the parts of a build


def ask_first(bench: StoryBench) -> Part:
    return bench.part(
        "build-auto",
        bench.render(),
        read_printed_path,
        bench.put(SPEC_PAGE, BLOCKED),
        bench.question("Which language are people greeted in?", ["English", "French"]),
        Say("Blocked: unclear intent."),
    )


def begin_build(bench: StoryBench, *, spec: bool = True) -> tuple:
    baseline = bench.git("rev-parse", "HEAD")
    return (
        bench.render(),
        read_printed_path,
        bash("git status --porcelain"),
        *((bench.read(SPEC_PAGE),) if spec else ()),
        lambda body: bench.put(SPEC_PAGE, SPEC.format(baseline=bench.git("rev-parse", "HEAD"))),
        bench.put("test/greet.test.js", TEST),
    )


def end_build(bench: StoryBench) -> tuple:
    return (
        bench.put("src/greet.js", CODE),
        bash("npm test"),
        *subagent("Review the diff.", "No findings."),
        bench.edit(SPEC_PAGE, "status: 'in-progress'", "status: 'done'"),
        bash("git add -A"),
        bash("git commit -m 'Greet by name'"),
        bash("git status --porcelain"),
        Say("Done."),
    )


def approve_build(bench: StoryBench) -> Part:
    return bench.part(
        "code-review",
        bench.resolve("code-review"),
        bash("git log --oneline -3"),
        *subagent("Hunt for edge cases.", "Nothing."),
        bench.verdict("approved", "As the spec says."),
        Say("A clean review."),
    )


def test_a_build_that_asks_first(build: Path, tmp_path: Path, play: Play) -> None:
    bench = StoryBench(tmp_path / "project", build)
    person = Person("English")
    told = ("answered: English", SPEC_PAGE, "clarifying the intent")
    go_on = bench.part("build-auto", *begin_build(bench), *end_build(bench), told=told)
    ran = play(bench, ask_first(bench), go_on, approve_build(bench), person=person)
    assert steps(ran) == ["build-auto/1", "build-auto/2", "code-review/1"]
    assert [one["question"] for one in person.asked] == ["Which language are people greeted in?"]
    assert not list(bench.root.rglob("*.agent-state.json"))


def test_a_usage_limit_in_the_middle_of_a_build(
    build: Path, tmp_path: Path, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "JITTER", (0.5, 1.0))
    bench = StoryBench(tmp_path / "project", build)
    resets: list[float] = []
    cut = bench.part("build-auto", *begin_build(bench, spec=False), limit(6, resets))
    again = bench.part(
        "build-auto",
        bench.render(),
        read_printed_path,
        bash("git status --porcelain"),
        bench.read(SPEC_PAGE),
        *end_build(bench),
        told=(SPEC_PAGE,),
    )
    ran = play(bench, cut, again, approve_build(bench))
    assert steps(ran) == ["build-auto/1", "build-auto/2", "code-review/1"]
    assert ran.questions == []
    (rest,) = ran.entries("resting")
    assert rest["why"] == "limit"
    assert resets[0] < rest["until"] < resets[0] + 1.5
