"""`python -m papertrain`."""

from papertrain.cli import main

raise SystemExit(main())
