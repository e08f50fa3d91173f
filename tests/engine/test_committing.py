"""What our commits say."""

import pytest

from bmad_autopilot.core.delivery import DeliveryRecord, PullRound
from bmad_autopilot.core.facts import Facts
from bmad_autopilot.core.records import RunRecord, StoryRecord
from bmad_autopilot.engine.committing import story_commit
from bmad_autopilot.engine.looking import Look


@pytest.mark.parametrize(("pull", "where"), [(7, "pull request"), (0, "delivery")])
def test_a_round_of_mending_is_named_by_what_there_is(pull: int, where: str) -> None:
    rounds = [PullRound("epic-1.pr-2", "checks", [], [], "")]
    run = RunRecord(delivery=DeliveryRecord(pull=pull, rounds=rounds))
    order = story_commit(run, Look(Facts(), story=StoryRecord("epic-1.pr-2")))
    assert order.subject == f"Mend what was found in the {where} of epic-1, round 2"
