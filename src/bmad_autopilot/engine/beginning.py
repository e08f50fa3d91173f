"""Taking a story up: how things stood before the first call for it."""

from .loop_state import Loop


def begin_story(loop: Loop, key: str, status: str) -> None:
    """What an agent of an earlier run has asked is nobody's question any more, unless that run was adopted."""
    if loop.lane.adopted != key:
        loop.doors.clear_state(key)
    tree = loop.doors.tree(key)
    loop.note("story", story=key, baseline=tree.head, tree=tree.tree, code=tree.code, status=status)
