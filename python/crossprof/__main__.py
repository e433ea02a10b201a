"""``python -m crossprof``: the command-line tool."""

import sys

from ._command import main

sys.exit(main())
