"""The pause before a retry. The caller keeps the count, on disk, and decides how often and with what jitter."""

_MAX_EXPONENT = 64  # any cap is reached before; a count read from a file must not overflow


def backoff(first: float, failures: int, *, most: float, factor: float = 2.0) -> float:
    """Seconds after this many failures: `first`, then `factor` times as long each time, at most `most`."""
    return min(first * factor ** min(max(failures - 1, 0), _MAX_EXPONENT), most)
