"""Starting runs: which cells, what starts each, and what is kept of it."""
