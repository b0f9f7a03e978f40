import os
from pathlib import Path

import pytest

from distcycle.errors import InputError
from distcycle.metadata.pip_config import PipSettings, config_files, read_pip_settings


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_said() -> None:
    assert read_pip_settings({}, []) == PipSettings()
    assert read_pip_settings({}, [Path("absent")]) == PipSettings()


def test_everything_said(tmp_path: Path) -> None:
    text = """
        [global]
        index_url = https://pypi.example/simple
        extra-index-url =
            https://one.example/simple
            https://two.example/simple
        find-links = /wheels /more
        no-index = yes
        cert = /ca.pem
        client-cert = /me.pem
        proxy = http://proxy.example:3128
        trusted-host = one.example two.example:8443
        timeout = 60
        """.replace("\n        ", "\n")
    assert read_pip_settings({}, [write(tmp_path / "pip.conf", text)]) == PipSettings(
        index_url="https://pypi.example/simple",
        extra_index_urls=("https://one.example/simple", "https://two.example/simple"),
        find_links=("/wheels", "/more"),
        no_index=True,
        cert="/ca.pem",
        client_cert="/me.pem",
        proxy="http://proxy.example:3128",
        trusted_hosts=("one.example", "two.example:8443"),
        timeout_s=60.0,
    )


def test_later_files_win_and_a_command_section_wins_over_global(tmp_path: Path) -> None:
    weak = write(tmp_path / "weak", "[install]\nproxy = weak\n[global]\nindex-url = weak\n")
    strong = write(tmp_path / "strong", "[global]\nproxy = strong\nindex-url = strong\n")
    settings = read_pip_settings({}, [weak, strong])
    assert (settings.proxy, settings.index_url) == ("weak", "strong")


def test_environment_wins_and_empty_is_unset(tmp_path: Path) -> None:
    file = write(tmp_path / "pip.conf", "[global]\nindex-url = file\ncert = file\n")
    environ = {
        "PIP_INDEX_URL": "variable",
        "PIP_CERT": "",
        "PIP_DEFAULT_TIMEOUT": "180",
        "PIP_FIND_LINKS": "a b",
    }
    settings = read_pip_settings(environ, [file])
    assert settings.index_url == "variable"
    assert settings.cert == "file"
    assert settings.timeout_s == 180
    assert settings.find_links == ("a", "b")


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        ({"PIP_NO_INDEX": "perhaps"}, "no-index: expected true or false"),
        ({"PIP_TIMEOUT": "long"}, "timeout: expected a number"),
        ({"PIP_TIMEOUT": "nan"}, "timeout: expected a number"),
        ({"PIP_TIMEOUT": "1e10"}, "timeout: expected a number of seconds, at most 86400"),
    ],
)
def test_bad_values_are_refused(environ: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_pip_settings(environ, [])


@pytest.mark.parametrize("data", [b"index-url = x\n", b"[global]\nx = \xff\n", b"[a]\n[a]\n"])
def test_bad_files_are_refused_by_name(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "pip.conf").write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_pip_settings({}, [tmp_path / "pip.conf"])
    assert str(caught.value).startswith(str(tmp_path / "pip.conf"))
    assert "\n" not in str(caught.value)


def test_files_stand_in_pips_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", "/one:/two")
    files = [str(path) for path in config_files({}, "linux")]
    assert files[:5] == [
        "/one/pip/pip.conf",
        "/two/pip/pip.conf",
        "/etc/pip.conf",
        str(tmp_path / ".pip/pip.conf"),
        str(tmp_path / "xdg/pip/pip.conf"),
    ]
    assert len(files) == 6


def test_pip_config_file_replaces_the_users_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    own = write(tmp_path / "own.conf", "")
    files = config_files({"PIP_CONFIG_FILE": str(own)}, "linux")
    assert files[-1] == own
    assert tmp_path / ".pip" / "pip.conf" not in files
    absent = config_files({"PIP_CONFIG_FILE": str(tmp_path / "absent")}, "linux")
    assert tmp_path / ".pip" / "pip.conf" in absent
    assert config_files({"PIP_CONFIG_FILE": os.devnull}) == []
