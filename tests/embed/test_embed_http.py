"""An endpoint over HTTP, good and bad in every way one can be."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from recollect.embed.http import HttpEmbedder
from recollect.errors import EmbedderUnavailable

KEY = "sk-very-secret-key"
TEXT = "the quiet words of somebody"


@dataclass
class Asked:
    """One request that arrived."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Endpoint:
    """A server on this machine, and what it was asked. `answer` takes the handler of a request and answers it."""

    url: str = ""
    answer: Callable[[BaseHTTPRequestHandler, list[str]], None] = lambda request, texts: reply(request, good(texts))
    asked: list[Asked] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def embedder(self, *, timeout: float = 10.0, key: str | None = KEY) -> HttpEmbedder:
        return HttpEmbedder(self.url, remote="words-1", key=key, timeout=timeout)


def good(texts: list[str]) -> Any:
    """Vectors of three numbers, the last text first."""
    entries = [{"index": place, "embedding": [len(text), 1, place]} for place, text in enumerate(texts)]
    return {"data": entries[::-1], "model": "words-1"}


def reply(request: BaseHTTPRequestHandler, content: Any, *, status: int = 200, location: str = "") -> None:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    request.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **({"Location": location} if location else {})}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(body)


def serve(endpoint: Endpoint) -> Iterator[Endpoint]:
    class Request(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.asked.append(Asked(self.path, dict(self.headers), body))
            endpoint.answer(self, body["input"])

        do_GET = do_POST  # noqa: N815 - likewise

        def log_message(self, *given: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Request) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        endpoint.url = f"http://127.0.0.1:{server.server_port}"
        yield endpoint
        endpoint.closing.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    yield from serve(Endpoint())


@pytest.fixture
def elsewhere() -> Iterator[Endpoint]:
    yield from serve(Endpoint())


@pytest.mark.row("X10", "model-id")
def test_each_text_gets_its_own_vector(endpoint: Endpoint) -> None:
    """In the order of the texts, whatever the order of the answer, made as long as 1."""
    embedder = endpoint.embedder()
    vectors = embedder.embed(["ab", "abcd"])
    expected = np.array([[2, 1, 0], [4, 1, 1]]) / np.sqrt([[5], [18]])
    assert np.allclose(vectors, expected)
    assert vectors.dtype == np.float32
    assert (embedder.dimension, embedder.model, embedder.local) == (3, "http:words-1", False)
    assert endpoint.asked[0].body == {"model": "words-1", "input": ["ab", "abcd"]}


@pytest.mark.parametrize("base", ["", "/", "/v1", "/v1/", "/v1/embeddings", "/api", "/api/v1/"])
def test_the_address_may_stop_anywhere(endpoint: Endpoint, base: str) -> None:
    """At the host, at the version, or at the very end."""
    HttpEmbedder(endpoint.url + base, remote="m").embed(["a"])
    assert endpoint.asked[0].path == ("/api" if "/api" in base else "") + "/v1/embeddings"


def test_the_key_goes_along_if_there_is_one(endpoint: Endpoint) -> None:
    """And no such header does if there is none."""
    endpoint.embedder().embed(["a"])
    endpoint.embedder(key=None).embed(["a"])
    assert [asked.headers.get("Authorization") for asked in endpoint.asked] == [f"Bearer {KEY}", None]


def test_many_texts_go_in_portions(endpoint: Endpoint) -> None:
    """Of 64, and come back as one."""
    vectors = endpoint.embedder().embed([str(number) for number in range(130)])
    assert [len(asked.body["input"]) for asked in endpoint.asked] == [64, 64, 2]
    assert vectors.shape == (130, 3)


def test_blank_text_is_not_sent(endpoint: Endpoint) -> None:
    """Endpoints refuse it; its row is zeros."""
    vectors = endpoint.embedder().embed(["", "a", " \n"])
    assert endpoint.asked[0].body["input"] == ["a"]
    assert np.linalg.norm(vectors, axis=1).round(5).tolist() == [0, 1, 0]
    assert endpoint.embedder().embed([]).shape == (0, 3)


def test_any_text_can_be_sent(endpoint: Endpoint) -> None:
    """Lone surrogates are replaced, a megabyte is cut, the rest arrives as it is."""
    endpoint.embedder().embed(["a\ud800b", "x" * 1_000_000, "NUL \x00 and 🦜"])
    lone, long, odd = endpoint.asked[0].body["input"]
    assert (lone, len(long), odd) == ("a?b", 8_000, "NUL \x00 and 🦜")


def test_a_vector_of_zeros_stays_one(endpoint: Endpoint) -> None:
    """There is no way to make it as long as 1."""
    endpoint.answer = lambda request, texts: reply(request, {"data": [{"index": 0, "embedding": [0, 0.0]}]})
    assert not endpoint.embedder().embed(["a"]).any()


def test_vast_numbers_are_still_a_direction(endpoint: Endpoint) -> None:
    """Though their squares are beyond any float."""
    endpoint.answer = lambda request, texts: reply(request, {"data": [{"index": 0, "embedding": [3e300, 4e300]}]})
    assert np.allclose(endpoint.embedder().embed(["a"]), [[0.6, 0.8]])


def test_what_runs_here_is_reached_without_a_proxy(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that the environment names is for the world outside."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert endpoint.embedder().embed(["a"]).shape == (1, 3)


def status(code: int) -> Callable[[BaseHTTPRequestHandler, list[str]], None]:
    """An error that repeats what it was sent, as some do."""
    return lambda request, texts: reply(request, {"error": [*texts, request.headers["Authorization"]]}, status=code)


def entries(*vectors: Any, start: int = 0) -> dict[str, Any]:
    return {"data": [{"index": place, "embedding": vector} for place, vector in enumerate(vectors, start)]}


def content(value: Any) -> Callable[[BaseHTTPRequestHandler, list[str]], None]:
    return lambda request, texts: reply(request, value)


def cut_short(request: BaseHTTPRequestHandler, texts: list[str]) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "100")
    request.end_headers()
    request.wfile.write(b"{")


def hung_up(request: BaseHTTPRequestHandler, texts: list[str]) -> None:
    request.close_connection = True


BAD_ANSWERS = [
    pytest.param(status(500), "failed .HTTP 500", id="500"),
    pytest.param(status(400), "did not accept the request", id="400"),
    pytest.param(status(401), "did not accept the key", id="401"),
    pytest.param(status(404), "no such model", id="404"),
    pytest.param(status(429), "fewer requests", id="429"),
    pytest.param(content(b"<html>"), "not a list of embeddings", id="not JSON"),
    pytest.param(content(b"\xff\xfe{"), "not a list of embeddings", id="not text"),
    pytest.param(content(b"[" * 100_000), "not a list of embeddings", id="too deep"),
    pytest.param(content([]), "not a list of embeddings", id="a list"),
    pytest.param(content({"data": None}), "not a list of embeddings", id="no data"),
    pytest.param(content({"data": [1, 2]}), "not a list of embeddings", id="numbers"),
    pytest.param(content({"data": [{"embedding": [1]}] * 2}), "not a list of embeddings", id="no index"),
    pytest.param(content(entries([1, 2])), "sent 1 vectors", id="too few"),
    pytest.param(content(entries([1], [1], [1])), "sent 3 vectors", id="too many"),
    pytest.param(content(entries([1], [1], start=1)), "for 2 texts", id="wrong index"),
    pytest.param(content({"data": [{"index": 0, "embedding": [1]}] * 2}), "for 2 texts", id="same index"),
    pytest.param(
        content({"data": [{"index": False, "embedding": [1]}, {"index": True, "embedding": [1]}]}),
        "for 2 texts",
        id="index no number",
    ),
    pytest.param(content(entries([1, 2], [1])), "not equally long", id="lengths"),
    pytest.param(content(entries([], [])), "empty", id="empty"),
    pytest.param(content(entries("ab", "cd")), "empty or not equally long", id="text for a vector"),
    pytest.param(content(entries([1, "2"], [1, 2])), "something else than numbers", id="text for a number"),
    pytest.param(content(entries([1, True], [1, 2])), "something else than numbers", id="truth for a number"),
    pytest.param(content(entries([1, None], [1, 2])), "something else than numbers", id="nothing for a number"),
    pytest.param(content(entries([1, float("nan")], [1, 2])), "finite", id="NaN"),
    pytest.param(content(entries([1, float("inf")], [1, 2])), "finite", id="infinity"),
    pytest.param(content(entries([1, 10**400], [1, 2])), "out of all bounds", id="vast"),
    pytest.param(cut_short, "broke off", id="cut short"),
    pytest.param(hung_up, "broke off", id="hung up"),
]


@pytest.mark.parametrize("answer, problem", BAD_ANSWERS)
def test_a_bad_answer_is_refused(
    endpoint: Endpoint, answer: Callable[[BaseHTTPRequestHandler, list[str]], None], problem: str
) -> None:
    """With what is wrong about it, and never with the text or the key, in the message or in what led to it."""
    endpoint.answer = answer
    with pytest.raises(EmbedderUnavailable, match=problem) as caught:
        endpoint.embedder().embed([TEXT, TEXT])
    assert caught.value.hint
    error: BaseException | None = caught.value
    while error is not None:
        assert KEY not in f"{error!r}{error.__dict__}"
        assert TEXT not in f"{error!r}{error.__dict__}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_vectors_may_not_change_their_length(endpoint: Endpoint) -> None:
    """Those from before would no longer be comparable."""
    embedder = endpoint.embedder()
    embedder.embed(["a"])
    endpoint.answer = content(entries([1, 2]))
    with pytest.raises(EmbedderUnavailable, match="of 2 numbers after some of 3"):
        embedder.embed(["a"])


def test_a_silent_endpoint_is_not_waited_for(endpoint: Endpoint) -> None:
    """Longer than was said."""

    def say_nothing(request: BaseHTTPRequestHandler, texts: list[str]) -> None:
        endpoint.closing.wait(30)

    endpoint.answer = say_nothing
    with pytest.raises(EmbedderUnavailable, match=r"within 0.1 seconds"):
        endpoint.embedder(timeout=0.1).embed(["a"])


def test_an_endpoint_that_drips_is_not_waited_for_either(endpoint: Endpoint) -> None:
    """Each bit of the answer comes in time, all of it together does not."""

    def drip(request: BaseHTTPRequestHandler, texts: list[str]) -> None:
        request.send_response(200)
        request.end_headers()
        while not endpoint.closing.wait(0.05):
            request.wfile.write(b" ")

    endpoint.answer = drip
    with pytest.raises(EmbedderUnavailable, match=r"within 0.3 seconds"):
        endpoint.embedder(timeout=0.3).embed(["a"])
    endpoint.closing.set()


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_takes_neither_text_nor_key_along(endpoint: Endpoint, elsewhere: Endpoint, code: int) -> None:
    """It is not followed at all."""
    endpoint.answer = lambda request, texts: reply(request, b"", status=code, location=f"{elsewhere.url}/v1/embeddings")
    with pytest.raises(EmbedderUnavailable, match="redirect"):
        endpoint.embedder().embed([TEXT])
    assert elsewhere.asked == []


def test_nobody_there_is_told() -> None:
    """With the address that was tried."""
    with pytest.raises(EmbedderUnavailable, match=r"http://127\.0\.0\.1:9 cannot be reached"):
        HttpEmbedder("http://127.0.0.1:9", remote="m", key=KEY).embed([TEXT])


@pytest.mark.parametrize(
    "url",
    [
        *("", "host.example", "ftp://host.example", "file:///etc/passwd", "http://", "http://[::1", "http://h:99999"),
        *("http://h:port", "https://name:pass@host.example", "https://host.example?key=1", "https://host.example#x"),
        *("http://ho st", "http://höst", "http://h\n"),
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """Before anything is sent, and without repeating it: there may be a password in it."""
    with pytest.raises(EmbedderUnavailable, match=r"address is not one$"):
        HttpEmbedder(url, remote="m")


@pytest.mark.parametrize("key", ["line\nbreak", "ümlaut", "two words", "\x00"])
def test_a_key_that_cannot_be_one_is_refused(key: str) -> None:
    """Without repeating it."""
    with pytest.raises(EmbedderUnavailable) as caught:
        HttpEmbedder("http://127.0.0.1:9", remote="m", key=key)
    assert key not in str(caught.value)
