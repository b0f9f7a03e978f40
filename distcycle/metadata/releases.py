"""What is released: versions, files and METADATA, each fetched once and, if wished, ahead."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar, cast

from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.metadata.archive import name_and_version
from distcycle.metadata.artefacts import Artefacts
from distcycle.metadata.files import Files
from distcycle.metadata.hashes import ALGORITHMS
from distcycle.metadata.urls import filename_of, local_path
from distcycle.model import Artefact, Metadata, Unknown

__all__ = ["Releases"]

V = TypeVar("V")


class Releases:
    """Answers a resolver, which asks for one thing after another; safe to use from many threads.

    Args:
        files: Finds versions and their files.
        artefacts: Finds METADATA.
        concurrency: How many jobs are done ahead at a time.
    """

    def __init__(self, files: Files, artefacts: Artefacts, concurrency: int) -> None:
        self._files = files
        self._artefacts = artefacts
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="distcycle")
        self._guard = threading.Lock()
        self._answers: dict[Hashable, Future[object]] = {}

    def __enter__(self) -> Releases:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Nothing more is begun; what has begun is waited for, unless something went wrong.
        self._pool.shutdown(wait=kind is None, cancel_futures=True)

    def versions(self, project: NormalizedName) -> tuple[Version, ...] | Unknown:
        """The versions of a project, newest first, or why none is known."""
        return self._once(("versions", project), lambda: self._files.versions(project))

    def files(self, project: NormalizedName, version: Version) -> tuple[Artefact, ...] | Unknown:
        """The files of a version by name, or why there are none."""
        return self._once((project, version), lambda: self._files.of(project, version, None))

    def metadata(self, artefact: Artefact) -> Metadata | Unknown:
        """What a file says of itself, or why that cannot be had.

        Raises:
            MetadataError: A whole file was read whose hash is not the recorded one.
        """
        return self._once(
            ("metadata", artefact.identity), lambda: self._artefacts.metadata(artefact)
        )

    def file_at(self, url: str) -> Artefact | None:
        """The wheel or source distribution that a URL leads to; None when it leads elsewhere."""
        url, _, fragment = url.partition("#")
        filename = filename_of(url)
        if "+" in url.partition(":")[0] or name_and_version(filename) is None:
            return None
        pairs = (part.partition("=") for part in fragment.split("&"))
        hashes = tuple(sorted((name, value) for name, _, value in pairs if name in ALGORITHMS))
        path = local_path(url)
        if path is not None:
            return Artefact(filename=filename, path=str(path), hashes=hashes)
        return Artefact(filename=filename, url=url, hashes=hashes)

    def version_at(self, url: str) -> Version | None:
        """The version that a URL's file name says; None when it says none."""
        named = name_and_version(filename_of(url))
        return None if named is None else named[1]

    def ahead(self, job: Callable[[], None]) -> None:
        """Do a job in the background, when there is room; what it raises is left to who asks."""
        try:
            self._pool.submit(job)
        except RuntimeError:
            return  # closed: nothing is needed any more

    def _once(self, key: Hashable, find: Callable[[], V]) -> V:
        """Find an answer, or wait for whoever is finding it."""
        with self._guard:
            future = self._answers.get(key)
            is_ours = future is None
            if future is None:
                future = self._answers[key] = Future()
        if is_ours:
            try:
                future.set_result(find())
            except BaseException as error:
                future.set_exception(error)
        return cast("V", future.result())
