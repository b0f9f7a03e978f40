"""One environment for all tests of this folder that install; they use different names."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from made_wheels import Venv


@pytest.fixture(scope="session")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Venv:
    if importlib.util.find_spec("pip") is None:
        pytest.skip("needs pip")
    return Venv(Path(tmp_path_factory.mktemp("venv")))
