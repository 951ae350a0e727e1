"""The change that is made, and its proof: the parts of `fix`."""
