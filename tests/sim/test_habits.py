"""Every habit on real files under real git: it leaves what it says, and the gates judge it by its kind."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bmad_autopilot.board.sprint_status import action_items, read_board
from bmad_autopilot.board.story_file import read_story
from bmad_autopilot.core.errors import FileError
from bmad_autopilot.io.files import read_text
from bmad_autopilot.project.git_excludes import ensure_excludes
from bmad_autopilot.project.root import find_root
from bmad_autopilot.sim.habits import HABITS, HabitKind
from bmad_autopilot.sim.habits.story_pages import find_story_page, row_status
from bmad_autopilot.sim.sample import BOARD, BROKEN_FILE, IMPLEMENTATION, NO_DATABASE_FILE, make_sample
from bmad_autopilot.sim.workspace import FolderWorkspace
from tests.sim.judged_story import KEY, Bench, Judged
from tests.support.bmad_project import git

BenchMaker = Callable[..., Bench]

LEAN = ("create-story", "dev", "code-review")
FULL = ("create-story", "validate", "dev", "revision", "code-review")
BUILD = ("build-auto", "code-review")
CODE = "src/ledger/list_accounts.py"
TEST = "tests/test_list_accounts.py"

# What gives each liar away in the lean workflow: an objection, or the verdict that its reviewer does not give.
LIES = {
    "no-change": "no-change",
    "ticks-only": "no-change",
    "whitespace": "no-change",
    "half-done": "tasks-open",
    "hollow-story": "story-file-incomplete",
    "no-story": "no-story-file",
    "deletes-story": "no-story-file",
    "cuts-story": "story-cut",
    "blocked-spec": "no-change",
    "marks-itself-done": "no-change",
    "marks-others-done": "other-row",
    "marks-epic-done": "other-row",
    "forges-results": "no-change",
    "commits-state": "state-file-tracked",
    "edits-policy": "protected-path",
    "edits-pipeline": "protected-path",
    "installs-hook": "protected-path",
    "edits-permissions": "protected-path",
    "edits-skill": "protected-path",
    "hides-diff": "protected-path",
    "switches-branch": "wrong-branch",
    "rewinds-history": "history-rewritten",
    "works-elsewhere": "no-change",
    "links-outside": "link-outside",
    "links-board": "link-outside",
    "links-story": "no-story-file",
    "asks-itself": "no-change",
    "deletes-test": "test-deleted",
    "excuses-itself": "test-deleted",
    "hides-test": "test-deleted",
    "drops-cases": "test-gutted",
    "guts-test": "test-gutted",
    "skips-test": "test-gutted",
    "empties-check": "check-weakened",
    "softens-check": "check-weakened",
    "no-verdict": "none",
    "unreadable-verdict": "none",
    "vague-verdict": "none",
    "approves-its-findings": "changes-requested",
    "empties-work": "emptied",
    "guts-in-review": "test-gutted",
    "deletes-in-review": "test-deleted",
    "approved-ahead": "none",
}

# Those that do something else where a spec takes the place of a story file.
OTHERWISE_IN_A_BUILD = (
    *("no-change", "half-done", "hollow-story", "no-story", "deletes-story", "cuts-story", "blocked-spec"),
    *("marks-itself-done", "rewinds-history", "commits-state", "deletes-test"),
    *("no-verdict", "approves-its-findings", "empties-work", "guts-in-review", "approved-ahead"),
)
UNTIDY_IN_A_BUILD = (
    *("commits-itself", "commits-often", "touches-board", "claims-done", "forgets-row", "explains-blocked"),
    *("odd-verdict", "mending-reviewer", "findings-only", "senior-reviewer", "removes-asked-test", "short-list"),
)


# The engine removes what these put in the place of a file before it judges: see tests/engine/test_habits.py.
REPLACING = ("links-board", "links-story")


def names(kind: HabitKind) -> list[str]:
    return [name for name, habit in HABITS.items() if habit.kind is kind]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("templates")
    for era in ("classic", "build"):
        make_sample(str(base / era), 2, 2, era=era)
        ensure_excludes(find_root(str(base / era)))
        shutil.rmtree(base / era / ".git/hooks", ignore_errors=True)  # git's examples
    return base


@pytest.fixture
def bench(templates: Path, tmp_path: Path) -> BenchMaker:
    def make(habit: str, era: str = "classic") -> Bench:
        folder = tmp_path / f"{habit}-{era}"
        shutil.copytree(templates / era, folder, symlinks=True)
        return Bench(folder, habit)

    return make


def told(judged: list[Judged]) -> list[object]:
    return [(*one.objections, one.review) for one in judged]


# honest


@pytest.mark.parametrize(("steps", "era"), [(LEAN, "classic"), (FULL, "classic"), (BUILD, "build")])
def test_honest_work_is_accepted_at_every_step(bench: BenchMaker, steps: tuple[str, ...], era: str) -> None:
    one = bench("honest", era)
    done = one.until_refused(*steps)
    assert len(done) == len(steps), told(done)
    assert done[-1].is_good, told(done)
    assert row_status(one.workspace, one.job("dev"), KEY) == "done"


def test_honest_story_file_is_in_the_templates_form(bench: BenchMaker) -> None:
    one = bench("honest")
    one.do("create-story")
    story = read_story(read_text(str(one.folder / IMPLEMENTATION / f"{KEY}.md")))
    assert (story.number, story.status and story.status.meaning) == ("1.1", "ready-for-dev")
    assert (story.criteria, len(story.tasks), story.tasks_done) == (2, 3, 0)
    assert row_status(one.workspace, one.job("dev"), "epic-1") == "in-progress"
    one.do("dev")
    story = read_story(read_text(str(one.folder / IMPLEMENTATION / f"{KEY}.md")))
    assert story.status is not None
    assert story.status.meaning == "review"
    assert story.tasks_done == 3
    assert [file.path for file in story.files] == [CODE, TEST]
    assert story.has_change_log


def test_honest_developer_answers_a_review_with_code_and_a_test(bench: BenchMaker) -> None:
    one = bench("honest")
    one.until_refused("create-story", "dev")
    before = (one.folder / CODE).read_bytes(), (one.folder / TEST).read_bytes().count(b"def test_")
    one.do("dev", review="A list without end is not refused")
    assert (one.folder / CODE).read_bytes() != before[0]
    assert (one.folder / TEST).read_bytes().count(b"def test_") == before[1] + 1


def test_honest_build_commits_and_leaves_a_clean_tree(bench: BenchMaker) -> None:
    one = bench("honest", "build")
    one.do("build-auto")
    assert "list accounts" in git(one.folder, "log", "-1", "--format=%s")
    assert git(one.folder, "status", "--porcelain") == ""
    assert (one.folder / IMPLEMENTATION / f"spec-{KEY}.md").is_file()


def test_honest_fix_changes_no_status(bench: BenchMaker) -> None:
    one = bench("honest")
    one.until_refused("create-story", "dev")
    board = (one.folder / BOARD).read_bytes()
    one.do("fix", review="Refuse long lists")
    assert (one.folder / BOARD).read_bytes() == board
    assert points(one) == 1


def points(one: Bench) -> int:
    return (one.folder / CODE).read_bytes().count(b"raise ValueError")


def test_honest_retrospective_gives_a_verdict_and_an_action_item(bench: BenchMaker) -> None:
    one = bench("honest")
    HABITS["honest"](one.workspace, one.job("retrospective")._replace(story="epic-1"))
    board = read_board(str(one.folder / BOARD))
    assert board.rows["epic-1-retrospective"].meaning == "done"
    assert [(item.epic, item.status) for item in action_items(board)] == [("1", "open")]
    page = next((one.folder / IMPLEMENTATION).glob("epic-1-retro-*.md")).read_text()
    assert "\nverdict: accepted\n" in page


# liars


def test_enough_of_each_kind() -> None:
    count = Counter(habit.kind for habit in HABITS.values())
    assert count[HabitKind.LIAR] >= 25
    assert count[HabitKind.UNTIDY] >= 25
    assert all(habit.description for habit in HABITS.values())
    assert sorted(LIES) == sorted(names(HabitKind.LIAR))


@pytest.mark.real
@pytest.mark.parametrize("habit", [name for name in names(HabitKind.LIAR) if name not in REPLACING])
def test_no_liar_gets_through(bench: BenchMaker, habit: str) -> None:
    first, second = bench(habit).until_refused(*LEAN)[-2:]
    assert not first.is_good
    assert not second.is_good, "what it does wrong, it does again"
    verdict = first.review.result.value if first.review else ""
    assert LIES[habit] in (*first.codes, verdict), first


@pytest.mark.real
@pytest.mark.parametrize("habit", OTHERWISE_IN_A_BUILD)
def test_no_liar_gets_through_a_build(bench: BenchMaker, habit: str) -> None:
    assert not bench(habit, "build").until_refused(*BUILD)[-1].is_good


# untidy


@pytest.fixture(scope="module")
def honest_left(templates: Path, tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    folder = tmp_path_factory.mktemp("honest") / "sample"
    shutil.copytree(templates / "classic", folder)
    one = Bench(folder, "honest")
    return [left_by(one, one.do(step)) for step in LEAN]


@pytest.mark.real
@pytest.mark.parametrize("habit", names(HabitKind.UNTIDY))
def test_no_untidy_agent_is_refused(bench: BenchMaker, honest_left: list[object], habit: str) -> None:
    one = bench(habit)
    left = []
    for step in LEAN:
        done = one.do(step)
        assert done.is_good, done
        assert not done.asks
        left.append(left_by(one, done))
    assert left != honest_left, "nothing about it is untidy"


@pytest.mark.real
@pytest.mark.parametrize("habit", UNTIDY_IN_A_BUILD)
def test_no_untidy_agent_is_refused_in_a_build(bench: BenchMaker, habit: str) -> None:
    one = bench(habit, "build")
    for step in BUILD:
        done = one.do(step)
        assert done.is_good, done


def left_by(one: Bench, done: Judged) -> tuple[object, ...]:
    """Everything one can see of a call afterwards: files, words, commits."""
    files = {path: one.workspace.read(path) for path in one.workspace.paths()}
    return files, done.said, git(one.folder, "rev-list", "--count", "HEAD")


@pytest.mark.real
@pytest.mark.parametrize("habit", ["honest", "moves-test", "splits-test", "reformats", "renames-cases"])
def test_their_tests_really_pass(bench: BenchMaker, habit: str) -> None:
    one = bench(habit)
    one.until_refused(*LEAN)
    assert check(one) == (0, True)


def check(one: Bench) -> tuple[int, bool]:
    """How the sample's own check ends, and whether it ran any test."""
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "check.py"], cwd=one.folder, capture_output=True, text=True, check=False
    )
    return done.returncode, "Ran " in done.stdout


