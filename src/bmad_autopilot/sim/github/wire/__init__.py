"""The simulated GitHub on the wire: HTTP over a unix socket for the real gh, ssh for the real git."""
