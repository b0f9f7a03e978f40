"""Answers what a judgement needs to know: files of packages, and METADATA of artefacts."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from packaging.utils import NormalizedName
from packaging.version import Version

from distcycle.errors import MetadataError
from distcycle.metadata.artefacts import Artefacts
from distcycle.metadata.bundle import Bundle
from distcycle.metadata.cache import Cache, default_cache_dir
from distcycle.metadata.files import Files
from distcycle.metadata.index import Listings
from distcycle.metadata.locations import Locations, credentials_of, resolve_locations
from distcycle.metadata.pip_config import config_files, read_pip_settings
from distcycle.metadata.releases import Releases
from distcycle.metadata.sources import Sources
from distcycle.metadata.whole import Whole
from distcycle.model import Artefact, Facts, IndexOptions, Metadata, Needs, Unknown

if TYPE_CHECKING:
    from distcycle.metadata.http import Client

__all__ = ["Library", "Options"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_TIMEOUT_S = 15.0
_NO_RELEASES = "a bundle does not say which releases there are"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Where facts come from, and how they are fetched.

    Attributes:
        index_url: The index; None for what the input or pip's configuration says.
        extra_index_urls: Further indexes.
        find_links: Folders, pages or archives that are looked into as well.
        no_index: Ask no index.
        offline: Open no socket; cache and local files only.
        bundle: Facts saved before; what is in it is not sought elsewhere.
        cache_dir: Where fetched facts are kept; None for nowhere.
        concurrency: Requests at a time.
        timeout_s: Longest silence of a server, in seconds; None for what pip's configuration says.
        retries: Further attempts after the first.
        cert: A file of certificate authorities; None for what pip's configuration says.
        proxy: For http and https; None for what pip's configuration or the environment says.
        progress: Called with how many facts are had, and how many there will be.
    """

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    offline: bool = False
    bundle: Bundle | None = None
    cache_dir: Path | None = field(default_factory=default_cache_dir)
    concurrency: int = 32
    timeout_s: float | None = None
    retries: int = 3
    cert: str | None = None
    proxy: str | None = None
    progress: Callable[[int, int], None] | None = None


