"""A work tree in memory: known by a sum that follows every change, with a history."""

from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.changes import ChangeKind
from bmad_autopilot.sim.memory.git import LINK_PREFIX, MemoryGit, changes, contents

FILES = {"a.py": b"one\n", "b.py": b"two\n"}

paths = st.sampled_from(["a.py", "b.py", "c/d.py", "x.review.json", "build/out"])
edits = st.lists(st.tuples(paths, st.none() | st.binary(max_size=3)), max_size=12)


def edit(git: MemoryGit, steps: list[tuple[str, bytes | None]]) -> None:
    for path, data in steps:
        if data is None:
            git.remove(path)
        else:
            git.write(path, data)


@given(edits)
def test_a_tree_is_known_by_what_it_holds_and_not_by_how_it_came_about(
    steps: list[tuple[str, bytes | None]],
) -> None:
    git = MemoryGit(FILES)
    edit(git, steps)
    assert git.tree_hash() == MemoryGit(git.files).tree_hash()
    assert git.files_at(git.tree_hash()) == git.snapshot()


@given(edits, edits)
def test_different_trees_have_different_names(
    one: list[tuple[str, bytes | None]], other: list[tuple[str, bytes | None]]
) -> None:
    first, second = MemoryGit(FILES), MemoryGit(FILES)
    edit(first, one)
    edit(second, other)
    assert (first.tree_hash() == second.tree_hash()) == (first.snapshot() == second.snapshot())


def test_state_files_are_no_part_of_it() -> None:
    git = MemoryGit(FILES)
    before = git.tree_hash()
    git.write("_bmad-output/implementation-artifacts/1-1-a.review.json", b"{}")
    git.write("build/out.o", b"x")
    assert git.tree_hash() == before
    assert git.dirty() == ()


def test_code_is_the_tree_without_the_books() -> None:
    git = MemoryGit(FILES)
    before = git.code_hash(["b.py"])
    git.write("b.py", b"three\n")
    assert git.code_hash(["b.py"]) == before
    git.write("a.py", b"four\n")
    assert git.code_hash(["b.py"]) != before


def test_a_commit_takes_only_its_paths() -> None:
    git = MemoryGit(FILES)
    git.write("a.py", b"mine\n")
    git.write("b.py", b"theirs\n")
    sha = git.commit_paths(["a.py"], "Mine", "run/1")
    assert git.commits[sha].files == {"a.py": b"mine\n", "b.py": b"two\n"}
    assert git.dirty() == ("b.py",)
    assert git.find("run/1") == sha
    git.remove("a.py")
    assert "a.py" not in git.commits[git.commit_paths(["a.py"], "Gone", "run/2")].files


def test_history_that_was_rewound_no_longer_holds_the_commit() -> None:
    git = MemoryGit(FILES)
    sha = git.commit_paths([], "One", "run/1")
    assert git.descends(git.head, sha)
    git.head = git.commits[sha].parent
    assert not git.descends(git.head, sha)
    assert git.find("run/1") is None


def test_what_changed_is_told_as_git_tells_it() -> None:
    before = {"a": b"1\n", "b": b"2\n", "c": b"3\n", "e": b"5\n"}
    after = {"a": b"1\n1\n", "d": b"2\n", "l": LINK_PREFIX + b"/etc", "e": LINK_PREFIX + b"a"}
    told = {change.path: (change.kind, change.old_path, change.mode) for change in changes(before, after)}
    assert told == {
        "a": (ChangeKind.MODIFIED, "a", "100644"),
        "c": (ChangeKind.DELETED, "c", ""),
        "d": (ChangeKind.RENAMED, "b", "100644"),
        "e": (ChangeKind.TYPE_CHANGED, "e", "120000"),
        "l": (ChangeKind.ADDED, "l", "120000"),
    }
    read = contents(before, after)
    assert (read("l", True), read("b", False), read("b", True)) == (b"/etc", b"2\n", None)


def test_work_trees_share_commits_and_branches_and_nothing_else() -> None:
    git = MemoryGit(FILES)
    start = git.head or ""
    other = git.add_work_tree("feature/epic-1", start)
    other.write("a.py", b"changed\n")
    assert (git.files["a.py"], git.dirty(), other.dirty()) == (b"one\n", (), ("a.py",))
    sha = other.commit_paths(["a.py"], "Ours", "run/1")
    assert (git.head_of("feature/epic-1"), git.head) == (sha, start)
    assert git.work_tree_of("feature/epic-1") is other
    other.remove_work_tree()
    assert (git.work_tree_of("feature/epic-1"), git.head_of("feature/epic-1")) == (None, sha)
