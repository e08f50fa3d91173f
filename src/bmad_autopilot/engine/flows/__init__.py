"""Flows: workflows whose completed steps are detected in the project's folder, with a readable state file."""
