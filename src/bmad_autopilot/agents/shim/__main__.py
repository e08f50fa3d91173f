"""The shim's entry: a program of its own, not part of the package as it runs."""

import os
import sys

# Behind the standard library, so that no file of ours can stand in for one of its modules.
sys.path[:] = [*sys.path[1:], os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]

from shim.supervisor import main  # type: ignore[import-not-found]  # noqa: E402

main()
