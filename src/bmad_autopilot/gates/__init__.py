"""Evidence: what a step left behind, judged by us and not by whoever did it."""
