"""The sample's `check.py`, as a function of the files: what it would print, and how it would end."""

from ..core.records import Check
from .memory_git import Files
from .sample import BROKEN, ENVIRONMENT


def run_checks(files: Files, code: str) -> Check:
    if ENVIRONMENT in files:
        return Check(code, False, True, "environment", "database: connect ECONNREFUSED")
    if BROKEN in files:
        told = files[BROKEN].decode("utf-8", "replace")[:200]
        return Check(code, False, False, f"broken {told}", f"FAILED tests: {told}")
    return Check(code, True)
