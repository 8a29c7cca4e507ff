"""Connections that are slow or many, against a real server."""

import contextlib
import json
import logging
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("uvicorn", reason="the server needs uvicorn")
httpx = pytest.importorskip("httpx", reason="the tests of the server need httpx")
from present.models import MIXED_ROW, mixed, wide  # noqa: E402
from serve.explainers import Slow  # noqa: E402
from serve.served import Served  # noqa: E402

from suffice.serve import Limits  # noqa: E402
from suffice.serve.connections import Seldom  # noqa: E402

MIXED = mixed()
ASKED = {"row": MIXED_ROW, "radius": 1}
WIDE = wide()


@contextlib.contextmanager
def serving(explainer=MIXED, **limits):
    served = Served(explainer, limits=Limits(**{"max_seconds": 600, **limits}))
    try:
        yield served
    finally:
        served.close()


def connected(address, sent=b"", room=None):
    """Return a socket to a server that has sent something."""
    place = urlsplit(address)
    one = socket.socket()
    if room is not None:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    one.settimeout(600)
    one.connect((place.hostname, place.port))
    one.sendall(sent)
    return one


def request(path, body, host="127.0.0.1"):
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    )
    return head.encode() + b"\r\n" + content


def seconds_until_closed(one, began):
    """Return how long after some time a server closes a connection; ten minutes without a word are an error."""
    with contextlib.suppress(ConnectionResetError):
        while one.recv(65_536):
            pass
    return time.monotonic() - began


def everything(one):
    """Return what a server sends until it closes the connection."""
    found = b""
    with contextlib.suppress(ConnectionResetError), contextlib.closing(one):
        while more := one.recv(65_536):
            found += more
    return found


def takes(one, sent):
    """Whether the other end of a connection is still there for more."""
    try:
        one.sendall(sent)
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def rows(count):
    return {"rows": [dict.fromkeys(WIDE.model.names, "0.5")] * count, "radius": 1, "unit": "raw"}


def test_a_head_that_does_not_come_is_not_waited_for():
    with serving(head_seconds=0.5) as served:
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: 127"):
            began = time.monotonic()
            with connected(served.address, sent) as one:
                assert seconds_until_closed(one, began) > 0.2


def test_a_head_that_comes_byte_by_byte_is_not_waited_for():
    with serving(head_seconds=0.5) as served, connected(served.address, b"GET / HTTP/1.1\r\n") as one:
        wait_until(lambda: not takes(one, b"X"))


def test_a_connection_that_was_answered_is_kept_for_a_while():
    with serving(idle_seconds=1) as served, connected(served.address, request("/v1/explain", ASKED)) as one:
        assert one.recv(12) == b"HTTP/1.1 200"
        began = time.monotonic()
        one.sendall(request("/v1/explain", ASKED))
        assert seconds_until_closed(one, began) > 0.5


def test_a_head_that_is_too_large_is_refused():
    with serving() as served, connected(served.address) as one:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: " + b"x" * 100_000)
            assert one.recv(12) == b"HTTP/1.1 400"
        assert httpx.get(served.address).status_code == 200


def test_a_head_that_is_too_large_is_refused_though_it_comes_at_once():
    with serving() as served:
        for more in (b"X: " + 16_384 * b"a" + b"\r\n", 4_000 * b"X: a\r\n"):
            one = connected(served.address, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + more + b"\r\n")
            assert b"400 Bad Request" in (answer := everything(one))
            assert b"The head of a request can have at most 16,384 bytes." in answer


def test_bodies_in_chunks_are_refused_before_any_is_read():
    # Reading a million chunks of a byte takes h11 many seconds, in which nobody is heard.
    with serving() as served:
        head = "POST /v1/explain HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        for kind in ("Transfer-Encoding: chunked", "Content-Length: 5\r\nTransfer-Encoding: chunked"):
            one = connected(served.address, f"{head}{kind}\r\n\r\n1\r\n{{\r\n".encode())
            assert b"Send the body with its length (Content-Length), not in chunks." in everything(one)


def test_bodies_that_come_slowly_keep_nobody_out():
    slow = request("/v1/explain", ASKED)[:-1]  # a byte is missing
    with serving(max_connections=4, max_per_client=4) as served, contextlib.ExitStack() as stack:
        held = [stack.enter_context(contextlib.closing(connected(served.address, slow))) for _ in range(4)]
        time.sleep(0.2)  # all heads are read
        assert httpx.post(f"{served.address}v1/explain", json=ASKED, timeout=600).status_code == 200
        held[0].settimeout(600)
        assert everything(held[0]) == b""  # the first had to go
        held[3].sendall(b"}")
        assert held[3].recv(65_536).startswith(b"HTTP/1.1 200")


