"""Builders for journal entries, and the entries of a sample run."""

from collections.abc import Mapping
from typing import Any

Entry = tuple[str, Mapping[str, Any], float]

STARTED_AT = 1_767_268_800.0  # 2026-01-01 12:00:00 UTC
AGENTS = {"sm": "claude", "dev": "claude", "qa": "codex"}
SHA = "4f2c1aa0d1e2f3a4b5c6d7e8f90123456789abcd"


def call(story: str, step: str, number: int, role: str, attempt: int = 1) -> tuple[str, dict[str, Any]]:
    return "call", {"story": story, "step": step, "role": role, "number": number, "attempt": attempt}


def ended(story: str, step: str, number: int, finding: str, **more: Any) -> tuple[str, dict[str, Any]]:
    data = {
        "story": story,
        "step": step,
        "number": number,
        "attempt": 1,
        "finding": finding,
        "outcome": "completed",
    }
    return "ended", {**data, "seconds": 249.0, "tokens": 48210, "dollars": 0.42, **more}


def at_intervals(entries: list[tuple[str, dict[str, Any]]], seconds: float = 60.0) -> list[Entry]:
    return [(kind, data, STARTED_AT + index * seconds) for index, (kind, data) in enumerate(entries)]


# One story with a review round, a question, a rate limit and a person's board edit.
STORY = at_intervals(
    [
        ("run", {"run_id": "epic-1-20260101-120000", "target": "epic-1", "scope": "epic"}),
        ("story", {"story": "1-2-login", "status": "ready-for-dev"}),
        ("epic", {"key": "epic-1", "before": "backlog", "after": "in-progress"}),
        ("row", {"key": "1-2-login", "before": "ready-for-dev", "after": "in-progress"}),
        ("row-set", {"key": "1-2-login"}),
        ("step", {"story": "1-2-login", "number": 1, "step": "dev", "round": 1, "cause": ""}),
        call("1-2-login", "dev", 1, "dev"),
        ("progress", {"number": 1, "step": "dev", "attempt": 1, "seconds": 61.0, "last": "Edit src/login.py"}),
        ended("1-2-login", "dev", 1, "asked"),
        (
            "asked",
            {
                "question": "q1",
                "code": "agent",
                "story": "1-2-login",
                "number": 1,
                "text": "Which store keeps the sessions?\nBoth are in use.",
                "context": "src/store.py has a client for each.",
                "options": ["redis", "postgres"],
                "recommended": "redis",
            },
        ),
        ("answered", {"question": "q1", "answer": "postgres", "means": "again"}),
        call("1-2-login", "dev", 1, "dev", 2),
        ended("1-2-login", "dev", 1, "good", attempt=2),
        ("accepted", {"story": "1-2-login", "number": 1, "step": "dev", "row": "review", "finished": False}),
        ("checking", {"story": "1-2-login"}),
        (
            "check",
            {
                "passed": False,
                "environment": False,
                "ran": [["npm run lint", 0, 2.34], ["npm test", 1, 11.8], ["npm run e2e", None, 1200.0]],
                "excerpt": "expected 302, got 401",
            },
        ),
        call("1-2-login", "code-review", 2, "qa"),
        ended("1-2-login", "code-review", 2, "changes", summary="\n\nThe token is never refreshed.\n- and more"),
        (
            "commit",
            {"key": "k", "label": "round-1", "story": "1-2-login", "sha": SHA, "subject": "Story 1-2-login"},
        ),
        ("round", {"story": "1-2-login", "round": 2, "why": "review", "summary": "…", "row": "in-progress"}),
        call("1-2-login", "code-review", 4, "qa"),
        ended(
            "1-2-login", "code-review", 4, "refused", outcome="limit", message="five_hour", dollars=None, tokens=0
        ),
        ("resting", {"why": "limit", "until": STARTED_AT + 7200}),
        ended("1-2-login", "code-review", 4, "good", summary="All is well.", dollars=0.05),
        ("edited", {"story": "1-2-login", "before": "review", "status": "done"}),
        ("epic", {"key": "epic-1", "before": "in-progress", "after": "done"}),
        ("commit", {"key": "k", "label": "epic", "story": "", "sha": SHA, "subject": "Close epic-1"}),
        ("stopping", {"times": 1}),
        ("stopping", {"times": 2}),
        ("finished", {"status": "completed"}),
    ]
)
