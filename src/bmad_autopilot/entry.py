"""Where the installed commands begin."""

import signal
from typing import NoReturn

# Until the program can say something better, Ctrl-C simply ends it: no trace of half an import.
signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> NoReturn:
    from .cli import main as run

    run()
