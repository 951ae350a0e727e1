"""What each training framework accepts: one JSON file per framework and version, made by `extract` from its own source."""
