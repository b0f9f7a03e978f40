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

__all__ = [
    "Atom",
    "Axis",
    "Combination",
    "Condition",
    "Expression",
    "Profile",
    "Space",
    "UnreadableMarker",
    "atoms_of",
    "parse_expression",
]
