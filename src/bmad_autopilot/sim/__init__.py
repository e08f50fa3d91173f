"""The simulated world: scripted agents, a clock of its own, faults, and an ordered log of effects."""
