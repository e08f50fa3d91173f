"""The words `result.json` uses for what ended a call."""

EXIT = "exit"  # the agent ended by itself, whatever its exit code
TIME_LIMIT = "time-limit"
STALL = "stall"  # neither a new word nor a changed file for the stall limit
CANCEL = "cancel"  # somebody asked for it
SIGNAL = "signal"  # the shim was told to end, and nobody had asked: a shutdown
GUARD = "guard"  # the agent does not have the skill the step needs
NO_START = "no-start"
LOST = "lost"  # the shim is gone and has left no result
