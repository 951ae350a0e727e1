"""One module per format, found by `READER`."""