# faulty


def outcomes(one: Bench, step: str = "dev", calls: int = 3) -> list[str]:
    one.do("create-story")
    return [one.do(step, attempt=attempt).ending.outcome for attempt in range(1, calls + 1)]


@pytest.mark.parametrize(
    ("habit", "expected"),
    [
        ("crashing", ["crashed", "completed", "completed"]),
        ("limit", ["limit", "completed", "completed"]),
        ("overloaded", ["overloaded", "overloaded", "completed"]),
        *(
            (name, [name, "completed", "completed"])
            for name in ("lost", "stalled", "timed-out", "auth", "billing")
        ),
    ],
)
def test_what_goes_wrong_passes(bench: BenchMaker, habit: str, expected: list[str]) -> None:
    one = bench(habit)
    assert outcomes(one) == expected
    assert one.do("code-review").is_good


def test_a_crash_leaves_half_the_work(bench: BenchMaker) -> None:
    one = bench("crashing")
    outcomes(one, calls=1)
    assert (one.folder / CODE).exists()
    assert not (one.folder / TEST).exists()


def test_a_limit_says_when_it_resets(bench: BenchMaker) -> None:
    assert bench("limit").do("dev").ending.resets_after == 3600


def test_slow_takes_seventy_minutes(bench: BenchMaker) -> None:
    one = bench("slow")
    one.do("create-story")
    done = one.do("dev")
    assert done.is_good
    assert done.ending.seconds == 70 * 60


