"""The words and the live view of `watch`."""
