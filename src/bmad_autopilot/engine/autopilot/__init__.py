"""Takes epics from the board to merged pull requests, one after another or in parallel."""
