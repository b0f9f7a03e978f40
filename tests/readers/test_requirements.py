from __future__ import annotations

from collections.abc import Mapping

import pytest
from corpus import CORPUS, needs_corpus, read_rows
from hypothesis import given
from hypothesis import strategies as st

from distcycle.errors import InputError
from distcycle.model import Artefact, IndexOptions, Package, Snapshot
from distcycle.readers import Document
from distcycle.readers.requirements import read


def snapshot(
    text: str | bytes,
    files: Mapping[str, str | bytes] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Snapshot:
    def beside(name: str) -> tuple[str, bytes] | None:
        data = (files or {}).get(name)
        if data is None:
            return None
        return f"dir/{name}", data if isinstance(data, bytes) else data.encode()

    data = text if isinstance(text, bytes) else text.encode()
    return read(
        Document(path="dir/requirements.txt", data=data, beside=beside, environ=environ or {})
    )


def pins(read_in: Snapshot) -> list[tuple[str, str | None, str | None]]:
    return [
        (p.name, str(p.version) if p.version else None, str(p.marker) if p.marker else None)
        for p in read_in.packages
    ]


def messages(read_in: Snapshot) -> list[tuple[int | None, str]]:
    return [(p.place.line, p.message) for p in read_in.problems]


def only(read_in: Snapshot) -> Package:
    assert not read_in.problems
    (package,) = read_in.packages
    return package


# Degenerate files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "\ufeff"])
def test_an_empty_file_has_no_packages(text: str) -> None:
    read_in = snapshot(text)
    assert (read_in.packages, read_in.roots, read_in.problems) == ((), (), ())
    assert not read_in.complete


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_encodings_and_newlines(encoding: str, newline: str) -> None:
    text = newline.join(["a==1 \\", "    --hash=sha256:ab", "    # via b", "b==2", ""])
    read_in = snapshot(text.encode(encoding))
    assert pins(read_in) == [("a", "1", None), ("b", "2", None)]
    assert read_in.packages[0].via == ("b",)
    assert [p.place.line for p in read_in.packages] == [1, 4]


@pytest.mark.parametrize(
    "text",
    [
        "Requirements files\n==================\n\nWhen installing software, and so on\n",
        "[tool.poetry]\nname = 'x'\n",
        '{"a": 1}\n',
        "import os\n\nprint(os.name)\n",
        "- item\n- item\n",
        "--nope\n",
    ],
)
def test_another_kind_of_text_is_refused_once(text: str) -> None:
    with pytest.raises(InputError, match=r"^dir/requirements\.txt:1: not a requirements file"):
        snapshot(text)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(InputError, match="not a text file"):
        snapshot(b"PK\x03\x04\0\0\0")


# Lines --------------------------------------------------------------------------------------------


def test_a_pinned_line_is_a_root_and_a_package() -> None:
    read_in = snapshot("# c\n\nFoo.Bar[x,Y] == 1.0 ; sys_platform == 'linux'  # why\n")
    package = only(read_in)
    assert read_in.roots is not None
    requirement = read_in.roots[0].requirement
    assert pins(read_in) == [("foo-bar", "1.0", 'sys_platform == "linux"')]
    assert (package.source, package.requirements, package.artefacts) == ("registry", None, None)
    assert requirement.extras == ("x", "y")
    assert requirement.text == "Foo.Bar[x,Y] == 1.0 ; sys_platform == 'linux'"
    assert requirement.place == package.place
    assert (package.place.path, package.place.line) == ("dir/requirements.txt", 3)


@pytest.mark.parametrize("line", ["foo", "foo>=1", "foo==1.*", "foo===x.y"])
def test_an_unpinned_line_is_a_package_without_version(line: str) -> None:
    package = only(snapshot(line))
    assert (package.version, package.source) == (None, "registry")


def test_hashes_and_other_options_of_a_requirement() -> None:
    text = "foo==1 --global-option=x -C a=b --hash=sha256:CD --hash sha512:ab\n"
    read_in = snapshot(text)
    assert only(read_in).hashes == (("sha256", "cd"), ("sha512", "ab"))
    assert read_in.complete


def test_lines_of_one_name_under_several_markers_are_several_packages() -> None:
    text = "foo==1 ; python_version < '3.10'\nfoo==2 ; python_version >= '3.10'\n"
    read_in = snapshot(text)
    assert pins(read_in) == [
        ("foo", "1", 'python_version < "3.10"'),
        ("foo", "2", 'python_version >= "3.10"'),
    ]


def test_lines_that_say_the_same_are_one_package() -> None:
    read_in = snapshot("foo==1 --hash=sha256:aa\n # via b\nfoo[x]==1 --hash=sha256:bb # via a\n")
    package = only(read_in)
    assert (package.via, package.hashes) == (("a", "b"), (("sha256", "aa"), ("sha256", "bb")))
    assert read_in.roots is not None
    assert [root.requirement.extras for root in read_in.roots] == [(), ("x",)]


def test_a_line_that_another_pins_is_a_root_only() -> None:
    read_in = snapshot("foo[x]\nfoo==1\n")
    assert pins(read_in) == [("foo", "1", None)]
    assert len(read_in.roots or ()) == 2


def test_a_pin_for_part_of_the_environments_leaves_the_rest_unpinned() -> None:
    read_in = snapshot("foo\nfoo==1 ; os_name == 'nt'\n")
    assert pins(read_in) == [("foo", None, None), ("foo", "1", 'os_name == "nt"')]


@pytest.mark.parametrize(
    ("line", "name", "version", "source"),
    [
        ("foo @ https://h.example/foo-1.0.tar.gz", "foo", "1.0", "url"),
        ("foo@https://h.example/1.0.tar.gz", "foo", None, "url"),
        ("foo @ ./foo", "foo", None, "directory"),
        ("https://h.example/foo-1.0-py3-none-any.whl", "foo", "1.0", "url"),
        ("./foo-1.0-py3-none-any.whl", "foo", "1.0", "file"),
        ("git+ssh://git@h.example/u/foo.git@main#egg=foo", "foo", None, "vcs"),
        ("foo @ git+https://h.example/foo@v1#subdirectory=a", "foo", None, "vcs"),
        ("-e git+https://h.example/foo#egg=foo", "foo", None, "vcs"),
        ("-e foo @ git+https://h.example/foo", "foo", None, "vcs"),
        ("-e ../foo#egg=foo", "foo", None, "editable"),
    ],
)
def test_direct_references(line: str, name: str, version: str | None, source: str) -> None:
    read_in = snapshot(line)
    package = only(read_in)
    assert pins(read_in) == [(name, version, None)]
    assert package.source == source
    assert read_in.roots is not None
    assert read_in.roots[0].requirement.url == package.url


def test_the_file_of_a_direct_reference() -> None:
    url = "https://u:p@h.example/foo-1.0.tar.gz"
    read_in = snapshot(f"foo @ {url} --hash=sha256:ab")
    package = only(read_in)
    digest = (("sha256", "ab"),)
    assert package.artefacts == (Artefact(filename="foo-1.0.tar.gz", url=url, hashes=digest),)
    assert package.url == "https://h.example/foo-1.0.tar.gz"


@pytest.mark.parametrize(
    "line",
    [
        "foo @ https://h.example/foo-1.0.zip ; os_name == 'nt'",
        "foo @ https://h.example/foo-1.0.zip; os_name == 'nt'",
        "https://h.example/foo-1.0.zip ; os_name == 'nt'",
        "https://h.example/foo-1.0.zip; os_name == 'nt'",
        "./foo-1.0.zip ; os_name == 'nt'",
        "-e ./foo#egg=foo ; os_name == 'nt'",
    ],
)
def test_markers_of_direct_references(line: str) -> None:
    read_in = snapshot(line)
    assert str(only(read_in).marker) == 'os_name == "nt"'
    assert read_in.roots is not None
    assert str(read_in.roots[0].requirement.marker) == 'os_name == "nt"'


def test_a_local_project_is_named_by_its_pyproject() -> None:
    files = {"sub/pyproject.toml": "[project]\nname = 'My.Tool'\n"}
    assert pins(snapshot("-e ./sub[x]\n", files)) == [("my-tool", None, None)]
    assert only(snapshot("-e file:sub\n", files)).source == "editable"


@pytest.mark.parametrize("project", [None, "[project]\n", "]", "project = 1", b"\xff"])
def test_a_nameless_path_is_a_problem(project: str | bytes | None) -> None:
    read_in = snapshot("-e .\n", None if project is None else {"pyproject.toml": project})
    assert read_in.packages == ()
    assert messages(read_in) == [
        (
            1,
            "no project name can be told from the reference; write it as 'name @ reference':"
            " '-e .'",
        )
    ]


def test_variables_are_filled_but_not_shown() -> None:
    text = "foo @ https://${TOKEN}@h.example/${PART}/foo-1.0.zip\n"
    read_in = snapshot(text, environ={"TOKEN": "s3cret", "PART": "p4rt"})
    package = only(read_in)
    assert package.artefacts is not None
    assert package.artefacts[0].url == "https://s3cret@h.example/p4rt/foo-1.0.zip"
    assert read_in.roots is not None
    assert read_in.roots[0].requirement.text == "foo @ https://h.example/${PART}/foo-1.0.zip"


def test_no_message_shows_a_password() -> None:
    text = (
        "a\nb\nc\nd\n"
        "https://user:s3cret@h.example/x\n"
        "-r https://user:s3cret@h.example/r.txt\n"
        "--pre https://user:s3cret@h.example/x\n"
        "foo bar https://user:s3cret@h.example/x\n"
        "foo @ https://user:s3cret@h.example/x y z\n"
    )
    read_in = snapshot(text)
    assert [line for line, _ in messages(read_in)] == [5, 6, 7, 8, 9]
    assert "s3cret" not in repr(read_in.problems)
    assert "s3cret" not in repr(read_in.roots)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("foo==1 bar", "Expected comma"),
        ("foo==", "Expected semicolon"),
        ("foo==1 ; nope", "Expected"),
        ("foo==1 --nope", "no such option: --nope"),
        ("foo==1 --hash=md5:ab", "expected sha256:"),
    ],
)
def test_a_line_that_is_half_readable_keeps_its_name(line: str, found: str) -> None:
    read_in = snapshot(f"a==1\n{line}\n")
    assert [p.name for p in read_in.packages] == ["a", "foo"]
    ((number, message),) = messages(read_in)
    assert number == 2
    assert found in message


