"""Any endpoint that speaks OpenAI's embeddings interface, with the standard library alone.

What goes out is the text and the key; neither ever comes back in the message of an error. No redirect is followed,
since both would go to somebody nobody chose.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit

from ..errors import EmbedderUnavailable

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from urllib.request import OpenerDirector

    import numpy as np
    from numpy.typing import NDArray

_BATCH = 64
_LONGEST_TEXT = 8_000  # characters; the usual models read 8,192 tokens, and some refuse more instead of cutting it
_LARGEST_ANSWER = 64 * 1024 * 1024
_MEANINGS = {
    400: "did not accept the request",
    401: "did not accept the key",
    403: "did not accept the key",
    404: "has no such address or no such model",
    413: "found the request too large",
    429: "asks for fewer requests, or its quota is used up",
}


class HttpEmbedder:
    """`Embedder` at the other end of a connection. It reads the first 8,000 characters of a text."""

    local: Final = False

    def __init__(self, url: str, *, remote: str, key: str | None = None, timeout: float = 30.0) -> None:
        """Settle where to ask. Raises EmbedderUnavailable when the address or the key cannot be one."""
        self.model = f"http:{remote}"
        self._remote = remote
        self._timeout = timeout
        parts = _address(url)
        self._endpoint = parts.geturl()
        self._where = f"{parts.scheme}://{parts.netloc}"
        if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
            raise EmbedderUnavailable("http", "the key holds characters that no key has", hint="Copy it again.")
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._proxied = not _is_loopback(parts.hostname or "")
        self._dimension: int | None = None
        self._lock = Lock()

    @property
    def dimension(self) -> int:
        """How long a vector is. The first to ask asks the endpoint."""
        if self._dimension is None:
            self.embed(["dimension"])
        assert self._dimension is not None
        return self._dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row for each text, of length 1; 0 for blank text, which is not sent."""
        import numpy as np

        sent = [(place, _sendable(text)) for place, text in enumerate(texts)]
        sent = [(place, text) for place, text in sent if text.strip()]
        answers = [
            (portion, self._ask([text for _, text in portion]))
            for portion in (sent[start : start + _BATCH] for start in range(0, len(sent), _BATCH))
        ]
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for portion, rows in answers:
            vectors[[place for place, _ in portion]] = rows
        return vectors

    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        body = json.dumps({"model": self._remote, "input": texts}).encode("ascii")
        rows = _unit(self._rows(self._post(body), len(texts)))
        with self._lock:
            self._dimension = self._dimension or rows.shape[1]
        if rows.shape[1] != self._dimension:
            raise self._trouble(f"sent vectors of {rows.shape[1]} numbers after some of {self._dimension}")
        return rows

    def _post(self, body: bytes) -> bytes:
        """The body of the answer, whole and within the time allowed."""
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import Request

        request = Request(self._endpoint, data=body, headers=self._headers, method="POST")
        until = time.monotonic() + self._timeout
        # `from None` throughout: the errors underneath hold the request, and with it the text and the key.
        try:
            with _opener(proxied=self._proxied).open(request, timeout=self._timeout) as response:
                return self._body(response, until)
        except HTTPError as error:
            error.close()
            if 300 <= error.code < 400:
                raise self._trouble(f"answered with a redirect (HTTP {error.code}), which is not followed") from None
            meaning = _MEANINGS.get(error.code, "failed")
            raise self._trouble(f"{meaning} (HTTP {error.code})") from None
        except TimeoutError:
            raise self._late() from None
        except URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._late() from None
            raise self._trouble(f"cannot be reached ({_reason(error)})") from None
        except (OSError, HTTPException) as error:
            raise self._trouble(f"broke off ({type(error).__name__})") from None

    def _body(self, response: HTTPResponse, until: float) -> bytes:
        chunks = []
        size = 0
        while chunk := response.read1(65_536):
            chunks.append(chunk)
            size += len(chunk)
            if size > _LARGEST_ANSWER:
                raise self._trouble(f"sent more than {_LARGEST_ANSWER:,} bytes")
            if time.monotonic() > until:
                raise TimeoutError  # each read was in time, all of them together are not
        if response.length:
            raise self._trouble("broke off in the middle of its answer")
        return b"".join(chunks)

    def _rows(self, body: bytes, count: int) -> NDArray[np.float64]:
        """The vectors of an answer in the order they were asked for, if it is one in every respect."""
        import numpy as np

        try:
            data = json.loads(body)["data"]
            found = {entry["index"]: entry["embedding"] for entry in data}
        except (ValueError, LookupError, TypeError, RecursionError):
            raise self._trouble("sent something that is not a list of embeddings") from None
        if len(data) != count or found.keys() != set(range(count)) or any(type(index) is not int for index in found):
            raise self._trouble(f"sent {len(data)} vectors, or not one each, for {count} texts")
        vectors = [found[index] for index in range(count)]
        if not all(isinstance(vector, list) and vector and len(vector) == len(vectors[0]) for vector in vectors):
            raise self._trouble("sent vectors that are empty or not equally long")
        if not all(type(number) in (int, float) for vector in vectors for number in vector):
            raise self._trouble("sent vectors that hold something else than numbers")
        try:
            rows = np.array(vectors, dtype=np.float64)
        except OverflowError:
            raise self._trouble("sent vectors that hold numbers out of all bounds") from None
        if not np.isfinite(rows).all():
            raise self._trouble("sent vectors that hold something else than finite numbers")
        return rows

    def _late(self) -> EmbedderUnavailable:
        return self._trouble(f"did not answer within {self._timeout:g} seconds")

    def _trouble(self, problem: str) -> EmbedderUnavailable:
        hint = "Check that it is running, and its address, model and key; `recollect models test http` asks it again."
        return EmbedderUnavailable("http", f"{self._where} {problem}", hint=hint)


def _address(url: str) -> SplitResult:
    """The address of the endpoint, from one that may stop at the host, at /v1 or at /embeddings."""
    wrong = EmbedderUnavailable(
        "http",
        "its address is not one",
        hint="Give it as http://127.0.0.1:11434 or https://host.example/v1, with no name, password or query.",
    )
    try:
        parts = urlsplit(url)
        port_is_a_number = parts.port is None or parts.port > 0
    except ValueError:
        raise wrong from None
    written = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_a_number or not written:
        raise wrong
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise wrong  # a password in an address would be seen wherever the address is shown
    path = parts.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path += "/embeddings" if path.endswith("/v1") else "/v1/embeddings"
    return parts._replace(path=path)


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return False


def _sendable(text: str) -> str:
    """The text as far as it is sent: lone surrogates are no characters and no JSON for others, so they go."""
    return text[:_LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    import numpy as np

    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(largest > 0, largest, 1)  # first, so that no square is out of bounds
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _opener(*, proxied: bool) -> OpenerDirector:
    from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *_given: Any) -> None:
            """Take no redirect for an answer; it then surfaces as the HTTP error that it is here."""

    # What runs on this machine is not behind the proxy that the environment names.
    return build_opener(Stay, *([] if proxied else [ProxyHandler({})]))


def _reason(error: Any) -> str:
    return getattr(error.reason, "strerror", None) or type(error.reason).__name__
