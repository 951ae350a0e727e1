"""How the parameters of each family are counted: one module per family, found by `ARCHITECTURE`."""
