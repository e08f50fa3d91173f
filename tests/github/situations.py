"""Pull requests as approval.py sees them: one that may be approved, and random ones."""

from hypothesis import strategies as st

from bmad_autopilot.github.approval import COPILOT, PREFIX, ROBOT, CheckFact, ReviewFact, Rules, Situation

NOW = 1_000_000.0
HEAD, OLD = "a" * 40, "b" * 40
STATES = "passed pending failed cancelled skipped neutral action-required unknown brand-new".split()


def review(
    state: str = "COMMENTED", login: str = COPILOT, *, bot: bool = True, commit: str = HEAD, at: float = NOW - 500
) -> ReviewFact:
    return ReviewFact(login, bot, "NONE" if bot else "MEMBER", state, commit, at, number=int(at) % 997)


def approval(commit: str = HEAD, at: float = NOW - 100) -> ReviewFact:
    return review("APPROVED", ROBOT, commit=commit, at=at)


READY = Situation(
    now=NOW,
    head=HEAD,
    pushed=NOW - 601,
    arrived=NOW - 601,
    head_ref="feature/epic-1",
    content=(HEAD,),
    checks=(CheckFact("test", "passed"),),
    reviews=(review(),),
    files=("src/app.py",),
)
RULES = Rules()

_times = st.sampled_from(
    [NOW - 3600, NOW - 900, NOW - 700, 0.0, NOW - 600, NOW - 599, NOW - 121, NOW - 120, NOW - 1, NOW, NOW + 60]
)
_texts = st.text(max_size=80)
_rarely = st.sampled_from([False, False, False, False, False, True])
_paths = st.one_of(
    _texts,
    st.sampled_from(["src/a.py", "b.py", "docs/c.md", "CODEOWNERS", ".github/Actions/x/action.yml"]),
)
_checks = st.builds(CheckFact, _texts, st.sampled_from(STATES), st.booleans(), st.booleans())
_reviews = st.builds(
    ReviewFact,
    st.sampled_from([COPILOT, ROBOT, "ann", "Ann", "mallory"]),
    st.booleans(),
    st.sampled_from(["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "NONE"]),
    st.sampled_from(["APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED", "PENDING"]),
    st.sampled_from([HEAD, OLD, "c" * 40, ""]),
    _times,
    st.integers(0, 99),
)
_good_checks = st.builds(CheckFact, _texts, st.sampled_from(["passed", "skipped", "neutral"]), st.booleans())
# Half of them are near to what may be approved: else hardly any would be.
_near = st.builds(
    lambda reviews, checks, pushed, arrived, unresolved: READY._replace(
        reviews=(review(), *reviews),
        checks=(*READY.checks, *checks),
        pushed=pushed,
        arrived=arrived,
        unresolved=unresolved,
    ),
    st.lists(_reviews, max_size=3),
    st.lists(st.one_of(_good_checks, _good_checks, _checks), max_size=2),
    _times,
    _times,
    st.sampled_from([0, 0, 0, 1]),
)
_any = st.builds(
    Situation,
    now=st.just(NOW),
    head=st.just(HEAD),
    pushed=_times,
    arrived=_times,
    head_ref=st.sampled_from(["feature/epic-1", "feature/epic-2", "feature/epic-3", "main"]),
    state=st.sampled_from(["OPEN"] * 8 + ["CLOSED", "MERGED", "odd"]),
    is_draft=_rarely,
    is_foreign=_rarely,
    unresolved=st.integers(0, 3),
    content=st.sampled_from([(), (HEAD,), (HEAD, OLD)]),
    checks=st.lists(_checks, max_size=4).map(tuple),
    reviews=st.lists(_reviews, max_size=6).map(tuple),
    files=st.lists(_paths, max_size=2).map(tuple),
)
situations = st.one_of(_near, _any)
rules = st.builds(
    Rules,
    min_age=st.sampled_from([0.0, 600.0]),
    grace=st.sampled_from([0.0, 120.0]),
    reviewer=st.sampled_from([COPILOT, COPILOT, "", "ann"]),
    require_checks=st.booleans(),
    robot=st.just(ROBOT),
    prefix=st.just(PREFIX),
)
