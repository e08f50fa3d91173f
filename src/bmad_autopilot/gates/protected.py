"""protected-path: what judges the work, runs by itself, or steers agents is not theirs to change."""

from collections.abc import Iterator
from functools import lru_cache

from .asked import names_path
from .globs import matches
from .look import WorkLook
from .objections import Objection, foul, listed

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
# Not AGENTS.md and CLAUDE.md: a developer keeps those up to date.
_AGENTS = (
    *(".claude/settings*.json", ".claude/hooks/", ".claude/commands/", ".claude/agents/", ".claude/plugins/"),
    *(".claude/skills/bmad-*", ".agents/skills/bmad-*", ".mcp.json", ".codex/", ".gemini/settings.json"),
    *(".gemini/hooks/", ".gemini/commands/", ".gemini/extensions/", "opencode.json", "opencode.jsonc"),
    *(".opencode/", ".cursor/", ".vscode/mcp.json", ".copilot/", ".windsurf/", ".aider.conf.yml", ".amazonq/"),
)
_GIT = ("**/.gitattributes", ".gitmodules", ".gitconfig", ".lfsconfig")
_BMAD = ("_bmad/", ".bmad/", ".bmad-core/")
_PROTECTED = (*_POLICY, *_CI, *_HOOKS, *_AGENTS, *_GIT, *_BMAD)
# What BMAD's own skills write there as they go.
_OPEN = ("_bmad/render/", "_bmad/_memory/", ".bmad/_memory/", "_bmad/*/agents/*-sidecar/")


@lru_cache(maxsize=4096)
def is_protected(path: str) -> bool:
    return matches(path, _PROTECTED) and not matches(path, _OPEN)


def protected_paths(look: WorkLook) -> Iterator[Objection]:
    touched = dict.fromkeys(p for change in look.changes for p in (change.path, change.old_path))
    ours = [path for path in touched if path in look.bookkeeping]
    if ours:
        yield foul("bookkeeping", f"{listed(ours)} is kept by the autopilot itself; put back what was there.")
    bad = [path for path in touched if path not in look.bookkeeping and _is_refused(look, path)]
    if bad:
        yield foul(
            "protected-path",
            f"{listed(bad)} must not be changed: it steers checks, hooks or agents, and the story does not name "
            "it. Put back what was there at the baseline.",
        )


def private_settings(look: WorkLook) -> Iterator[Objection]:
    """git-settings: what lies in `.git` is in no diff. It runs with the user, or hides files from the judge."""
    bad = [name for name in look.settings if not _is_open(look, name.partition(":")[0])]
    if bad:
        yield foul(
            "git-settings",
            f"{listed(bad)} must not be changed: it hides files or runs programs with whoever uses git here. Put "
            "back what was there before.",
        )


def _is_open(look: WorkLook, path: str) -> bool:
    return matches(path, look.allowed) or names_path(look.asked, path)


def _is_refused(look: WorkLook, path: str) -> bool:
    """By its place in the project, and at the top of the work tree, where a forge and git look."""
    seen = dict.fromkeys((path, look.in_project(path)))
    if not any(map(is_protected, seen)):
        return False
    return not any(_is_open(look, p) for p in seen)
