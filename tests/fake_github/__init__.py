"""A fake GitHub server for the simulated GitHub: HTTP over a unix socket for the real gh, ssh for the real git."""