@pytest.mark.parametrize("habit", ["asking", "asks-in-prose", "parks"])
def test_who_asks_changes_nothing_and_goes_on_once_answered(bench: BenchMaker, habit: str) -> None:
    one = bench(habit)
    one.do("create-story")
    asked = one.do("dev")
    assert "no-change" in asked.codes
    assert {"asking": bool(asked.asks), "asks-in-prose": asked.said.endswith("?"), "parks": is_parked(one)}[habit]
    assert one.do("dev", answers=("leave them out",)).is_good
    assert not one.do("code-review").asks


def is_parked(one: Bench) -> bool:
    row = read_board(str(one.folder / BOARD)).rows[KEY]
    return row.meaning == "parked" and row.reason == "the rules for rounding are not agreed on"


def test_picky_approves_once_its_remark_is_dealt_with(bench: BenchMaker) -> None:
    one = bench("picky")
    one.until_refused("create-story", "dev")
    first = one.do("code-review").review
    assert first is not None
    assert (first.result, "Remark 1" in first.summary) == ("changes-requested", True)
    assert one.do("dev", review=first.summary).is_good
    assert one.do("code-review").is_good


def test_endlessly_picky_always_finds_something_else(bench: BenchMaker) -> None:
    one = bench("endlessly-picky")
    one.until_refused("create-story", "dev")
    summaries = []
    for _ in range(3):
        review = one.do("code-review").review
        assert review is not None
        assert review.result == "changes-requested"
        summaries.append(review.summary)
        assert one.do("dev", review=review.summary).is_good
    assert len(set(summaries)) == 3


