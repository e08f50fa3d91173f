"""The start of `bmad`, `bmad-autopilot` and `python -m bmad_autopilot`."""

import signal
from typing import NoReturn

# Until the command line handles Ctrl-C itself, it ends the process at once: no traceback out of half an import.
signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> NoReturn:
    from .cli import main as run

    run()


if __name__ == "__main__":
    main()
