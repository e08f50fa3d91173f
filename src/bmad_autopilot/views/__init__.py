"""Renders records as terminal text and JSON documents."""
