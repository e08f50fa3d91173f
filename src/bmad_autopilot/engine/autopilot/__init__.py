"""Epics to merged pull requests, one after another."""
