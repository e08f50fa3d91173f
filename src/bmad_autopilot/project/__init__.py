"""Finds the project: its root, BMAD version and era, folders, configuration and skills."""