@pytest.mark.parametrize("line", ["hello world", "--nope", "???", "x = 1", "-"])
def test_a_line_that_says_nothing_is_a_problem_and_no_package(line: str) -> None:
    read_in = snapshot(f"a==1\n{line}\n")
    assert [p.name for p in read_in.packages] == ["a"]
    assert [number for number, _ in messages(read_in)] == [2]


# Global options -----------------------------------------------------------------------------------


def test_index_options() -> None:
    text = (
        "-i https://one.example\n--index-url=https://two.example\n"
        "--extra-index-url https://three.example\n--extra-index-url https://three.example\n"
        "-f wheels\n-r sub/more.txt\n--no-index\n--pre\n--trusted-host h\n--no-binary :all:\n"
    )
    files = {"sub/more.txt": "-f wheels\n-f https://four.example\n"}
    read_in = snapshot(text, files)
    assert read_in.problems == ()
    assert read_in.index == IndexOptions(
        index_url="https://two.example",
        extra_index_urls=("https://three.example",),
        find_links=("wheels", "sub/wheels", "https://four.example"),
        no_index=True,
    )


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("a==1\n", False),
        ("a==1 --hash=sha256:ab\n", True),
        ("--require-hashes\na==1\n", True),
        ("# This file is autogenerated by pip-compile\na==1\n", True),
        ("# This file is autogenerated by pip-compile\n-r missing.txt\n", False),
    ],
)
def test_a_file_claims_to_be_complete(text: str, complete: bool) -> None:
    assert snapshot(text).complete is complete


