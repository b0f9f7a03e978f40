"""Runs the command line: ``python -m distcycle``."""

import sys

from distcycle.cli import main

sys.exit(main())
