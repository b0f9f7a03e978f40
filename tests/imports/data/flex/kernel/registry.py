"""Keeps what is registered, and how often."""

from collections import Counter

counts = Counter()


def register(name):
    """Register a function under a name."""

    def keep(function):
        counts[name] += 1
        function.registered = name
        return function

    return keep
