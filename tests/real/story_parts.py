"""What a model does in each call of a story: create, develop, review, mend; and build."""

from tests.real.claude_server import Say
from tests.real.played_run import Part, Turn
from tests.real.story_bench import StoryBench, bash, keep_diff, read_diff, read_printed_path, subagent
from tests.real.story_pages import BLOCKED, CODE, FINDING, FOLDER, KEY, NOBODY, SPEC, STORY, TEST

PAGE, SPEC_PAGE = f"{FOLDER}/{KEY}.md", f"{FOLDER}/spec-{KEY}.md"
QUESTION = "Which language are people greeted in?"


# -- classic


def create(bench: StoryBench) -> Part:
    return bench.part(
        "create-story",
        bench.resolve("create-story"),
        bench.read("_bmad-output/planning-artifacts/epics.md"),
        bench.put(PAGE, STORY),
        *bench.row("backlog", "ready-for-dev"),
        Say("The story is ready for development."),
    )


def develop(bench: StoryBench) -> Part:
    return bench.part(
        "dev-story",
        bench.resolve("dev-story"),
        bench.read(PAGE),
        lambda body: bench.edit(
            PAGE,
            "# Story 1.1: Greet by name\n\nStatus: ready-for-dev",
            f"---\nbaseline_commit: {bench.git('rev-parse', 'HEAD')}\n---\n\n"
            "# Story 1.1: Greet by name\n\nStatus: in-progress",
        ),
        bench.put("test/greet.test.js", TEST),
        bench.put("src/greet.js", CODE),
        bash("npm test"),
        bench.edit(PAGE, "- [ ] Write", "- [x] Write"),
        bench.edit(PAGE, "- [ ] Test", "- [x] Test"),
        bench.edit(PAGE, "### File List\n", "### File List\n\n- src/greet.js\n- test/greet.test.js\n"),
        bench.edit(PAGE, "Status: in-progress", "Status: review"),
        *bench.row("in-progress", "review"),
        Say("Every task is done, and the tests pass."),
    )


def refuse(bench: StoryBench) -> Part:
    findings = f"### Review Findings\n\n- [ ] [Review][Patch] {FINDING}\n\n## Dev Agent Record"
    return bench.part(
        "code-review",
        bench.resolve("code-review"),
        keep_diff,
        read_diff,
        *subagent("Hunt for edge cases.", "An empty name."),
        bench.read(PAGE),
        bench.edit(PAGE, "## Dev Agent Record", findings),
        bench.edit(PAGE, "Status: review", "Status: in-progress"),
        *bench.row("review", "in-progress"),
        bench.verdict("changes-requested", FINDING),
        Say("One patch is left to make."),
    )


def mending(bench: StoryBench) -> tuple[Turn, ...]:
    return (
        bench.read("src/greet.js"),
        bench.edit("src/greet.js", "`Hello, ${name}!`", "(name ? `Hello, ${name}!` : 'Hello!')"),
        bench.read("test/greet.test.js"),
        bench.put("test/greet.test.js", TEST + NOBODY),
        bash("npm test"),
    )


def mend(bench: StoryBench) -> Part:
    return bench.part(
        "dev-story",
        bench.resolve("dev-story"),
        bench.read(PAGE),
        *mending(bench),
        bench.edit(PAGE, f"- [ ] [Review][Patch] {FINDING}", f"- [x] [Review][Patch] {FINDING}"),
        bench.edit(PAGE, "Status: in-progress", "Status: review"),
        *bench.row("in-progress", "review"),
        Say("The review's point is dealt with."),
        told=("The last review asked for changes", FINDING),
    )


def approve(bench: StoryBench) -> Part:
    return bench.part(
        "code-review",
        bench.resolve("code-review"),
        keep_diff,
        *subagent("Hunt for edge cases.", "Nothing."),
        bench.read(PAGE),
        bench.edit(PAGE, "Status: review", "Status: done"),
        *bench.row("review", "done"),
        bench.verdict("approved", "The greeting holds the name."),
        Say("A clean review."),
    )


# -- build


def ask_first(bench: StoryBench) -> Part:
    return bench.part(
        "build-auto",
        *enter_build(bench),
        bench.put(SPEC_PAGE, BLOCKED),
        bench.question(QUESTION, ["English", "French"]),
        Say("Blocked: unclear intent."),
        told=(f"spec, for you to write: `{bench.path(SPEC_PAGE)}`",),
    )


def enter_build(bench: StoryBench) -> tuple[Turn, ...]:
    return bench.render(), read_printed_path, bash("git status --porcelain"), bash("git add --refresh -- .")


def begin_build(bench: StoryBench, cut: Turn, told: tuple[str, ...]) -> Part:
    return bench.part(
        "build-auto",
        *enter_build(bench),
        bench.read(SPEC_PAGE),
        bench.put(f"{FOLDER}/epic-1-context.md", "# Epic 1 Context: Greetings\n"),
        lambda body: bench.put(SPEC_PAGE, SPEC.format(baseline=bench.git("rev-parse", "HEAD"))),
        bench.put("test/greet.test.js", TEST),
        cut,
        told=told,
    )


def end_build(bench: StoryBench, told: tuple[str, ...]) -> Part:
    return bench.part(
        "build-auto",
        *enter_build(bench),
        bench.read(SPEC_PAGE),
        bench.put("src/greet.js", CODE),
        bash("npm test"),
        *subagent("Review the diff.", "No findings."),
        bench.edit(SPEC_PAGE, "status: 'in-progress'", "status: 'done'"),
        bash("git add -A"),
        bash("git commit -m 'Greet by name'"),
        bash("git status --porcelain"),
        Say("Done."),
        told=told,
    )


def refuse_build(bench: StoryBench) -> Part:
    findings = f"## Review Findings\n\n- [ ] [Review][Patch] {FINDING}\n\n## Verification"
    return bench.part(
        "code-review",
        bench.resolve("code-review"),
        bench.read(SPEC_PAGE),
        bench.edit(SPEC_PAGE, "## Verification", findings),
        bench.edit(SPEC_PAGE, "status: 'done'", "status: 'in-progress'"),
        bench.verdict("changes-requested", FINDING),
        Say("One patch is left to make."),
        told=(f"story file: `{bench.path(SPEC_PAGE)}`",),
    )


def mend_build(bench: StoryBench) -> Part:
    return bench.part(
        None,
        bench.read(SPEC_PAGE),
        *mending(bench),
        bench.edit(SPEC_PAGE, f"- [ ] [Review][Patch] {FINDING}", f"- [x] [Review][Patch] {FINDING}"),
        Say("The review's point is dealt with."),
        told=(f"Fix story {KEY}", FINDING, f"story file: `{bench.path(SPEC_PAGE)}`"),
    )


def approve_build(bench: StoryBench) -> Part:
    return bench.part(
        "code-review",
        bench.resolve("code-review"),
        keep_diff,
        read_diff,
        *subagent("Hunt for edge cases.", "Nothing."),
        bench.verdict("approved", "As the spec says."),
        Say("A clean review."),
        told=(f"story file: `{bench.path(SPEC_PAGE)}`",),
    )
