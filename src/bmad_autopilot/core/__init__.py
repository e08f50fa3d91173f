"""Pure vocabulary and decisions. Nothing here reads, writes or waits."""
