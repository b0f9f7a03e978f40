import sys
from pathlib import Path

# The benchmarks are not installed; what is installed comes first all the same.
sys.path.append(str(Path(__file__).resolve().parents[2]))