class Library:
    """Finds facts. As a context manager it closes its connections at the end.

    Args:
        options: Where facts come from.
        environ: The environment; None for this process's.

    Raises:
        InputError: pip's configuration, on which the search rests, cannot be read.
    """

    def __init__(self, options: Options, *, environ: Mapping[str, str] | None = None) -> None:
        self._options = options
        environ = os.environ if environ is None else environ
        self._pip = read_pip_settings(environ, config_files(environ))
        self._cache = Cache(options.cache_dir)
        self._credentials: dict[str, tuple[str, str]] = {}
        self._client: Client | None = None
        self._guard = threading.Lock()
        self._listings = Listings(self._open, self._cache, offline=options.offline)

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        with self._guard:
            if self._client is not None:
                self._client.close()
                self._client = None

    @property
    def cache(self) -> Cache:
        """Where facts are kept between runs."""
        return self._cache

    def gather(self, needs: Needs, facts: Facts, *, index: IndexOptions) -> Facts:
        """Answer everything that a judgement needs.

        Args:
            needs: What it lacks.
            facts: What it has; nothing in it is sought again.
            index: What the input itself says about where files are.

        Returns:
            ``facts`` with an answer to each need: a value, or :class:`Unknown` with a reason.

        Raises:
            MetadataError: A whole file does not have the hash that the input gives for it.
        """
        locations = self._locations(index)
        files = Files(self._listings, locations)
        artefacts = Artefacts(
            self._open, self._cache, self._listings, locations, offline=self._options.offline
        )
        asked = {
            key: partial(self._files, files, *key, registry)
            for key, registry in sorted(needs.files.items())
            if key not in facts.files
        }
        wheels = {artefact.identity: artefact for artefact in needs.metadata}
        wanted = {
            identity: partial(self._metadata, artefacts, wheels[identity])
            for identity in sorted(wheels)
            if identity not in facts.metadata
        }
        released = {name: partial(self._released, files, name) for name in sorted(needs.versions)}
        sources = Sources(
            self._open, self._cache, self._listings, locations, offline=self._options.offline
        )
        built = {sdist.identity: partial(sources.build_system, sdist) for sdist in needs.builds}
        total = len(asked) + len(wanted) + len(released) + len(built)
        progress = _Progress(self._options.progress, total)
        with ThreadPoolExecutor(max(1, self._options.concurrency)) as pool:
            found = _run(pool, asked, progress)
            said = _run(pool, wanted, progress)
            versions = _run(pool, released, progress)
            builds = _run(pool, built, progress)
        return Facts(
            files=MappingProxyType({**facts.files, **found}),
            metadata=MappingProxyType({**facts.metadata, **said}),
            versions=MappingProxyType({**facts.versions, **versions}),
            builds=MappingProxyType({**facts.builds, **builds}),
        )

    def versions(
        self, project: NormalizedName, *, index: IndexOptions
    ) -> tuple[Version, ...] | Unknown:
        """The versions of a project that the configured indexes have, or why none is known.

        Args:
            project: The project.
            index: What the input itself says about where files are.
        """
        if self._options.bundle is not None:
            return Unknown(reason=_NO_RELEASES)
        return Files(self._listings, self._locations(index)).versions(project)

    def _released(self, files: Files, project: NormalizedName) -> tuple[Version, ...] | Unknown:
        if self._options.bundle is not None:
            return Unknown(reason=_NO_RELEASES)
        return files.versions(project)

    def releases(self, *, index: IndexOptions) -> Releases:
        """What is released, for a resolution; to be used as a context manager.

        Args:
            index: What the input itself says about where files are.

        Raises:
            MetadataError: A bundle is all that may be asked.
        """
        if self._options.bundle is not None:
            raise MetadataError(_NO_RELEASES)
        locations = self._locations(index)
        artefacts = Artefacts(
            self._open, self._cache, self._listings, locations, offline=self._options.offline
        )
        return Releases(
            Files(self._listings, locations), artefacts, max(1, self._options.concurrency)
        )

    def fetch(
        self, artefact: Artefact, folder: Path, *, index: IndexOptions, download: bool
    ) -> Path:
        """Find a whole file on this machine, or fetch it.

        Args:
            artefact: The file.
            folder: Where a fetched one is put.
            index: What the input itself says about where files are.
            download: Whether it may be fetched.

        Returns:
            Where it is.

        Raises:
            MetadataError: It is not to be had, or has another hash than the input gives.
        """
        client = self._open if download and not self._options.offline else None
        return Whole(client, self._listings, self._locations(index)).fetch(artefact, folder)

    def open(self, artefact: Artefact, *, index: IndexOptions) -> BinaryIO:
        """Open a wheel for reading some of its members; of a remote one, only those are fetched.

        Raises:
            MetadataError: It is not to be had.
        """
        client = None if self._options.offline else self._open
        return Whole(client, self._listings, self._locations(index)).open(artefact)

    def _files(
        self, files: Files, project: NormalizedName, version: Version, registry: str | None
    ) -> tuple[Artefact, ...] | Unknown:
        bundle = self._options.bundle
        known = None if bundle is None else bundle.files(project, version)
        return files.of(project, version, registry) if known is None else known

    def _metadata(self, artefacts: Artefacts, artefact: Artefact) -> Metadata | Unknown:
        bundle = self._options.bundle
        known = None if bundle is None else bundle.metadata(artefact)
        return artefacts.metadata(artefact) if known is None else known

    def _locations(self, index: IndexOptions) -> Locations:
        options = self._options
        flags = IndexOptions(
            index_url=options.index_url,
            extra_index_urls=options.extra_index_urls,
            find_links=options.find_links,
            no_index=options.no_index,
        )
        locations = resolve_locations(flags, index, self._pip)
        self._credentials.update(credentials_of(locations))
        return locations

    def _open(self) -> Client:
        """The client, made when the network is first needed: its import takes a while."""
        with self._guard:
            if self._client is None:
                http = importlib.import_module("distcycle.metadata.http")
                self._client = cast("Client", http.Client(http.Connection(**self._connection())))
            return self._client

    def _connection(self) -> dict[str, Any]:
        """Settings of the client: a flag, else pip's configuration, else the default."""
        options, pip = self._options, self._pip
        return {
            "timeout_s": options.timeout_s or pip.timeout_s or _TIMEOUT_S,
            "retries": max(0, options.retries),
            "cert": options.cert or pip.cert,
            "client_cert": pip.client_cert,
            "proxy": options.proxy or pip.proxy,
            "trusted_hosts": pip.trusted_hosts,
            "credentials": self._credentials,
        }


class _Progress:
    """Counts what is done, for whoever wants to show it."""

    def __init__(self, report: Callable[[int, int], None] | None, total: int) -> None:
        self._report = report
        self._total = total
        self._done = 0

    def step(self) -> None:
        self._done += 1
        if self._report is not None:
            self._report(self._done, self._total)


def _run(
    pool: ThreadPoolExecutor, jobs: Mapping[K, Callable[[], V]], progress: _Progress
) -> dict[K, V]:
    """Do all jobs at once; of several errors the one of the first job is raised, on every run."""
    futures = {key: pool.submit(job) for key, job in jobs.items()}
    try:
        for _ in as_completed(futures.values()):
            progress.step()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    return {key: future.result() for key, future in futures.items()}
