from __future__ import annotations

from collections.abc import Iterator

import pytest
from fresh_imports import Server, server


@pytest.fixture(scope="session")
def real() -> Iterator[Server]:
    with server() as running:
        yield running
