"""From scores to tables, figures and statements: the parts of `compare`."""
