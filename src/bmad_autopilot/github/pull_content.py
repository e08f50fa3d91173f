"""What of a pull request's commits is its own content, and when that was pushed. Pure, and copied into the gate
script like approval.py: the standard library alone, no syntax newer than Python 3.9.

A merge of the base that was taken in cleanly is not content. Author, committer and message of a merge are free
text, and GitHub signs merges made in its conflict editor too. So the change against the base is compared, before
the merge and after it. Dates in commits are free text as well, and `pushedDate` is gone from GitHub's API: when a
push came stands in the repository's list of activities."""

from collections.abc import Collection, Mapping, Sequence

MOST_COMPARED = 300  # files: a comparison of GitHub's lists no more


def same_content(
    head: str, commits: Sequence[tuple[str, tuple[str, ...]]], clean: Collection[str]
) -> tuple[str, ...]:
    """The head and what lies before it, up to the last commit with content. `commits`: the pull request's own, sha
    and parents; `clean`: those that take the base in and change nothing else."""
    parents = dict(commits)
    found = [head]
    while found[-1] in clean and parents.get(found[-1]) and parents[found[-1]][0] not in found:
        found.append(parents[found[-1]][0])
    return tuple(found)


def push_times(pushes: Sequence[tuple[str, float]], content: Sequence[str]) -> tuple[float, float]:
    """When the content came and when the head came, from the branch's pushes (what it held afterwards, when; the
    newest first). 0 where the list does not tell: it may be a moment behind."""
    if not pushes or not content or pushes[0][0] != content[0]:
        return 0.0, 0.0
    pushed = pushes[0][1]
    for after, at in pushes:
        if after not in content:
            break
        pushed = at
    return pushed, pushes[0][1]


def may_be_clean(sha: str, commits: Sequence[tuple[str, tuple[str, ...]]]) -> bool:
    """A merge of something that is no part of the pull request into something that is."""
    own = dict(commits)
    parents = own.get(sha, ())
    return len(parents) == 2 and parents[0] in own and parents[1] not in own


def is_same_change(before: Sequence[Mapping[str, object]], after: Sequence[Mapping[str, object]]) -> bool:
    """Two lists of files as GitHub's comparisons have them, with patches: the same change on another base?"""
    if max(len(before), len(after)) >= MOST_COMPARED:
        return False
    return _change(before) == _change(after)


def _change(files: Sequence[Mapping[str, object]]) -> dict[str, tuple[object, ...]]:
    change: dict[str, tuple[object, ...]] = {}
    for file in files:
        patch = file.get("patch")
        # Without a patch (binary, too large, mode alone) only the very same blob is the same.
        body = _without_places(patch) if isinstance(patch, str) else (file.get("sha"),)
        change[str(file.get("filename"))] = (file.get("status"), file.get("previous_filename"), *body)
    return change


def _without_places(patch: str) -> tuple[str, ...]:
    """Line numbers and the heading behind them move with the base; the lines and those around them do not."""
    return tuple("@@" if line.startswith("@@") else line for line in patch.split("\n"))
