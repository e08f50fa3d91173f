"""Honest agents whose story files look different."""

import re
from collections.abc import Callable

from ..desk import Desk, Ending, Job
from .habit import WORK, Kind, at, collect
from .honest import honest
from .pages import change, page_path, with_section, with_status
from .stories import Story

CREATE = "create-story"
_STATUS = re.compile(r"^Status: ([^\n]+)$", re.MULTILINE)


def _rewrite(desk: Desk, job: Job, edit: Callable[[str], str]) -> None:
    page = page_path(desk, job)
    if page is not None:
        change(desk, page, edit)


def _move(desk: Desk, job: Job, to: str) -> None:
    page = page_path(desk, job)
    if page is not None and page != to:
        desk.write(to, desk.read(page) or b"")
        desk.remove(page)


@at("dev", otherwise=honest)
def renames_story(desk: Desk, job: Job) -> Ending:
    """Gives the story file another slug under the same number."""
    done = honest(desk, job)
    _move(desk, job, f"{job.folder}/{Story(job.story).prefix}-{Story(job.story).slug}-revised.md")
    return done


@at(CREATE, otherwise=honest)
def story_in_subfolder(desk: Desk, job: Job) -> Ending:
    """Keeps story files in a folder of their own."""
    done = honest(desk, job)
    _move(desk, job, f"{job.folder}/stories/{job.story}.md")
    return done


@at("dev", otherwise=honest)
def capital_status(desk: Desk, job: Job) -> Ending:
    """Writes `Status: Done` where a review is still to come."""
    done = honest(desk, job)
    _rewrite(desk, job, lambda text: with_status(text, "Done"))
    return done


@at("dev", otherwise=honest)
def bold_status(desk: Desk, job: Job) -> Ending:
    """Writes its status in bold, and in other words."""
    done = honest(desk, job)
    _rewrite(desk, job, lambda text: _STATUS.sub("**Status:** Ready for Review", text, count=1))
    return done


@at(CREATE, otherwise=honest)
def heading_status(desk: Desk, job: Job) -> Ending:
    """Writes its status under a heading."""
    done = honest(desk, job)
    _rewrite(desk, job, lambda text: _STATUS.sub(r"## Status\n\n\1", text, count=1))
    return done


@at("dev", otherwise=honest)
def forgets_status(desk: Desk, job: Job) -> Ending:
    """Leaves the story's status as it found it."""
    done = honest(desk, job)
    _rewrite(desk, job, lambda text: with_status(text, "ready-for-dev"))
    return done


@at(CREATE, otherwise=honest)
def crlf(desk: Desk, job: Job) -> Ending:
    """Writes story files with the line ends of Windows."""
    done = honest(desk, job)
    _rewrite(desk, job, lambda text: text.replace("\n", "\r\n"))
    return done


@at(CREATE, otherwise=honest)
def byte_order_mark(desk: Desk, job: Job) -> Ending:
    """Writes story files with a byte order mark."""
    done = honest(desk, job)
    _rewrite(desk, job, lambda text: "\ufeff" + text.removeprefix("\ufeff"))
    return done


@at("dev", otherwise=honest)
def front_matter(desk: Desk, job: Job) -> Ending:
    """Puts the baseline into front matter, as newer versions do."""
    done = honest(desk, job)
    matter = "---\nbaseline_commit: NO_VCS\n---\n\n"
    _rewrite(desk, job, lambda text: text if text.startswith("---\n") else matter + text)
    return done


@at(CREATE, otherwise=honest)
def no_boxes(desk: Desk, job: Job) -> Ending:
    """Writes tasks as a plain list, with nothing to tick."""
    done = honest(desk, job)
    _rewrite(desk, job, lambda text: text.replace("- [ ] ", "- "))
    return done


@at(*WORK, otherwise=honest)
def table_of_files(desk: Desk, job: Job) -> Ending:
    """Writes its File List as a table."""
    done = honest(desk, job)
    story = Story(job.story)
    table = f"| File | Change |\n|---|---|\n| `{story.code}` | new |\n| `{story.test}` | new |"
    _rewrite(desk, job, lambda text: with_section(text, "### File List", table))
    return done


@at(*WORK, otherwise=honest)
def dotted_files(desk: Desk, job: Job) -> Ending:
    """Writes `./` before the paths of its File List."""
    done = honest(desk, job)
    story = Story(job.story)
    files = f"**New:**\n\n* ./{story.code} (new)\n* ./{story.test} (new, 2 tests)"
    _rewrite(desk, job, lambda text: with_section(text, "### File List", files))
    return done


@at(*WORK, otherwise=honest)
def short_list(desk: Desk, job: Job) -> Ending:
    """Leaves files out of its File List."""
    done = honest(desk, job)
    _rewrite(desk, job, lambda text: with_section(text, "### File List", f"- {Story(job.story).code}"))
    return done


PAGES = collect(
    Kind.UNTIDY,
    *(renames_story, story_in_subfolder, capital_status, bold_status, heading_status, forgets_status),
    *(crlf, byte_order_mark, front_matter, no_boxes, table_of_files, dotted_files, short_list),
)
