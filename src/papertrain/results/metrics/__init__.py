"""Scores computed here from raw outputs, by the libraries that the field cites, with what is needed to test them."""
