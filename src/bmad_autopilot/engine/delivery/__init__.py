"""Delivers a finished epic: push, pull request, reviews, checks, merge."""
