import json
import time
from dataclasses import replace

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from distcycle.metadata.listing import dump_listing, list_files, load_listing
from distcycle.metadata.records import BadRecord
from distcycle.model import Artefact

DEMO = canonicalize_name("demo")


def names(*filenames: str) -> list[Artefact]:
    return [Artefact(filename=filename) for filename in filenames]


def test_files_are_found_by_exact_version_however_it_is_spelled() -> None:
    listing = list_files(
        names(
            "demo-1.0.tar.gz",
            "demo-1-py3-none-any.whl",
            "demo-1.0.0+cu1-py3-none-any.whl",
            "demo-1.0.1.zip",
            "other-1.0.zip",
            "demo-1.0.egg",
            "demo-1.0-x.whl",
        )
    )
    for version in ("1", "1.0", "1.0.0.0"):
        found = listing.of(DEMO, Version(version))
        assert [file.filename for file in found] == ["demo-1.0.tar.gz", "demo-1-py3-none-any.whl"]
    assert len(listing.of(DEMO, Version("1+cu1"))) == 1
    assert listing.of(DEMO, Version("2")) == ()


def test_what_is_dumped_is_loaded() -> None:
    listing = list_files(names("demo-1.0.tar.gz"), etag='"x"', last_modified="yesterday")
    assert load_listing(json.loads(json.dumps(dump_listing(listing)))) == listing


def test_age() -> None:
    now, listing = int(time.time()), list_files([])
    assert listing.age_s < 60
    assert replace(listing, fetched_s=now - 900).age_s >= 900
    assert replace(listing, fetched_s=now + 9999).age_s == float("inf")


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"files": [], "fetched_s": 1},
        {"files": {"demo 1": 1}, "fetched_s": 1},
        {"files": {}, "fetched_s": "1"},
        {"files": {}, "fetched_s": 1, "etag": 1},
    ],
)
def test_other_json_is_refused(value: object) -> None:
    with pytest.raises(BadRecord):
        load_listing(value)
