"""What an agent says became of each point of a pull request's reviewers: a file of its, read and checked."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ...core.errors import AutopilotError, FileError
from ...files import read_bytes
from ...github.git import Git
from ...github.history import is_ancestor
from ...workflows.contract import threads_file
from ..doors import CallOrder, Gathered
from ..snapshots import set_aside
from .threads import DISAGREES, FIXED

MAX_FILE = 512 * 1024
MAX_WHY = 2000
OLD = "threads-before.json"
NO_COMMIT = "`commit` is none of this branch since the point was made; leave it out where your change settles it"

Known = Callable[[str, str], str]
"""A commit by its whole name, if it is on this branch and was made after the second; else empty."""


def set_aside_answers(folder: str, key: str, attempt: str) -> None:
    """What is there after the call is the call's."""
    set_aside(threads_file(folder, key), os.path.join(attempt, OLD))


def with_answers(got: Gathered, order: CallOrder, folder: str, git: Git) -> Gathered:
    if not (order.points or order.must_change):
        return got
    try:
        raw: bytes | None = read_bytes(threads_file(folder, order.story), limit=MAX_FILE, follow=False)
    except FileError:
        raw = None
    return judge_answers(got, order, raw, lambda commit, since: _known(git, commit, since, got.remade))


def judge_answers(got: Gathered, order: CallOrder, raw: bytes | None, known: Known) -> Gathered:
    """Pure. `raw`: the file, None where there is none."""
    changed = got.tree.tree != order.tree
    said, missing = _read(raw, order, changed, known) if order.points else ({}, ())
    if order.must_change and not changed:
        missing = (*missing, "Nothing has changed, and the checks still fail.")
    return got._replace(said=said, missing=(*got.missing, *missing))


def _read(
    raw: bytes | None, order: CallOrder, changed: bool, known: Known
) -> tuple[dict[str, Any], tuple[str, ...]]:
    name = os.path.basename(threads_file("", order.story))
    if raw is None:
        return {}, (f"There is no {name} that says what became of each point.",)
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return {}, (f"{name} is no JSON.",)
    answers = data.get("threads") if isinstance(data, dict) else None
    if not isinstance(answers, dict):
        return {}, (f'{name} has no object called "threads".',)
    said: dict[str, Any] = {}
    missing = []
    for point in order.points:
        answer, problem = _answer(answers.get(point.name), point.since, changed, known)
        if problem:
            missing.append(f"{name}, {point.name}: {problem}")
        else:
            said[point.name] = answer
    return said, tuple(missing)


def _answer(found: object, since: str, changed: bool, known: Known) -> tuple[dict[str, str], str]:
    """What is said of one point, or what is wrong with it."""
    if not isinstance(found, dict):
        return {}, "nothing is said of it"
    word, why, commit = (found.get(name) for name in ("answer", "why", "commit"))
    if word not in (FIXED, DISAGREES):
        return {}, f"`answer` is {FIXED} or {DISAGREES}"
    if not isinstance(why, str) or not why.strip():
        return {}, "`why` is missing"
    answer = {"answer": str(word), "why": why.strip()[:MAX_WHY]}
    if word == DISAGREES:
        return answer, ""
    if commit:
        sha = known(str(commit), since) if _is_name(str(commit)) else ""
        return ({**answer, "commit": sha}, "") if sha else ({}, NO_COMMIT)
    return (answer, "") if changed else ({}, "it says fixed, and nothing has changed")


def _is_name(text: str) -> bool:
    return 7 <= len(text) <= 64 and all(letter in "0123456789abcdef" for letter in text)


def _known(git: Git, commit: str, since: str, remade: Mapping[str, str]) -> str:
    with suppress(AutopilotError):
        sha = git.ask("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", codes=(0, 1)).text
        sha = remade.get(sha, sha)
        is_later = bool(since and sha) and sha != since and is_ancestor(git, since, sha)
        return sha if is_later and is_ancestor(git, sha, "HEAD") else ""
    return ""
