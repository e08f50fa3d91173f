"""Promises to people: what they wrote stays."""

from collections.abc import Callable, Iterator

from ..core.statuses import Kind, read_status
from .log import Actor, Effect
from .played import Played


def no_edit_is_overwritten(played: Played) -> Iterator[str]:
    """A row that a person moved is not moved by us before the journal has taken note of it. Not held against us:
    an edit while an agent works on that very story, which nobody can tell from the agent's own, and one in the
    moment between our write and its record when we die in between."""
    standing: dict[str, Effect] = {}
    origin: dict[str, str] = {}  # row → what it was before they began to move it
    unrecorded: dict[str, str] = {}  # row → what it was before a write of ours that is not recorded
    for effect in played.world.log.effects:
        key = str(effect.data.get("key") or effect.data.get("story") or "")
        if effect.kind == "edit-row":
            first = origin.setdefault(key, _meaning(effect.data["before"]))
            standing.pop(key, None)
            now = _meaning(effect.data["after"])
            if not effect.data["during_call"] and now not in (
                first,
                unrecorded.get(key),
            ):
                standing[key] = effect
        elif effect.kind == "note" and effect.data["entry"] in ("edited", "story", "gone"):
            standing.pop(key, None)
            origin.pop(key, None)
        elif effect.kind == "note" and effect.data["entry"] == "row":
            unrecorded[key] = effect.data["before"]
        elif effect.kind == "note" and effect.data["entry"] == "row-set":
            unrecorded.pop(key, None)
        elif effect.kind == "answer" and effect.data["code"] == "rows":
            standing.clear()  # they were asked about it
        elif effect.kind == "answer":
            standing.pop(key, None)
        elif effect.kind == "restore-board":
            standing.clear()  # theirs is kept aside, and said
        elif effect.kind == "set-row" and effect.actor is Actor.US and key in standing:
            edit = standing.pop(key)
            if edit.data["after"] == effect.data["before"]:
                yield f"{key}: {edit.data['after']} at {edit.at:.0f}, {effect.data['after']} at {effect.at:.0f}"


def _meaning(status: str) -> str:
    """`blocked` and `deferred` say the same to us."""
    return read_status(status, Kind.STORY).meaning if status else ""


def no_file_of_a_person_is_committed(played: Played) -> Iterator[str]:
    """Unless they wrote it while an agent worked, which nobody can tell from the agent's own."""
    written = list(played.world.log.of("write-file"))
    mine = {str(effect.data["path"]) for effect in written}
    mine -= {str(effect.data["path"]) for effect in written if effect.data["during_call"]}
    for commit in played.world.git.commits.values():
        parent = played.world.git.commits[commit.parent].files if commit.parent else {}
        for path in mine:
            if commit.key and commit.files.get(path) != parent.get(path):
                yield f"{path} in {commit.message}"


PEOPLE_PROMISES: tuple[Callable[[Played], Iterator[str]], ...] = (
    no_edit_is_overwritten,
    no_file_of_a_person_is_committed,
)
