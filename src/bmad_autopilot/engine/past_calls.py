"""What earlier agent calls of this project took and cost."""

from ..agents.attempts import read_result, read_spec
from ..agents.outcomes import Outcome
from ..agents.verdicts import read_verdict
from ..core.errors import FileError
from ..core.estimates import PastCall
from ..runs.layout import find_attempts

MOST_CALLS = 100  # the newest ones; reading them takes some milliseconds


def past_calls(runs: str) -> list[PastCall]:
    """Those that ended well, the newest first: what was cut short says nothing about the next."""
    found = []
    for place in find_attempts(runs)[:MOST_CALLS]:
        verdict = read_verdict(place.folder)
        if verdict is None or verdict.outcome is not Outcome.COMPLETED:
            continue
        try:
            spec, result = read_spec(place.folder), read_result(place.folder)
        except FileError:
            continue
        if result is not None and result.seconds > 0:
            found.append(PastCall(place.run, spec.story, spec.step, result.seconds, verdict.spend.dollars))
    return found
