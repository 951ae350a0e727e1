"""What `explain` can explain, a look-up for each kind of thing."""
