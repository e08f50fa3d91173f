"""A desk in memory: what is done there is done when its time comes, on the world as it is then."""

from bmad_autopilot.sim.memory.agent_calls import MemoryWorkspace
from bmad_autopilot.sim.memory.git import MemoryGit, is_readable, raw_statuses, replay_board_edit, with_row_status
from bmad_autopilot.sim.sample import BOARD, sample_files, story_keys

FIRST, SECOND = story_keys(1, 2)


def world() -> tuple[MemoryGit, MemoryWorkspace]:
    git = MemoryGit(sample_files(1, 2))
    return git, MemoryWorkspace(git, BOARD)


def test_it_sees_its_own_writing_and_the_world_does_not() -> None:
    git, workspace = world()
    workspace.write("new.py", b"x")
    workspace.remove("README.md")
    assert workspace.read("new.py") == b"x"
    assert workspace.read("README.md") is None
    assert "new.py" in workspace.paths()
    assert "README.md" not in workspace.paths()
    assert "new.py" not in git.files
    for deed in workspace.changes:
        deed.apply(git)
    assert git.files["new.py"] == b"x"
    assert "README.md" not in git.files


def test_rows_that_a_person_moved_meanwhile_stay() -> None:
    git, workspace = world()
    workspace.write(BOARD, with_row_status(git.files[BOARD], FIRST, "review"))
    git.write(BOARD, with_row_status(git.files[BOARD], SECOND, "blocked"))
    workspace.changes[0].apply(git)
    statuses = raw_statuses(git.files[BOARD])
    assert (statuses[FIRST], statuses[SECOND]) == ("review", "blocked")


def test_a_board_that_is_no_yaml_is_written_as_it_is() -> None:
    board = sample_files(1, 2)[BOARD]
    broken = board.replace(b"development_status:", b"development_status: [")
    assert not is_readable(broken)
    assert replay_board_edit(board, broken, board + b"# a remark\n") == broken


def test_commits_branches_and_other_trees() -> None:
    git, workspace = world()
    before = git.head
    workspace.write("new.py", b"x")
    workspace.commit("Mine")
    workspace.switch("elsewhere")
    workspace.write_outside("other", b"y")
    workspace.link("link", "/etc")
    workspace.set_final_message("done")
    for deed in workspace.changes:
        deed.apply(git)
    assert git.head != before
    assert git.commits[git.head or ""].files["new.py"] == b"x"
    assert (git.branch, git.outside, workspace.messages) == ("elsewhere", {"other": b"y"}, ["done"])
    workspace.rewind()
    workspace.changes[-1].apply(git)
    assert git.head == before
