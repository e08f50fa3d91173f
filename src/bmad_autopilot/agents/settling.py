"""Closing a call whose shim is gone: what is left of it ended, its work kept, a result written for it."""

import fcntl
import os
import time

from .attempts import Result, Spec, read_result, read_spec, refuse_linked
from .environment import agent_environment
from .shim import children, endings, records, work
from .shim.private import remove_private

STOP_SECONDS = 20.0
FOR_LAUNCHERS = ("DOCKER_*", "SSH_AUTH_SOCK")  # what the programs of launchers need


def settle_lost(folder: str) -> Result:
    """Close an attempt whose shim was killed: end what is left of it, keep its work, write the result for it."""
    refuse_linked(folder)
    fd = os.open(f"{folder}/{records.LOCK}", os.O_RDWR | os.O_CREAT | records.PLAIN, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)  # whoever else comes finds our result
        found = read_result(folder)
        if found is not None:
            return found
        spec = read_spec(folder)
        swept = children.sweep(spec.id)
        problems = [] if stop(spec) else ["the launcher's stop command failed"]
        own = records.open_folder(folder)
        try:
            records.write_result(own, _lost(folder, spec, swept, problems))
        finally:
            os.close(own)
    finally:
        os.close(fd)
    result = read_result(folder)
    assert result is not None
    return result


def stop(spec: Spec) -> bool:
    """Run what ends a call elsewhere. The agent could have changed the record: it gets none of our keys for it."""
    environment = agent_environment(os.environ, variables=FOR_LAUNCHERS, passed=(), private="/", identity=None)
    return not spec.stop or work.run(list(spec.stop), environment, STOP_SECONDS)[0] == 0


def _lost(folder: str, spec: Spec, swept: int, problems: list[str]) -> dict[str, object]:
    started = records.read_started(folder)
    began = started[1] if started else spec.created_at
    environment = agent_environment(os.environ, variables=(), passed=(), private=spec.private, identity=None)
    os.makedirs(spec.private, 0o700, exist_ok=True)
    left = work.look(spec.worktree, environment, f"{spec.private}/index")
    kept = work.keep(spec.worktree, environment, left, spec.keep_ref, endings.LOST, spec.id)
    remains = remove_private(spec.private)
    return records.result_of(
        spec.id,
        (began, time.time(), time.time() - began),
        endings.LOST,
        None,
        left,
        kept=kept,
        left_over=swept,
        problems=[*problems, left.problem, remains],
    )
