"""papertrain: a training engineer as a program. The verbs are in `papertrain.verbs`."""

from papertrain.core.version import __version__

__all__ = ["__version__"]
