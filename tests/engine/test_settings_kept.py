"""What has changed in the settings, said so that the change can be seen."""

from bmad_autopilot.engine.settings_kept import MAX_SHOWN, differences, digest_of
from bmad_autopilot.project.config import Config
from bmad_autopilot.project.settings_file import config_from_bytes


def config(text: str) -> Config:
    return config_from_bytes(text.encode(), "bmad-autopilot.toml", lambda name: b"")


def agent(*words: str) -> Config:
    shown = ", ".join(f'"{word}"' for word in words)
    return config(f'agent = "own"\n[agents.own]\ncommand = [{shown}]\n')


def test_the_same_settings() -> None:
    assert differences(agent("x"), agent("x")) == []


def test_a_setting_inside_others_is_named_alone() -> None:
    assert differences(agent("x"), agent("x", "-v")) == ["agents.own.command: x → x, -v"]


def test_of_long_values_the_part_that_differs() -> None:
    long = "a" * 3 * MAX_SHOWN
    (line,) = differences(agent(long, "3"), agent(long, "6"))
    before, after = line.removeprefix("agents.own.command: ").split(" → ")
    assert (before[0], before[-1]) == ("…", "3")
    assert (after[0], after[-1]) == ("…", "6")
    assert len(before) <= MAX_SHOWN + 2


def test_what_is_new() -> None:
    (line, more) = differences(config(""), agent("x"))
    assert line == "agent: claude → own"
    assert more.startswith("agents.own: nothing → ")


def test_commands_that_are_set_or_no_longer_set() -> None:
    unset, none, own = (config(f"[commands]\n{line}\n") for line in ("", "test = []", 'test = ["make test"]'))
    assert differences(unset, none) == ["commands.test: as detected → nothing"]
    assert differences(own, unset) == ["commands.test: make test → as detected"]
    assert len({digest_of(one) for one in (unset, none, own)}) == 3
    assert digest_of(unset) == digest_of(Config())


def test_the_workflow_is_kept() -> None:
    assert differences(config(""), config('workflow = "full"\n')) == [
        "workflow: auto → full (this run keeps its workflow)"
    ]
