"""What is content: merges made by real git, compared as GitHub compares."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.github.pull_content import is_same_change, may_be_clean, push_times, same_content

LINES = [f"line {number}" for number in range(60)]


class Repo:
    """A branch and its base, far enough apart to be merged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")
        self.commit("a.txt", LINES)
        self.git("switch", "-q", "-c", "feature/epic-1")
        self.own = self.commit("a.txt", [*LINES[:20], "our line", *LINES[20:]])
        self.git("switch", "-q", "main")
        self.base = self.commit("a.txt", ["their line", *LINES])
        self.git("switch", "-q", "feature/epic-1")

    def git(self, *words: str) -> str:
        identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
        done = subprocess.run(
            ["git", *identity, *words], cwd=self.folder, capture_output=True, text=True, check=True
        )
        return done.stdout

    def commit(self, name: str, lines: list[str]) -> str:
        (self.folder / name).write_text("\n".join(lines) + "\n")
        self.git("add", name)
        self.git("commit", "-q", "-m", name)
        return self.git("rev-parse", "HEAD").strip()

    def merge(self, **edits: list[str]) -> str:
        self.git("merge", "-q", "--no-commit", "main")
        for name, lines in edits.items():
            (self.folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Merge branch 'main' into feature/epic-1")
        return self.git("rev-parse", "HEAD").strip()

    def compare(self, head: str) -> list[dict[str, Any]]:
        """As `GET compare/BASE...HEAD` lists files."""
        files = []
        for row in self.git("diff", "--name-status", f"{self.base}...{head}").splitlines():
            status, name = row.split("\t")
            text = self.git("diff", f"{self.base}...{head}", "--", name)
            patch = text[text.index("@@") :] if "@@" in text else None
            sha = self.git("rev-parse", f"{head}:{name}").strip()
            files.append({"filename": name, "status": status, "sha": sha, "patch": patch})
        return files

    def is_clean(self, merge: str) -> bool:
        return is_same_change(self.compare(self.own), self.compare(merge))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path)


def test_a_merge_as_git_makes_it_is_no_content(repo: Repo) -> None:
    assert repo.is_clean(repo.merge())


def test_a_line_slipped_into_a_merge_is_content(repo: Repo) -> None:
    assert not repo.is_clean(
        repo.merge(a=["their line", *LINES[:20], "our line", *LINES[20:50], "evil", *LINES[50:]])
    )


def test_a_new_file_in_a_merge_is_content(repo: Repo) -> None:
    assert not repo.is_clean(repo.merge(evil=["x"]))


def test_our_own_line_moved_by_a_merge_is_content(repo: Repo) -> None:
    assert not repo.is_clean(repo.merge(a=["their line", *LINES[:40], "our line", *LINES[40:]]))


def test_the_bases_change_thrown_away_by_a_merge_is_content(repo: Repo) -> None:
    assert not repo.is_clean(repo.merge(a=[*LINES[:20], "our line", *LINES[20:]]))


def test_a_binary_file_is_the_same_only_as_the_same_blob() -> None:
    before = {"filename": "logo.png", "status": "added", "sha": "1"}
    assert is_same_change([before], [dict(before)])
    assert not is_same_change([before], [{**before, "sha": "2"}])


def test_a_comparison_that_may_be_cut_short_proves_nothing() -> None:
    files = [{"filename": str(number), "status": "added", "patch": "+x"} for number in range(300)]
    assert is_same_change(files[:299], files[:299])
    assert not is_same_change(files, files)


def test_only_a_merge_of_what_is_no_part_of_it_can_be_the_base_taken_in() -> None:
    commits = [("a", ("base",)), ("b", ("a",)), ("m", ("b", "tip")), ("n", ("m", "a")), ("o", ("base", "tip"))]
    assert [may_be_clean(sha, commits) for sha, _ in commits] == [False, False, True, False, False]
    assert not may_be_clean("gone", commits)


def test_content_reaches_back_over_clean_merges_to_the_last_commit() -> None:
    commits = [("a", ("base",)), ("b", ("a",)), ("m", ("b", "t1")), ("n", ("m", "t2"))]
    assert same_content("n", commits, {"m", "n"}) == ("n", "m", "b")
    assert same_content("n", commits, {"m"}) == ("n",)
    assert same_content("b", commits, set()) == ("b",)
    assert same_content("x", [], {"x"}) == ("x",)


@given(st.dictionaries(st.integers(0, 5), st.lists(st.integers(0, 5), max_size=3)), st.sets(st.integers(0, 5)))
def test_content_ends_in_whatever_is_called_a_history(history: dict[int, list[int]], clean: set[int]) -> None:
    commits = [(str(sha), tuple(map(str, parents))) for sha, parents in history.items()]
    found = same_content("0", commits, {*map(str, clean)})
    assert found[0] == "0"
    assert len(found) == len({*found}) <= 7


def test_the_time_is_that_of_the_push_that_brought_the_content() -> None:
    pushes = [("merge", 900.0), ("own", 500.0), ("before", 100.0), ("own", 50.0)]
    assert push_times(pushes, ["merge", "own"]) == (500.0, 900.0)
    assert push_times(pushes, ["merge"]) == (900.0, 900.0)


def test_a_list_that_does_not_know_the_head_yet_tells_nothing() -> None:
    assert push_times([("own", 500.0)], ["merge", "own"]) == (0.0, 0.0)
    assert push_times([], ["merge"]) == (0.0, 0.0)
