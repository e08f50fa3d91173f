"""The forge's door onto the simulated GitHub: the whole protocol, refusals, faults, who hears of effects."""

from random import Random
from typing import Any

import pytest

from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.github.forge import COPILOT, Forge, NewPull, PullState
from bmad_autopilot.sim.faults import Crash, CrashPhase
from bmad_autopilot.sim.github.checks import CIJob, SimCI, scripted_conclusions
from bmad_autopilot.sim.github.forge import SimForge, WatchedForge
from bmad_autopilot.sim.github.model import ACTIONS
from bmad_autopilot.sim.github.people import SimCopilot, SimHuman, scripted_reviews
from bmad_autopilot.sim.github.records import GitHubFault, GitHubFaults, Protection
from bmad_autopilot.sim.github.reviews import Remark
from tests.agents.shim.test_redact import SHAPES
from tests.support.simulated_github import BRANCH, Hub, memory_hub

ORDER = NewPull(BRANCH, "main", "Epic 1", "Body")


@pytest.fixture
def hub() -> Hub:
    found = memory_hub()
    found.push_work({"a.py": b"new\n"})
    return found


def trouble(error: ForgeError) -> tuple[ForgeErrorKind, int]:
    return error.kind, error.status


def test_a_pull_request_goes_all_the_way(hub: Hub) -> None:
    SimCI(hub.model, [CIJob("test", scripted_conclusions("failure", "success", log=b"it broke\n"))])
    SimCopilot(hub.model, scripted_reviews([Remark("a.py", 1, "why?")]))
    forge: Forge = SimForge(hub.model)
    number = forge.open_pull(ORDER._replace(is_draft=True))
    forge.mark_ready(forge.pull(number))
    forge.add_labels(number, ["epic", "automated"])
    forge.request_review(forge.pull(number), COPILOT)
    forge.comment(number, "Hello")
    hub.advance(200)
    pull = forge.pull(number)
    assert (pull.labels, pull.is_draft, pull.requested) == (("epic", "automated"), False, ())
    assert forge.log_tail(pull.checks[0]) == "it broke\n"
    forge.rerun(pull.checks[0])
    forge.reply(pull.threads[0].id, "because")
    forge.resolve(pull.threads[0].id)
    hub.advance(200)
    assert forge.changed_files(number) == ["a.py"]
    sha = forge.merge(number, pull.head, "Epic 1", "Body")
    forge.delete_branch(BRANCH, pull.head)
    forge.delete_branch(BRANCH, pull.head)
    pull = forge.pull(number)
    assert (pull.state, pull.merged_as, pull.base) == (PullState.MERGED, sha, sha)
    assert [mark.number for mark in forge.pulls_from(BRANCH)] == [number]
    assert forge.pulls_of("feature/") == []


def test_refusals_have_the_doors_own_words(hub: Hub) -> None:
    forge = SimForge(hub.model)
    number = forge.open_pull(ORDER)
    with pytest.raises(ForgeError, match="already exists") as again:
        forge.open_pull(ORDER)
    assert trouble(again.value) == (ForgeErrorKind.REFUSED, 422)
    with pytest.raises(ForgeError) as moved:
        forge.merge(number, "0" * 40, "x", "y")
    assert trouble(moved.value) == (ForgeErrorKind.REFUSED, 409)
    with pytest.raises(ForgeError) as missing:
        forge.pull(99)
    assert trouble(missing.value) == (ForgeErrorKind.MISSING, 404)
    with pytest.raises(ForgeError, match="holds"):
        forge.delete_branch(BRANCH, hub.main)
    hub.model.repository.is_archived = True
    with pytest.raises(ForgeError) as archived:
        forge.close_pull(number)
    assert trouble(archived.value) == (ForgeErrorKind.DENIED, 403)
    assert forge.repository().is_archived
    assert forge.watch([99, number])[0].number == number


