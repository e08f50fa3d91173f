"""What lies in `.git` and no diff shows is known by its hash, without asking git."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.git.git import Git
from bmad_autopilot.git.local_settings import HOOKS_PATH, has_usual_hooks_path, hash_local_settings
from bmad_autopilot.project.root import WorkTree, find_work_tree
from tests.support.repositories import Repository


def look(repository: Repository) -> dict[str, str]:
    tree = find_work_tree(str(repository.path))
    assert tree is not None
    return hash_local_settings(tree)


def changed(repository: Repository, before: dict[str, str]) -> list[str]:
    now = look(repository)
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


@pytest.mark.parametrize("name", ["info/exclude", "info/attributes", "hooks/pre-push"])
def test_a_file_that_is_new_changed_or_gone_is_seen(repository: Repository, name: str) -> None:
    place = repository.path / ".git" / name
    place.unlink(missing_ok=True)
    bare = look(repository)
    repository.write(f".git/{name}", "a\n")
    new = look(repository)
    assert changed(repository, bare) == [f".git/{name}"]
    repository.write(f".git/{name}", "b\n")
    assert changed(repository, new) == [f".git/{name}"]
    place.unlink()
    assert look(repository) == bare


def test_a_hook_that_is_made_to_run_or_to_lead_elsewhere_is_seen(repository: Repository, tmp_path: Path) -> None:
    hook = repository.write(".git/hooks/pre-commit", "exit 0\n")
    before = look(repository)
    hook.chmod(0o755)
    assert changed(repository, before) == [".git/hooks/pre-commit"]
    runs = look(repository)
    (tmp_path / "elsewhere").write_text("exit 0\n")
    (tmp_path / "elsewhere").chmod(0o755)
    hook.unlink()
    hook.symlink_to(tmp_path / "elsewhere")
    assert changed(repository, runs) == [".git/hooks/pre-commit"]


def test_samples_do_not_count(repository: Repository) -> None:
    before = look(repository)
    repository.write(".git/hooks/pre-commit.sample", "x\n")
    assert changed(repository, before) == []


def test_more_hooks_than_are_read_are_known_by_their_names(repository: Repository) -> None:
    for number in range(201):
        repository.write(f".git/hooks/h{number:03}", "x\n")
    before = look(repository)
    repository.write(".git/hooks/z", "x\n")
    assert changed(repository, before) == [".git/hooks"]


@pytest.mark.parametrize(
    "name",
    [
        *("core.hooksPath", "core.worktree", "core.excludesFile", "core.fsmonitor", "filter.x.clean"),
        *("alias.st", "include.path", "includeIf.gitdir:/x.path", "credential.helper", "url.a.insteadOf"),
        *("remote.origin.url", "remote.origin.pushurl", "http.proxy", "http.https://github.com/.extraheader"),
        *("diff.external", "diff.x.textconv", "merge.x.driver", "core.sshCommand"),
    ],
)
def test_a_setting_that_runs_or_hides_something_is_seen(repository: Repository, name: str) -> None:
    before = look(repository)
    repository.run("config", name, "one")
    found = changed(repository, before)
    assert [one.lower() for one in found] == [f".git/config:{name.lower()}"]
    one = look(repository)
    config = repository.path / ".git/config"
    config.write_text(config.read_text().replace("= one\n", "= one ; or two\n"))
    assert changed(repository, one) == found


@pytest.mark.parametrize(
    "name", ["user.name", "branch.main.remote", "remote.origin.fetch", "push.default", "gc.auto"]
)
def test_what_honest_work_sets_is_not_watched(repository: Repository, name: str) -> None:
    before = look(repository)
    repository.run("config", name, "x")
    assert changed(repository, before) == []


@pytest.mark.parametrize(
    "text",
    [
        "[alias] st = !sh\n",
        "[alias]\nst = !sh\n",
        "[ALIAS]\n\tST=!sh",
        "[core]\n\tbare = \\\nfalse\n[alias]\n\tst = \\\n!sh\n",
        "[alias]\r\n\tst = !sh\r\n",
    ],
)
def test_however_it_is_written(repository: Repository, text: str) -> None:
    before = look(repository)
    config = repository.path / ".git/config"
    config.write_bytes(config.read_bytes() + text.encode())
    assert repository.run("config", "alias.st") == "!sh"
    assert changed(repository, before) == [".git/config:alias.st"]


def test_a_value_is_kept_by_its_hash_alone(repository: Repository) -> None:
    repository.run("config", "url.https://user:hunter2@example.invalid/.insteadOf", "x")
    repository.run("config", "credential.helper", "!echo hunter2")
    assert "hunter2" not in "".join(look(repository).values())


def test_a_linked_work_tree_has_settings_of_its_own(repository: Repository, tmp_path: Path) -> None:
    repository.run("worktree", "add", "--quiet", str(tmp_path / "lane"))
    linked = Repository(tmp_path / "lane")
    before = look(linked)
    repository.run("config", "extensions.worktreeConfig", "true")
    linked.run("config", "--worktree", "core.hooksPath", "/x")
    repository.write(".git/hooks/pre-push", "x\n")
    assert changed(linked, before) == [HOOKS_PATH, ".git/hooks/pre-push"]


@given(st.binary(max_size=200))
def test_no_config_stops_us(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    folder = str(tmp_path_factory.getbasetemp() / "odd")
    os.makedirs(folder, exist_ok=True)
    Path(folder, "config").write_bytes(b"[alias]\n" + raw)
    hash_local_settings(WorkTree(folder, folder, folder))


def test_what_is_no_file_stops_us_neither(repository: Repository) -> None:
    exclude = repository.path / ".git/info/exclude"
    exclude.unlink(missing_ok=True)
    os.makedirs(exclude.parent, exist_ok=True)
    os.mkfifo(exclude)
    assert ".git/info/exclude" in look(repository)


def test_it_costs_next_to_nothing(repository: Repository) -> None:
    started = time.perf_counter()
    for _ in range(100):
        look(repository)
    assert time.perf_counter() - started < 10


# where hooks may lie


def usual(repository: Repository, value: str, before: str = "HEAD") -> bool:
    repository.run("config", "core.hooksPath", value)
    return has_usual_hooks_path(Git(str(repository.path)), before)


def test_a_folder_of_hooks_that_ignores_itself_is_usual(repository: Repository) -> None:
    """As husky makes it with every `npm install`."""
    repository.write(".husky/_/.gitignore", "*\n")
    repository.write(".husky/_/pre-commit", "x\n")
    assert usual(repository, ".husky/_")


def test_a_folder_that_was_there_before_is_usual(repository: Repository) -> None:
    before = repository.head
    repository.write("tools/hooks/pre-commit", "x\n")
    after = repository.commit()
    assert usual(repository, "tools/hooks", after)
    assert usual(repository, str(repository.path / "tools/hooks"), after)
    assert not usual(repository, "tools/hooks", before)


@pytest.mark.parametrize("value", ["/dev/null", "../hooks", ".git/hooks", ".", "~/hooks", "new-hooks", ""])
def test_any_other_place_is_not(repository: Repository, value: str) -> None:
    assert not usual(repository, value)


def test_a_link_that_leads_out_is_no_folder_of_ours(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (repository.path / "hooks").symlink_to(tmp_path / "out")
    repository.commit()
    assert not usual(repository, "hooks")


def test_no_such_setting_is_not_usual(repository: Repository) -> None:
    assert not has_usual_hooks_path(repository.git, "HEAD")
