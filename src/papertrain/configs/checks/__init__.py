"""The rules of `check`: one module, one rule. A module whose name starts with `_` helps the others."""
