"""The space of environments: atoms, conditions as bit sets, and back to the shortest marker."""

from distcycle.markers.expressions import (
    Atom,
    Combination,
    Expression,
    UnreadableMarker,
    atoms_of,
    parse_expression,
)
from distcycle.markers.space import Axis, Condition, Profile, Space
from distcycle.markers.spelling import EVERYWHERE, NOWHERE, Speller
from distcycle.markers.whole import TooManyCells, whole_space

__all__ = [
    "Atom",
    "Axis",
    "Combination",
    "Condition",
    "EVERYWHERE",
    "Expression",
    "NOWHERE",
    "Profile",
    "Space",
    "Speller",
    "TooManyCells",
    "UnreadableMarker",
    "atoms_of",
    "parse_expression",
    "whole_space",
]
