"""Honest agents that write unusual story files, or rearrange tests and code."""

import re
from collections.abc import Callable

from ..workspace import AgentJob, ScriptedEnding, Workspace
from .habit import CODE_STEPS, HabitKind, StorySubject, at_steps, make_habits
from .honest import honest
from .lying_reviews_and_tests import MONEY_TEST, ROUNDING_TEST
from .story_pages import edit_page, find_story_page, with_line, with_section, with_status

CREATE = "create-story"
_STATUS = re.compile(r"^Status: ([^\n]+)$", re.MULTILINE)


def _rewrite(workspace: Workspace, job: AgentJob, edit: Callable[[str], str]) -> None:
    page = find_story_page(workspace, job)
    if page is not None:
        edit_page(workspace, page, edit)


def _move(workspace: Workspace, job: AgentJob, to: str) -> None:
    page = find_story_page(workspace, job)
    if page is not None and page != to:
        workspace.write(to, workspace.read(page) or b"")
        workspace.remove(page)


@at_steps("dev", otherwise=honest)
def renames_story(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Gives the story file another slug under the same number."""
    done = honest(workspace, job)
    _move(
        workspace, job, f"{job.folder}/{StorySubject(job.story).prefix}-{StorySubject(job.story).slug}-revised.md"
    )
    return done


@at_steps(CREATE, otherwise=honest)
def story_in_subfolder(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Keeps story files in a folder of their own."""
    done = honest(workspace, job)
    _move(workspace, job, f"{job.folder}/stories/{job.story}.md")
    return done


@at_steps("dev", otherwise=honest)
def capital_status(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Writes `Status: Done` where a review is still to come."""
    done = honest(workspace, job)
    _rewrite(workspace, job, lambda text: with_status(text, "Done"))
    return done


@at_steps("dev", otherwise=honest)
def bold_status(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Writes its status in bold, and in other words."""
    done = honest(workspace, job)
    _rewrite(workspace, job, lambda text: _STATUS.sub("**Status:** Ready for Review", text, count=1))
    return done


@at_steps(CREATE, otherwise=honest)
def heading_status(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Writes its status under a heading."""
    done = honest(workspace, job)
    _rewrite(workspace, job, lambda text: _STATUS.sub(r"## Status\n\n\1", text, count=1))
    return done


@at_steps("dev", otherwise=honest)
def forgets_status(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Leaves the story's status as it found it."""
    done = honest(workspace, job)
    _rewrite(workspace, job, lambda text: with_status(text, "ready-for-dev"))
    return done


@at_steps(CREATE, otherwise=honest)
def crlf(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Writes story files with the line ends of Windows."""
    done = honest(workspace, job)
    _rewrite(workspace, job, lambda text: text.replace("\n", "\r\n"))
    return done


@at_steps(CREATE, otherwise=honest)
def byte_order_mark(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Writes story files with a byte order mark."""
    done = honest(workspace, job)
    _rewrite(workspace, job, lambda text: "\ufeff" + text.removeprefix("\ufeff"))
    return done


@at_steps("dev", otherwise=honest)
def front_matter(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Puts the baseline into front matter, as newer versions do."""
    done = honest(workspace, job)
    matter = "---\nbaseline_commit: NO_VCS\n---\n\n"
    _rewrite(workspace, job, lambda text: text if text.startswith("---\n") else matter + text)
    return done


@at_steps(CREATE, otherwise=honest)
def no_boxes(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Writes tasks as a plain list, with nothing to tick."""
    done = honest(workspace, job)
    _rewrite(workspace, job, lambda text: text.replace("- [ ] ", "- "))
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def table_of_files(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Writes its File List as a table."""
    done = honest(workspace, job)
    story = StorySubject(job.story)
    table = f"| File | Change |\n|---|---|\n| `{story.code}` | new |\n| `{story.test}` | new |"
    _rewrite(workspace, job, lambda text: with_section(text, "### File List", table))
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def dotted_files(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Writes `./` before the paths of its File List."""
    done = honest(workspace, job)
    story = StorySubject(job.story)
    files = f"**New:**\n\n* ./{story.code} (new)\n* ./{story.test} (new, 2 tests)"
    _rewrite(workspace, job, lambda text: with_section(text, "### File List", files))
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def short_list(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Leaves files out of its File List."""
    done = honest(workspace, job)
    _rewrite(workspace, job, lambda text: with_section(text, "### File List", f"- {StorySubject(job.story).code}"))
    return done


STORY_FILE_HABITS = make_habits(
    HabitKind.UNTIDY,
    *(renames_story, story_in_subfolder, capital_status, bold_status, heading_status, forgets_status),
    *(crlf, byte_order_mark, front_matter, no_boxes, table_of_files, dotted_files, short_list),
)


# Honest agents that refactor tests and code along the way.


@at_steps(*CODE_STEPS, otherwise=honest)
def reformats(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Formats all of the code anew, tests too."""
    done = honest(workspace, job)
    for path in ("src/ledger/money.py", MONEY_TEST, ROUNDING_TEST):
        text = workspace.read(path)
        if text is not None:
            workspace.write(
                path, text.replace(b'"12.50"', b"'12.50'").replace(b"\n\n\n", b"\n\n").replace(b"(-5)", b"( -5 )")
            )
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def moves_test(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Moves a test file into a folder, with all its cases."""
    done = honest(workspace, job)
    content = workspace.read(ROUNDING_TEST)
    if content is not None:
        workspace.remove(ROUNDING_TEST)
        workspace.write("tests/money/__init__.py", b"")
        workspace.write("tests/money/test_rounding.py", content)
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def splits_test(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Splits a test file in two."""
    done = honest(workspace, job)
    head, found, tail = (workspace.read(MONEY_TEST) or b"").partition(b"\n\nclass SharesTest")
    if found:
        workspace.write(MONEY_TEST, head.replace(b"shares, shown", b"shown"))
        imports = b"import unittest\n\nfrom ledger.money import shares\n"
        workspace.write("tests/test_shares.py", imports + b"\n\nclass SharesTest" + tail)
    return done


@at_steps(*CODE_STEPS, otherwise=honest)
def renames_cases(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Gives test cases better names and one more check."""
    done = honest(workspace, job)
    text = (
        (workspace.read(ROUNDING_TEST) or b"")
        .replace(b"test_down", b"test_rounds_down")
        .replace(b"test_up", b"test_rounds_up")
    )
    more = b"        self.assertEqual(rounded(13), 15)\n        self.assertEqual(rounded(14), 15)\n"
    once = b"        self.assertEqual(rounded(13), 15)\n"
    workspace.write(ROUNDING_TEST, text if more in text else text.replace(once, more))
    return done


@at_steps("create-story", *CODE_STEPS, otherwise=honest)
def removes_asked_test(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
    """Removes a test file because its story asks for that."""
    done = honest(workspace, job)
    page = find_story_page(workspace, job)
    if job.step == "create-story" and page is not None:
        task = f"- [ ] Remove the obsolete test file `{ROUNDING_TEST}`"
        edit_page(workspace, page, lambda text: with_line(text, "## Tasks / Subtasks", task))
    elif job.step == "dev" and workspace.read(ROUNDING_TEST) is not None:
        workspace.remove(ROUNDING_TEST)
    return done


TEST_FILE_HABITS = make_habits(
    HabitKind.UNTIDY, reformats, moves_test, splits_test, renames_cases, removes_asked_test
)
