"""Reads, edits, merges and checks the board and the planning files beside it."""
