"""Scores of runs: the commands that make them, and how they are read back."""
