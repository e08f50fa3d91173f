"""Is it fast? Builds the wheel, installs it alone, measures it beside `import click` in the same environment.

`make bench` prints every figure beside its bar and fails when one is missed."""

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks import generate as generator
from benchmarks.measure import Case, Timing, run_interleaved
from benchmarks.schedule import GRAPHS, random_cases
from benchmarks.schedule import SEED as GRAPHS_SEED
from benchmarks.scheduler_replay import replay_figures as flown_figures
from tests.support.wheels import REPOSITORY, Installed, build, install

FOLDER = REPOSITORY / ".bench"
SIZES = (100, 1_000, 10_000, 100_000)
SEED = 7
LOAD_SECONDS = 30  # over which a supervisor's load is measured

YARDSTICK = "import click"


class Bar(NamedTuple):
    """One performance target: the measured figure, its limit and their unit."""

    name: str
    figure: float
    limit: float
    unit: str

    @property
    def met(self) -> bool:
        return self.figure <= self.limit


def main() -> int:
    options = _options()
    if (load := os.getloadavg()[0]) > (cores := os.cpu_count() or 1):
        print(f"note: this machine is busy (load {load:.1f} on {cores} cores); measure again when it is quiet")
    FOLDER.mkdir(exist_ok=True)
    installed = _install()
    projects = {size: _project(size) for size in SIZES}
    timings = run_interleaved(_start_cases(installed, projects), options.rounds)
    growth = run_interleaved(_growth_cases(installed, projects), max(3, options.rounds // 4))
    check = run_interleaved([_case("bmad board check, 10,000", installed, projects[10_000], "board", "check")], 3)
    changes = _change_times(installed, projects[10_000], options.rounds)
    calls = _figures(installed, "calls", options.rounds)
    lanes = _figures(installed, "lanes", max(3, options.rounds // 3))
    runs = _figures(installed, "runs", options.rounds)
    delivery = _figures(None, "delivery", options.rounds)
    schedule = _figures(installed, "schedule", GRAPHS)
    flown = [flown_figures(one).ratio for one in random_cases(GRAPHS_SEED)]
    parallel = _figures(None, "parallel", LOAD_SECONDS)
    _print_timings({**timings, **check}, timings[YARDSTICK])
    _print_calls(calls)
    _print_growth(growth)
    _print_lanes(parallel)
    bars = [
        *_bars({**timings, **check}, growth, changes),
        *_call_bars(calls),
        *_lane_bars(lanes),
        *_run_bars(runs),
        *_delivery_bars(delivery),
        *_schedule_bars(schedule, flown),
        *_parallel_bars(parallel),
    ]
    _print_bars(bars)
    return 0 if all(bar.met for bar in bars) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=21, help="how often each command runs (default 21)")
    return parser.parse_args()


def _install() -> Installed:
    dist = FOLDER / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    return install(build(dist).wheel, FOLDER / "venv")


def _project(size: int) -> Path:
    """Cached between runs; regenerated when the generator has changed."""
    mark = hashlib.sha256(Path(generator.__file__).read_bytes()).hexdigest()[:12]
    path = FOLDER / "projects" / f"{size}-{SEED}-{mark}"
    if not path.exists():
        for old in path.parent.glob(f"{size}-*"):
            shutil.rmtree(old)
        part = path.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        generator.generate(part, size, SEED)
        part.rename(path)
    return path


def _case(name: str, installed: Installed, cwd: Path, *arguments: str) -> Case:
    return Case(name, (str(installed.bmad), *arguments), cwd, _environment())


def _environment(**more: str) -> dict[str, str]:
    home = FOLDER / "home"
    home.mkdir(exist_ok=True)
    plain = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
    return {**plain, **more}


def _start_cases(installed: Installed, projects: dict[int, Path]) -> list[Case]:
    python = str(installed.python)
    small, large = projects[100], projects[10_000]
    return [
        Case("python -c pass", (python, "-c", "pass"), small, _environment()),
        Case(YARDSTICK, (python, "-c", "import click"), small, _environment()),
        _case("bmad --version", installed, small, "--version"),
        _case("bmad status --json, 100", installed, small, "status", "--json"),
        _case("bmad status --json, 10,000", installed, large, "status", "--json"),
        _case("bmad status in colour, 100", installed, small, "--color", "always", "status"),
    ]


def _growth_cases(installed: Installed, projects: dict[int, Path]) -> list[Case]:
    return [_case(f"{size:,}", installed, path, "status", "--json") for size, path in projects.items()]


def _change_times(installed: Installed, project: Path, rounds: int) -> list[float]:
    board = project / generator.BOARD
    before = board.read_bytes()
    script = Path(__file__).with_name("change.py")
    command = [str(installed.python), str(script), str(board), str(FOLDER / "state"), str(rounds)]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=_environment(), cwd=project)
    finally:
        board.write_bytes(before)
    return [float(line) for line in done.stdout.split()]


def _figures(installed: Installed | None, name: str, rounds: int) -> dict[str, list[float]]:
    """Run a benchmark in the installed environment; None: in this one, where it may import `tests`."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    program = (
        [str(installed.python), str(Path(__file__).with_name(f"{name}.py"))]
        if installed
        else [sys.executable, "-m", f"benchmarks.{name}"]
    )
    command = [*program, str(folder), str(rounds)]
    pipe = subprocess.PIPE
    done = subprocess.run(command, check=True, stdout=pipe, text=True, env=_environment(), cwd=REPOSITORY)
    figures: dict[str, list[float]] = {
        name: value if isinstance(value, list) else [value] for name, value in json.loads(done.stdout).items()
    }
    return figures


def _call_bars(calls: dict[str, list[float]]) -> list[Bar]:
    middle = {name: statistics.median(values) for name, values in calls.items()}
    return [
        Bar("an agent call, beyond the agent", middle["whole"] - middle["bare"], 50.0, "ms"),
        Bar("taken in after its end", middle["taken"], 50.0, "ms"),
        Bar("taken in when adopted", middle["adopted"], 50.0, "ms"),
        Bar("memory of a waiting shim", middle["memory"], 20.0, "MB"),
        Bar("load of a waiting shim", middle["cpu"], 0.2, "%"),
    ]


def _lane_bars(lanes: dict[str, list[float]]) -> list[Bar]:
    wakes = sorted(lanes["wakes"])
    return [
        Bar("the loop, a call, beyond agent and checks", statistics.median(lanes["calls"]), 200.0, "ms"),
        Bar("from a changed file to a look, p99", wakes[int(len(wakes) * 0.99)], 100.0, "ms"),
        Bar("load of a waiting supervisor", statistics.median(lanes["cpu"]), 2.0, "%"),
        Bar("1,000 simulated epics with crashes", statistics.median(lanes["epics"]), 60.0, "s"),
    ]


def _run_bars(runs: dict[str, list[float]]) -> list[Bar]:
    middle = {name: statistics.median(values) for name, values in runs.items()}
    return [
        Bar("a checkpoint, kept on disk", middle["checkpoint"], 15.0, "ms"),
        Bar("the same after 10,000 lines", middle["checkpoint_late"], 15.0, "ms"),
        Bar("resume to a decision, 10,000 lines", middle["resume"], 500.0, "ms"),
        Bar("bmad runs, 1,000 runs", middle["listing"], 400.0, "ms"),
        Bar("from an answer to the agent's start", middle["answer"], 1000.0, "ms"),
    ]


def _delivery_bars(delivery: dict[str, list[float]]) -> list[Bar]:
    return [
        Bar("from approved and green to merged", statistics.median(delivery["merge"]), 2.0, "s"),
        Bar("from an approval to its effect, at 10 s", max(delivery["event"]), 12.0, "s"),
        Bar("points for 100 pull requests at 10 s", delivery["points"][0], 25.0, "%"),
    ]


def _schedule_bars(schedule: dict[str, list[float]], flown: list[float]) -> list[Bar]:
    return [
        Bar("400 epic graphs by the bound, mean", statistics.fmean(schedule["ratios"]), 1.03, "×"),
        Bar("400 epic graphs by the bound, worst", max(schedule["ratios"]), 1.10, "×"),
        Bar("the same as they are flown, mean", statistics.fmean(flown), 1.03, "×"),
        Bar("the same as they are flown, worst", max(flown), 1.10, "×"),
        Bar("100 in phases by theirs, worst", max(schedule["phases"]), 1.10, "×"),
    ]


def _parallel_bars(parallel: dict[str, list[float]]) -> list[Bar]:
    idle = sorted(parallel["idle"])
    few, many = _cost_per_lane(parallel, "begin")
    light, heavy = _cost_per_lane(parallel, "held")
    return [
        Bar("a slot between two calls, p95", idle[int(len(idle) * 0.95)] / 1000, 0.5, "s"),
        Bar("load with 20 agents, 100 pull requests", parallel["load"][0], 1.0, "%"),
        Bar("memory with 20 agents, 100 pull requests", parallel["memory"][0], 80.0, "MB"),
        Bar("growth of the time per lane, to 50", many / few, 1.5, "×"),
        Bar("growth of the memory per lane, to 50", heavy / light, 1.5, "×"),
    ]


def _cost_per_lane(parallel: dict[str, list[float]], name: str) -> tuple[float, float]:
    """The cost of each additional lane, between the first two and the last two numbers of lanes. Clamped: below a
    hundredth of a second or a tenth of a megabyte the difference is noise."""
    (one, few, many), cost = parallel["lanes"], parallel[name]
    least = 0.01 if name == "begin" else 0.1
    return max(least, (cost[1] - cost[0]) / (few - one)), max(least, (cost[2] - cost[1]) / (many - few))


def _print_lanes(parallel: dict[str, list[float]]) -> None:
    print(f"\n{'lanes at work':<30}{'to begin':>10}{'memory':>10}")
    for lanes, begin, held in zip(parallel["lanes"], parallel["begin"], parallel["held"], strict=True):
        print(f"{lanes:<30.0f}{begin:>8.2f} s{held:>7.1f} MB")
    print(f"gh and git beside 100 pull requests: {parallel['children'][0]:.1f} % of a core")


def _print_calls(calls: dict[str, list[float]]) -> None:
    print(f"\n{'one agent call':<30}{'median':>10}{'least':>10}")
    for name, title in (("bare", "the stub by itself"), ("whole", "the stub as an attempt")):
        print(f"{title:<30}{statistics.median(calls[name]):>7.1f} ms{min(calls[name]):>7.1f} ms")


def _bars(timings: dict[str, Timing], growth: dict[str, Timing], changes: list[float]) -> list[Bar]:
    yardstick = timings[YARDSTICK].median

    def ratio(name: str, limit: float) -> Bar:
        return Bar(name, timings[name].median / yardstick, limit, "×")

    first, last = _cost_per_story(growth, 1_000, 10_000), _cost_per_story(growth, 10_000, 100_000)
    return [
        ratio("bmad --version", 1.2),
        ratio("bmad status --json, 100", 1.6),
        ratio("bmad status --json, 10,000", 3.0),
        ratio("bmad status in colour, 100", 2.8),
        Bar("bmad board check, 10,000", timings["bmad board check, 10,000"].median / 1000, 3.0, "s"),
        Bar("one durable change, 10,000", statistics.median(changes), 20.0, "ms"),
        Bar("memory of status, 10,000", timings["bmad status --json, 10,000"].peak_mb, 60.0, "MB"),
        Bar("growth of the cost per story", last / first, 2.0, "×"),
    ]


def _cost_per_story(growth: dict[str, Timing], few: int, many: int) -> float:
    """Microseconds per additional story. Clamped: below a tenth the difference is noise."""
    return max(0.1, 1000 * (growth[f"{many:,}"].median - growth[f"{few:,}"].median) / (many - few))


def _print_timings(timings: dict[str, Timing], yardstick: Timing) -> None:
    print(f"\n{'command':<30}{'median':>10}{'least':>10}{'× click':>10}{'peak':>10}")
    for name, timing in timings.items():
        ratio = timing.median / yardstick.median
        print(f"{name:<30}{timing.median:>7.1f} ms{timing.least:>7.1f} ms{ratio:>10.2f}{timing.peak_mb:>7.1f} MB")


def _print_growth(growth: dict[str, Timing]) -> None:
    print(f"\n{'stories':<30}{'median':>10}{'least':>10}{'per story':>12}{'peak':>10}")
    before: int | None = None
    for size in SIZES:
        timing = growth[f"{size:,}"]
        cost = f"{_cost_per_story(growth, before, size):.1f} µs" if before else ""
        print(f"{size:<30,}{timing.median:>7.1f} ms{timing.least:>7.1f} ms{cost:>12}{timing.peak_mb:>7.1f} MB")
        before = size


def _print_bars(bars: list[Bar]) -> None:
    print(f"\n{'bar':<30}{'measured':>12}{'at most':>12}")
    for bar in bars:
        verdict = "MET" if bar.met else "MISSED"
        print(f"{bar.name:<30}{bar.figure:>9.2f} {bar.unit:<2}{bar.limit:>9.2f} {bar.unit:<2}  {verdict}")


if __name__ == "__main__":
    raise SystemExit(main())
