"""git and GitHub: one door to each."""
