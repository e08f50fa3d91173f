"""Moments in files others read too: ISO 8601 in UTC. Read as people and programs really write them."""

from datetime import UTC, datetime

_LATEST = 253_402_300_799.0  # the last second of the year 9999: beyond it ISO 8601 has no word


def iso(at: float) -> str:
    """`2026-02-26T12:00:00.250Z`; a whole second without its fraction."""
    seconds, thousandths = divmod(round(min(max(at, 0.0), _LATEST) * 1000), 1000)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{thousandths:03}Z" if thousandths else f"{text}Z"


def seconds_of(value: object) -> float:
    """Seconds since 1970; 0 for what is no moment. A date alone is its beginning, a time without a zone is UTC."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return 0.0
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
            value = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return 0.0
    return float(value) if 0 <= value <= _LATEST else 0.0