def test_what_a_compiler_left_out_is_a_package_but_no_root() -> None:
    text = (
        "# This file is autogenerated by pip-compile\na==1\npip==9\n\n"
        "# The following packages are considered to be unsafe in a requirements file:\n"
        "# setuptools\n# pip\n"
    )
    read_in = snapshot(text)
    assert pins(read_in) == [("a", "1", None), ("pip", "9", None), ("setuptools", None, None)]
    assert read_in.packages[2].place.line == 6
    assert len(read_in.roots or ()) == 2


def test_a_hash_cut_off_by_a_comment_is_a_problem() -> None:
    read_in = snapshot("a==1 \\\n# via b\n--hash=sha256:ab\n")
    assert messages(read_in) == [(3, "--hash without a requirement, which pip ignores")]
    assert read_in.packages[0].hashes == ()


# Includes and constraints -------------------------------------------------------------------------


def test_includes_are_relative_to_the_file_that_has_them() -> None:
    files = {"sub/a.txt": "a==1\n-r ../b.txt\n-r c.txt\n", "b.txt": "b==1", "sub/c.txt": "c==1"}
    read_in = snapshot("-r sub/a.txt\nd==1\n", files)
    assert [(p.name, p.place.path, p.place.line) for p in read_in.packages] == [
        ("a", "dir/sub/a.txt", 1),
        ("b", "dir/b.txt", 1),
        ("c", "dir/sub/c.txt", 1),
        ("d", "dir/requirements.txt", 2),
    ]


