"""Times durable status changes in one process. Run by the interpreter under test: change.py BOARD STATE ROUNDS."""

import sys
import time

from bmad_autopilot.board.sprint_status_writer import set_status

STATUSES = ("ready-for-dev", "in-progress", "review", "done")


def change(board: str, state: str, key: str, status: str) -> None:
    """The only caller of the writer in the benchmarks."""
    set_status(board, key, status, state=state, regress=True)


def main() -> None:
    board, state, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(board, encoding="utf-8") as handle:
        rows = [line.split(":")[0].strip() for line in handle if line.endswith(": backlog\n")]
    key = next(row for row in rows if not row.startswith("epic-"))
    for turn in range(rounds):
        begun = time.perf_counter()
        change(board, state, key, STATUSES[turn % len(STATUSES)])
        print((time.perf_counter() - begun) * 1000)


if __name__ == "__main__":
    main()
