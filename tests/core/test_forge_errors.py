"""Which refusals of the forge mean that a branch has moved."""

import pytest

from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind


@pytest.mark.parametrize(
    "message",
    [
        "Base branch was modified. Review and try the merge again.",
        "Head branch is out of date",
        "Head sha didn't match the expected value",
        "expectedHeadOid does not match",
        "! [rejected] main -> main (non-fast-forward)",
        "! [rejected] main -> main (fetch first)",
        "stale info",
        "cannot lock ref 'refs/heads/main': is at 1 but expected 2",
        "failed to update ref",
    ],
)
def test_a_moved_branch_is_a_race(message: str) -> None:
    assert ForgeError(ForgeErrorKind.REFUSED, message).is_race is True
    assert ForgeError(ForgeErrorKind.DENIED, message).is_race is False


@pytest.mark.parametrize("message", ["Protected branch update failed", "already exists", ""])
def test_another_refusal_is_none(message: str) -> None:
    assert ForgeError(ForgeErrorKind.REFUSED, message).is_race is False


def test_an_error_keeps_what_the_forge_said() -> None:
    plain = ForgeError(ForgeErrorKind.DENIED, "no")
    assert (plain.kind, plain.until, plain.status, plain.hint) == (ForgeErrorKind.DENIED, 0.0, 0, None)
    full = ForgeError(ForgeErrorKind.LIMIT, "too many", until=12.5, status=429, hint="bmad doctor")
    assert (full.message, full.until, full.status, full.hint) == ("too many", 12.5, 429, "bmad doctor")
