"""Drives coding agents: one adapter per agent CLI, and the shim that supervises each call."""
