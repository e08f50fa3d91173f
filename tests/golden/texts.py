"""The texts that are made without a project: help, shipped files, prompts, standing answers, questions, tables."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

import click

from bmad_autopilot.cli import bmad
from bmad_autopilot.core.stop_causes import CAUSE_MENUS
from bmad_autopilot.engine import question_texts
from bmad_autopilot.engine.delivery import questions as delivery_questions
from bmad_autopilot.engine.flows import questions as flow_questions
from bmad_autopilot.workflows.agent_call import AnsweredQuestion, PausedAttempt, PromptContext, PromptPoint
from bmad_autopilot.workflows.flows import built_in_flows
from bmad_autopilot.workflows.prompts import (
    FlowHandoff,
    StepHandoff,
    build_prompt,
    build_workflow_prompt,
    flow_paragraphs,
)
from bmad_autopilot.workflows.selection import TASK_WORKFLOW
from bmad_autopilot.workflows.standing_answers.lookup import SKILL_ANSWERS, answers_for
from bmad_autopilot.workflows.standing_answers.planning import PLANNING
from bmad_autopilot.workflows.workflow import FIX, FIX_ISSUES, PIPELINES, RETROSPECTIVE, FlowPart, Step
from scripts import cause_tables, loop_diagram
from tests.golden.capture import Section
from tests.support.prompt_inputs import PromptInput, prompt_input

VERSIONS = ("6.0.4", "6.10.0", "6.12.0")
PLACES = PromptContext("out", "out/sprint-status.yaml", "out/1-2-x.md", "scratch")


def commands(command: click.Command = bmad, parent: click.Context | None = None) -> Iterator[click.Context]:
    """Every verb and sub-verb, hidden ones apart, each with the context that its help is made in."""
    context = click.Context(
        command, info_name="bmad" if parent is None else command.name, parent=parent, terminal_width=80
    )
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, context)


def help_texts() -> Iterator[Section]:
    for context in commands():
        context.command._help_option = None  # click keeps the option of the first context that asked for it
        yield f"$ {context.command_path} --help", context.get_help() + "\n"


def shipped_files() -> Iterator[Section]:
    """Every file of the package that is no program, by its name and digest."""
    lines = [f"{sha256(data).hexdigest()}  {name}" for name, data in _data_files(files("bmad_autopilot"))]
    yield "shipped files", "\n".join(sorted(lines, key=lambda line: line[66:])) + "\n"


def _data_files(folder: Traversable) -> Iterator[tuple[str, bytes]]:
    for one in folder.iterdir():
        if one.is_dir() and one.name != "__pycache__":
            yield from _data_files(one)
        elif one.name.endswith((".json", ".yaml", ".toml", ".md", ".txt", ".sh", ".yml")):
            yield one.name, one.read_bytes()


# Prompts


def prompts() -> Iterator[Section]:
    for name, pipeline in PIPELINES.items():
        for step in (*pipeline.steps, pipeline.fix):
            for version in VERSIONS[1:]:
                yield f"{name}, step {step.name}, BMAD {version}", build_prompt(*_context(step, version))
    for step in (FIX, FIX_ISSUES, RETROSPECTIVE):
        yield f"step {step.name}", build_prompt(*_context(step))
    for step in TASK_WORKFLOW.steps:
        yield f"tasks, step {step.name}", build_prompt(*_context(step))
    for title, context in _histories():
        yield title, build_prompt(*context)


def _context(step: Step, version: str = "6.10.0") -> PromptInput:
    story = "epic-1" if step.name == "retrospective" else "1-2-x"
    invocation = f"/bmad-{step.skill}" if step.skill else None
    context = PLACES._replace(invocation=invocation, version=version)
    return prompt_input(step, story, context, baseline="0123abcd", epic="1")


def _histories() -> Iterator[tuple[str, PromptInput]]:
    """What happened before, in each way that a prompt can tell it."""
    lean = PIPELINES["lean"]
    dev = _context(lean.fix)
    yield "dev, after a review", dev.having(review="Remark 1: no limit.\n```\nquoted\n```")
    yield "dev, after failed checks", dev.having(checks="FAILED tests/test_it.py")
    yield "dev, after a failure", dev.having(failure="the agent crashed: exit code 1")
    yield "dev, cut short", dev.having(cut_short=True)
    yield "dev, in another language", dev.having(language="French")
    yield "dev, with own standing answers", dev.having(extra=("Never add a dependency.",))
    answers = (AnsweredQuestion("Which one?", "the second"), AnsweredQuestion("Why?", "because", "an hour later"))
    halfway = PausedAttempt("step 4", "step 3", ("src/a.py", "src/b.py"), answers)
    yield "dev, after an answer", dev.having(halfway=halfway)
    build = _context(PIPELINES["build"].steps[0], "6.12.0")
    yield "build-auto, with a spec", build.having(spec="out/spec.md")
    yield "build-auto, with a spec folder", build.having(spec_folder="out/specs")
    issues = _context(FIX_ISSUES).having(story="epic-1.pr-1")
    points = (
        PromptPoint("T1", "About a.py, line 3:", "dana wrote:\nWhy?"),
        PromptPoint("T2", "About b.py:", "No.", True),
    )
    yield "fix-issues, with points", issues.having(points=points)
    yield "fix-issues, in conflict", issues.having(points=points[:1], in_conflict=True)
    yield "fix-issues, with logs", issues.having(logs=(PromptPoint("", "The check test:", "1 failed"),))


def workflow_prompts() -> Iterator[Section]:
    """The prompts of a workflow file's step, and of every step of every built-in flow."""
    step = Step("write", "dev", prompt="Write about {topic}.", persist=("doc_path",))
    passing = StepHandoff(
        "notes",
        "2 of 3",
        {"topic": "a\nb `c`", "list": [1, 2]},
        "run/in.json",
        (("collect", "run/artefacts/step-01-output.md"),),
        "run/variables.json",
        "run/output.md",
    )
    yield "a workflow file's step", build_workflow_prompt(*_context(step), passing)
    own = step._replace(skill="create-architecture", persist=())
    yield "a workflow file's step with a skill", build_workflow_prompt(*_context(own), passing)
    for flow in built_in_flows():
        for number, one in enumerate(flow.steps, 1):
            more = tuple(flow_paragraphs(one.flow, _ABOUT)) if isinstance(one.flow, FlowPart) else ()
            told = StepHandoff(
                flow.name, f"{number} of {len(flow.steps)}", {}, "run/in.json", (), "v.json", "o.md", more
            )
            skill = one.flow.skills[0] if one.flow and one.flow.skills else one.skill
            context = _context(one._replace(skill=skill))
            yield f"flow {flow.name}, step {number}, {one.name}", build_workflow_prompt(*context, told)


