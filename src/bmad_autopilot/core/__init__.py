"""Pure types and decisions. No module here does I/O or waits."""
