"""The checks of `bmad doctor`. Each returns results and never raises."""
