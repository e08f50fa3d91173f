"""What people have said about a delivery, by the question and what exactly it was about."""

from ...core.records import RunRecord


def decided(run: RunRecord, code: str, key: str) -> str:
    """What a person last said to this very question."""
    said = [one for one in run.answers if one.get("code") == code and one.get("key") == key]
    return str(said[-1].get("means", "")) if said else ""


def asked_at(run: RunRecord, code: str, key: str) -> float:
    """When somebody answered that it should be waited for, for the last time."""
    said = [one for one in run.answers if one.get("code") == code and one.get("key") == key]
    return float(said[-1].get("at", 0.0)) if said else 0.0


def asked_mark(run: RunRecord, code: str) -> str:
    """How often that was answered: what an answer allows is done once."""
    return str(sum(one.get("code") == code for one in run.answers))
