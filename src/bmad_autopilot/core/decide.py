"""From facts to an action: pure, and total. Whatever is observed, there is an answer."""

from collections.abc import Iterable, Iterator

from .facts import VALUES, Delivery, Facts
from .rules import Action, Rule
from .table import TABLE

WAITS = (
    Action.WAIT_FOR_ANSWER,
    Action.WAIT_FOR_AGENT,
    Action.WAIT_FOR_LIMIT,
    Action.WAIT_FOR_PAUSE,
    Action.WAIT_FOR_SLOT,
    Action.WAIT_FOR_FORGE,
    Action.WAIT_FOR_PULL,
)

# What these do needs the work tree, and waits where something is in the way there.
HOLDS = (Action.STAND, Action.PUSH, Action.TAKE_BASE, Action.TAKE_FOREIGN)

_FIELDS = {name: index for index, name in enumerate(Facts._fields)}
# For each stage of a delivery the rows that can fit: most of the table is about one of them alone.
_TESTS = {
    stage: tuple(
        (rule, tuple((_FIELDS[name], frozenset(values)) for name, values in rule.when.items()))
        for rule in TABLE
        if stage in rule.when.get("delivery", (stage,))
    )
    for stage in Delivery
}


def decide(facts: Facts) -> Rule:
    for rule, tests in _TESTS[facts.delivery]:
        for index, values in tests:
            if facts[index] not in values:
                break
        else:
            return rule
    raise AssertionError("the last row of the table fits everything")


def faults(table: Iterable[Rule] = TABLE) -> Iterator[str]:
    """What is wrong with a table: nothing, unless somebody has just changed it."""
    rules = list(table)
    names = [rule.name for rule in rules]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"two rows are called {name}"
    if not rules or rules[-1].when:
        yield "the last row does not fit everything"
    for rule in rules:
        yield from _rule_faults(rule)
    for index, rule in enumerate(rules):
        above = next((other.name for other in rules[:index] if _covers(other, rule)), None)
        if above:
            yield f"{rule.name} can never be reached: {above} stands above it"


def _rule_faults(rule: Rule) -> Iterator[str]:
    for name, values in rule.when.items():
        unknown = [value for value in values if value not in VALUES.get(name, ())]
        if unknown or not values:
            yield f"{rule.name}: {name} is never {unknown}"
    if (rule.action is Action.ASK) != bool(rule.question):
        yield f"{rule.name}: a question is named where one is asked, and nowhere else"
    if (rule.action in (*WAITS, *HOLDS)) != (rule.wait is not None):
        yield f"{rule.name}: a wait has a bound and a wake-up, and nothing else has"
    if rule.wait is not None and not (rule.wait.bound and rule.wait.wakes):
        yield f"{rule.name}: nothing ends this wait"


def _covers(above: Rule, below: Rule) -> bool:
    """Every fact that fits `below` fits `above`."""
    every = {name: below.when.get(name, VALUES.get(name, (None,))) for name in above.when}
    return all(set(every[name]) <= set(values) for name, values in above.when.items())