def test_broken_checks_fail_until_the_agent_is_told(bench: BenchMaker) -> None:
    one = bench("broken-checks")
    one.until_refused("create-story", "dev")
    assert (one.folder / BROKEN_FILE).exists()
    assert check(one) == (1, False)
    (one.folder / BROKEN_FILE).unlink()
    assert check(one) == (1, True), "without the mark its test fails by itself"
    assert one.do("dev", failure="351 != 350").is_good
    assert check(one) == (0, True)


def test_an_environment_that_is_not_there_stops_the_check(bench: BenchMaker) -> None:
    one = bench("environment")
    one.until_refused("create-story", "dev")
    assert check(one) == (1, False)
    (one.folder / NO_DATABASE_FILE).unlink()
    assert check(one) == (0, True)


def test_a_broken_board_cannot_be_read(bench: BenchMaker) -> None:
    one = bench("breaks-board")
    HABITS["breaks-board"](one.workspace, one.job("dev"))
    with pytest.raises(FileError):
        read_board(str(one.folder / BOARD))


def test_half_written_is_refused_once(bench: BenchMaker) -> None:
    one = bench("half-written")
    done = one.until_refused(*LEAN)
    assert [judged.is_good for judged in done] == [True, False, True, True]


# the pieces


def test_a_story_file_is_found_under_another_name(bench: BenchMaker) -> None:
    one = bench("honest")
    job = one.job("dev")
    assert find_story_page(one.workspace, job) is None
    one.workspace.write(f"{IMPLEMENTATION}/1-10-other.md", b"# Story 1.10: Other\n")
    assert find_story_page(one.workspace, job) is None
    one.workspace.write(f"{IMPLEMENTATION}/spec-{KEY}.md", b"---\nstatus: done\n---\n")
    assert find_story_page(one.workspace, job) == f"{IMPLEMENTATION}/spec-{KEY}.md"
    one.workspace.write(f"{IMPLEMENTATION}/stories/1-1-accounts.md", b"# Story 1.1: Accounts\n")
    assert find_story_page(one.workspace, job) == f"{IMPLEMENTATION}/stories/1-1-accounts.md"


def test_only_one_word_of_the_board_changes(bench: BenchMaker) -> None:
    one = bench("honest")
    before = (one.folder / BOARD).read_text()
    one.workspace.write(BOARD, before.replace(f"{KEY}: backlog", f"{KEY}:  backlog  # first").encode())
    one.do("dev")
    assert f"{KEY}:  review  # first\n" in (one.folder / BOARD).read_text()
    assert (one.folder / BOARD).read_text().replace(":  review  # first", ": backlog") == before


def test_state_files_are_json(bench: BenchMaker) -> None:
    one = bench("asking")
    one.do("create-story")
    one.do("dev")
    state = json.loads((one.folder / IMPLEMENTATION / f"{KEY}.agent-state.json").read_text())
    assert state["questions"][0]["options"] == ["count them", "leave them out"]
    assert FolderWorkspace(str(one.folder)).read("nothing/there") is None