_ABOUT = FlowHandoff("_docs/_autopilot_state.md", ("One tenant per database",), "2 - middle", "run/sub-step.txt")


def standing_answers() -> Iterator[Section]:
    first: dict[str, str] = {}  # a list that several have is shown once
    for skill in (*SKILL_ANSWERS, *PLANNING):
        for version in VERSIONS:
            lines = [f"{one.id} ({one.reason or 'decided'}): {one.text}" for one in answers_for(skill, version)]
            text, title = "\n".join(lines) + "\n", f"standing answers of {skill}, BMAD {version}"
            yield title, text if first.setdefault(text, title) == title else f"the same as {first[text]}\n"
    for skill, known in SKILL_ANSWERS.items():
        stops = [
            f"{stop.pattern}\n  {stop.answer or 'no stop'}{stop.why and f': {stop.why}'}"
            for stop in known.halt_rules
        ]
        yield f"stops of {skill}", "\n".join(stops) + "\n"


# Questions and tables


def questions() -> Iterator[Section]:
    both = [("lane", question_texts.QUESTION_TEXTS), ("delivery", delivery_questions.DELIVERY_QUESTIONS)]
    for room, listed in both:
        for code, form in listed.items():
            options = "\n".join(f"  {option}: {meaning}" for option, meaning in form.options.items())
            told = f"  recommended: {form.recommended}, because {form.because}\n  {form.cause}, {form.reason}\n"
            yield f"question of a {room}: {code}", f"{form.text}\n{options}\n{told}"
    for cause, text in question_texts.TEXT_BY_CAUSE.items():
        yield f"text for {cause}", f"{text}\n"
    for cause, (option, because) in question_texts.RECOMMENDED_BY_CAUSE.items():
        yield f"recommended for {cause}", f"{option}, because {because}\n"
    yield "after a story", f"{question_texts.AFTER_STORY}\n"
    for code, means in flow_questions.FLOW_ANSWERS.items():
        yield f"question of a flow: {code}", "".join(f"  {option}: {what}\n" for option, what in means.items())
    for flow in built_in_flows():
        yield f"what is asked in {flow.name}", "".join(_asked(flow.steps))
    for cause, offer in CAUSE_MENUS.items():
        yield f"menu for {cause}", f"{offer.head}: {offer.meaning}\n  {', '.join(offer.options)}\n"


def _asked(steps: Sequence[Step]) -> Iterator[str]:
    """Each question that a step of a flow can put, in the words that a person reads."""
    for step, following in zip(steps, (*steps[1:], steps[-1]), strict=True):
        part = step.flow
        assert part is not None
        codes = [code for code, there in (("gate", part.gate), ("boundary", part.boundary)) if there]
        for code in (*codes, *(["optional"] if part.optional else []), "flow-failed"):
            words = flow_questions._question_text(code, step, following)
            labels = "".join(f"    {label}\n" for label in words.labels)
            more = f"    {', '.join(words.more)}\n" if words.more else ""
            yield f"  {code}: {words.text}\n{labels}{more}    {words.recommended}, because {words.because}\n"


def tables() -> Iterator[Section]:
    """The rules of the loop and the causes of questions, as the documentation shows them."""
    page = loop_diagram.page()
    yield "the loop", page[page.index("```mermaid") :]
    yield "causes", cause_tables.causes_table()
    yield "what others call it", cause_tables.triggers_table()
