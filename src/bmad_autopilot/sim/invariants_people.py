"""Promises to people: what they wrote stays."""

from collections.abc import Callable, Iterator

from ..core.statuses import IN_PROGRESS, Kind, read_status
from .log import Effect
from .played import Played

# What the loop writes down once it has read the row; it accepts only where the row says what it should.
_SEEN = ("edited", "story", "gone", "accepted")


class _Rows:
    """Rows that a person has moved, until the journal shows that we have seen it."""

    def __init__(self) -> None:
        self.standing: dict[str, Effect] = {}
        self._origin: dict[str, str] = {}  # what it was before they began to move it
        self._removed: set[str] = set()
        self._unrecorded: dict[str, str] = {}  # what it was before a write of ours that is not recorded yet

    def moved(self, key: str, edit: Effect) -> None:
        first = self._origin.setdefault(key, _meaning(edit.data["before"]))
        self.standing.pop(key, None)
        (self._removed.discard if edit.data["after"] else self._removed.add)(key)
        back = _meaning(edit.data["after"]) in (first, self._unrecorded.get(key))
        if not edit.data["during_call"] and not back:
            self.standing[key] = edit

    def noted(self, key: str, entry: str, before: str) -> None:
        if entry in _SEEN or (entry == "call" and self._agrees(key)):
            self.standing.pop(key, None)
        if entry in _SEEN or (entry == "ended" and key not in self._removed):
            self._origin.pop(key, None)
        if entry == "row":
            self._unrecorded[key] = before
        elif entry == "row-set":
            self._unrecorded.pop(key, None)

    def _agrees(self, key: str) -> bool:
        """What they set is just what a call begins with: there is nothing to take note of."""
        edit = self.standing.get(key)
        return edit is not None and _meaning(edit.data["after"]) == IN_PROGRESS

    def answered(self, key: str, code: str) -> None:
        """They were asked about it: about all of them, or about this story."""
        if code == "rows":
            self.standing.clear()
        self.standing.pop(key, None)


def no_edit_is_overwritten(played: Played) -> Iterator[str]:
    """A row that a person moved is not moved by us before the journal has taken note of it. Not held against us:
    an edit while an agent works on that very story, which nobody can tell from the agent's own, and one in the
    moment between our write and its record when we die in between."""
    rows = _Rows()
    for effect in played.world.log.effects:
        key = str(effect.data.get("key") or effect.data.get("story") or "")
        if effect.kind == "edit-row":
            rows.moved(key, effect)
        elif effect.kind == "note":
            rows.noted(key, effect.data["entry"], effect.data.get("before", ""))
        elif effect.kind == "answer":
            rows.answered(key, effect.data["code"])
        elif effect.kind == "restore-board":
            rows.standing.clear()  # theirs is kept aside, and said
        elif effect.kind == "set-row" and key in rows.standing:
            edit = rows.standing.pop(key)
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
