"""What our commits say: one for each story that is done, one for each round a review sends back."""

from ..core.records import RunRecord, StepRecord, StoryRecord
from .doors import CallId, CommitOrder
from .looking import Look, call_id
from .observing import RETRO
from .position import tidy_label


def story_commit(run: RunRecord, look: Look) -> CommitOrder:
    story = _story(look)
    if run.delivery.round_of(story.key) is not None:
        epic, _, number = story.key.rpartition(".pr-")
        where = "pull request" if run.delivery.pull else "delivery"
        return _of_story(run, story, "done", f"Mend what was found in the {where} of {epic}, round {number}", "")
    review = str((story.last_ended or {}).get("summary", ""))
    return _of_story(run, story, "done", f"Story {story.key}", review)


def round_commit(run: RunRecord, look: Look) -> CommitOrder:
    story = _story(look)
    summary = str((story.last_ended or {}).get("summary", ""))
    subject = f"Story {story.key}: round {story.round}, changes requested"
    return _of_story(run, story, f"round-{story.round}", subject, summary)


def skip_commit(run: RunRecord, look: Look) -> CommitOrder:
    """Its row and its file alone: what was done for it is set aside."""
    story = _story(look)
    key = f"{run_id(run)}/{story.key}/skipped-{story.steps[-1].number if story.steps else 0}"
    return CommitOrder(key, "skipped", story.key, f"Story {story.key}: skipped", since=story.baseline)


def tidy_commit(run: RunRecord, look: Look) -> CommitOrder:
    """Before a step whose skill demands a clean tree: the row we set, and what an attempt cut short has left."""
    story, label = _story(look), tidy_label(run, look.at)
    order = _of_story(run, story, label, f"Story {story.key}: in progress", "")
    return order._replace(key=f"{run_id(run)}/{label}")


def epic_commit(run: RunRecord, look: Look) -> CommitOrder:
    key = look.epic.key if look.epic else "epic"
    # Of an epic that was opened again by a restart only what came after counts.
    begun = (story.baseline for name, story in reversed(run.stories.items()) if name != key)
    since = next(filter(None, begun), None)
    if run.epic_closed and "epic" not in run.commits:
        return CommitOrder(f"{run_id(run)}/{key}", "epic", "", f"Close {key}", since=since)
    story = run.stories[key]
    return _of_story(run, story, RETRO, f"Retrospective of {key}", "")._replace(since=since)


def _of_story(run: RunRecord, story: StoryRecord, label: str, subject: str, body: str) -> CommitOrder:
    name = _name(story.steps[-1]) if story.steps else story.key
    key, calls = f"{run_id(run)}/{name}", calls_of(story)
    return CommitOrder(key, label, story.key, subject, body, story.baseline, calls, handed_over(story), story.tree)


def _story(look: Look) -> StoryRecord:
    assert look.story is not None
    return look.story


def calls_of(story: StoryRecord) -> tuple[CallId, ...]:
    return tuple(call_id(step, call) for step in story.steps for call in step.calls)


def handed_over(story: StoryRecord) -> tuple[CallId, ...]:
    """The calls after which a person took over: what they left then is the story's work."""
    return tuple(call_id(step, call) for step in story.steps for call in step.calls if call.handed_over)


def head_before(story: StoryRecord) -> str | None:
    """The last commit of ours for it, else where it began: what any later HEAD must still hold."""
    return next(reversed(story.commits.values()), story.baseline)


def _name(step: StepRecord) -> str:
    return f"{step.number:02}-{step.step}/{len(step.calls)}"


def run_id(run: RunRecord) -> str:
    return str(run.head.get("run_id", "run"))
