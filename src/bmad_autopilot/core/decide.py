"""Chooses the rule for a set of facts. Pure and total: every combination of facts has a rule."""

from collections.abc import Iterable, Iterator

from .facts import FACT_VALUES, DeliveryFact, Facts
from .transitions import TABLE, PullWait, Rule, RuleAction

WAIT_ACTIONS = (
    RuleAction.WAIT_FOR_ANSWER,
    RuleAction.WAIT_FOR_AGENT,
    RuleAction.WAIT_FOR_LIMIT,
    RuleAction.WAIT_FOR_PAUSE,
    RuleAction.WAIT_FOR_SLOT,
    RuleAction.WAIT_FOR_FORGE,
    RuleAction.WAIT_FOR_PULL,
)

# These actions need the work tree, and wait while it is not usable.
WORK_TREE_ACTIONS = (RuleAction.CHECK_OUT, RuleAction.PUSH, RuleAction.MERGE_BASE, RuleAction.MERGE_FOREIGN)

_FIELDS = {name: index for index, name in enumerate(Facts._fields)}
# The rules that can match in each delivery stage: most rules apply to a single stage.
_RULES_BY_STAGE = {
    stage: tuple(
        (rule, tuple((_FIELDS[name], frozenset(values)) for name, values in rule.when.items()))
        for rule in TABLE
        if stage in rule.when.get("delivery", (stage,))
    )
    for stage in DeliveryFact
}


def decide(facts: Facts) -> Rule:
    for rule, tests in _RULES_BY_STAGE[facts.delivery]:
        for index, values in tests:
            if facts[index] not in values:
                break
        else:
            return rule
    raise AssertionError("the last row of the table fits everything")


def find_table_problems(table: Iterable[Rule] = TABLE) -> Iterator[str]:
    """Problems of a transition table: duplicate names, unreachable rules, waits without a bound. Used by tests."""
    rules = list(table)
    names = [rule.name for rule in rules]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"two rows are called {name}"
    if not rules or rules[-1].when:
        yield "the last row does not fit everything"
    for rule in rules:
        yield from _find_rule_problems(rule)
    for index, rule in enumerate(rules):
        above = next((other.name for other in rules[:index] if _covers(other, rule)), None)
        if above:
            yield f"{rule.name} can never be reached: {above} stands above it"


def _find_rule_problems(rule: Rule) -> Iterator[str]:
    for name, values in rule.when.items():
        unknown = [value for value in values if value not in FACT_VALUES.get(name, ())]
        if unknown or not values:
            yield f"{rule.name}: {name} is never {unknown}"
    if (rule.action is RuleAction.ASK) != bool(rule.question):
        yield f"{rule.name}: a question is named where one is asked, and nowhere else"
    if (rule.action in (*WAIT_ACTIONS, *WORK_TREE_ACTIONS)) != (rule.wait is not None):
        yield f"{rule.name}: a wait has a bound and a wake-up, and nothing else has"
    if (rule.action is RuleAction.WAIT_FOR_PULL) != (rule.pull_wait is not PullWait.NOTHING):
        yield f"{rule.name}: a wait for a pull request says what it waits for, and nothing else does"
    if rule.wait is not None and not (rule.wait.bound and rule.wait.wakes):
        yield f"{rule.name}: nothing ends this wait"


def _covers(above: Rule, below: Rule) -> bool:
    """Whether every combination of facts that matches `below` also matches `above`."""
    every = {name: below.when.get(name, FACT_VALUES.get(name, (None,))) for name in above.when}
    return all(set(every[name]) <= set(values) for name, values in above.when.items())
