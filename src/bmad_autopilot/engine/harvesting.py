"""Taking in what an agent call came to: once, whoever started it."""

import os
import random
import time

from ..agents.attempts import Result, Spec, State, read_result, read_spec, refuse_linked, state_of
from ..agents.limits import clear, limits_file, limits_folder, record_refusal
from ..agents.outcomes import Limit, Outcome, Verdict
from ..agents.registry import recorded_agent
from ..agents.settling import settle_lost
from ..agents.starting import collect
from ..agents.verdicts import judge, read_verdict, write_verdict
from ..project.config import Config


class Harvest:
    """A call that has ended: what it was told, how its process ended, what that means."""

    def __init__(self, spec: Spec, result: Result, verdict: Verdict) -> None:
        self.spec = spec
        self.result = result
        self.verdict = verdict


def harvest(folder: str, config: Config) -> Harvest:
    """Take in a call that has ended. From then on nobody adopts it."""
    done = examine(folder, config)
    write_verdict(folder, done.verdict)
    return done


def examine(folder: str, config: Config) -> Harvest:
    """What a call that is not running came to. A lost one is settled first: what is left of it ended, its work
    kept."""
    collect()
    refuse_linked(folder)
    if state_of(folder) is State.LOST:
        settle_lost(folder)
    known = read_verdict(folder)
    if known is not None:
        result = read_result(folder)
        assert result is not None, folder
        return Harvest(read_spec(folder), result, known)
    spec = read_spec(folder)
    spec, result, verdict = judge(folder, recorded_agent(spec.agent, config.agents))
    _note_limit(spec, result, verdict)
    return Harvest(spec, result, verdict)


def _note_limit(spec: Spec, result: Result, verdict: Verdict) -> None:
    """Account-wide, before the attempt counts as harvested: whoever comes next knows."""
    path = limits_file(limits_folder(os.environ), spec.agent, os.environ)
    if verdict.outcome is Outcome.LIMIT:
        limit = verdict.limit or Limit("unknown")
        # When it was refused, not when somebody came to take it in.
        record_refusal(path, spec.agent, limit, result.ended_at, random.random)
    elif verdict.outcome is Outcome.COMPLETED:
        clear(path, result.started_at, time.time())
