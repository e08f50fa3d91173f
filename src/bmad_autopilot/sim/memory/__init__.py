"""The engine's ports in memory, for the simulator."""
