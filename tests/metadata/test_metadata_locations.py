from distcycle.metadata.locations import Location, credentials_of, resolve_locations
from distcycle.metadata.pip_config import PipSettings
from distcycle.model import IndexOptions

NONE = IndexOptions()
PIP = PipSettings(index_url="pip", extra_index_urls=("pip-extra",), find_links=("pip-links",))


def urls(locations: tuple[Location, ...]) -> list[str | None]:
    return [location.url for location in locations]


def test_default_index_when_nobody_says_anything() -> None:
    locations = resolve_locations(NONE, NONE, PipSettings())
    assert locations.indexes == (Location(url=None),)
    assert locations.find_links == ()


def test_command_line_then_input_then_pip() -> None:
    flags = IndexOptions(index_url="flag", extra_index_urls=("flag-extra",))
    given = IndexOptions(index_url="given", extra_index_urls=("given-extra",))
    assert urls(resolve_locations(NONE, NONE, PIP).indexes) == ["pip", "pip-extra"]
    assert urls(resolve_locations(NONE, given, PIP).indexes) == ["given", "given-extra"]
    assert urls(resolve_locations(flags, NONE, PIP).indexes) == ["flag", "flag-extra", "pip-extra"]
    assert urls(resolve_locations(flags, given, PIP).indexes) == [
        "flag",
        "flag-extra",
        "given-extra",
    ]


def test_links_add_up_and_no_index_leaves_only_them() -> None:
    flags = IndexOptions(find_links=("flag-links",))
    given = IndexOptions(find_links=("given-links",), no_index=True)
    locations = resolve_locations(flags, given, PIP)
    assert locations.indexes == ()
    assert urls(locations.find_links) == ["flag-links", "given-links", "pip-links"]


def test_only_what_the_user_chose_is_trusted() -> None:
    given = IndexOptions(extra_index_urls=("given", "pip-extra"))
    trust = {i.url: i.trusted for i in resolve_locations(NONE, given, PIP).indexes}
    assert trust == {"pip": True, "given": False, "pip-extra": True}


def test_credentials_by_origin() -> None:
    flags = IndexOptions(index_url="https://me:pw@pypi.example/simple")
    found = credentials_of(resolve_locations(flags, NONE, PipSettings()))
    assert found == {"https://pypi.example": ("me", "pw")}


def test_registry_of_the_input_is_one_more_index_unless_it_is_configured() -> None:
    locations = resolve_locations(NONE, NONE, PipSettings(index_url="https://me:pw@a.example/s"))
    assert locations.named(None) == ()
    assert locations.named("https://a.example/s/") == ()
    assert locations.named("https://b.example/s") == (
        Location(url="https://b.example/s", trusted=False),
    )
    none = resolve_locations(IndexOptions(no_index=True), NONE, PIP)
    assert none.named("https://b.example/s") == ()