def test_three_hundred_slow_heads_keep_nobody_out():
    with serving(max_connections=40, max_per_client=30, head_seconds=600) as served, contextlib.ExitStack() as held:
        for _ in range(300):
            held.enter_context(connected(served.address, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"))
        wait_until(lambda: len(served.server.server_state.connections) <= 30)  # one that has to go goes a moment later
        assert httpx.post(f"{served.address}v1/explain", json=ASKED, timeout=600).status_code == 200


def test_connections_with_requests_under_way_are_not_dropped_for_others(tmp_path):
    slow = Slow(MIXED, tmp_path)
    with serving(slow, max_connections=2, max_per_client=2) as served, contextlib.ExitStack() as held:
        whole = request("/v1/explain", ASKED)
        working = [held.enter_context(connected(served.address, whole)) for _ in range(2)]
        state = served.server.server_state
        wait_until(lambda: [one._is_working for one in list(state.connections)] == [True, True])
        with connected(served.address) as late:
            assert late.recv(12) in (b"HTTP/1.1 503", b"")
        slow.go()
        for one in working:
            assert one.recv(12) == b"HTTP/1.1 200"


def test_a_client_that_does_not_read_is_left():
    with serving(WIDE, stall_seconds=1, idle_seconds=6000, max_rows=400) as served:
        whole = httpx.post(f"{served.address}v1/batch", json=rows(250), timeout=600)
        assert len(whole.content) > 6_000_000  # more than the system keeps for a connection
        state = served.server.server_state
        wait_until(lambda: not state.connections)
        with connected(served.address, request("/v1/batch", rows(250)), room=4_096):
            wait_until(lambda: len(state.connections) == 1)
            wait_until(lambda: not state.connections)
        assert httpx.get(served.address).status_code == 200


def test_answers_on_their_way_are_limited_together():
    with serving(WIDE, stall_seconds=30, max_rows=400, max_unread=10_000_000) as served:
        with connected(served.address, request("/v1/batch", rows(250)), room=4_096) as held:
            held.recv(100)  # it has begun to be sent, and more than half of it is not read
            refused = httpx.post(f"{served.address}v1/batch", json=rows(250), timeout=600)
            assert refused.status_code == 503
            assert "large answers are on their way" in refused.json()["detail"]
            assert httpx.post(f"{served.address}v1/batch", json=rows(1), timeout=600).status_code == 200
        # That the client has left is noticed a moment later.
        wait_until(lambda: httpx.post(f"{served.address}v1/batch", json=rows(250), timeout=600).status_code == 200)


def wait_until(holds):
    """Wait until something is so, for at most ten minutes."""
    end = time.monotonic() + 600
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@contextlib.contextmanager
def commanded(folder, *before, explainer=MIXED):
    """Run `suffice serve`, perhaps by way of another command; give its process and its address."""
    explainer.model.save(folder / "m.safetensors")
    serve = [sys.executable, "-m", "suffice.cli", "serve", str(folder / "m.safetensors")]
    command = [*before, *serve, "--port", "0", "--max-seconds", "600"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        yield server, server.stdout.readline().split()[0]
    finally:
        server.kill()
        server.communicate()


def test_told_to_stop_it_stops_though_an_answer_is_unread(tmp_path):
    with commanded(tmp_path, explainer=WIDE) as (server, address):
        assert len(httpx.post(f"{address}v1/batch", json=rows(60), timeout=600).content) > 1_000_000
        with connected(address, request("/v1/batch", rows(60)), room=4_096) as one:
            assert one.recv(12) == b"HTTP/1.1 200"
            server.send_signal(signal.SIGTERM)
            server.wait(600)


def test_slow_heads_neither_use_up_open_files_nor_fill_the_log(tmp_path):
    few = ("bash", "-c", 'ulimit -n 220 && exec "$@"', "bash")
    with commanded(tmp_path, *few) as (_, address), contextlib.ExitStack() as held:
        for _ in range(300):
            held.enter_context(connected(address, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"))
        for _ in range(5):
            assert httpx.post(f"{address}v1/explain", json=ASKED, timeout=600).status_code == 200
            time.sleep(0.3)
    # On a busy machine a burst may still use files up for a moment; of that 60 records a minute are written at most.
    assert (tmp_path / "log").stat().st_size < 50_000


def test_workers_end_with_their_server_however_it_ends(tmp_path):
    with commanded(tmp_path) as (server, address):
        assert httpx.post(f"{address}v1/explain", json=ASKED, timeout=600).status_code == 200
        started = descendants(server.pid)
        assert len(started) >= 2  # a worker, and what starts them
        server.kill()
        server.wait()
        wait_until(lambda: not any(is_running(one) for one in started))


def descendants(pid):
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in (thread / "children").read_text().split():
            found += [child, *descendants(child)]
    return found


def is_running(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_logs_grow_slowly(caplog):
    logger = logging.getLogger("suffice.test")
    logger.addFilter(Seldom(most=3))
    for _ in range(100):
        logger.warning("again")
    assert len(caplog.records) == 3


# --- tokens -----------------------------------------------------------------------------------------------------------

TOKEN = "0123456789abcdef"


def test_without_the_token_only_the_page_itself_is_answered():
    served = Served(MIXED, token=TOKEN, limits=Limits(max_seconds=600))
    try:
        with httpx.Client(base_url=served.address, timeout=600) as client:
            for path in ("", "page.css", "page.js"):
                assert client.get(path).status_code == 200
            for sent in (
                {},
                {"Authorization": TOKEN},
                {"Authorization": f"Bearer {TOKEN}x"},
                {"Authorization": "Bearer é"},
            ):
                encoded = {name: value.encode() for name, value in sent.items()}
                for path in ("v1/model", "v1/model.safetensors", "openapi.json", "nowhere", "v1/rows/0"):
                    refused = client.get(path, headers=encoded)
                    assert refused.status_code == 401, path
                    assert refused.headers["www-authenticate"] == "Bearer"
                    assert refused.headers["content-type"] == "application/problem+json"
                assert client.post("v1/explain", json=ASKED, headers=encoded).status_code == 401
            right = {"Authorization": f"Bearer {TOKEN}"}
            assert client.post("v1/explain", json=ASKED, headers=right).status_code == 200
            described = client.get("openapi.json", headers=right).json()
            assert described["security"] == [{"token": []}]
    finally:
        served.close()
