"""What must be built before what, if everything is built from source; pure, as the judgement is."""

from distcycle.builds.drafts import draft_builds
from distcycle.builds.loops import BuildLoop, find_build_loops, smallest_bootstraps
from distcycle.builds.records import Builds, Link, Own, Source
from distcycle.builds.walk import walk_builds

__all__ = [
    "BuildLoop",
    "Builds",
    "Link",
    "Own",
    "Source",
    "draft_builds",
    "find_build_loops",
    "smallest_bootstraps",
    "walk_builds",
]
