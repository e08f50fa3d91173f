"""Worktrees: one folder per lane, beside the main checkout."""
