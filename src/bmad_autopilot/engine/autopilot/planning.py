"""How an epic's delivery is set up: from the project's settings, and what the command line adds."""

from ...core.schedule import Candidate
from ...project.config import Config
from ..delivery.plan import LOCAL, Plan
from .finding import Start


def plan_for(config: Config, epic: Candidate, start: Start, base: str, *, draft: bool = False) -> Plan:
    hub = config.github
    return Plan(
        kind=config.delivery,
        base=base,
        onto=start.onto,
        title=epic.title,
        merge=config.merge,
        review=config.require_review,
        checks=config.require_checks,
        rounds=hub.max_rounds,
        review_patience=hub.review_patience * 60.0,
        check_patience=hub.check_patience * 60.0,
        approval_patience=hub.approval_patience * 3600.0,
        grace=float(hub.check_grace),
        reruns=hub.rerun_failed,
        conflicts=hub.conflicts,
        trusted=hub.trusted,
        labels=() if config.delivery == LOCAL else (*hub.labels, f"epic-{epic.number}"),
        draft=draft,
    )
