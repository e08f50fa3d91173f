"""The simulator: scripted agents, people and GitHub in virtual time, with faults and an ordered log of effects."""
