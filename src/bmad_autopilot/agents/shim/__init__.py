"""The shim: one small process that supervises one agent call and outlives whoever started it.

It is run as `python -S -E .../agents/shim`, with the standard library alone, because its start is part of
every call's price; nothing here imports from elsewhere in the package. See docs/agent-runs.md.
"""
