"""Git: history, commits, branches, merges, remotes and worktrees."""
