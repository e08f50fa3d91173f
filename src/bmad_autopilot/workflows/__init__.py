"""Workflows as data: ordered lists of steps, their prompts, and the flows of a whole project."""
