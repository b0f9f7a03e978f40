"""Wheels made from wheels: one with a requirement less, or one composite of a whole component.

:func:`write_repaired` and :func:`write_merged` touch the disk; everything else works on what it is
handed.
"""

from distcycle.wheelwork.edits import Edit
from distcycle.wheelwork.merge import write_merged
from distcycle.wheelwork.repair import write_repaired

__all__ = ["Edit", "write_merged", "write_repaired"]
