"""From paths to a case: the parts of `diagnose`."""
