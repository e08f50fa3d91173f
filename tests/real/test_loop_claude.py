"""A story from backlog to done with the real Claude Code and real BMAD installs: the loop, the skills, the checks,
the commits. Only the model is played."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bmad_autopilot.agents import limits
from bmad_autopilot.agents.attempts import read_result, read_spec
from bmad_autopilot.agents.verdicts import read_verdict
from bmad_autopilot.runs.layout import find_attempts, runs_folder
from tests.engine.laning import Person, Ran
from tests.real import clients
from tests.real.claude_server import Say
from tests.real.conftest import BmadMethod
from tests.real.playing import Model, Part, Turn, playing
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
    Killed,
    StoryBench,
    bash,
    keep_diff,
    limit,
    read_diff,
    read_printed_path,
    subagent,
    use_client,
)

pytestmark = pytest.mark.real

PAGE, SPEC_PAGE = f"{FOLDER}/{KEY}.md", f"{FOLDER}/spec-{KEY}.md"

QUESTION = "Which language are people greeted in?"

Play = Callable[..., tuple[Ran, Model]]


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


def _play(
    patch: pytest.MonkeyPatch,
    bench: StoryBench,
    *parts: Part,
    person: Person | None = None,
    killed: Killed | None = None,
) -> tuple[Ran, Model]:
    with playing(*parts) as model:
        patch.setenv("ANTHROPIC_BASE_URL", model.url)
        if killed is not None:
            killed.run(bench.root)
        ran = bench.run(person)
    assert model.problems == []
    check_bill(ran, model)
    check_end(ran, bench)
    assert model.is_played_out
    return ran, model


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
        assert "acceptEdits" in read_spec(place.folder).argv
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
        keep_diff,
        read_diff,
        *subagent("Hunt for edge cases.", "An empty name."),
        bench.read(PAGE),
        bench.edit(PAGE, "## Dev Agent Record", findings),
        bench.edit(PAGE, "Status: review", "Status: in-progress"),
        *bench.row("review", "in-progress"),
        bench.verdict("changes-requested", FINDING),
        Say("One patch is left to make."),
    )


def mending(bench: StoryBench) -> tuple[Turn, ...]:
    return (
        bench.read("src/greet.js"),
        bench.edit("src/greet.js", "`Hello, ${name}!`", "(name ? `Hello, ${name}!` : 'Hello!')"),
        bench.read("test/greet.test.js"),
        bench.put("test/greet.test.js", TEST + NOBODY),
        bash("npm test"),
    )


def mend(bench: StoryBench) -> Part:
    return bench.part(
        "dev-story",
        bench.resolve("dev-story"),
        bench.read(PAGE),
        *mending(bench),
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
        keep_diff,
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
    ran, model = play(bench, *parts)
    assert steps(ran) == ["create-story/1", "dev/1", "code-review/1", "dev/1", "code-review/1"]
    assert ran.questions == []
    subjects = bench.git("log", "--reverse", "--format=%s").splitlines()
    assert subjects == ["Plan it", f"Story {KEY}: round 1, changes requested", f"Story {KEY}"]
    assert len(ran.entries("check")) == 2
    assert model.saw("+exports.greet"), "the reviewer saw the diff"
    state = json.loads((Path(ran.end.folder) / "state.json").read_text())
    assert state["status"] == "completed"


def test_a_call_outlives_its_run_and_is_taken_in_by_the_next(classic: Path, tmp_path: Path, play: Play) -> None:
    bench = StoryBench(tmp_path / "project", classic)
    killed = Killed()
    dev = develop(bench)
    turns = (*dev.turns[:3], killed.before(dev.turns[3]), *dev.turns[4:])
    ran, _ = play(bench, create(bench), dev._replace(turns=turns), approve(bench), killed=killed)
    assert ran.end.resumed
    assert steps(ran) == ["create-story/1", "dev/1", "code-review/1"]


# -- the parts of a build


def ask_first(bench: StoryBench) -> Part:
    return bench.part(
        "build-auto",
        *enter_build(bench),
        bench.put(SPEC_PAGE, BLOCKED),
        bench.question(QUESTION, ["English", "French"]),
        Say("Blocked: unclear intent."),
        told=(f"spec, for you to write: `{bench.path(SPEC_PAGE)}`",),
    )


def enter_build(bench: StoryBench) -> tuple[Turn, ...]:
    return bench.render(), read_printed_path, bash("git status --porcelain"), bash("git add --refresh -- .")


def begin_build(bench: StoryBench, cut: Turn, told: tuple[str, ...]) -> Part:
    return bench.part(
        "build-auto",
        *enter_build(bench),
        bench.read(SPEC_PAGE),
        bench.put(f"{FOLDER}/epic-1-context.md", "# Epic 1 Context: Greetings\n"),
        lambda body: bench.put(SPEC_PAGE, SPEC.format(baseline=bench.git("rev-parse", "HEAD"))),
        bench.put("test/greet.test.js", TEST),
        cut,
        told=told,
    )


def end_build(bench: StoryBench, told: tuple[str, ...]) -> Part:
    return bench.part(
        "build-auto",
        *enter_build(bench),
        bench.read(SPEC_PAGE),
        bench.put("src/greet.js", CODE),
        bash("npm test"),
        *subagent("Review the diff.", "No findings."),
        bench.edit(SPEC_PAGE, "status: 'in-progress'", "status: 'done'"),
        bash("git add -A"),
        bash("git commit -m 'Greet by name'"),
        bash("git status --porcelain"),
        Say("Done."),
        told=told,
    )


def refuse_build(bench: StoryBench) -> Part:
    findings = f"## Review Findings\n\n- [ ] [Review][Patch] {FINDING}\n\n## Verification"
    return bench.part(
        "code-review",
        bench.resolve("code-review"),
        bench.read(SPEC_PAGE),
        bench.edit(SPEC_PAGE, "## Verification", findings),
        bench.edit(SPEC_PAGE, "status: 'done'", "status: 'in-progress'"),
        bench.verdict("changes-requested", FINDING),
        Say("One patch is left to make."),
        told=(f"story file: `{bench.path(SPEC_PAGE)}`",),
    )


def mend_build(bench: StoryBench) -> Part:
    return bench.part(
        None,
        bench.read(SPEC_PAGE),
        *mending(bench),
        bench.edit(SPEC_PAGE, f"- [ ] [Review][Patch] {FINDING}", f"- [x] [Review][Patch] {FINDING}"),
        Say("The review's point is dealt with."),
        told=(f"Fix story {KEY}", FINDING, f"story file: `{bench.path(SPEC_PAGE)}`"),
    )


def approve_build(bench: StoryBench) -> Part:
    return bench.part(
        "code-review",
        bench.resolve("code-review"),
        keep_diff,
        read_diff,
        *subagent("Hunt for edge cases.", "Nothing."),
        bench.verdict("approved", "As the spec says."),
        Say("A clean review."),
        told=(f"story file: `{bench.path(SPEC_PAGE)}`",),
    )


def test_a_build_that_asks_is_cut_short_by_a_limit_and_sent_back(
    build: Path, tmp_path: Path, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "JITTER", (0.5, 1.0))
    bench = StoryBench(tmp_path / "project", build)
    person = Person("English")
    resets: list[float] = []
    spec = (f"<command-args>{bench.path(SPEC_PAGE)}", f"spec: `{bench.path(SPEC_PAGE)}`", "answered: English")
    ran, model = play(
        bench,
        ask_first(bench),
        begin_build(bench, limit(6, resets), told=(*spec, "It stopped at: `clarifying the intent`")),
        end_build(bench, told=(*spec, "was cut short")),
        refuse_build(bench),
        mend_build(bench),
        approve_build(bench),
        person=person,
    )
    assert steps(ran) == [
        *("build-auto/1", "build-auto/2", "build-auto/3"),
        *("code-review/1", "fix/1", "code-review/1"),
    ]
    assert [one["question"] for one in person.asked] == [QUESTION]
    assert not list(bench.root.rglob(f"{FOLDER}/*.agent-state.json"))
    assert model.saw("# Build Auto Workflow"), "what BMAD's own renderer made of the skill"
    (rest,) = ran.entries("resting")
    assert rest["why"] == "limit"
    assert resets[0] < rest["until"] < resets[0] + 1.5
    went_on = read_result(f"{ran.end.folder}/steps/01-build-auto/attempt-3")
    assert went_on is not None
    assert went_on.started_at >= resets[0]
    assert [entry["outcome"] for entry in ran.entries("ended")].count("limit") == 1
    assert bench.git("log", "--format=%s", "--committer=claude") == "Greet by name"
