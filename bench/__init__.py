"""Measurements on real machines and servers; `make bench` runs them all."""

import sys
from pathlib import Path

# What the tests share is at hand here too.
_ROOT = Path(__file__).parents[1]
sys.path.extend(str(_ROOT / folder) for folder in ("platform/tests", "tests/support"))
