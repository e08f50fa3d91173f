"""Flows: a workflow whose steps are found done in the project's folder, with a state file that people read."""
