"""Do the tests notice a changed line? `python -m scripts.mutants [--sample] [FILE …]`, with mutants.toml.

Fails when too many mutants survive, or one without a reason in mutants.toml. `--sample` runs a fixed part, chosen
by a hash of the change. Mutants with a reason count as survivors and are not run, unless `--known` is given.

Why not mutmut: it changes functions only (a third of our rules are tables and regular expressions at module
level), and an endless loop blocked it for minutes. This runner bounds each mutant, runs only tests that reach the
changed line, most effective first, and starts no interpreter (see mutant_worker.py)."""

import argparse
import hashlib
import json
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from scripts.mutant_coverage import measure_coverage
from scripts.mutant_runner import MutantResult, Runner
from scripts.mutant_worker import PACKAGE, Slot, preload
from scripts.mutations import Mutant, mutants_of

ROOT = Path(__file__).resolve().parent.parent


class Config(NamedTuple):
    targets: list[str]  # packages, or single files
    tests: list[str]
    left_out: list[str]  # tests
    used_in: dict[str, str]
    left_alone: dict[str, list[str]]  # file → names that are not mutated
    sample: int  # of a thousand
    allowed: float  # share that may survive
    survivors: dict[tuple[str, str, str, str], str]  # mutant key → reason


def read_config() -> Config:
    data = tomllib.loads((ROOT / "scripts/mutants.toml").read_text("utf-8"))
    survivors = {}
    for group in data.pop("survivors", []):
        for one in group["mutants"]:
            survivors[group["file"], *one] = group["reason"]
    return Config(**data, survivors=survivors)


def all_mutants(root: Path, config: Config) -> Iterator[Mutant]:
    for target in config.targets:
        found = root / PACKAGE / target
        for path in sorted(found.glob("*.py")) if found.is_dir() else [found]:
            file = str(path.relative_to(root / PACKAGE))
            left_alone = [*config.left_alone.get("*", []), *config.left_alone.get(file, [])]
            yield from mutants_of(file, path.read_text("utf-8"), left_alone)


def is_sampled(mutant: Mutant, of_thousand: int) -> bool:
    digest = hashlib.sha256("\0".join(mutant.key).encode()).digest()
    return int.from_bytes(digest[:4], "big") % 1000 < of_thousand


def judge(ended: Sequence[MutantResult], config: Config) -> int:
    survived = [one for one in ended if one.survived]
    unknown = [one for one in survived if one.mutant.key not in config.survivors]
    share = len(survived) / max(1, len(ended))
    _print_files(ended)
    killed = len(ended) - len(survived)
    counts = f"{len(survived)} survived, {len(unknown)} of them without a reason"
    print(f"{killed} of {len(ended)} mutants noticed ({1 - share:.1%}), {counts}")
    return 1 if unknown or share > config.allowed else 0


def outdated(ended: Sequence[MutantResult], config: Config) -> Iterator[str]:
    """Entries of mutants.toml that no longer exist or no longer survive. Valid only if all mutants were run."""
    survived = {one.mutant.key for one in ended if one.survived}
    return (" ".join(key) for key in config.survivors if key not in survived)


def _print_files(ended: Sequence[MutantResult]) -> None:
    every = Counter(one.mutant.file for one in ended)
    survived = Counter(one.mutant.file for one in ended if one.survived)
    for file, count in sorted(every.items()):
        print(f"  {file:<28} {count - survived[file]:>4} of {count}")


def _entry(mutant: Mutant) -> str:
    """The entry for mutants.toml; a JSON string is valid TOML."""
    return f"{json.dumps(list(mutant.key[1:]), ensure_ascii=False)},  # {mutant.file}:{mutant.lines[0]}"


def run(kept: Slot, mutants: Sequence[Mutant], config: Config, workers: int) -> list[MutantResult]:
    covered = measure_coverage(kept, config.targets, config.tests, config.left_out)
    slots = [Slot(kept.folder.with_name(f"worker-{number}")) for number in range(workers)]
    for slot in slots:
        slot.fill(kept.folder)  # with the bytecode of the coverage run
    began = time.monotonic()
    ended: list[MutantResult] = []
    for one in Runner(covered, slots, config.used_in).run(mutants):
        ended.append(one)
        if one.survived and one.mutant.key not in config.survivors:
            print(f"survived, and mutants.toml gives no reason ({one.how}):\n  {_entry(one.mutant)}", flush=True)
        if len(ended) % 100 == 0:
            print(f"{len(ended)} of {len(mutants)}, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return ended


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", action="store_true", help="a fixed part of them")
    parser.add_argument("--known", action="store_true", help="those of mutants.toml too: are they noticed by now?")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("files", nargs="*", help="only of these: gates/review_verdict.py")
    options = parser.parse_args()
    config = read_config()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # run the cleanup
    with tempfile.TemporaryDirectory(prefix="mutants-") as base:
        kept = Slot(Path(base) / "kept")
        kept.fill(ROOT)
        mutants = list(all_mutants(kept.folder, config))
        preload(sorted({mutant.file for mutant in mutants}))
        if options.files:
            mutants = [mutant for mutant in mutants if mutant.file in options.files]
        if options.sample:
            mutants = [mutant for mutant in mutants if is_sampled(mutant, config.sample)]
        known = config.survivors.keys() if not options.known else ()
        ended = [MutantResult(mutant, True, "known") for mutant in mutants if mutant.key in known]
        ended += run(kept, [mutant for mutant in mutants if mutant.key not in known], config, options.workers)
    if not options.sample and not options.files:
        for text in outdated(ended, config):
            print(f"mutants.toml names one that does not survive: {text}")
    return judge(ended, config)


if __name__ == "__main__":
    raise SystemExit(main())
