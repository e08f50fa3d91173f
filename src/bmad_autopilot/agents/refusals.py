"""What an API's refusal means, by its HTTP status: the one field every client hands on unchanged."""

from .judging import number
from .outcomes import Outcome

_BY_STATUS = {
    401: Outcome.AUTH,
    402: Outcome.BILLING,
    403: Outcome.AUTH,
    404: Outcome.MISCONFIGURED,  # no such model, or no such address
    408: Outcome.NETWORK,
    413: Outcome.PROMPT_TOO_LONG,
    429: Outcome.LIMIT,
}


def by_status(status: object) -> Outcome:
    """CRASHED for a status that asks nothing special of us, and where there is none."""
    known = number(status)
    if known is not None and 500 <= known < 600:
        return Outcome.OVERLOADED
    return _BY_STATUS.get(int(known), Outcome.CRASHED) if known is not None else Outcome.CRASHED