def test_a_file_included_twice_is_read_once() -> None:
    files = {"a.txt": "-r c.txt", "b.txt": "-r c.txt", "c.txt": "c==1"}
    read_in = snapshot("-r a.txt\n-r b.txt\n", files)
    assert len(read_in.roots or ()) == 1
    assert read_in.problems == ()


def test_an_include_loop_is_one_problem() -> None:
    files = {"a.txt": "a==1\n-r sub/b.txt\n", "sub/b.txt": "b==1\n-r ../a.txt\n"}
    read_in = snapshot("-r a.txt\nc==1\n", files)
    assert [p.name for p in read_in.packages] == ["a", "b", "c"]
    (problem,) = read_in.problems
    assert problem.message == "files include each other in a loop: a.txt -> sub/b.txt -> a.txt"
    assert (problem.place.path, problem.place.line) == ("dir/sub/b.txt", 2)


def test_a_file_that_includes_itself_is_one_problem() -> None:
    read_in = snapshot("a==1\n-r requirements.txt\n")
    assert messages(read_in) == [
        (2, "files include each other in a loop: requirements.txt -> requirements.txt")
    ]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("missing.txt", "there is no such file"),
        ("https://h.example/r.txt", "it is a URL, and only local files are read"),
        ("junk.txt", "not a text file: it has NUL characters"),
    ],
)
def test_an_include_that_cannot_be_read_is_a_problem(target: str, reason: str) -> None:
    read_in = snapshot(f"-r {target}\na==1\n", {"junk.txt": b"\0"})
    assert messages(read_in) == [(1, f"cannot read the included file {target!r}: {reason}")]
    assert pins(read_in) == [("a", "1", None)]


def test_endless_includes_end() -> None:
    def beside(name: str) -> tuple[str, bytes]:
        return name, f"-r x{name}".encode()

    read_in = read(Document(path="r.txt", data=b"-r x\n", beside=beside))
    assert [p.message.rpartition(": ")[2] for p in read_in.problems] == [
        "includes are nested more than 50 deep"
    ]


def test_a_constraint_is_no_package_but_pins_one() -> None:
    read_in = snapshot("-c c.txt\nfoo[x]>=1 # via q\n", {"c.txt": "foo==1.5\nbar==2\nbaz\n"})
    assert pins(read_in) == [("foo", "1.5", None)]
    package = only(read_in)
    assert (package.place.line, package.via) == (2, ("q",))
    assert [root.requirement.name for root in read_in.roots or ()] == ["foo"]


def test_a_pinned_line_keeps_its_own_version_against_a_constraint() -> None:
    assert pins(snapshot("-c c.txt\nfoo==1\n", {"c.txt": "foo==2"})) == [("foo", "1", None)]


def test_constraints_under_markers() -> None:
    files = {"c.txt": "foo==1 ; os_name == 'nt'\nfoo==2 ; os_name == 'posix'\n"}
    read_in = snapshot("-c c.txt\nfoo ; python_version > '3'\n", files)
    assert pins(read_in) == [
        ("foo", "1", 'python_version > "3" and os_name == "nt"'),
        ("foo", "2", 'python_version > "3" and os_name == "posix"'),
        ("foo", None, 'python_version > "3"'),
    ]


def test_a_constraint_for_everywhere_holds_under_the_marker_of_the_line() -> None:
    read_in = snapshot("-c c.txt\nfoo ; os_name == 'nt'\n", {"c.txt": "foo==1"})
    assert pins(read_in) == [("foo", "1", 'os_name == "nt"')]


def test_a_constraint_may_be_a_reference() -> None:
    read_in = snapshot("-c c.txt\nfoo\n", {"c.txt": "foo @ git+https://h.example/foo"})
    assert only(read_in).source == "vcs"


# Laws ---------------------------------------------------------------------------------------------

