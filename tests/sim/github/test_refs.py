"""Branches of the simulated GitHub: the same rules in memory and on real git."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.sim.github.refs import BareRefs, MemoryRefs, RefMoved, Refs, merge_text, moved_line
from bmad_autopilot.sim.memory.git import MemoryGit
from tests.support.simulated_github import FILES, bare_hub, memory_hub

A = FILES["a.py"]


@pytest.fixture(params=["memory", "bare"])
def refs(request: pytest.FixtureRequest, tmp_path: Path) -> Refs:
    return (memory_hub() if request.param == "memory" else bare_hub(tmp_path)).refs


def test_a_branch_moves_only_from_what_was_expected(refs: Refs) -> None:
    main = refs.head_of("main")
    work = refs.commit(main, {"c.py": b"c\n"}, "Work", "dev")
    refs.set("topic", work, "")
    with pytest.raises(RefMoved):
        refs.set("topic", main, "")
    with pytest.raises(RefMoved):
        refs.set("topic", main, main)
    assert refs.branches() == {"main": main, "topic": work}
    with pytest.raises(RefMoved):
        refs.delete("topic", main)
    refs.delete("topic", work)
    assert refs.head_of("topic") == ""


def test_history_is_told(refs: Refs) -> None:
    main = refs.head_of("main")
    one = refs.commit(main, {"c.py": b"c\n"}, "One", "dev")
    two = refs.commit(one, {"a.py": None}, "Two", "maria")
    beside = refs.commit(main, {"b.py": b"other\n"}, "Beside", "dev")
    assert refs.contains(two, main)
    assert not refs.contains(main, two)
    assert [(commit.sha, commit.committer) for commit in refs.ahead(main, two)] == [(one, "dev"), (two, "maria")]
    assert refs.parents(two) == (one,)
    assert refs.merge_base(two, beside) == main
    assert refs.changed(beside, two) == ["a.py", "c.py"]
    assert refs.read(two, "c.py") == b"c\n"
    assert refs.read(two, "a.py") is None


def test_a_squash_is_one_commit_with_both_sides(refs: Refs) -> None:
    main = refs.head_of("main")
    head = refs.commit(main, {"a.py": A.replace(b"five", b"FIVE")}, "Work", "dev")
    base = refs.commit(main, {"a.py": A.replace(b"one", b"ONE"), "b.py": None}, "Meanwhile", "maria")
    made = refs.squash(base, head, "Squashed\n")
    assert made.conflicts == ()
    assert refs.parents(made.sha) == (base,)
    assert refs.read(made.sha, "a.py") == b"ONE\ntwo\nthree\nfour\nFIVE\n"
    assert refs.read(made.sha, "b.py") is None
    ahead = refs.commit(base, {"c.py": b"c\n"}, "Up to date", "dev")
    assert refs.tree_of(refs.squash(base, ahead, "Squashed\n").sha) == refs.tree_of(ahead)


def test_two_changes_of_one_line_conflict(refs: Refs) -> None:
    main = refs.head_of("main")
    one = refs.commit(main, {"a.py": A.replace(b"two", b"2")}, "One", "dev")
    other = refs.commit(main, {"a.py": A.replace(b"two", b"zwei")}, "Other", "maria")
    gone = refs.commit(main, {"a.py": None}, "Gone", "maria")
    assert refs.squash(one, other, "x").conflicts == ("a.py",)
    assert refs.squash(one, gone, "x").conflicts == ("a.py",)


def test_a_remote_in_memory_shares_the_commits_of_the_work_tree() -> None:
    git = MemoryGit(FILES)
    refs = MemoryRefs(git)
    git.write("a.py", b"mine\n")
    sha = git.commit_paths(["a.py"], "Mine", "run/1")
    refs.set("topic", sha)
    assert refs.read("topic" and refs.head_of("topic"), "a.py") == b"mine\n"
    assert refs.tree_of(sha) == git.tree_hash()
    taken = refs.make_commit(refs.files(sha), [sha, refs.head_of("main")], "Take the base in")
    assert refs.contains(taken, sha)
    assert refs.contains(taken, refs.head_of("main"))


texts = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n"]), max_size=6).map(b"".join)


@given(texts, texts)
def test_a_side_that_changed_nothing_gives_way(base: bytes, changed: bytes) -> None:
    assert merge_text(base, base, changed) == changed
    assert merge_text(base, changed, base) == changed
    assert merge_text(base, changed, changed) == changed


def test_a_line_is_found_again_where_it_went() -> None:
    assert moved_line(b"a\nb\nc\n", b"x\na\nb\nc\n", 2) == 3
    assert moved_line(b"a\nb\nc\n", b"a\nB\nc\n", 2) is None


def test_a_bare_repository_is_found_again(tmp_path: Path) -> None:
    hub = bare_hub(tmp_path)
    again = BareRefs(tmp_path / "acme" / "widgets.git")
    assert again.branches() == hub.refs.branches()
