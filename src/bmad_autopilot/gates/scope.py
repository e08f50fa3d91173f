"""Checks the scope of the work: branch and history, work tree, other board rows, protected paths, git settings."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from ..core.changes import ChangeKind, FileChange
from ..core.keys import RowIdentity, identify
from ..core.statuses import BACKLOG, DONE, OPTIONAL, READY, REVIEW, RowKind, read_status
from ..io.patterns import matches_glob
from ..project.git_excludes import find_state_file
from .evidence import (
    MAX_NAMES_SHOWN,
    Evidence,
    GateObjection,
    permits_row_removal,
    quote,
    story_names_path,
    violation,
)

LINK_MODE = "120000"
SUBMODULE_MODE = "160000"
MAX_LINK = 4096


def find_misplaced_work(evidence: Evidence) -> Iterator[GateObjection]:
    if not evidence.is_same_branch:
        yield violation(
            "wrong-branch", "The work tree is on another branch than at the start. Go back to that branch."
        )
    if not evidence.descends_from_baseline:
        yield violation(
            "history-rewritten",
            "HEAD no longer descends from the story's baseline commit: commits were undone or rewritten.",
        )
    if evidence.changed_outside:
        yield violation(
            "outside-worktree", f"Files outside this work tree were changed: {quote(evidence.changed_outside)}."
        )
    if evidence.users_files:
        yield violation(
            "users-files-committed",
            f"Commits of this attempt hold {quote(evidence.users_files)}, which had changes of the user's before "
            "it began. Take them out of the commits and leave them in the work tree as they are.",
        )
    links = [
        change.path for change in evidence.changes if change.mode == LINK_MODE and _leads_out(evidence, change)
    ]
    if links:
        yield violation("link-outside", f"{quote(links)} is a link that leads out of the work tree.")
    if evidence.replaced_files:
        what = "; ".join(
            f"{quote([path])} was {found}" for path, found in evidence.replaced_files[:MAX_NAMES_SHOWN]
        )
        yield violation(
            "file-replaced",
            f"Files were replaced by something else: {what}. They were put back as they were before this call. "
            "Write into the file itself, and leave its folder in place.",
        )
    nested = [change.path for change in evidence.changes if _is_nested(evidence, change)]
    if nested:
        yield violation("nested-repository", f"{quote(nested)} is a git repository inside this one, new or moved.")
    tracked = [change.path for change in evidence.changes if _is_new_state_file(evidence, change)]
    if tracked:
        yield violation(
            "state-file-tracked",
            f"{quote(tracked)} is state of a run and must not be in git: `git rm --cached` it and leave it be.",
        )


def _leads_out(evidence: Evidence, change: FileChange) -> bool:
    raw = evidence.contents(change.path, True)
    if raw is None or len(raw) > MAX_LINK:
        return True
    target = raw.decode("utf-8", "surrogateescape").replace("\\", "/")
    if target.startswith("/") or target[1:2] == ":":
        return True
    up = 0
    names = False
    for part in target.split("/"):
        if part == "..":
            # After a name, `..` may be the parent of another link's target: treat it as outside.
            if names:
                return True
            up += 1
        elif part == ".git":
            return True
        elif part not in ("", "."):
            names = True
    return up > change.path.count("/")


def _is_nested(evidence: Evidence, change: FileChange) -> bool:
    if ".git" in change.path.lower().split("/"):
        return True
    if change.mode != SUBMODULE_MODE:
        return False
    return not matches_glob(change.path, evidence.allowed_globs) and not story_names_path(
        evidence.story_text, change.path
    )


def _is_new_state_file(evidence: Evidence, change: FileChange) -> bool:
    """Whether a state file was newly added to git. Files the project committed earlier may change."""
    if change.kind not in (ChangeKind.ADDED, ChangeKind.RENAMED):
        return False
    path = evidence.in_project(change.path)
    return find_state_file(path) is not None and path != ".autopilot/config"


# other-row: an agent may change its own row (a claim), and no other row.


class MovedRow(NamedTuple):
    """A changed row; the status is empty where the row did not exist or was removed."""

    key: str
    before: str
    after: str


def find_other_row_changes(evidence: Evidence) -> Iterator[GateObjection]:
    if evidence.rows_after is None:
        return
    before, after = evidence.rows_before, evidence.rows_after
    if {**before, evidence.key: ""} == {**after, evidence.key: ""}:
        return
    known = identify(dict.fromkeys((*before, *after)))
    others = [row for row in _changed_rows(before, after, known) if not _is_own(evidence, row.key, known)]
    gone = [row.key for row in others if not row.after and not permits_row_removal(evidence.story_text, row.key)]
    new = [row.key for row in others if not row.before and _is_begun(known[row.key].kind, row.after)]
    jumped = [row.key for row in others if row.before and row.after and _crosses_review(known[row.key].kind, row)]
    jumped = [key for key in jumped if not _ends_its_epic(key, known, evidence.key, after)]
    parts = [
        *([f"{quote(jumped)} went into or out of review or done"] if jumped else []),
        *([f"{quote(gone)} is gone"] if gone else []),
        *([f"{quote(new)} is new and already begun"] if new else []),
    ]
    if parts:
        yield violation("other-row", f"On the board {'; '.join(parts)}. Only {evidence.key} may change.")


def moved_rows(evidence: Evidence) -> list[MovedRow]:
    """All changed rows except the story's own, to be shown and restored. New rows that are not started are
    excluded: planning adds them."""
    if evidence.rows_after is None:
        return []
    before, after = evidence.rows_before, evidence.rows_after
    known = identify(dict.fromkeys((*before, *after)))
    return [
        row
        for row in _changed_rows(before, after, known)
        if not _is_own(evidence, row.key, known) and (row.before or _is_begun(known[row.key].kind, row.after))
    ]


def claims_completion(row: MovedRow) -> bool:
    """Whether the row went into review or done."""
    kind = identify([row.key])[row.key].kind
    return _crosses_review(kind, row) and read_status(row.after, kind).meaning in (REVIEW, DONE)


def moved_rows_of_other_epics(evidence: Evidence, epic: str) -> list[MovedRow]:
    """Changed rows of other epics."""
    moved = moved_rows(evidence)
    known = identify(dict.fromkeys((*evidence.rows_before, *(evidence.rows_after or ())))) if moved else {}
    return [row for row in moved if known[row.key].epic not in (None, epic)]


def with_restored_rows(evidence: Evidence, moved: Iterable[MovedRow]) -> Evidence:
    """The evidence after these rows are restored."""
    rows = dict(evidence.rows_after or {})
    rows.update((row.key, restored_status(row.key, row.before)) for row in moved)
    return evidence._replace(rows_after=rows)


def restored_status(key: str, before: str) -> str:
    """The status a row is restored to; for a new row, the first status of its lifecycle."""
    kind = identify([key])[key].kind
    return before or (OPTIONAL if kind is RowKind.RETROSPECTIVE else BACKLOG)


def _is_own(evidence: Evidence, key: str, known: Mapping[str, RowIdentity]) -> bool:
    return key == evidence.key or known[key].number == evidence.number


def _changed_rows(
    before: Mapping[str, str], after: Mapping[str, str], known: Mapping[str, RowIdentity]
) -> Iterator[MovedRow]:
    """Each changed row with both statuses; a row with a new key appears under that key."""
    names = {(known[key].kind, known[key].number): key for key in after if key not in before}
    renamed = {key: names.get((known[key].kind, known[key].number)) for key in before if key not in after}
    for key, status in before.items():
        name = renamed.get(key) or key
        if after.get(name) != status:
            yield MovedRow(name, status, after.get(name, ""))
    for key, status in after.items():
        if key not in before and key not in renamed.values():
            yield MovedRow(key, "", status)


def _crosses_review(kind: RowKind, row: MovedRow) -> bool:
    was, now = (read_status(raw, kind).meaning for raw in (row.before, row.after))
    return was != now and bool({was, now} & {REVIEW, DONE})


def _is_begun(kind: RowKind, status: str) -> bool:
    """Whether a new row claims progress: a story beyond ready, an epic or retrospective in review or done."""
    meaning = read_status(status, kind).meaning
    return meaning not in (BACKLOG, READY) if kind is RowKind.STORY else meaning in (REVIEW, DONE)


def _ends_its_epic(key: str, known: Mapping[str, RowIdentity], own: str, after: Mapping[str, str]) -> bool:
    """Whether the row is the story's epic and all its stories are done: closing it is what we would do."""
    row = known[key]
    mine = known.get(own)
    if row.kind is not RowKind.EPIC or mine is None or row.epic != mine.epic:
        return False
    return all(
        read_status(after[other], RowKind.STORY).meaning == DONE
        for other, one in known.items()
        if one.kind is RowKind.STORY and one.epic == row.epic and other in after
    )


