"""What an agent is told for a call, with everything that is known of its story."""

from ..workflows.pipelines import BUILD
from ..workflows.prompts import prompt_for
from ..workflows.step_context import Files, Halfway, Point, StepContext
from .books import Books
from .calling import Job


def brief(
    job: Job,
    books: Books,
    *,
    baseline: str | None,
    epic: str = "",
    review: str = "",
    checks: str = "",
    failure: str = "",
    cut_short: bool = False,
    halfway: Halfway | None = None,
    points: tuple[Point, ...] = (),
    logs: tuple[Point, ...] = (),
    in_conflict: bool = False,
) -> str:
    project = job.project
    is_build = job.step.skill == BUILD.skill
    # Whoever reviews or mends a build has its spec for a story file.
    story = books.story if is_build else books.story or books.spec
    files = Files(project.folders.implementation, books.board, story, baseline, job.scratch)
    return prompt_for(
        StepContext(
            job.step,
            job.story,
            files,
            invocation=job.skill.invocation if job.skill else None,
            version=project.bmad.version or "",
            language=project.language,
            epic=epic,
            spec=books.spec if is_build else None,
            review=review,
            checks=checks,
            failure=failure,
            cut_short=cut_short,
            halfway=halfway,
            points=points,
            logs=logs,
            in_conflict=in_conflict,
            extra=project.config.answers_of(job.step.skill),
        )
    )
