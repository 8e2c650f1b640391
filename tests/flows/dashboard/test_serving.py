"""How the dashboard is served: its port, its token, what is known of it."""

from __future__ import annotations

import secrets
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomic.errors import UsageError
from atomic.settings import load_settings
from flows.dashboard.app import require_library
from flows.dashboard.login import local_path
from flows.dashboard.presence import dashboard_address, is_address, present, running_dashboard
from flows.dashboard.serving import TOKEN_VARIABLE, address, check_host, listen, read_token
from tests.flows.conftest import CommandLine


def test_token_is_read_from_a_file_or_the_environment(tmp_path: Path) -> None:
    token = secrets.token_urlsafe()
    (tmp_path / "token").write_text(f"{token}\n")
    assert read_token(tmp_path / "token", {TOKEN_VARIABLE: "x" * 20}) == token
    assert read_token(None, {TOKEN_VARIABLE: f" {token} "}) == token
    assert read_token(None, {}) is None


def test_token_that_is_short_or_not_to_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for file in (tmp_path / "empty", tmp_path / "missing", tmp_path):
        with pytest.raises(UsageError):
            read_token(file, {})
    with pytest.raises(UsageError, match="shorter") as raised:
        read_token(None, {TOKEN_VARIABLE: "hush"})
    assert "hush" not in str(raised.value)


def test_only_a_token_opens_it_to_others() -> None:
    check_host("127.0.0.1", None)
    check_host("0.0.0.0", "a token that nobody guesses")
    with pytest.raises(UsageError, match="others could read"):
        check_host("0.0.0.0", None)


def test_a_port_that_is_taken_is_named() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} of 127.0.0.1 is taken"):
            listen("127.0.0.1", port)
    with pytest.raises(UsageError, match="no port"):
        listen("127.0.0.1", 99999)
    with pytest.raises(UsageError):
        listen("no.such.host.invalid", 0)


def test_address_is_what_a_browser_here_opens() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert address("127.0.0.1", listener) == f"http://127.0.0.1:{port}"
        assert address("0.0.0.0", listener) == f"http://127.0.0.1:{port}"
        assert address("::", listener) == f"http://[::1]:{port}"


def test_without_the_extra_it_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nicegui", None)
    monkeypatch.setenv("NICEGUI_STORAGE_PATH", "")
    with pytest.raises(UsageError) as raised:
        require_library(tmp_path)
    assert raised.value.hint == 'pip install "atomic-flows[dashboard]"'


def test_others_are_told_of_one_dashboard_as_long_as_it_lives(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, environ={"ATOMIC_FLOWS_HOME": str(tmp_path), "HOME": str(tmp_path)})
    assert running_dashboard(tmp_path) is None
    assert dashboard_address(settings) is None
    with present(tmp_path, "http://127.0.0.1:1", guarded=True) as first:
        assert first
        assert dashboard_address(settings) == "http://127.0.0.1:1"
        with present(tmp_path, "http://127.0.0.1:2", guarded=False) as second:
            assert not second
        assert dashboard_address(settings) == "http://127.0.0.1:1"


@pytest.mark.parametrize("content", [b"", b"{", b'{"pid": 1}', b"\0" * 9])
def test_damaged_note_is_no_dashboard(tmp_path: Path, content: bytes) -> None:
    with present(tmp_path, "http://127.0.0.1:1", guarded=False):
        pass
    (tmp_path / "dashboard" / "dashboard.json").write_bytes(content)
    assert running_dashboard(tmp_path) is None


def test_address_of_the_settings_comes_first_where_a_link_may_lead_there(tmp_path: Path) -> None:
    environ = {"ATOMIC_FLOWS_HOME": str(tmp_path), "HOME": str(tmp_path)}
    given = load_settings(tmp_path, environ={**environ, "ATOMIC_FLOWS_DASHBOARD__URL": "https://flows.example.org/"})
    assert dashboard_address(given) == "https://flows.example.org"
    for bad in ("javascript:alert(1)", "https://user:pass@host", "https://host/)![x](y", "https://", "http://[", "x"):
        assert not is_address(bad)


@given(st.text(max_size=40) | st.sampled_from(["//evil", "/\\evil", "https://evil", "/ok?x=1", "/a//b", "/\t/evil"]))
def test_login_leads_on_to_our_own_pages_only(text: str) -> None:
    path = local_path(text)
    assert path.startswith("/")
    assert not path.startswith(("//", "/\\"))
    assert path.isprintable()


def test_command_refuses_before_it_serves(cli: CommandLine) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        port = str(stranger.getsockname()[1])
        done = cli("dashboard", "--port", port)
        assert (done.code, done.out) == (2, "")
        assert "is taken" in done.err
    open_to_all = cli("dashboard", "--host", "0.0.0.0", "--port", "0")
    assert open_to_all.code == 2
    assert TOKEN_VARIABLE in open_to_all.err
