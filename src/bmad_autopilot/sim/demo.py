"""The demonstration: an epic from its backlog to done, with all that can come in between."""

from ..core.errors import EXIT_HUMAN
from .demo_facts import Facts, check, is_under_way
from .demo_stage import STORIES, Stage
from .sample import story_keys


def play(stage: Stage) -> None:
    first, second, third = story_keys(1, STORIES)
    stage.introduce(
        "A small project planned with BMAD, made on the spot: two epics of three stories, nothing built yet. Git, "
        "files and processes are real; the agent is a script, so nothing is paid and nothing leaves this machine."
    )
    _look_around(stage)
    _run_and_kill(stage, first, second)
    _adopt(stage, second, third)
    _answer(stage)
    _look_back(stage)
    _sum_up(stage, check(stage.root, STORIES))


def _look_around(stage: Stage) -> None:
    stage.introduce("1. Where are we, and what comes next?")
    stage.bmad("status")


def _run_and_kill(stage: Stage, first: str, second: str) -> None:
    stage.introduce(
        f"2. Take epic 1 to done, story by story. What an agent says is not enough: the project's own check is run, "
        f"and another agent reviews. {first} will be sent back once: a review round."
    )
    run = stage.start_bmad("run-epic", "1")
    stage.until(lambda: is_under_way(stage.root, second, "dev"), run, f"the dev step of {second}")
    stage.kill(run)


def _adopt(stage: Stage, second: str, third: str) -> None:
    stage.say(
        f"3. The run was just killed, while an agent writes the code of {second}. The agent goes on without it, and "
        f"bmad resume takes over from there: dev is not started again. Then {third} needs a decision."
    )
    stage.bmad("resume", ends_with=EXIT_HUMAN)


def _answer(stage: Stage) -> None:
    stage.introduce("4. A question only a person can answer. You take the second option, and the run goes on.")
    stage.bmad("answer", "1-3", "2")
    stage.bmad("resume")


def _look_back(stage: Stage) -> None:
    stage.introduce("5. What is there now? The board, and one commit for each story and each round of review.")
    stage.bmad("status")
    stage.git("log", "--oneline")


def _sum_up(stage: Stage, facts: Facts) -> None:
    stage.say(
        f"Looked up and found so: {facts.stories} stories done, {facts.commits} commits, {facts.calls} agent calls, "
        f"none of them made twice, ${facts.dollars:.2f} (the script's own made-up prices)."
    )
