"""A story from backlog to done with the real Claude Code and real BMAD installs: the loop, the skills, the checks,
the commits. Only the model is played."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bmad_autopilot.agents import rate_limits
from bmad_autopilot.agents.attempt import read_call_spec, read_result
from bmad_autopilot.agents.verdicts import read_verdict
from bmad_autopilot.runs.layout import find_attempts, runs_folder
from tests.real import clients, story_parts
from tests.real.conftest import BmadMethod
from tests.real.played_run import Model, Part, playing
from tests.real.story_bench import Killed, StoryBench, limit, use_client
from tests.real.story_pages import BOARD, FOLDER, KEY, STORY
from tests.real.story_parts import PAGE, QUESTION, SPEC_PAGE
from tests.support.lane_projects import Person, RecordedRun

pytestmark = pytest.mark.real

Play = Callable[..., tuple[RecordedRun, Model]]


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
) -> tuple[RecordedRun, Model]:
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


def check_bill(ran: RecordedRun, model: Model) -> None:
    """What the journal says of each call is what the server has billed for it; and nothing else was paid."""
    ended = ran.entries("ended")
    assert [entry["tokens"] for entry in ended] == [bill.tokens for bill in model.bills]
    assert [entry["dollars"] for entry in ended] == pytest.approx([bill.dollars for bill in model.bills])
    assert ran.end.record.dollars == pytest.approx(sum(bill.dollars for bill in model.bills))


def check_end(ran: RecordedRun, bench: StoryBench) -> None:
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
        assert "acceptEdits" in read_call_spec(place.folder).argv
    commits = bench.git("log", "--format=%H %(trailers:key=Autopilot-Run,valueonly,separator=%x2C)").splitlines()
    ours = [line.split()[0] for line in commits if ran.end.run_id in line]
    assert bench.git("rev-parse", "HEAD") == ours[0]
    assert bench.git("show", "HEAD:src/greet.js") == (bench.root / "src/greet.js").read_text().strip()


def steps(ran: RecordedRun) -> list[str]:
    return [f"{call['step']}/{call['attempt']}" for call in ran.entries("call")]


def test_a_classic_story_with_a_review_round(classic: Path, tmp_path: Path, play: Play) -> None:
    bench = StoryBench(tmp_path / "project", classic)
    ran, model = play(
        bench,
        story_parts.create(bench),
        story_parts.develop(bench),
        story_parts.refuse(bench),
        story_parts.mend(bench),
        story_parts.approve(bench),
    )
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
    bench.write(PAGE, STORY)
    bench.write(f"{FOLDER}/sprint-status.yaml", BOARD.replace(f"{KEY}: backlog", f"{KEY}: ready-for-dev"))
    bench.git("add", "-A")
    bench.git("commit", "-qm", "Create the story")
    killed = Killed()
    dev = story_parts.develop(bench)
    turns = (*dev.turns[:3], killed.before(dev.turns[3]), *dev.turns[4:])
    ran, _ = play(bench, dev._replace(turns=turns), story_parts.approve(bench), killed=killed)
    assert ran.end.resumed
    assert steps(ran) == ["dev/1", "code-review/1"]


def test_a_build_that_asks_is_cut_short_by_a_limit_and_sent_back(
    build: Path, tmp_path: Path, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "JITTER", (0.5, 1.0))
    bench = StoryBench(tmp_path / "project", build)
    person = Person("English")
    resets: list[float] = []
    spec = (f"<command-args>{bench.path(SPEC_PAGE)}", f"spec: `{bench.path(SPEC_PAGE)}`", "answered: English")
    ran, model = play(
        bench,
        story_parts.ask_first(bench),
        story_parts.begin_build(bench, limit(6, resets), told=(*spec, "It stopped at: `clarifying the intent`")),
        story_parts.end_build(bench, told=(*spec, "was cut short")),
        story_parts.refuse_build(bench),
        story_parts.mend_build(bench),
        story_parts.approve_build(bench),
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
