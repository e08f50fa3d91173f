import os
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.git import commits
from bmad_autopilot.git.commits import (
    commit_paths,
    hidden_paths,
    move_ref,
    move_refs,
    rewrite_commits,
    stage_paths,
)
from bmad_autopilot.git.git import Git, GitError
from bmad_autopilot.git.history import AUTOPILOT_IDENTITY, commits_between, find_commit
from tests.agents.shim.test_redact import SHAPES
from tests.support.repositories import ODD_NAMES, USER, Repository, make_repository, odd_paths

KEY = {"Autopilot-Step": "run/dev/1", "Autopilot-Run": "run"}


def do(repository: Repository, *paths: str, message: str = "Story 1.1") -> str:
    return commit_paths(repository.git, paths, message, KEY, identity=USER)


def test_exactly_the_named_paths_are_committed(repository: Repository) -> None:
    for name in ("kept", "changed", "deleted", "old", "mode"):
        repository.write(name, f"{name}\n" * 5)
    repository.commit()
    repository.write("changed", "otherwise\n")
    (repository.path / "deleted").unlink()
    (repository.path / "old").rename(repository.path / "new")
    (repository.path / "mode").chmod(0o755)
    repository.write("added/deep", "added\n")
    repository.write("kept", "changed too, not named\n")
    repository.write("stray", "not named\n")
    made = do(repository, "changed", "deleted", "old", "new", "mode", "added/deep", "never-was")
    assert repository.head == made
    shown = repository.run("show", "--format=", "--no-renames", "--name-status", made).splitlines()
    assert shown == ["A\tadded/deep", "M\tchanged", "D\tdeleted", "M\tmode", "A\tnew", "D\told"]
    assert repository.status() == [" M kept", "?? stray"]


def test_what_the_user_had_staged_stays_staged_and_out(repository: Repository) -> None:
    repository.write("theirs", "one\n")
    repository.write("going", "one\n")
    repository.commit()
    repository.write("theirs", "staged\n")
    repository.write("brand-new", "staged\n")
    repository.run("add", "theirs", "brand-new")
    repository.run("rm", "--cached", "--quiet", "going")
    repository.write("theirs", "and changed again\n")
    before = repository.status()
    repository.write("ours", "ours\n")
    do(repository, "ours")
    assert repository.run("show", "--format=", "--name-only").splitlines() == ["ours"]
    assert repository.status() == before
    assert repository.run("show", ":theirs") == "staged"


def test_the_work_trees_state_counts_and_not_what_was_staged_of_it(repository: Repository) -> None:
    repository.write("readme.txt", "staged\n")
    repository.run("add", "readme.txt")
    repository.write("readme.txt", "hello\n")
    do(repository, "readme.txt")
    assert repository.run("show", "HEAD:readme.txt") == "hello"
    assert repository.status() == []


