import hashlib
from pathlib import Path

import pytest

from distcycle.metadata.hashes import ALGORITHMS, bytes_match, file_matches, hash_file

DATA = b"demo"


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_algorithm(algorithm: str, tmp_path: Path) -> None:
    digest = hashlib.new(algorithm, DATA).hexdigest()
    (tmp_path / "x").write_bytes(DATA)
    assert hash_file(tmp_path / "x", algorithm) == digest
    for match, matches in [(digest, True), ("0" * len(digest), False), ("\u00e9", False)]:
        assert bytes_match(DATA, [(algorithm, match)]) is matches
        assert file_matches(tmp_path / "x", [(algorithm, match)]) is matches


def test_all_must_match_and_unknown_ones_are_passed_over(tmp_path: Path) -> None:
    good = ("sha256", hashlib.sha256(DATA).hexdigest())
    odd = [("shake_128", "00"), ("none", "00")]
    (tmp_path / "x").write_bytes(DATA)
    assert bytes_match(DATA, [good, *odd])
    assert file_matches(tmp_path / "x", [good, *odd])
    assert not bytes_match(DATA, [good, ("md5", "00")])
