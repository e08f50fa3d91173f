"""The demo: an epic from its backlog to a merged pull request, with what can come in between."""

from ..core.errors import EXIT_HUMAN
from .demo_facts import Facts, check, is_under_way
from .demo_project import STORIES
from .demo_stage import Stage, await_while
from .sample import story_keys

AUTOPILOT, PLAYED = ("autopilot", "1"), ("--rehearse",)


def play(stage: Stage) -> None:
    _look_around(stage)
    _run_and_kill(stage, story_keys(1, STORIES)[1])
    _adopt(stage)
    _answer(stage)
    _look_back(stage)
    _sum_up(stage, check(stage.root, STORIES))


def _look_around(stage: Stage) -> None:
    stage.introduce(
        "A small project planned with BMAD, made on the spot: two epics of three stories each, nothing built yet. "
        "Git, files and processes are real. The agent is a script: it costs nothing (its prices are made up). "
        "GitHub is played too, with its CI, Copilot and a maintainer: nothing leaves this machine."
    )
    stage.introduce("1. Where are we, and what comes next?")
    stage.bmad("status")


def _run_and_kill(stage: Stage, second: str) -> None:
    stage.introduce(
        "2. Take epic 1 to a merged pull request. Each story is written down (create-story), built (dev), put to "
        "the project's own tests (checks) and reviewed by a fresh agent (code-review). The reviewer of 1-1 will "
        "ask for changes: a second round."
    )
    run = stage.start_bmad(*AUTOPILOT, unseen=PLAYED)
    await_while(run, lambda: is_under_way(stage.root, second, "dev"), f"the dev call of {second}")
    stage.kill(run, "3. Now the run is killed, while an agent is at work on 1-2.")


def _adopt(stage: Stage) -> None:
    stage.say(
        "That agent works on. The same command takes its call over, so dev is not started a second time. Later "
        "the agent of 1-3 has a question, and the run waits for you."
    )
    stage.bmad(*AUTOPILOT, ends_with=EXIT_HUMAN, unseen=PLAYED)


def _answer(stage: Stage) -> None:
    stage.introduce(
        "4. You answer with the second option, and it goes on where it stood. Then the epic is delivered: its "
        "branch is pushed, a pull request opened. A check fails there, and Copilot has a point. An agent mends "
        "it, the review thread is answered and resolved, the maintainer approves what is green, and it is merged "
        "just as it was tested."
    )
    stage.bmad("answer", "1-3", "2")
    stage.bmad(*AUTOPILOT, unseen=PLAYED)


def _look_back(stage: Stage) -> None:
    stage.introduce(
        "5. Where are we now, and what has the base branch got? One commit, with the name of every step in it."
    )
    stage.bmad("status")
    stage.git("log", "--max-count=1")


def _sum_up(stage: Stage, facts: Facts) -> None:
    stage.say(
        f"Checked on the board, in git and in the record of each call: {facts.stories} stories done, one pull "
        f"request merged from {facts.commits} commits, {facts.calls} agent calls and none of them twice, "
        f"${facts.dollars:.2f} in made-up prices."
    )
