"""The status line of a story file: every form met in real projects, and the token that may be replaced."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.status_line import find_any_status
from bmad_autopilot.board.story_file import read_story
from bmad_autopilot.board.story_status import HEAD_BYTES, find_status, read_story_status
from bmad_autopilot.core.errors import FileError
from bmad_autopilot.core.statuses import STORY_LIFECYCLE
from bmad_autopilot.io.files import TextFile

FORMS = [
    # text, raw, meaning, line
    ("# Story 1.1: T\n\nStatus: done\n", "done", "done", 3),
    ("# T\n\nStatus:done\n", "done", "done", 3),
    ("# T\n\nSTATUS : Done\n", "Done", "done", 3),
    ("# T\n\n## Status: review\n", "review", "review", 3),
    ("# T\n\n## Status\n\nreview\n", "review", "review", 5),
    ("# T\n\n## Status\nDraft\n", "Draft", "unknown", 4),
    ("# T\n\n## Status:\n\n- **Done**\n", "Done", "done", 5),
    ("# T\n\n## Status\n\n**Status:** Done\n", "Done", "done", 5),
    ("# T\n\n**Status:** ready-for-dev\n", "ready-for-dev", "ready-for-dev", 3),
    ("# T\n\n**Status**: in-progress\n", "in-progress", "in-progress", 3),
    ("# T\n\n**Status: done**\n", "done", "done", 3),
    ("# T\n\n- **Status**: Ready for Review\n", "Ready for Review", "review", 3),
    ("# T\n\n* Status: backlog\n", "backlog", "backlog", 3),
    ("# T\n\n> **Status:** in-progress\n", "in-progress", "in-progress", 3),
    ("# T\n\n**Story Status:** done\n", "done", "done", 3),
    ("---\nstatus: done\n---\n# T\n", "done", "done", 2),
    ("---\ntitle: x\nstatus: 'in-review'  # by hand\n---\n# T\n", "in-review", "review", 3),
    ('---\n"status": "done"\n---\n', "done", "done", 2),
    ("---\nbaseline_commit: abc\n---\n\n# T\n\nStatus: review\n", "review", "review", 7),
    ("# T\n\n| Field | Value |\n|---|---|\n| **Status** | done |\n", "done", "done", 5),
    ("# T\n\n**Epic:** 1 | **Status:** review | **Points:** 3\n", "review", "review", 3),
    ("# T\n\nStatus: `in_progress`\n", "in_progress", "in-progress", 3),
    ("# T\n\nStatus: InProgress\n", "InProgress", "in-progress", 3),
    ("# T\n\nStatus: review → done\n", "review → done", "done", 3),
    ("# T\n\nStatus: done -> in-progress\n", "done -> in-progress", "in-progress", 3),
    ("# T\n\nStatus: ready-for-dev | **effort**: 0.5 day\n", "ready-for-dev", "ready-for-dev", 3),
    ("# T\n\nStatus: ✅ APPROVED — done\n", "✅ APPROVED — done", "done", 3),
    ("# T\n\n**Status:** ✅ **DONE**\n", "✅ **DONE**", "done", 3),
    ("# T\n\nStatus: done (2025-11-04, by me)\n", "done", "done", 3),
    ("# T\n\nStatus: done 2025-11-04\n", "done 2025-11-04", "done", 3),
    ("# T\n\nStatus: done <!-- checked -->\n", "done", "done", 3),
    ("# T\n\nStatus: done ✅（加强）\n", "done ✅", "done", 3),
    ("# T\n\nStatus: complete\n", "complete", "done", 3),
    ("# T\n\nStatus: dev-complete\n", "dev-complete", "unknown", 3),
    ("# T\n\nStatus: blocked - waits for DNS\n", "blocked - waits for DNS", "parked", 3),
    ("# T\n\nStatus: not done — blocked\n", "not done — blocked", "parked", 3),
    ("# T\n\nStatut : done\n", "done", "done", 3),
    ("# T\n\n状态：done\n", "done", "done", 3),
    ("# T\r\n\r\nStatus: done\r\n", "done", "done", 3),
    ("# T\r\rStatus: done\r", "done", "done", 3),
    ("Status: done", "done", "done", 1),
    ("```\nStatus: no\n```\n<!--\nStatus: no\n-->\nStatus: done\n", "done", "done", 7),
    ("<!-- Valid statuses: backlog | done -->\nStatus: review\n", "review", "review", 2),
]


@pytest.mark.parametrize(("text", "raw", "meaning", "line"), FORMS)
def test_every_form_is_found_with_its_place(text, raw, meaning, line):
    status = find_status(text)

    assert status is not None
    assert (status.raw, status.meaning, status.line) == (raw, meaning, line)
    assert text[status.start : status.end] == raw


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "# T\n\nno status here\n",
            "Status:\n",
            "**Status:**\n",
            "## Status\n\n## Story\n",
            "Status update on it\n",
        ),
        *(
            "# T\n" + "\n" * 15 + "Status: done\n",
            "| Status | Owner |\n|---|---|\n| x | y |\n",
            "status_code: 200\n",
        ),
        *("---\nstatus:\n---\n", "---\nother:\n  status: done\n---\n", "```\nStatus: done\n", "Status: —\n"),
    ],
)
def test_what_is_no_status_is_not_taken_for_one(text):
    assert find_status(text) is None


def test_approved_for_development_is_not_done():
    """BMAD 4 alone writes a heading and a word; there `Approved` comes before the work."""
    found = find_status("# Story 1.1\n\n## Status\n\nApproved\n")
    assert found is not None
    assert found.meaning == "ready-for-dev"
    found = find_status("# Story 1.1\n\nStatus: approved\n")
    assert found is not None
    assert found.meaning == "done"


@pytest.mark.parametrize(("text", "raw", "meaning", "line"), FORMS)
@pytest.mark.parametrize("new", ["review", "done"])
def test_replacing_the_token_changes_the_status_and_nothing_else(text, raw, meaning, line, new):
    status = find_status(text)
    assert status is not None
    changed = text[: status.start] + new + text[status.end :]

    again = find_status(changed)
    assert again is not None
    assert (again.raw, again.meaning, again.line) == (new, new, line)
    assert (changed[: again.start], changed[again.end :]) == (text[: status.start], text[status.end :])


LINES = st.sampled_from(
    [
        *(
            "# Story 1.1: T",
            "",
            "Status: done",
            "**Status:** review → done",
            "## Status",
            "Approved",
            "```",
            "<!--",
            "-->",
        ),
        *(
            "status: ready-for-dev",
            "---",
            "| Status | x |",
            "|---|---|",
            "> **Status:** ✅ **DONE**",
            "text",
            "- a: b",
        ),
        *("x" * 300, "é" * 200, "Status: " + "*" * 40, "Status: `a` | b", "## Status:", "_", "**Status: done**"),
    ]
) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


@given(st.lists(LINES, max_size=60), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_the_short_reading_agrees_with_the_whole_one(tmp_path_factory, lines, end, bom):
    path = tmp_path_factory.getbasetemp() / "agree.md"
    raw = (b"\xef\xbb\xbf" if bom else b"") + end.join(lines).encode()
    path.write_bytes(raw)
    text = TextFile(str(path), raw)

    status = read_story(text).status

    assert read_story_status(str(path)) == status
    if status is not None:
        assert text.text[status.start : status.end] == status.raw
        assert (
            text.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[status.line - 1].find(status.raw) >= 0
        )


USUAL = "# Story 1.2: T\n\nStatus: done"
PLAIN_LINES = st.sampled_from(
    [
        *(USUAL, USUAL, USUAL, "---\na: b\n---", "---\nstatus: review\n---", "---\na: b\n...", "---\na: b\n--- "),
        *(
            "# Story Status: done\n\nStatus: review",
            "# Story 1 | Status: review\n\nStatus: done",
            "",
            "",
            "---",
            "...",
        ),
        *("Status: backlog", "\r", "```", "<!--", "## Status", "# Story 1.2: T\n\nStatus: done (x)"),
    ]
)


@pytest.mark.parametrize(
    ("text", "raw", "line"),
    [
        (f"{USUAL}\n", "done", 3),
        (f"---\na: b\n---\n\n{USUAL}\n", "done", 7),
        ("# Story 1 | Status: review\n\nStatus: done\n", "review", 1),
        ("# Story Status: review\n\nStatus: done\n", "review", 1),
        (f"---\na: b\n...\nStatus: review\n---\n{USUAL}\n", "review", 4),
        ("# Story 1.2: a\rStatus: review\n\nStatus: done\n", "review", 2),
    ],
)
def test_the_quick_look_is_not_taken_in(text, raw, line):
    found = find_status(text)

    assert found == find_any_status(text)
    assert found is not None
    assert (found.raw, found.line) == (raw, line)


@given(st.lists(PLAIN_LINES, max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_the_quick_look_at_the_usual_form_finds_what_the_close_look_finds(lines, end):
    text = "\n".join(lines).replace("\n", end)
    assert find_status(text) == find_any_status(text)


@given(st.lists(LINES, max_size=25), st.sampled_from(STORY_LIFECYCLE), st.sampled_from(["\n", "\r\n"]))
def test_a_spliced_status_is_read_back(lines, new, end):
    text = end.join(lines)
    status = find_status(text)
    if status is None:
        return
    again = find_status(text[: status.start] + new + text[status.end :])

    assert again is not None
    assert (again.raw, again.line, again.start) == (new, status.line, status.start)


@pytest.mark.parametrize(
    "front", ["---\n" + "note: long\n" * 1000 + "---\n", "---\n" + "a: b\n" * 3000, "# T\n\n" + "é" * 5000 + "\n"]
)
def test_a_head_that_does_not_settle_it_is_read_further(tmp_path: Path, front: str):
    path = tmp_path / "long.md"
    path.write_text(front + "Status: review\n" + "text\n" * 5000)

    assert len(path.read_bytes()) > 2 * HEAD_BYTES
    assert read_story_status(str(path)) == read_story(TextFile(str(path), path.read_bytes())).status


def test_the_rest_of_a_large_file_is_not_read(tmp_path: Path):
    path = tmp_path / "large.md"
    path.write_bytes(b"# Story 1.1: T\n\nStatus: done\n" + b"text\n" * 2000 + b"\xff")

    status = read_story_status(str(path))

    assert status is not None
    assert status.meaning == "done"


@pytest.mark.parametrize("content", [b"Status: \xff\n", b"Status: a\0\n", b"\xff\xfeS\0"])
def test_a_file_that_is_no_text_is_refused_with_its_place(tmp_path: Path, content: bytes):
    path = tmp_path / "bad.md"
    path.write_bytes(content)

    with pytest.raises(FileError) as caught:
        read_story_status(str(path))
    assert caught.value.location is not None
    assert caught.value.location.line == 1


def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path):
    with pytest.raises(FileError, match="directory"):
        read_story_status(str(tmp_path))


@pytest.mark.parametrize("filler", [" ", "*", "_", "`", "x ", "→", "- ", "| ", "**"])
def test_a_line_of_any_length_is_read_in_linear_time(filler):
    started = time.perf_counter()
    find_status("Status: done" + filler * 100_000 + "x\n")
    find_status(filler * 100_000 + "Status: done\n")
    assert time.perf_counter() - started < 10
