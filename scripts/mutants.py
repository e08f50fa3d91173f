"""Do the tests notice a changed line? `python -m scripts.mutants [--sample] [FILE …]`, with mutants.toml.

Fails when too many mutants survive, or one that mutants.toml does not give a reason for. `--sample` takes a fixed
part of them, the same as long as their code is: chosen by a hash of what each one changes. Those with a reason
count as survivors and are not run, unless `--known` asks whether they are noticed by now.

A runner of our own, because mutmut changes functions only (a third of our rules are tables and regular expressions
at the top of modules), and a mutant that loops for ever held it up for minutes. This one bounds each mutant, runs
only tests that reach the changed line, the one first that noticed most before, and starts no interpreter (see
mutants_slot.py)."""

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

from .mutants_cover import cover
from .mutants_made import Mutant, mutants_of
from .mutants_run import Ended, Runner
from .mutants_slot import PACKAGE, Slot, get_ready

ROOT = Path(__file__).resolve().parent.parent


class Config(NamedTuple):
    rooms: list[str]
    tests: list[str]
    left_out: list[str]  # tests
    used_in: dict[str, str]
    left_alone: dict[str, list[str]]  # file → names in it
    sample: int  # of a thousand
    allowed: float  # share that may survive
    survivors: dict[tuple[str, str, str, str], str]  # what they are → the reason


def read_config() -> Config:
    data = tomllib.loads((ROOT / "scripts/mutants.toml").read_text("utf-8"))
    survivors = {}
    for group in data.pop("survivors", []):
        for one in group["mutants"]:
            survivors[group["file"], *one] = group["reason"]
    return Config(**data, survivors=survivors)


def all_mutants(root: Path, config: Config) -> Iterator[Mutant]:
    for room in config.rooms:
        for path in sorted((root / PACKAGE / room).glob("*.py")):
            file = f"{room}/{path.name}"
            left_alone = [*config.left_alone.get("*", []), *config.left_alone.get(file, [])]
            yield from mutants_of(file, path.read_text("utf-8"), left_alone)


def is_sampled(mutant: Mutant, of_thousand: int) -> bool:
    digest = hashlib.sha256("\0".join(mutant.key).encode()).digest()
    return int.from_bytes(digest[:4], "big") % 1000 < of_thousand


def judge(ended: Sequence[Ended], config: Config) -> int:
    survived = [one for one in ended if one.survived]
    unknown = [one for one in survived if one.mutant.key not in config.survivors]
    share = len(survived) / max(1, len(ended))
    _tell_files(ended)
    killed = len(ended) - len(survived)
    counts = f"{len(survived)} survived, {len(unknown)} of them without a reason"
    print(f"{killed} of {len(ended)} mutants noticed ({1 - share:.1%}), {counts}")
    return 1 if unknown or share > config.allowed else 0


def outdated(ended: Sequence[Ended], config: Config) -> Iterator[str]:
    """What mutants.toml gives a reason for, and all of them were run: no longer there, or noticed by now."""
    survived = {one.mutant.key for one in ended if one.survived}
    return (" ".join(key) for key in config.survivors if key not in survived)


def _tell_files(ended: Sequence[Ended]) -> None:
    every = Counter(one.mutant.file for one in ended)
    survived = Counter(one.mutant.file for one in ended if one.survived)
    for file, count in sorted(every.items()):
        print(f"  {file:<28} {count - survived[file]:>4} of {count}")


def _entry(mutant: Mutant) -> str:
    """As it is written in mutants.toml; what JSON quotes, TOML reads."""
    return f"{json.dumps(list(mutant.key[1:]), ensure_ascii=False)},  # {mutant.file}:{mutant.lines[0]}"


def run(kept: Slot, mutants: Sequence[Mutant], config: Config, workers: int) -> list[Ended]:
    covered = cover(kept, config.rooms, config.tests, config.left_out)
    slots = [Slot(kept.folder.with_name(f"worker-{number}")) for number in range(workers)]
    for slot in slots:
        slot.fill(kept.folder)  # with the bytecode that covering has made
    began = time.monotonic()
    ended: list[Ended] = []
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
    parser.add_argument("files", nargs="*", help="only of these: gates/verdict.py")
    options = parser.parse_args()
    config = read_config()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left behind
    with tempfile.TemporaryDirectory(prefix="mutants-") as base:
        kept = Slot(Path(base) / "kept")
        kept.fill(ROOT)
        mutants = list(all_mutants(kept.folder, config))
        get_ready(sorted({mutant.file for mutant in mutants}))
        if options.files:
            mutants = [mutant for mutant in mutants if mutant.file in options.files]
        if options.sample:
            mutants = [mutant for mutant in mutants if is_sampled(mutant, config.sample)]
        known = config.survivors.keys() if not options.known else ()
        ended = [Ended(mutant, True, "known") for mutant in mutants if mutant.key in known]
        ended += run(kept, [mutant for mutant in mutants if mutant.key not in known], config, options.workers)
    if not options.sample and not options.files:
        for text in outdated(ended, config):
            print(f"mutants.toml names one that does not survive: {text}")
    return judge(ended, config)


if __name__ == "__main__":
    raise SystemExit(main())