# protected-path: agents must not change policy, CI, hooks, agent settings or git settings.

_POLICY = ("bmad-autopilot.toml", ".autopilot/config")
_CI = (
    *(".github/", ".gitlab-ci.yml", ".gitlab/", ".circleci/", ".travis.yml", "azure-pipelines*.yml"),
    *(".azure-pipelines/", ".azuredevops/", "Jenkinsfile*", "bitbucket-pipelines.yml", ".drone.yml"),
    *(".buildkite/", "appveyor.yml", ".appveyor.yml", ".woodpecker.yml", ".woodpecker/", ".teamcity/"),
    *("cloudbuild.yaml", ".semaphore/", ".forgejo/", ".gitea/", ".cirrus.yml"),
)
_HOOKS = (
    *(".husky/", ".githooks/", ".hooks/", ".pre-commit-config.y*ml", "lefthook.y*ml", ".lefthook.y*ml"),
    *("lefthook.toml", "lefthook-local.y*ml", ".lefthook/", ".overcommit.yml", ".pre-commit-hooks.yaml"),
)
# Not AGENTS.md and CLAUDE.md: developers keep those up to date.
_AGENTS = (
    *(".claude/settings*.json", ".claude/hooks/", ".claude/commands/", ".claude/agents/", ".claude/plugins/"),
    *(".claude/skills/bmad-*", ".agents/skills/bmad-*", ".mcp.json", ".codex/", ".gemini/settings.json"),
    *(".gemini/hooks/", ".gemini/commands/", ".gemini/extensions/", "opencode.json", "opencode.jsonc"),
    *(".opencode/", ".cursor/", ".vscode/mcp.json", ".copilot/", ".windsurf/", ".aider.conf.yml", ".amazonq/"),
)
_GIT = ("**/.gitattributes", ".gitmodules", ".gitconfig", ".lfsconfig")
_BMAD = ("_bmad/", ".bmad/", ".bmad-core/")
_PROTECTED = (*_POLICY, *_CI, *_HOOKS, *_AGENTS, *_GIT, *_BMAD)
# Written by BMAD's own skills.
_OPEN = ("_bmad/render/", "_bmad/_memory/", ".bmad/_memory/", "_bmad/*/agents/*-sidecar/")


