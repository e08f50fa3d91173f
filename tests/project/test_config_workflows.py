"""[workflows.NAME] and [steps.NAME]: what is read, what is refused with its line, and prompts in files."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError, Location, Severity
from bmad_autopilot.core.step_output import StepOutput
from bmad_autopilot.project.config import ROLES, Config, CustomStep, CustomWorkflow
from bmad_autopilot.project.config_reader import config_from_bytes, read_config
from bmad_autopilot.project.config_schema import STEP_STATUSES, STEPS
from bmad_autopilot.project.config_tables import MAX_PROMPT
from bmad_autopilot.workflows.selection import get_workflow
from bmad_autopilot.workflows.workflow import workflow_from_json, workflow_to_json
from tests.project.trees import write

OWN = '[steps.mine]\nprompt = "Look at {story}."\n'


def from_base(text: str, **files: bytes) -> Config:
    """As from a commit: no file lies anywhere."""

    def read(path: str) -> bytes:
        if path not in files:
            raise FileError("no such file", location=Location(path))
        return files[path]

    return config_from_bytes(text.encode(), "main:bmad-autopilot.toml", read)


def refused(text: str, **files: bytes) -> FileError:
    with pytest.raises(FileError) as caught:
        from_base(text, **files)
    return caught.value


def workflow(*steps: str) -> str:
    return f"[workflows.own]\nsteps = {json.dumps(steps)}\n"


def test_every_key_is_read() -> None:
    found = from_base(
        'workflow = "own"\n' + workflow("dev", "mine", "judge") + '[steps.mine]\nrole = "sm"\nskill = "spec"\n'
        'prompt = "p"\nowes = "story"\nbefore = "in-progress"\nafter = "review"\nclean = true\n'
        '[steps.judge]\nprompt = "j"\nowes = "verdict"\n'
    )
    assert (found.path, found.workflow, found.diagnostics) == ("main:bmad-autopilot.toml", "own", ())
    assert found.workflows == {"own": CustomWorkflow(("dev", "mine", "judge"))}
    assert found.steps == {
        "mine": CustomStep("sm", "spec", "p", None, "story", "in-progress", "review", True),
        "judge": CustomStep(prompt="j", owes="verdict"),
    }


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('workflow = "own"\n', 1, '"auto", "lean", "full", "build"'),
        ('workflow = "ovn"\n' + workflow("dev"), 1, "did you mean `own`?"),
        (workflow("dev", "code-reviev"), 2, "did you mean `code-review`?"),
        (workflow("dev", "zzz"), 2, "describe it: [steps.zzz]"),
        (workflow("dev", "fix"), 2, "unknown step"),
        (workflow("dev", "retrospective"), 2, "unknown step"),
        (workflow("dev", "mine", "dev") + OWN, 2, "each step once"),
        (workflow("create-story", "code-review"), 2, 'add "dev"'),
        (workflow("mine") + OWN, 2, "no step that writes code"),
        (workflow("dev", "code-review", "mine") + OWN, 2, '"code-review" as the last one'),
        (
            workflow("dev", "j", "code-review") + '[steps.j]\nprompt = "x"\nowes = "verdict"\n',
            2,
            '"j" as the last',
        ),
        (workflow(), 2, "1 to 20 steps"),
        ("\n[workflows.own]\n", 2, "1 to 20 steps"),
        (workflow(*[f"s{n}" for n in range(21)]), 2, "1 to 20 steps"),
        ('[workflows.lean]\nsteps = ["dev"]\n', 1, "[workflows.my-lean]"),
        ('[workflows.auto]\nsteps = ["dev"]\n', 1, "a workflow that is known already"),
        ("[workflows.own]\nsteps = 3\n", 2, "list of texts"),
        ('[workflows.own]\nstps = ["dev"]\n', 2, "`workflows.own.steps`"),
        ('[steps.dev]\nprompt = "x"\n', 1, "[steps.my-dev]"),
        ('[steps.fix]\nprompt = "x"\n', 1, "a step that is known already"),
        ('[steps."a/b"]\nprompt = "x"\n', 1, "cannot be used"),
        ("\n[steps.mine]\n", 2, "needs a `skill` or a `prompt`"),
        ('[steps.mine]\nprompt = "x"\nprompt_file = "y"\n', 3, "one of them"),
        ('[steps.mine]\nprompt = "x"\nrole = "boss"\n', 3, '"sm", "dev", "revisor", "qa"'),
        ('[steps.mine]\nprompt = "x"\nowes = "money"\n', 3, '"story", "code", "revision", "verdict", "nothing"'),
        ('[steps.mine]\nprompt = "x"\nafter = "done"\n', 3, '"ready-for-dev", "in-progress", "review"'),
        ('[steps.mine]\nprompt = "x"\nowes = "verdict"\nafter = "review"\n', 4, "the verdict sets the status"),
        ('[steps.mine]\nskill = "bmad-code-review"\n', 2, '"code-review"'),
        ('[steps.mine]\nskill = "/x"\n', 2, "no skill's name"),
        ('[steps.mine]\nskill = "a;b"\n', 2, "no skill's name"),
        ('[steps.mine]\nskill = "../x"\n', 2, "no skill's name"),
        ('[steps.mine]\nprompt = "Look at {stroy}."\n', 2, "did you mean `{story}`?"),
        ('[steps.mine]\nprompt = "Look at {story_key}."\n', 2, "did you mean `{story}`?"),
        ('[steps.mine]\nprompt = "--help"\n', 2, "begins like an option"),
        ('[steps.mine]\nprompt_file = "nowhere.md"\n', 2, "no such file"),
        ('[steps.mine]\nprompt_file = "/etc/passwd"\n', 2, "outside the project"),
        ('[steps.mine]\nprompt_file = "~/x"\n', 2, "outside the project"),
        ('[steps.mine]\nprompt_file = "a/../../x"\n', 2, "outside the project"),
        ('[steps.mine]\nprompt_file = "a\\\\b"\n', 2, "outside the project"),
        ('[steps.mine]\nprompt_file = "a\\u001b[2J"\n', 2, "outside the project"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    error = refused(text)
    assert words in str(error)
    assert error.location == ("main:bmad-autopilot.toml", line, None)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "holds no prompt"),
        (b" \n", "holds no prompt"),
        (b"x" * (MAX_PROMPT + 1), "1 to 20000 characters"),
        (b"\xff\xfe", "UTF-8"),
        (b"a\0b", "NUL"),
        (b"-x", "begins like an option"),
        (b"{epics}", "did you mean `{epic}`?"),
    ],
)
def test_a_prompts_file_is_looked_into(data: bytes, words: str) -> None:
    error = refused('[steps.mine]\n\nprompt_file = "p.md"\n', **{"p.md": data})
    assert words in str(error)
    assert error.location == ("main:bmad-autopilot.toml", 3, None)


def test_other_braces_stay() -> None:
    text = "Call f(${x}, {{y}}, {name})."
    assert from_base(f'[steps.mine]\nprompt = "{text}"\n').steps["mine"].prompt == text


def test_a_workflow_without_a_review_is_legal_and_said() -> None:
    found = from_base(workflow("create-story", "dev"))
    (note,) = found.diagnostics
    assert (note.severity, note.code, note.location.line) == (Severity.NOTE, "no-review", 2)
    assert from_base(workflow("dev", "code-review")).diagnostics == ()


# Files in the project


def test_a_prompts_file_is_read_from_beside_the_settings(tmp_path: Path) -> None:
    path = write(tmp_path, "bmad-autopilot.toml", '[steps.mine]\nprompt_file = "prompts/mine.md"\n')
    write(tmp_path, "prompts/mine.md", "Look at {story}.\n")
    assert read_config(str(path)).steps["mine"] == CustomStep(
        prompt="Look at {story}.\n", prompt_file="prompts/mine.md"
    )


def test_a_link_may_not_lead_out_of_the_project(tmp_path: Path) -> None:
    write(tmp_path, "outside.md", "secret")
    path = write(tmp_path / "project", "bmad-autopilot.toml", '[steps.mine]\nprompt_file = "p.md"\n')
    (tmp_path / "project" / "p.md").symlink_to("../outside.md")
    with pytest.raises(FileError, match="leads out of the project"):
        read_config(str(path))


def test_a_fifo_does_not_hold_us_up(tmp_path: Path) -> None:
    path = write(tmp_path, "bmad-autopilot.toml", '[steps.mine]\nprompt_file = "p.md"\n')
    os.mkfifo(tmp_path / "p.md")
    with pytest.raises(FileError, match="cannot be read"):
        read_config(str(path))


def test_settings_that_are_too_large_are_refused() -> None:
    with pytest.raises(FileError, match="too large"):
        from_base("#" * 5_000_000)


# Whatever is written

names = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True).filter(
    lambda name: name not in (*STEPS, "fix", "retrospective")
)
words = st.text(st.characters(codec="utf-8", exclude_categories=["C"], exclude_characters="{}-"), max_size=20)
own_steps = st.fixed_dictionaries(
    {"prompt": words.map(lambda text: f"Do {text}"), "owes": st.sampled_from([*StepOutput])},
    optional={
        "role": st.sampled_from(ROLES),
        "skill": st.sampled_from(["spec", "code-review"]),
        "before": st.sampled_from(STEP_STATUSES),
        "clean": st.booleans(),
    },
)


@given(st.dictionaries(names, own_steps, max_size=4), st.data())
def test_what_is_written_is_what_is_run(own: dict[str, dict[str, object]], data: st.DataObject) -> None:
    owed = {name: owes for name, (_, owes) in STEPS.items()} | {name: table["owes"] for name, table in own.items()}
    plain = [name for name, owes in owed.items() if owes != StepOutput.VERDICT and name != "dev"]
    last = data.draw(
        st.sampled_from([name for name, owes in owed.items() if owes == StepOutput.VERDICT]) | st.none()
    )
    chosen = [
        "dev",
        *data.draw(st.lists(st.sampled_from(plain), unique=True, max_size=8)),
        *([last] if last else []),
    ]
    tables = [f"[workflows.w]\nsteps = {json.dumps(chosen)}"]
    for name, table in own.items():
        values = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items())
        tables.append("\n".join([f"[steps.{name}]", *values]))
    found = get_workflow(from_base("\n".join(tables)), "w")
    assert [step.name for step in found.steps] == chosen
    for step in found.steps:
        if step.name in own:
            assert (step.prompt, step.owes) == (own[step.name]["prompt"], own[step.name]["owes"])
    assert workflow_from_json(json.loads(json.dumps(workflow_to_json(found)))) == found


values = st.recursive(
    st.booleans() | st.integers(-5, 5) | st.text(max_size=8) | st.sampled_from(["dev", "mine", "code", "verdict"]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)
lines = st.one_of(
    st.sampled_from(
        ["[steps.mine]", "[workflows.own]", "[answers]", "[gates]", "[steps]", "[workflows]", "[[steps.mine]]"]
    ),
    st.builds(
        lambda key, value: f"{key} = {json.dumps(value)}",
        st.sampled_from(
            [
                "steps",
                "prompt",
                "prompt_file",
                "owes",
                "role",
                "skill",
                "after",
                "clean",
                "workflow",
                "all",
                "allow",
            ]
        ),
        values,
    ),
)


@given(st.lists(lines, max_size=8).map("\n".join), st.binary(max_size=30))
def test_any_settings_are_read_or_refused(text: str, prompt: bytes) -> None:
    place: Location | None = Location("read")
    try:
        found = config_from_bytes(text.encode(), "any.toml", lambda path: prompt)
        for name in found.workflows:
            assert get_workflow(found, name).steps
    except FileError as error:
        place = error.location
    assert place is not None
    assert place.file in ("read", "any.toml")
