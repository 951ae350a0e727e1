"""Tests and intervals on plain arrays: the numbers that a reviewer can recompute.

Every function takes what it needs (a generator included) and gives an `Outcome` whose signature says how it was made.
scipy, statsmodels and R are the references of the tests; nothing of them but `scipy.special` is needed to run.
"""
