"""The transition table: one file of data without holes."""

from pathlib import Path

import bmad_autopilot.core.table as table
import bmad_autopilot.engine.loop as loop
from bmad_autopilot.core.causes import OFFERS
from bmad_autopilot.core.decide import WAITS, faults
from bmad_autopilot.core.facts import VALUES, Facts
from bmad_autopilot.core.rules import Action
from bmad_autopilot.core.table import TABLE
from bmad_autopilot.engine.asking import AGENT, LEFT_BEHIND, question_for
from bmad_autopilot.engine.delivery.questions import FORMS
from bmad_autopilot.engine.flows.questions import MEANS as FLOW_MEANS
from bmad_autopilot.engine.looking import Look
from bmad_autopilot.engine.performing import _PERFORMERS


def test_there_is_nothing_wrong_with_it() -> None:
    assert list(faults()) == []


def test_every_action_occurs_and_is_performed() -> None:
    assert {rule.action for rule in TABLE} == set(Action)
    assert set(_PERFORMERS) == set(Action)


def test_every_wait_has_a_bound_and_a_wake_up() -> None:
    waits = [rule for rule in TABLE if rule.action in WAITS]
    assert {rule.action for rule in waits} == set(WAITS)
    for rule in waits:
        assert rule.wait is not None
        assert rule.wait.bound
        assert rule.wait.wakes


def test_every_question_it_asks_has_words_and_a_way_on() -> None:
    for rule in TABLE:
        if rule.action is Action.ASK and rule.question not in (AGENT, LEFT_BEHIND, *FLOW_MEANS):
            form = FORMS.get(rule.question)
            if form is not None:
                assert form.recommended in form.options
                assert set(form.options) <= set(OFFERS[form.cause].options)
                continue
            question = question_for(rule.question, Look(Facts()), 3)
            assert question.text
            assert question.recommended in question.options


def test_every_fact_matters_to_some_row() -> None:
    named = {name for rule in TABLE for name in rule.when}
    assert named == set(VALUES)


def test_the_loop_is_read_in_five_minutes_and_the_table_is_one_file() -> None:
    assert len(Path(loop.__file__).read_text().splitlines()) < 200
    text = Path(table.__file__).read_text()
    assert text.count("TABLE: tuple[Rule, ...] = (") == 1
    assert len(text.splitlines()) < 200
