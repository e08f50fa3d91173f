"""A desk in memory: what is done there is done when its time comes, on the world as it is then."""

from bmad_autopilot.sim.memory_board import is_readable, merged, raw_statuses, with_status
from bmad_autopilot.sim.memory_desk import MemoryDesk
from bmad_autopilot.sim.memory_git import MemoryGit
from bmad_autopilot.sim.sample import BOARD, sample_files, story_keys

FIRST, SECOND = story_keys(1, 2)


def world() -> tuple[MemoryGit, MemoryDesk]:
    git = MemoryGit(sample_files(1, 2))
    return git, MemoryDesk(git, BOARD)


def test_it_sees_its_own_writing_and_the_world_does_not() -> None:
    git, desk = world()
    desk.write("new.py", b"x")
    desk.remove("README.md")
    assert desk.read("new.py") == b"x"
    assert desk.read("README.md") is None
    assert "new.py" in desk.paths()
    assert "README.md" not in desk.paths()
    assert "new.py" not in git.files
    for deed in desk.deeds:
        deed.do(git)
    assert git.files["new.py"] == b"x"
    assert "README.md" not in git.files


def test_rows_that_a_person_moved_meanwhile_stay() -> None:
    git, desk = world()
    desk.write(BOARD, with_status(git.files[BOARD], FIRST, "review"))
    git.write(BOARD, with_status(git.files[BOARD], SECOND, "blocked"))
    desk.deeds[0].do(git)
    statuses = raw_statuses(git.files[BOARD])
    assert (statuses[FIRST], statuses[SECOND]) == ("review", "blocked")


def test_a_board_that_is_no_yaml_is_written_as_it_is() -> None:
    board = sample_files(1, 2)[BOARD]
    broken = board.replace(b"development_status:", b"development_status: [")
    assert not is_readable(broken)
    assert merged(board, broken, board + b"# a remark\n") == broken


def test_commits_branches_and_other_trees() -> None:
    git, desk = world()
    before = git.head
    desk.write("new.py", b"x")
    desk.commit("Mine")
    desk.switch("elsewhere")
    desk.write_outside("other", b"y")
    desk.link("link", "/etc")
    desk.say("done")
    for deed in desk.deeds:
        deed.do(git)
    assert git.head != before
    assert git.commits[git.head or ""].files["new.py"] == b"x"
    assert (git.branch, git.outside, desk.said) == ("elsewhere", {"other": b"y"}, ["done"])
    desk.rewind()
    desk.deeds[-1].do(git)
    assert git.head == before
