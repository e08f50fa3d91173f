"""The engine: agents called for steps, watched, and believed as far as the evidence goes."""
