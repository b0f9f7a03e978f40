"""Where files are sought: what the user, the input and pip's configuration say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from distcycle.metadata.pip_config import PipSettings
from distcycle.metadata.urls import origin_of, same_index, split_credentials
from distcycle.model import IndexOptions

__all__ = ["Location", "Locations", "credentials_of", "resolve_locations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """An index, or a place for ``--find-links``.

    Attributes:
        url: A URL or a local path; None for the default index, whose address is looked up only
            when it is asked.
        trusted: Whether the user chose it, by a flag or on this machine, and not the input.
    """

    url: str | None
    trusted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Locations:
    """All places for one input, in the order in which they are asked."""

    indexes: tuple[Location, ...]
    find_links: tuple[Location, ...]

    def named(self, registry: str | None) -> tuple[Location, ...]:
        """The index that the input names for a package, where that is one more to ask.

        Args:
            registry: Its URL; None when the input names none.

        Returns:
            It, or nothing when it is configured anyway, or when no index may be asked.
        """
        if registry is None or not self.indexes:
            return ()
        if any(same_index(index.url, registry) for index in self.indexes):
            return ()
        return (Location(url=registry, trusted=False),)


def resolve_locations(flags: IndexOptions, given: IndexOptions, pip: PipSettings) -> Locations:
    """Bring together where files are sought.

    The index is the one of the first that names one: command line, input, pip's configuration.
    Further indexes and links add up. An input that names an index replaces pip's further ones too,
    as such a line does in pip; ``no_index`` anywhere leaves only links.

    Args:
        flags: What the command line says.
        given: What the input says.
        pip: What pip's environment variables and configuration files say.
    """
    find_links = (
        *_locations(flags.find_links),
        *_locations(given.find_links, trusted=False),
        *_locations(pip.find_links),
    )
    if flags.no_index or given.no_index or pip.no_index:
        return Locations(indexes=(), find_links=_distinct(find_links))
    extra = () if given.index_url else pip.extra_index_urls
    indexes = (
        _main_index(flags, given, pip),
        *_locations(flags.extra_index_urls),
        *_locations(given.extra_index_urls, trusted=False),
        *_locations(extra),
    )
    return Locations(indexes=_distinct(indexes), find_links=_distinct(find_links))


def credentials_of(locations: Locations) -> dict[str, tuple[str, str]]:
    """User and password per origin, as the locations' own URLs give them.

    pip uses an index's credentials for every file of the same host, and so does this.
    """
    found: dict[str, tuple[str, str]] = {}
    for location in (*locations.indexes, *locations.find_links):
        url, credentials = split_credentials(location.url or "")
        if credentials is not None:
            found.setdefault(origin_of(url), credentials)
    return found


def _main_index(flags: IndexOptions, given: IndexOptions, pip: PipSettings) -> Location:
    if flags.index_url:
        return Location(url=flags.index_url)
    if given.index_url:
        return Location(url=given.index_url, trusted=False)
    return Location(url=pip.index_url)


def _locations(urls: Iterable[str], *, trusted: bool = True) -> tuple[Location, ...]:
    return tuple(Location(url=url, trusted=trusted) for url in urls)


def _distinct(locations: Iterable[Location]) -> tuple[Location, ...]:
    """Each place once; one that the user chose as well is trusted."""
    trust: dict[str | None, bool] = {}
    for location in locations:
        trust[location.url] = trust.get(location.url, False) or location.trusted
    return tuple(Location(url=url, trusted=trusted) for url, trusted in trust.items())
