"""What our commits say."""

import pytest

from bmad_autopilot.core.run_record import DeliveryRecord, PullRound, RunRecord, StoryRecord
from bmad_autopilot.engine.commits import story_commit


@pytest.mark.parametrize(("pull", "where"), [(7, "pull request"), (0, "delivery")])
def test_a_round_of_mending_is_named_by_what_there_is(pull: int, where: str) -> None:
    rounds = [PullRound("epic-1.pr-2", "checks", [], [], "")]
    run = RunRecord(delivery=DeliveryRecord(pull=pull, rounds=rounds))
    order = story_commit(run, StoryRecord("epic-1.pr-2"))
    assert order.subject == f"Mend what was found in the {where} of epic-1, round 2"
