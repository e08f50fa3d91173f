"""What a person's answer changes in the records of a run."""

from .delivery import allow_more
from .records import Data, RunRecord, StepRecord, StoryRecord

# A person may have mended what no change to the code would: what has failed is run again, and not told again.
_MENDED = ("recheck", "more-fixes", "more-pull-rounds", "hand-over")


def answered(run: RunRecord, data: Data, at: float) -> None:
    asked = run.question or {}
    run.question = None
    run.answers.append({**asked, **data, "at": at})
    run.turn += 1
    means = str(data.get("means", ""))
    allow_more(run.delivery, means, asked)
    story = run.stories.get(str(asked.get("story", "")))
    if asked.get("stage") and means in ("go-on", "hand-over"):
        run.cleared.add(f"{asked['stage']}:{asked['story']}")
    if means in ("new-settings", "old-settings"):
        run.settings, run.keeps_settings = str(asked.get("settings", "")), means == "old-settings"
    elif means in ("close", "leave"):
        run.left_out = means
    elif means == "once-more":
        run.story(str(asked["story"])).repeat = str(asked["step"])
    elif means == "more":
        run.allowance += 1.0
        run.hours_from = at
    elif story is not None:
        # A workflow's file has no row that could say how far they came: the step itself is called once more.
        is_step = means == "hand-over" and asked.get("about") == "workflow"
        _answered_story(story, "again" if is_step else means)
    if means in _MENDED:
        run.checks = {code: check for code, check in run.checks.items() if check.passed and not check.is_disturbed}
        run.last_check = None


def _answered_story(story: StoryRecord, means: str) -> None:
    step = story.steps[-1] if story.steps else None
    if means in ("skip", "hand-over") and step and step.open:
        step.closed = True
    if means == "skip":
        story.skipped = True
    elif means == "drop" and step:
        step.closed = True
    elif means == "hand-over":
        story.passed = []
        if step and step.last:
            step.last.handed_over = True
    elif means == "more-rounds":
        story.counted_from = story.round + 1
    elif means == "more-fixes":
        story.fixes, story.counted_from = 0, story.round + 1
    elif means in ("again", "extend") and step:
        step.extended += means == "extend"
        _asked_more(step)
    elif means == "otherwise" and step and step.last and step.last.ended:
        step.last.ended = {**step.last.ended, **(step.last.ended.get("otherwise") or {})}


def _asked_more(step: StepRecord) -> None:
    """What a call asked besides is asked before the next one is paid."""
    ended = step.last.ended if step.last else None
    more = list(ended.get("more", ())) if ended else []
    if step.last and ended and more:
        step.last.ended = {**ended, "question": more[0], "more": more[1:]}
    else:
        step.again = True
        step.forgiven = len(step.calls)
