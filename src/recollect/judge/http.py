"""One JSON object there, one back, with the standard library alone.

What goes out is text and a key; neither ever comes back in the message of an error. No redirect is followed, since both
would go to somebody nobody chose.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import ConfigError
from .model import ModelFailed, Reason

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from urllib.error import HTTPError
    from urllib.request import OpenerDirector

_LARGEST_ANSWER = 4 * 1024 * 1024
_LONGEST_REST = 3_600.0
_BUSY = frozenset({429, 503, 529})
_VERSION = re.compile(r"v\d+\w*")


class Unaccepted(ModelFailed):
    """The endpoint did not accept the shape of the request (HTTP 400 or 422); it may accept a plainer one."""


class Endpoint:
    """An address that JSON can be posted to."""

    def __init__(self, url: str, *, path: str, headers: Mapping[str, str]) -> None:
        """`path` is what follows the version; `url` may stop at the host, at /v1 or go all the way.

        Raises ConfigError when the address cannot be one, or a header cannot be sent.
        """
        self._url = _address(url, path)
        parts = urlsplit(self._url)
        self.host = f"{parts.scheme}://{parts.netloc}"
        self._proxied = not _is_loopback(parts.hostname or "")
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise ConfigError("judge.key_env", "the key holds characters that no key has", where="environment")
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", **headers}

    def post(self, body: Mapping[str, object], *, until: float) -> Any:
        """What it answers, as JSON. `until` is a moment of `time.monotonic`. Raises ModelFailed."""
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import Request

        data = json.dumps(body).encode("ascii")
        request = Request(self._url, data=data, headers=self._headers, method="POST")
        left = until - time.monotonic()
        if left <= 0:
            raise self._late()
        # `from None` throughout: the errors underneath hold the request, and with it the text and the key.
        try:
            with _opener(proxied=self._proxied).open(request, timeout=left) as response:
                return self._parsed(self._body(response, until))
        except HTTPError as error:
            error.close()
            raise self._answered(error) from None
        except TimeoutError:
            raise self._late() from None
        except URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._late() from None
            raise self._trouble("unreachable", f"cannot be reached ({type(error.reason).__name__})") from None
        except (OSError, HTTPException, ValueError) as error:
            raise self._trouble("broken", f"broke off ({type(error).__name__})") from None

    def _body(self, response: HTTPResponse, until: float) -> bytes:
        chunks = []
        size = 0
        while chunk := response.read1(65_536):
            chunks.append(chunk)
            size += len(chunk)
            if size > _LARGEST_ANSWER:
                raise self._trouble("large", f"sent more than {_LARGEST_ANSWER:,} bytes")
            if time.monotonic() > until:
                raise TimeoutError  # each read was in time, all of them together are not
        if response.length:
            raise self._trouble("broken", "broke off in the middle of its answer")
        return b"".join(chunks)

    def _parsed(self, body: bytes) -> Any:
        if not body.strip():
            raise self._trouble("empty", "sent nothing")
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise self._trouble("malformed", "sent something that is not JSON") from None

    def _answered(self, error: HTTPError) -> ModelFailed:
        """What an answer that says no comes to."""
        code = error.code
        if code in (400, 422):
            return Unaccepted("refused", f"{self.host} did not accept the request (HTTP {code})")
        if 300 <= code < 400:
            return self._trouble("refused", f"answered with a redirect (HTTP {code}), which is not followed")
        reason: Reason = "failed" if code >= 500 else "refused"
        rest = _seconds(error.headers.get("Retry-After")) if code in _BUSY else 0.0
        return ModelFailed(reason, f"{self.host} failed (HTTP {code})", retry_after=rest)

    def _late(self) -> ModelFailed:
        return self._trouble("late", "did not answer in time")

    def _trouble(self, reason: Reason, problem: str) -> ModelFailed:
        return ModelFailed(reason, f"{self.host} {problem}")


def dug(value: Any, *path: str | int) -> Any:
    """What lies at the end of a path of names and places in JSON; None where the path leads nowhere."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and len(value) > step:
            value = value[step]
        else:
            return None
    return value


def count(value: Any) -> int | None:
    """A count of tokens, if it is one."""
    return value if type(value) is int and 0 <= value < 2**40 else None


def _seconds(header: str | None) -> float:
    """What a Retry-After asks for. A date is taken for a short rest: clocks differ."""
    if not header:
        return 0.0
    text = header.strip()
    return min(float(text), _LONGEST_REST) if text.isascii() and text.isdigit() and len(text) < 10 else 30.0


def _address(url: str, path: str) -> str:
    wrong = ConfigError(
        "judge.url", "is no address such as http://127.0.0.1:11434 or https://host.example/v1", where="settings"
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
    there = parts.path.rstrip("/")
    if not there.endswith(path):
        there += path if _VERSION.fullmatch(there.rpartition("/")[2]) else f"/v1{path}"
    return parts._replace(path=there).geturl()


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return False


def _opener(*, proxied: bool) -> OpenerDirector:
    from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *_given: Any) -> None:
            """Take no redirect for an answer; it then surfaces as the HTTP error that it is here."""

    # What runs on this machine is not behind the proxy that the environment names.
    return build_opener(Stay, *([] if proxied else [ProxyHandler({})]))
