"""What is installed where: reach from the roots, to a fixed point, in all environments at once.

From each root, environments flow along edges: an edge is live where its source is reached and its
marker holds. What a package requires is asked of the wheel that an installer would take in each
environment; the lock's own edges serve where no wheel can be asked, and everywhere say what the
lock's tool installs.
"""

from distcycle.selection.flow import flow_along, select
from distcycle.selection.records import Edge, Node, Offer, Request, Selection, Unmet
from distcycle.selection.roots import MOST_CHOICES, find_choices, find_roots, is_requested, may_hold

__all__ = [
    "MOST_CHOICES",
    "Edge",
    "Node",
    "Offer",
    "Request",
    "Selection",
    "Unmet",
    "find_choices",
    "is_requested",
    "find_roots",
    "flow_along",
    "may_hold",
    "select",
]
