"""The parts of `check`: what was found in words, manuscripts, rows."""
