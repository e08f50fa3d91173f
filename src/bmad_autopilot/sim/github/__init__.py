"""GitHub as the simulator has it: one repository, its people and robots, in memory or on real git."""
