"""Values of enums that journals, state files and settings hold: a renamed value makes earlier files unreadable."""

from enum import StrEnum

import pytest

from bmad_autopilot.core.answers import AnswerMeaning
from bmad_autopilot.core.forge_errors import ForgeErrorKind
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.core.run_ending import RunEnding

ON_DISK: dict[type[StrEnum], str] = {
    AnswerMeaning: """
        AGAIN=again EXTEND=extend SKIP=skip HAND_OVER=hand-over DROP=drop OTHERWISE=otherwise
        MORE_ROUNDS=more-rounds MORE_FIXES=more-fixes RECHECK=recheck CONTINUE=go-on OBSERVE=look ABORT=abort
        MORE_BUDGET=more NEW_SETTINGS=new-settings OLD_SETTINGS=old-settings CLOSE_EPIC=close LEAVE_EPIC=leave
        REPEAT_STEP=once-more PASS_OVER=pass-over END_SESSION=session-over ACCEPT_MERGE=merged-fine REOPEN=reopen
        RETARGET=retarget TAKE_OVER=take-over MORE_BASES=more-bases MORE_PULL_ROUNDS=more-pull-rounds
        INSIST=insist CLOSE_THREAD=close-thread LEAVE_THREAD=leave-thread WAIT_MORE=wait-more
        WITHOUT_CHECKS=without-checks WITHOUT_REVIEW=without-review TRY_MERGE=try-merge UNKNOWN=
    """,
    ForgeErrorKind: """
        UNAVAILABLE=away LIMIT=limit LOGIN=login DENIED=denied MISSING=missing REFUSED=refused UNRECOGNIZED=odd
    """,
    LaneScope: "EPIC=epic STORY=story STEP=step WORKFLOW=workflow FLOW=flow",
    RunEnding: """
        COMPLETED=completed NOT_DONE=not-done FAILED=failed WAITING=waiting HANDED_OVER=handed-over PAUSED=paused
        PENDING=pending DETACHED=left SESSION_OVER=session-over TASKS=tasks
    """,
}


@pytest.mark.parametrize("values", ON_DISK, ids=lambda values: values.__name__)
def test_values_stay(values: type[StrEnum]) -> None:
    expected = dict(pair.split("=") for pair in ON_DISK[values].split())
    assert {name: member.value for name, member in values.__members__.items()} == expected