def test_a_fingerprint_changes_with_whatever_matters(hub: Hub) -> None:
    SimCI(hub.model)
    forge = SimForge(hub.model)
    number = forge.open_pull(ORDER)
    human = SimHuman(hub.model)
    forge.watch([number])
    hub.advance(3)
    seen = [forge.watch([number])[0].fingerprint]
    assert forge.watch([number])[0].fingerprint == seen[0]
    for happens in (
        lambda: hub.advance(100),
        lambda: human.remark(number, Remark("a.py", 1, "why?")),
        lambda: forge.reply(hub.model.pulls[number].threads[0].id, "so"),
        lambda: forge.resolve(hub.model.pulls[number].threads[0].id),
        lambda: human.approve(number),
        lambda: human.push("main", {"b.py": None}),
        lambda: forge.add_labels(number, ["new"]),
        lambda: human.close(number),
    ):
        happens()
        seen.append(forge.watch([number])[0].fingerprint)
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(
    ("fault", "told", "status"),
    [
        (GitHubFault.LIMIT, ForgeErrorKind.LIMIT, 429),
        (GitHubFault.SECONDARY, ForgeErrorKind.LIMIT, 403),
        (GitHubFault.GATEWAY, ForgeErrorKind.UNAVAILABLE, 502),
        (GitHubFault.TIMEOUT, ForgeErrorKind.UNAVAILABLE, 0),
    ],
)
def test_what_breaks_before_the_effect_has_done_nothing(
    hub: Hub, fault: GitHubFault, told: ForgeErrorKind, status: int
) -> None:
    faults = GitHubFaults()
    faults.script("open_pull", [fault])
    forge = SimForge(hub.model, faults)
    with pytest.raises(ForgeError) as error:
        forge.open_pull(ORDER)
    assert trouble(error.value) == (told, status)
    assert (error.value.until > hub.clock.now) == (told is ForgeErrorKind.LIMIT)
    assert hub.model.pulls == {}
    assert forge.open_pull(ORDER) == 1


def test_a_lost_answer_hides_an_effect_that_happened(hub: Hub) -> None:
    faults = GitHubFaults()
    faults.script("open_pull", [GitHubFault.LOST])
    forge = SimForge(hub.model, faults)
    with pytest.raises(ForgeError) as error:
        forge.open_pull(ORDER)
    assert error.value.kind is ForgeErrorKind.UNAVAILABLE
    assert [mark.number for mark in forge.pulls_from(BRANCH)] == [1]


def test_a_stale_read_shows_what_was_a_moment_ago_and_not_longer(hub: Hub) -> None:
    faults = GitHubFaults()
    forge = SimForge(hub.model, faults)
    assert forge.pulls_from(BRANCH) == []
    forge.open_pull(ORDER)
    faults.script("pulls_from", [GitHubFault.STALE] * 2)
    hub.advance(7)
    assert forge.pulls_from(BRANCH) == []
    hub.advance(2)
    assert len(forge.pulls_from(BRANCH)) == 1


def test_random_faults_come_by_the_seed_and_come_to_an_end(hub: Hub) -> None:
    def run() -> list[tuple[str, GitHubFault]]:
        faults = GitHubFaults(Random(3), rate=0.5, max_faults=10)
        forge = SimForge(memory_hub().model, faults)
        for _ in range(60):
            try:
                forge.repository()
            except ForgeError:
                continue
        return faults.injected

    assert run() == run()
    assert len(run()) == 10


def test_somebody_hears_of_each_effect_before_and_after_and_can_end_it_there(hub: Hub) -> None:
    heard: list[tuple[str, CrashPhase]] = []

    def hook(kind: str, phase: CrashPhase, data: dict[str, Any]) -> None:
        heard.append((kind, phase))
        if kind == "merge" and phase is CrashPhase.BEFORE_INTENT:
            raise Crash("here")

    forge: Forge = WatchedForge(SimForge(hub.model), hook)
    number = forge.open_pull(ORDER)
    head = forge.pull(number).head
    with pytest.raises(Crash):
        forge.merge(number, head, "x", "y")
    assert hub.model.pulls[number].is_open
    assert heard == [
        ("open-pull", CrashPhase.BEFORE_INTENT),
        ("open-pull", CrashPhase.AFTER_EFFECT),
        ("merge", CrashPhase.BEFORE_INTENT),
    ]


def test_a_viewer_who_may_not_push_is_told(hub: Hub) -> None:
    hub.model.repository.protections["main"] = Protection(queue=True)
    SimHuman(hub.model, "guest", "NONE")
    forge = SimForge(hub.model, viewer="guest")
    assert not forge.repository().can_push
    with pytest.raises(ForgeError) as error:
        forge.open_pull(ORDER)
    assert error.value.kind is ForgeErrorKind.DENIED


