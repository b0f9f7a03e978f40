"""How fast distcycle is, against what the machine itself takes: ``python -m benchmarks``."""
