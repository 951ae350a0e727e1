"""From words to a plan, and from a plan to words: the parts of `plan` and `explain`."""