def test_what_we_post_is_made_harmless_as_at_the_real_door(hub: Hub) -> None:
    forge = SimForge(hub.model)
    number = forge.open_pull(ORDER._replace(title="For @maria", body="Fixes #12"))
    forge.comment(number, "/merge @everyone\n\n<!-- bmad-autopilot:key -->")
    pull = forge.pull(number)
    said = " ".join((pull.title, pull.body, pull.comments[0].body))
    assert "@" not in said
    assert "#12" not in said
    assert pull.comments[0].body.endswith("<!-- bmad-autopilot:key -->")


def test_nothing_gets_lost_between_the_two_doors(hub: Hub) -> None:
    """Every effect by the one that is watched, each heard once."""
    SimCI(hub.model, [CIJob("test", scripted_conclusions("failure"))])
    human, heard = SimHuman(hub.model), []

    def hook(kind: str, phase: CrashPhase, data: dict[str, Any]) -> None:
        if phase is CrashPhase.AFTER_EFFECT:
            heard.append(kind)

    forge = WatchedForge(SimForge(hub.model), hook)
    robot = WatchedForge(SimForge(hub.model, viewer=ACTIONS), hook)
    number = forge.open_pull(ORDER._replace(is_draft=True))
    hub.advance(100)
    human.remark(number, Remark("a.py", 1, "why?"))
    pull = forge.pull(number)
    forge.mark_ready(pull)
    forge.edit_pull(number, title="Other", body="Text")
    forge.add_labels(number, ["epic"])
    forge.request_review(pull, "maria")
    forge.comment(number, "Hello")
    forge.reply(pull.threads[0].id, "so")
    forge.resolve(pull.threads[0].id)
    forge.rerun(pull.checks[0])
    robot.approve(number, pull.head, "Yes")
    forge.dismiss(number, forge.pull(number).reviews[-1].number, "No")
    forge.close_pull(number)
    forge.reopen_pull(number)
    with pytest.raises(ForgeError, match="not enabled"):
        forge.enqueue(pull)
    forge.merge(number, pull.head, "x", "y")
    forge.delete_branch(BRANCH, pull.head)
    told = (
        "open-pull ready edit-pull label request-review comment reply resolve rerun approve dismiss close reopen"
    )
    assert heard == [*told.split(), "merge", "delete-branch"]
    assert forge.repository().full_name == "acme/widgets"
    assert [mark.state for mark in forge.pulls_from(BRANCH)] == [PullState.MERGED]
    assert forge.pulls_of("feature/") == []
    assert forge.watch([number])[0].title == "Other"
    assert forge.log_tail(pull.checks[0]) == ""
    assert forge.changed_files(number) == ["a.py"]


@pytest.mark.parametrize("kind", ["github classic", "anthropic", "url", "env", "json", "jwt"])
def test_no_text_that_reaches_the_forge_has_a_secret(hub: Hub, kind: str) -> None:
    text, secret = "".join(SHAPES[kind]), SHAPES[kind][1]
    SimCI(hub.model, [CIJob("test")])
    SimCopilot(hub.model, scripted_reviews([Remark("a.py", 1, "why?")]))
    forge: Forge = SimForge(hub.model)
    number = forge.open_pull(ORDER._replace(title=f"Epic {text}", body=f"Body {text}"))
    forge.edit_pull(number, title=f"Epic 1 {text}", body=f"Other body {text}")
    forge.comment(number, f"A comment {text}")
    forge.request_review(forge.pull(number), COPILOT)
    hub.advance(3600)
    pull = forge.pull(number)
    forge.reply(pull.threads[0].id, f"A reply {text}")
    pull = forge.pull(number)
    trailer = f"Autopilot-Step: run/{secret}/1" if " " not in secret else "Autopilot-Step: run/1"
    forge.merge(number, pull.head, f"Squash {text}", f"A body {text}\n\n{trailer}")
    said = [pull.title, pull.body, *(one.body for one in pull.comments)]
    said += [one.body for thread in pull.threads for one in thread.comments]
    (merged,) = hub.model.effects.select("merge", by=forge.viewer)  # type: ignore[attr-defined]
    said += [merged.data["subject"], merged.data["body"].removesuffix(trailer)]
    assert not [one for one in said if secret in one]
    assert merged.data["body"].endswith(trailer)
