"""Worktrees: a folder of its own for each lane, beside the checkout."""
