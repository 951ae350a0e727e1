"""Manuscripts: the numbers and claims of a LaTeX file, held against the evidence."""
