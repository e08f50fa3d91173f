"""Gates: check the evidence of a step's work, independently of the agent that did it."""
