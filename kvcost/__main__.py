"""Run the command line as ``python -m kvcost``."""

import sys

from kvcost.cli import main

sys.exit(main())
