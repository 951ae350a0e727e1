"""The parts of the report page, and what the live page asks beyond the verbs."""
