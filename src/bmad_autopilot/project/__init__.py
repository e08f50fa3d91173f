"""Find the project: its root, its BMAD version and era, its folders, its configuration, its skills."""
