"""Workflows: ordered lists of steps, as data."""
