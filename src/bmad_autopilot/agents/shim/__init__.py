"""The shim: a small process that supervises one agent call and outlives the process that started it.

It runs as `python -S -E .../agents/shim` with the bare standard library, because its start-up time is part of
every call; nothing here imports from elsewhere in the package. See docs/agent-runs.md.
"""
