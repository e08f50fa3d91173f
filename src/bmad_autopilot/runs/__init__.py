"""Run directories: one per execution of a workflow, with a folder for each agent call."""
