"""``python -m crossprof``: runs the command line."""

import sys

from ._command import main

sys.exit(main())
