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
