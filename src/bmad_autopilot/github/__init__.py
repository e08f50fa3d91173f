"""GitHub: the forge port, its adapter over gh, and the auto-approve workflow."""
