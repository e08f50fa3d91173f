"""What an agent is told for a call, with everything that is known of its story."""

from ..workflows.prompts import prompt_for
from ..workflows.step_context import Files, Halfway, StepContext
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
    halfway: Halfway | None = None,
) -> str:
    project = job.project
    files = Files(
        project.folders.implementation, books.board, story=books.story, baseline=baseline, scratch=job.scratch
    )
    return prompt_for(
        StepContext(
            job.step,
            job.story,
            files,
            invocation=job.skill.invocation if job.skill else None,
            version=project.bmad.version or "",
            language=project.language,
            epic=epic,
            spec=books.spec if job.step.skill == "build-auto" else None,
            review=review,
            checks=checks,
            failure=failure,
            halfway=halfway,
            extra=project.config.answers_of(job.step.skill),
        )
    )
