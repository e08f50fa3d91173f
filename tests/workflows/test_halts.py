"""Every place where a skill's text stops, asks or waits is found, with its place."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scripts.halts import MAX_SENTENCE, Halt, find_halts, normalise


def found(text: str, file: str = "SKILL.md") -> list[Halt]:
    return find_halts({file: text})


@pytest.mark.parametrize(
    "sentence",
    [
        "**HALT** — I am waiting for a number.",
        "<ask>Shall it be blue</ask>",
        '<action if="no key">HALT: "No key"</action>',
        "<action>WAIT for {user_name} to speak</action>",
        "Ask the user which one.",
        "Then ask for the range",
        "### CHECKPOINT",
        "Reply with only the number.",
        "Get the user's call.",
        "Offer to split it by folder.",
        "Present all three options:",
        "[a] Again, [c] Continue",
        "Go on (y/n)",
        "Which of these is it?",
        "**What is next?**",
        "Choose option [1] or [2]:",
        "Do not proceed until it is said.",
        "End with status `blocked`.",
        "Confirm it with somebody.",
        "If in doubt, abort.",
        "Pause here.",
        "Never continue without a yes from the human.",
        "This needs their approval first.",
        "Please provide the path",
        "STOP and report.",
        "Escalate to the owner.",
        "Seek clarification.",
        "Let me know.",
        "Do not HALT here.",  # a negation is found too: the data say that it is no stop
        "HALT conditions are listed below.",
    ],
)
def test_each_way_to_stop_is_found(sentence: str) -> None:
    (halt,) = found(f"Some words.\n\n{sentence}\n\nMore words.\n")
    assert (halt.line, halt.sentence) == (3, sentence)


@pytest.mark.parametrize(
    "sentence", ["Write the task down.", "The basket is full.", "- [x] Done", "Non-blocking."]
)
def test_plain_prose_is_left_out(sentence: str) -> None:
    assert found(sentence) == []


def test_a_wrapped_sentence_is_one_and_stands_alone() -> None:
    (halt,) = found("First one. If it is\nmissing, HALT and\nsay so. Last one.\n")
    assert (halt.line, halt.sentence) == (1, "If it is missing, HALT and say so.")


def test_a_bare_halt_says_where_it_stands() -> None:
    text = """\
<step n="1" goal="Find the story">
  <check if="no board">
    <check if="user says no">
      <action>HALT</action>
    </check>
    <action>HALT</action>
  </check>
  <action>HALT</action>
</step>
## Later
HALT
"""
    assert [(halt.line, halt.where) for halt in found(text) if "says no" not in halt.sentence] == [
        (4, 'Find the story / if="no board" / if="user says no"'),
        (6, 'Find the story / if="no board"'),
        (8, "Find the story"),
        (11, "Later"),
    ]


def test_a_comment_in_a_settings_file_is_no_heading() -> None:
    (halt,) = found("# One\nkey = 1\n\nHALT\n", file="customize.toml")
    assert halt.where == ""


def test_the_id_is_that_of_the_words() -> None:
    one = found("## Menu\n\n**HALT** — wait for `{x}`.\n")[0]
    same = found("Before.\n\n### *Menu*\n\n- halt, wait\n  for {x}\n", file="other.md")[0]
    elsewhere = found("## Other\n\n**HALT** — wait for `{x}`.\n")[0]
    assert one.id == same.id
    assert one.id != elsewhere.id
    assert len(one.id) == 12


def test_the_same_words_count_once_a_file() -> None:
    twice = "HALT now.\n\nHALT now.\n"
    assert [(halt.file, halt.line) for halt in find_halts({"a.md": twice, "b.md": twice})] == [
        ("a.md", 1),
        ("b.md", 1),
    ]


def test_patterns_see_file_place_and_sentence() -> None:
    (halt,) = found('## 5. Handle `patch`\n\n**HALT** — "Now"!\n', file="steps/Step-04.md")
    assert halt.words == "steps/step-04.md 5. handle patch :: halt now"


LINES = st.lists(st.text(st.characters(exclude_characters="\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"), max_size=60))


@given(LINES, LINES, st.sampled_from(["a.md", "a.xml", "a.toml"]))
@example(['<step goal="', "<check if=", "</check>", "```"], [">"], "a.xml")
def test_a_halt_is_found_in_any_company(before: list[str], after: list[str], file: str) -> None:
    text = "\n".join([*before, "", "HALT and ask somebody", "", *after])
    halts = [halt for halt in find_halts({file: text}) if halt.sentence == "HALT and ask somebody"]
    assert len(before) + 2 in [halt.line for halt in halts]


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    for halt in found(text):
        assert 1 <= halt.line <= len(text.splitlines())
        assert halt.sentence
        assert normalise(normalise(halt.sentence)) == normalise(halt.sentence)


@pytest.mark.parametrize(
    "part", ["<check ", "? ", "?* ", '<step goal="', "HALT ", "present a b ", "!``` ", "do not "]
)
def test_a_huge_line_is_read_in_time_and_cut(part: str) -> None:
    for halt in found(part * 100_000):
        assert len(halt.sentence) <= MAX_SENTENCE
