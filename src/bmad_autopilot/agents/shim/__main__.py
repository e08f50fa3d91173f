"""The shim's entry point: it runs as a separate program, not as part of the package."""

import os
import sys

# After the standard library, so that no file of ours can shadow one of its modules.
sys.path[:] = [*sys.path[1:], os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]

from shim.supervisor import main  # type: ignore[import-not-found]  # noqa: E402

main()