@lru_cache(maxsize=4096)
def is_protected(path: str) -> bool:
    return matches_glob(path, _PROTECTED) and not matches_glob(path, _OPEN)


def find_protected_path_changes(evidence: Evidence) -> Iterator[GateObjection]:
    touched = dict.fromkeys(p for change in evidence.changes for p in (change.path, change.old_path))
    ours = [path for path in touched if path in evidence.bookkeeping]
    if ours:
        yield violation("bookkeeping", f"{quote(ours)} is kept by the autopilot itself; put back what was there.")
    bad = [path for path in touched if path not in evidence.bookkeeping and _is_refused(evidence, path)]
    if bad:
        yield violation(
            "protected-path",
            f"{quote(bad)} must not be changed: it steers checks, hooks or agents, and the story does not name "
            "it. Put back what was there at the baseline.",
        )


def find_git_settings_changes(evidence: Evidence) -> Iterator[GateObjection]:
    """git-settings: files in `.git` are in no diff, but can run programs as the user or hide files from gates."""
    bad = [name for name in evidence.changed_git_settings if not _is_permitted(evidence, name.partition(":")[0])]
    if bad:
        yield violation(
            "git-settings",
            f"{quote(bad)} must not be changed: it hides files or runs programs with whoever uses git here. Put "
            "back what was there before.",
        )


def _is_permitted(evidence: Evidence, path: str) -> bool:
    return matches_glob(path, evidence.allowed_globs) or story_names_path(evidence.story_text, path)


def _is_refused(evidence: Evidence, path: str) -> bool:
    """Checks the path relative to the project and to the top of the work tree, where the forge and git look."""
    seen = dict.fromkeys((path, evidence.in_project(path)))
    if not any(map(is_protected, seen)):
        return False
    return not any(_is_permitted(evidence, p) for p in seen)