def test_author_is_the_user_and_committer_is_ours(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_NAME", "Somebody")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
    repository = Repository(repository.path)
    before = repository.head
    do(repository)
    [made] = commits_between(repository.git, before, "HEAD")
    assert (made.author, made.committer) == (USER, AUTOPILOT_IDENTITY)
    assert made.trailers == tuple(KEY.items())
    assert not repository.run("show", "--no-patch", "--format=%ad").startswith("Mon Jan 1 00:00:00 2001")


def test_nothing_to_commit_is_still_a_commit(repository: Repository) -> None:
    before = repository.head
    made = do(repository, "readme.txt")
    assert repository.run("rev-parse", f"{made}^") == before
    assert repository.tree(made) == repository.tree(before)
    assert find_commit(repository.git, "run/dev/1", before) == made


def test_ignored_files_are_passed_over(repository: Repository) -> None:
    repository.write(".gitignore", "*.log\nbuild/\n")
    repository.write("kept.log", "tracked all the same\n")
    repository.run("add", "--force", "kept.log")
    repository.commit()
    for name in ("x.log", "build/out", "kept.log", "fine.txt"):
        repository.write(name, "new\n")
    do(repository, "x.log", "build/out", "kept.log", "fine.txt")
    assert repository.run("show", "--format=", "--name-only").splitlines() == ["fine.txt", "kept.log"]


def test_paths_out_of_the_work_tree_are_passed_over(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside\n")
    (repository.path / "out").symlink_to(tmp_path)
    before = repository.names()
    paths = [
        "../secret",
        str(tmp_path / "secret"),
        "out/secret",
        ".git/config",
        ".GIT/config",
        "a/../../secret",
        "",
    ]
    do(repository, *paths)
    assert repository.names() == before


def test_a_file_becomes_a_folder_and_a_folder_a_link(repository: Repository) -> None:
    repository.write("thing", "file\n")
    repository.write("folder/inside", "file\n")
    repository.commit()
    (repository.path / "thing").unlink()
    repository.write("thing/inside", "now a folder\n")
    (repository.path / "folder/inside").unlink()
    (repository.path / "folder").rmdir()
    (repository.path / "folder").symlink_to("thing")
    do(repository, "thing", "thing/inside", "folder/inside", "folder")
    assert repository.names() == ["folder", "readme.txt", "thing/inside"]
    assert repository.status() == []


def test_a_named_file_displaces_what_cannot_stand_beside_it(repository: Repository) -> None:
    repository.write("thing", "file\n")
    repository.commit()
    (repository.path / "thing").unlink()
    repository.write("thing/inside", "now a folder\n")
    do(repository, "thing/inside")
    assert repository.names() == ["readme.txt", "thing/inside"]
    assert repository.status() == []


def test_a_named_folder_takes_nothing_with_it(repository: Repository) -> None:
    repository.write("folder/inside", "new\n")
    do(repository, "folder")
    assert repository.status() == ["?? folder/inside"]


def test_odd_names_are_committed_one_by_one(repository: Repository) -> None:
    for name in ODD_NAMES:
        repository.write(name, "odd\n")
    repository.write("decoy", "not named\n")
    for number, name in enumerate(ODD_NAMES, 1):
        do(repository, name)
        assert set(repository.names()) == {"readme.txt", *ODD_NAMES[:number]}
    assert repository.status() == ["?? decoy"]


@settings(max_examples=10)
@given(st.dictionaries(odd_paths, st.binary(max_size=20), min_size=1, max_size=6), st.data())
def test_any_choice_of_odd_paths_is_committed_and_no_other(files: dict[str, bytes], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        repository = make_repository(Path(folder) / "work")
        for name, content in files.items():
            repository.write(name, content)
        named = data.draw(st.sets(st.sampled_from(sorted(files))))
        staged = data.draw(st.sets(st.sampled_from(sorted(files))))
        if staged:
            repository.run("--literal-pathspecs", "add", "--", *staged)
        do(repository, *named)
        assert set(repository.names()) == named | {"readme.txt"}
        expected = sorted(
            [*(f"A  {name}" for name in staged - named), *(f"?? {n}" for n in files.keys() - staged - named)]
        )
        assert repository.status() == expected


def test_line_ends_are_turned_as_the_user_has_it(repository: Repository) -> None:
    repository.run("config", "core.autocrlf", "true")
    repository.write("dos.txt", "one\r\ntwo\r\n")
    do(repository, "dos.txt")
    assert repository.git.ask("cat-file", "blob", "HEAD:dos.txt").out == b"one\ntwo\n"
    assert repository.status() == []


def test_in_a_linked_worktree_its_own_branch_moves(repository: Repository, tmp_path: Path) -> None:
    repository.run("worktree", "add", "--quiet", "-b", "lane", str(tmp_path / "lane"))
    lane = Repository(tmp_path / "lane")
    lane.write("sub/new", "lane\n")
    inside = Git(str(tmp_path / "lane/sub"))  # paths are from the top all the same
    before = repository.head
    made = commit_paths(inside, ["sub/new"], "In the lane", KEY, identity=USER)
    assert lane.run("rev-parse", "lane") == made
    assert repository.head == before
    assert lane.status() == repository.status() == []


def test_submodules_are_committed_by_their_commit(repository: Repository, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other")
    repository.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "sub")
    repository.commit()
    inside = Repository(repository.path / "sub")
    inside.write("more", "more\n")
    moved = inside.commit()
    repository.write("sub/readme.txt", "inside another repository\n")
    do(repository, "sub", "sub/readme.txt")
    assert repository.run("rev-parse", "HEAD:sub") == moved


def test_a_file_in_a_submodule_that_is_not_checked_out_is_passed_over(
    repository: Repository, tmp_path: Path
) -> None:
    other = make_repository(tmp_path / "other")
    repository.run("update-index", "--add", "--cacheinfo", f"160000,{other.head},sub")
    repository.run("commit", "--quiet", "-m", "A submodule")
    repository.write("sub/file", "written where another repository belongs\n")
    repository.write("fine", "fine\n")
    do(repository, "sub/file", "fine")
    assert repository.run("rev-parse", "HEAD:sub") == other.head
    assert "fine" in repository.names()


def test_what_a_sparse_checkout_leaves_out_is_not_deleted(repository: Repository) -> None:
    repository.write("in/file", "in\n")
    repository.write("out/file", "out\n")
    repository.commit()
    repository.run("sparse-checkout", "set", "in")
    assert not (repository.path / "out").exists()
    repository.write("in/file", "changed\n")
    do(repository, "in/file", "out/file")
    assert "out/file" in repository.names()
    assert repository.run("show", "HEAD:in/file") == "changed"


def test_a_shallow_clone_can_be_committed_in(repository: Repository, tmp_path: Path) -> None:
    repository.commit()
    subprocess.run(
        ["git", "clone", "--quiet", "--depth=1", f"file://{repository.path}", tmp_path / "clone"], check=True
    )
    clone = Repository(tmp_path / "clone")
    clone.write("new", "new\n")
    before = clone.head
    assert find_commit(clone.git, "run/dev/1", None) is None
    made = do(clone, "new")
    assert find_commit(clone.git, "run/dev/1", before) == made


def test_a_split_index_is_no_trouble(repository: Repository) -> None:
    repository.run("update-index", "--split-index")
    repository.write("theirs", "staged\n")
    repository.run("add", "theirs")
    repository.write("ours", "ours\n")
    do(repository, "ours")
    assert repository.status() == ["A  theirs"]


def test_somebody_elses_commit_meanwhile_is_not_lost(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("ours", "ours\n")
    make = commits.commit_tree

    def slow(*arguments: object, **named: object) -> str:
        made = make(*arguments, **named)  # type: ignore[arg-type]
        repository.run("commit", "--quiet", "--allow-empty", "--message", "Theirs")
        return made

    monkeypatch.setattr(commits, "commit_tree", slow)
    with pytest.raises(ConflictError, match="refs/heads/main: has moved"):
        do(repository, "ours")
    assert repository.run("log", "-1", "--format=%s") == "Theirs"


def test_a_branch_switched_meanwhile_does_not_get_our_commit(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("ours", "ours\n")
    make = commits.commit_tree

    def slow(*arguments: object, **named: object) -> str:
        made = make(*arguments, **named)  # type: ignore[arg-type]
        repository.run("switch", "--quiet", "--create", "theirs")
        return made

    before = repository.head
    monkeypatch.setattr(commits, "commit_tree", slow)
    made = do(repository, "ours")
    assert repository.run("rev-parse", "theirs", "main").splitlines() == [before, made]


def test_a_kill_before_the_branch_moves_leaves_only_staged_paths(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill(*arguments: object) -> None:
        raise Killed

    repository.write("ours", "ours\n")
    before = repository.head
    with monkeypatch.context() as patch:
        patch.setattr(commits, "move_ref", kill)
        with pytest.raises(Killed):
            do(repository, "ours")
    assert repository.head == before
    assert repository.status() == ["A  ours"]
    assert find_commit(repository.git, "run/dev/1", before) is None
    do(repository, "ours")
    assert repository.status() == []


def test_no_commit_yet_is_a_clear_answer(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    repository = Repository(empty)
    repository.run("init", "--quiet")
    with pytest.raises(GitError, match="has no commit yet"):
        do(repository)


def test_the_users_wish_to_sign_is_not_ours(repository: Repository) -> None:
    repository.run("config", "commit.gpgSign", "true")
    repository.run("config", "gpg.program", "/bin/false")
    do(repository)
    assert repository.run("show", "--no-patch", "--format=%cn") == AUTOPILOT_IDENTITY.name


def test_a_ref_that_cannot_be_moved_is_gits_own_error(repository: Repository) -> None:
    with pytest.raises(GitError, match="update-ref"):
        move_ref(repository.git, "refs/heads/main", "f" * 40, repository.head)


def test_two_lanes_commit_at_the_same_time(repository: Repository, tmp_path: Path) -> None:
    lanes = []
    for number in range(3):
        folder = tmp_path / f"lane-{number}"
        repository.run("worktree", "add", "--quiet", "-b", f"lane-{number}", str(folder))
        lanes.append(Repository(folder))
        lanes[-1].write("new", f"{number}\n")
    threads = [threading.Thread(target=do, args=(lane, "new")) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [lane.run("show", "HEAD:new") for lane in lanes] == ["0", "1", "2"]


AGENT = ("-c", "user.name=stub (BMAD Autopilot)", "-c", "user.email=stub@bmad-autopilot.invalid")


def by_agent(repository: Repository, message: str = "More") -> str:
    repository.run("add", "--all")
    repository.run(*AGENT, "commit", "--quiet", "--allow-empty", "--message", message)
    return repository.head


def remade(repository: Repository, base: str, head: str, paths: set[str]) -> dict[str, str]:
    return rewrite_commits(repository.git, base, head, paths=paths, message=lambda text: text)


def test_commits_are_made_again_without_these_paths_and_otherwise_as_they_were(repository: Repository) -> None:
    repository.write("kept", "one\n")
    repository.write("draft", "committed\n")
    base = repository.commit("Base")
    repository.write("draft", "a person's\n")
    repository.write("line\nbreak", "a person's\n")
    repository.write("work", "one\n")
    by_agent(repository, "First\n\nWith a body.\n\nTrailer: value")
    (repository.path / "draft").unlink()
    repository.write("work", "two\n")
    head = by_agent(repository, "Second")
    paths = {"draft", "line\nbreak"}
    made = remade(repository, base, head, paths)
    assert remade(repository, base, head, paths) == made
    new = made[head]
    assert repository.names(new) == ["draft", "kept", "readme.txt", "work"]
    assert repository.run("show", f"{new}:draft") == "committed"
    shown = [repository.run("log", "--format=%an %ae %ad %cn %cd %B", f"{base}..{tip}") for tip in (head, new)]
    assert shown[0] == shown[1]
    assert repository.head == head, "no ref moves"


def test_commits_that_touch_none_of_these_paths_stay(repository: Repository) -> None:
    base = repository.head
    repository.write("work", "one\n")
    assert remade(repository, base, by_agent(repository), {"draft", "no/such"}) == {}


def test_what_a_merge_brings_of_such_a_path_stays(repository: Repository) -> None:
    """The other side's commits are someone else's: they stay, and their change is not the merge's own."""
    base = repository.head
    repository.run("checkout", "--quiet", "-b", "side")
    repository.write("draft", "by others\n")
    side = repository.commit("By others")
    repository.run("checkout", "--quiet", "-B", "work", base)
    repository.write("draft-notes", "a person's\n")
    by_agent(repository, "Work")
    repository.run(*AGENT, "merge", "--quiet", "--no-edit", "side")
    made = remade(repository, base, repository.head, {"draft", "draft-notes"})
    assert side not in made
    new = made[repository.head]
    assert "draft-notes" not in repository.names(new)
    assert repository.run("show", f"{new}:draft") == "by others"
    assert repository.run("log", "-1", "--format=%P", new).split()[1] == side


def test_a_history_without_a_common_commit_loses_such_paths_too(repository: Repository) -> None:
    base = repository.head
    repository.run("checkout", "--quiet", "--orphan", "alone")
    repository.write("draft", "a person's\n")
    head = by_agent(repository, "Alone")
    assert "draft" not in repository.names(remade(repository, base, head, {"draft"})[head])


@pytest.mark.parametrize("kind", SHAPES)
def test_no_secret_reaches_a_message_and_the_commit_is_found_again(repository: Repository, kind: str) -> None:
    text, secret = "".join(SHAPES[kind]), SHAPES[kind][1]
    start = repository.head
    made = do(repository, message=f"Story 1.1 {text}\n\nThe reviewer says:\n{text}\nand no more")
    shown = repository.run("log", "-1", "--format=%B", made)
    assert secret not in shown
    assert shown.startswith("Story 1.1 ")
    assert "\nand no more\n" in shown
    assert find_commit(repository.git, KEY["Autopilot-Step"], start) == made


def test_a_trailer_that_looks_like_a_secret_stays(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "epic-1-20260101")
    step = f"epic-1-20260101/1-2-{SHAPES['npm'][1]}/dev/1"
    start = repository.head
    made = commit_paths(
        repository.git, (), "Story: epic-1-20260101", {"Autopilot-Step": step, "Autopilot-Run": "r"}, identity=USER
    )
    assert find_commit(repository.git, step, start) == made
    assert repository.run("log", "-1", "--format=%s", made) == "Story: [redacted]"


def test_a_squashed_message_keeps_its_trailers_and_loses_its_secrets(repository: Repository) -> None:
    secret = SHAPES["github classic"][1]
    message = f"Epic 1: {secret}\n\n- 1-1 {secret}\n\nAutopilot-Step: run/{secret}/1\nAutopilot-Run: run"
    made = commits.commit_tree(repository.git, repository.tree(), [repository.head], message)
    [found] = commits_between(repository.git, repository.head, made)
    assert found.trailers == (("Autopilot-Step", f"run/{secret}/1"), ("Autopilot-Run", "run"))
    assert repository.run("log", "-1", "--format=%B", made).count(secret) == 1


def test_a_secret_at_the_cut_of_a_message_is_not_halved(repository: Repository) -> None:
    secret = SHAPES["github classic"][1]
    for room in (5, 20, 39):
        made = do(repository, message=f"{'s' * (200 - room)} {secret}\n\n{'b ' * ((16384 - room) // 2)}{secret}")
        assert secret[:12] not in repository.run("log", "-1", "--format=%B", made)


def test_a_persons_commit_among_them_keeps_its_own_changes(repository: Repository) -> None:
    repository.write("draft", "committed\n")
    base = repository.commit("Base")
    repository.write("draft", "a person's\n")
    repository.write("notes", "a person's\n")
    by_agent(repository, "All of it")
    repository.write("draft", "finished\n")
    head = repository.commit("By the person")
    new = remade(repository, base, head, {"draft", "notes"})[head]
    assert repository.run("show", f"{new}:draft") == "finished"
    assert "notes" not in repository.names(new)
    assert repository.run("log", "--format=%s", f"{base}..{new}").splitlines() == ["By the person", "All of it"]


def test_secrets_leave_the_messages_of_agents_commits_alone_of_all(repository: Repository) -> None:
    base = repository.head
    by_agent(repository, "Use s3cret")
    head = repository.commit("Keep s3cret")
    made = rewrite_commits(
        repository.git, base, head, paths=set(), message=lambda text: text.replace("s3cret", "[redacted]")
    )
    said = repository.run("log", "--format=%s", f"{base}..{made[head]}").splitlines()
    assert said == ["Keep s3cret", "Use [redacted]"]


@pytest.mark.parametrize("is_detached", [False, True])
def test_every_branch_and_tag_follows(repository: Repository, is_detached: bool) -> None:
    base = repository.head
    repository.write("draft", "a person's\n")
    first = by_agent(repository, "All of it")
    repository.run("branch", "other")
    repository.run("tag", "mark")
    head = by_agent(repository, "More")
    if is_detached:
        repository.run("checkout", "--quiet", "--detach")
    made = remade(repository, base, head, {"draft"})
    move_refs(repository.git, made)
    assert repository.head == made[head]
    assert {repository.run("rev-parse", name) for name in ("other", "mark")} == {made[first]}
    assert "draft" not in repository.names("HEAD")


def test_new_changed_and_deleted_files_are_seen_by_a_reviewer(repository: Repository) -> None:
    repository.write("gone", "x\n")
    repository.commit()
    (repository.path / "gone").unlink()
    repository.write("new", "x\n")
    repository.write("readme.txt", "changed\n")
    repository.write("other", "not named\n")
    assert stage_paths(repository.git, ["new", "readme.txt", "gone"]) == ["new", "readme.txt", "gone"]
    assert repository.status() == ["?? other", "A  new", "D  gone", "M  readme.txt"]


def test_staging_twice_is_staging_once(repository: Repository) -> None:
    repository.write("new", "x\n")
    for _ in range(2):
        stage_paths(repository.git, ["new", "new"])
    assert repository.status() == ["A  new"]


def test_ignored_and_foreign_paths_are_passed_over(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside\n")
    (repository.path / "link").symlink_to(tmp_path)
    repository.write(".gitignore", "*.log\nlink\n.gitignore\n")
    repository.write("x.log", "ignored\n")
    named = ["x.log", "link/secret", "../secret", "/etc/passwd", ".git/HEAD", "no/such/file", "\ud800", "a\0b"]
    stage_paths(repository.git, named)
    assert repository.status() == []


def test_a_link_is_staged_as_a_link(repository: Repository, tmp_path: Path) -> None:
    (repository.path / "link").symlink_to(tmp_path)
    stage_paths(repository.git, ["link"])
    assert repository.run("ls-files", "--stage", "link").startswith("120000 ")


def test_a_file_behind_a_new_link_is_gone(repository: Repository, tmp_path: Path) -> None:
    repository.write("folder/inside", "x\n")
    repository.commit()
    (repository.path / "folder").rename(tmp_path / "outside")
    (repository.path / "folder").symlink_to(tmp_path / "outside")
    stage_paths(repository.git, ["folder/inside"])
    assert repository.run("ls-files") == "readme.txt"


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_a_file_replaced_by_what_git_cannot_keep_is_gone(repository: Repository, kind: str) -> None:
    target = repository.path / "readme.txt"
    target.unlink()
    if kind == "fifo":
        os.mkfifo(target)
    else:
        target.mkdir()
    stage_paths(repository.git, ["readme.txt"])
    assert repository.run("ls-files") == ""


def test_a_repository_inside_keeps_its_files(repository: Repository) -> None:
    inner = make_repository(repository.path / "inner")
    inner.write("new", "x\n")
    stage_paths(repository.git, ["inner/new", "inner/readme.txt"])
    assert repository.run("ls-files") == "readme.txt"


def test_odd_names_are_staged_and_ignored_alike(repository: Repository) -> None:
    for name in ODD_NAMES:
        repository.write(name, "x\n")
    stage_paths(repository.git, ODD_NAMES)
    assert repository.status() == sorted(f"A  {name}" for name in ODD_NAMES)
    repository.run("rm", "-r", "--quiet", "--cached", "--force", ".")
    repository.write(".gitignore", "*\n")
    stage_paths(repository.git, ODD_NAMES)
    assert repository.run("ls-files") == ""


def test_nothing_named_is_nothing_done(repository: Repository) -> None:
    (repository.path / ".git/index.lock").touch()
    assert stage_paths(repository.git, []) == []


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_flag_that_hides_a_change_keeps_nothing_out(repository: Repository, flag: str) -> None:
    repository.run("update-index", flag, "readme.txt")
    repository.write("readme.txt", "changed\n")
    assert list(hidden_paths(repository.git)) == ["readme.txt"]
    assert stage_paths(repository.git, ["readme.txt"]) == ["readme.txt"]
    assert repository.run("show", ":readme.txt") == "changed"
    assert hidden_paths(repository.git) == {}
