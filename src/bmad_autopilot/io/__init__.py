"""Access to the machine: files, YAML, TOML, JSON and processes."""
