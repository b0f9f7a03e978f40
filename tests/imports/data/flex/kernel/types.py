"""A module for type checkers: it cannot be imported when a program runs."""

raise ImportError("for type checkers alone")


class Graph:
    """What is compiled."""