SAMPLE = """\
# This file is autogenerated by pip-compile
--index-url https://pypi.example/simple
foo[x]==1.0 ; sys_platform == 'linux' \\
    --hash=sha256:ab \\
    # via
    #   bar
    #   -r x.in
-e git+https://h.example/u/bar.git#egg=bar
baz @ https://user:pw@h.example/baz-1.0-py3-none-any.whl
-r more.txt
"""
WORDS = st.sampled_from(
    [
        *" \n\t#\\[]()<>=!~;@:/.,-'\"",
        "foo",
        "1.0",
        "==",
        " ; ",
        "-r ",
        "-e ",
        "--hash=",
        "via ",
        "é",
    ]
)


@given(st.binary(max_size=200) | st.lists(WORDS, max_size=30).map(lambda w: "".join(w).encode()))
def test_any_bytes_give_a_snapshot_or_an_input_error(data: bytes) -> None:
    try:
        read_in = snapshot(data, {"foo": data})
    except InputError:
        return
    assert all(problem.place.line for problem in read_in.problems)
    assert all(package.place.line for package in read_in.packages)


def packages_or_refusal(data: bytes) -> int | str:
    try:
        return len(snapshot(data).packages)
    except InputError as error:
        return error.problem


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_any_truncation_gives_a_snapshot_or_an_input_error(encoding: str) -> None:
    data = SAMPLE.encode(encoding)
    answers = {packages_or_refusal(data[:end]) for end in range(len(data) + 1)}
    assert {0, 1, 2, 3} <= answers


@pytest.mark.parametrize("part", [" ", "a", "[", "\\\n", "a,", "# via a\n", "@", "a -- "])
def test_long_runs_are_read_in_linear_time(part: str) -> None:
    # Quadratic reading of the longest would take minutes.
    packages_or_refusal(b"a==1 ; " + part.encode() * 100_000)


# Real files ---------------------------------------------------------------------------------------

# Names found beside those of the name-level scan, or lines that it counted and that are not names.
DIFFERENT = {
    "emmet-torch-triton-10cycle.txt": "150 with setuptools, which pip-compile left out",
    "fx-prp-issues.txt": "lines counted; here 7 say what another says, 3 cannot be read",
    "fx-prp-packaging-docs-nonascii.txt": "lines counted; here one project in 5 forms",
    "fx-prp-pip-docs-examples.txt": "lines counted; here one project in many forms",
    "fx-prp-requirementslib.txt": "lines counted; here markers and sources tell entries apart",
    "home-assistant-2016-requirements_all.txt": "163 with the archives named by #name==version",
    "neg-pip-docs-prose-requirements.txt": "prose, refused",
}


def expected() -> dict[str, int]:
    return {row[0].partition("/")[2]: int(row[1]) for row in read_rows("req")}


def read_corpus(name: str) -> Snapshot:
    def beside(other: str) -> tuple[str, bytes] | None:
        path = CORPUS / "req" / other
        return (other, path.read_bytes()) if path.is_file() else None

    data = (CORPUS / "req" / name).read_bytes()
    return read(Document(path=name, data=data, beside=beside))


@needs_corpus
def test_real_files_have_the_expected_packages() -> None:
    counts = {name: len(read_corpus(name).packages) for name in expected() if name not in DIFFERENT}
    assert len(counts) == 20
    assert counts == {name: expected()[name] for name in counts}


@needs_corpus
def test_real_files_that_differ() -> None:
    assert len(read_corpus("emmet-torch-triton-10cycle.txt").packages) == 150
    assert len(read_corpus("home-assistant-2016-requirements_all.txt").packages) == 163
    with pytest.raises(InputError, match=":1: not a requirements file"):
        read_corpus("neg-pip-docs-prose-requirements.txt")


@needs_corpus
@pytest.mark.parametrize(
    ("name", "project", "via"),
    [
        ("xprof-fsspec-gcsfs.txt", "fsspec", "gcsfs"),
        ("xprof-fsspec-gcsfs.txt", "gcsfs", "fsspec"),
        ("emmet-torch-triton-10cycle.txt", "torch", "triton"),
        ("emmet-torch-triton-10cycle.txt", "triton", "torch"),
        ("scrapegraph-rye-requirements-dev.lock", "lxml", "lxml-html-clean"),
        ("rules-python-docs-crlf.txt", "alabaster", "sphinx"),
        ("rules-python-bslash-comment.txt", "idna", "requests"),
    ],
)
def test_real_via_comments(name: str, project: str, via: str) -> None:
    packages = [p for p in read_corpus(name).packages if p.name == project]
    assert packages
    assert all(via in p.via for p in packages)
