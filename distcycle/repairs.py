"""Carries out a plan on wheels: repaired ones, composites, and patches for rules_python."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from distcycle.emitters.patch import edits_of, patch_names, patches_for_wheel, snippet
from distcycle.errors import InputError
from distcycle.metadata import Library
from distcycle.metadata.archive import read_texts
from distcycle.model import Artefact, IndexOptions
from distcycle.plan import Plan, PlannedCut, PlannedGroup
from distcycle.selection import Selection
from distcycle.wheelwork import write_merged, write_repaired

__all__ = ["Workshop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """Where the wheels come from, and how they are rewritten.

    Attributes:
        library: Finds the wheels.
        index: What the input itself says about where files are.
        download: Whether whole wheels may be fetched.
        keep_version: Whether repaired wheels keep their version.
        allow_signed: Whether signed wheels are taken, and their signatures left out.
        write: Writes a text file whole or not at all.
    """

    library: Library
    index: IndexOptions
    download: bool = False
    keep_version: bool = False
    allow_signed: bool = False
    write: Callable[[str, str], None]

    def repair(self, plan: Plan, out: Path) -> list[Path]:
        """Write a repaired wheel for each wheel that a plan's cuts are about.

        Args:
            plan: The plan.
            out: The folder for the new wheels.

        Returns:
            The new wheels.

        Raises:
            InputError: A wheel must not be rewritten, or the plan has no wheel.
            MetadataError: A wheel is not to be had.
        """
        written = []
        with tempfile.TemporaryDirectory() as folder:
            for artefact, cuts in self._wheels_of(plan):
                path = self._fetch(artefact, Path(folder))
                written.append(
                    write_repaired(
                        path,
                        edits_of(cuts),
                        out,
                        keep_version=self.keep_version,
                        allow_signed=self.allow_signed,
                    )
                )
        return written

    def _wheels_of(self, plan: Plan) -> Iterator[tuple[Artefact, list[PlannedCut]]]:
        wheels: dict[str, Artefact] = {}
        cuts: dict[str, list[PlannedCut]] = defaultdict(list)
        for cut in plan.cuts:
            for artefact in cut.wheels:
                wheels[artefact.filename] = artefact
                cuts[artefact.filename].append(cut)
        if plan.cuts and not wheels:
            raise InputError("no wheel is known to declare what is to be cut", path=plan.input)
        return ((wheels[name], cuts[name]) for name in sorted(wheels))

    def _fetch(self, artefact: Artefact, folder: Path) -> Path:
        return self.library.fetch(artefact, folder, index=self.index, download=self.download)

    def merge(self, plan: Plan, selection: Selection, out: Path) -> list[Path]:
        """Write a composite wheel for each group of a plan, and stand-ins for its members.

        Args:
            plan: The plan.
            selection: What was selected, on one target.
            out: The folder for the new wheels.

        Returns:
            The new wheels.

        Raises:
            InputError: More than one target is judged, or the wheels cannot be merged.
            MetadataError: A wheel is not to be had.
        """
        if len(selection.space.named) != 1 or selection.space.is_whole:
            raise InputError(
                "a composite is for one target; name it by --platform and --python-version"
            )
        written: list[Path] = []
        with tempfile.TemporaryDirectory() as folder:
            for group in plan.groups:
                chosen = self._chosen(group, selection)
                paths = [self._fetch(artefact, Path(folder)) for artefact in chosen]
                written += write_merged(
                    paths,
                    name=_composite_name(group),
                    version=_version_of(group, selection),
                    out=out,
                    allow_signed=self.allow_signed,
                )
        return written

    def _chosen(self, group: PlannedGroup, selection: Selection) -> Iterable[Artefact]:
        """The wheels of a group's members that the target takes."""
        for index, package in enumerate(selection.snapshot.packages):
            if package.name in group.packages and (index, "") in selection.reached:
                taken = [c.artefact for c in selection.choices.get(index, ()) if c.artefact]
                wheels = [artefact for artefact in taken if artefact.is_wheel]
                if not wheels:
                    raise InputError(f"{package.name} has no wheel there", path=package.place.path)
                yield wheels[0]

    def patch(self, plan: Plan, out: Path) -> list[Path]:
        """Write patches for rules_python, and what MODULE.bazel says of them.

        Args:
            plan: The plan.
            out: The folder for the patches.

        Returns:
            The new files, the snippet last.

        Raises:
            InputError: A file cannot be written, or a wheel's texts cannot be read.
            MetadataError: A wheel is not to be had.
        """
        by_wheel: dict[str, Sequence[PlannedCut]] = {}
        texts: dict[str, bytes] = {}
        for artefact, cuts in self._wheels_of(plan):
            with self.library.open(artefact, index=self.index) as file:
                metadata, record = read_texts(file, artefact.filename)
            patches = patches_for_wheel(artefact.filename, metadata, record, cuts)
            texts.update(zip(patch_names(artefact.filename), patches, strict=True))
            by_wheel[artefact.filename] = cuts
        out.mkdir(parents=True, exist_ok=True)
        texts["MODULE.bazel.snippet"] = snippet(by_wheel).encode()
        for name, data in texts.items():
            self.write(str(out / name), data.decode("utf-8", "surrogateescape"))
        return [out / name for name in texts]


def _version_of(group: PlannedGroup, selection: Selection) -> Version:
    """The version of the member that a group is named after."""
    for package in selection.snapshot.packages:
        if package.name == group.name and package.version is not None:
            return package.version
    raise InputError(f"{group.name} has no version in it", path=selection.snapshot.path)


def _composite_name(group: PlannedGroup) -> NormalizedName:
    return canonicalize_name(f"{group.name}-composite")
