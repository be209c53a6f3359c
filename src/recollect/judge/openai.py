"""Any endpoint that speaks OpenAI's chat interface: hosted, or Ollama, llama.cpp, vLLM and the like on this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from .http import Endpoint, Unaccepted, count, dug
from .model import ModelFailed, Reply, Request


class OpenAiModel:
    """`Model` behind `/chat/completions`.

    Not every endpoint knows every field. One that does not accept a request is asked more plainly, and from then on so:
    with a schema; with the newer name of the limit and no temperature, as reasoning models want it; without a schema.
    """

    def __init__(self, url: str, *, model: str, key: str | None = None) -> None:
        """Settle where to ask. Raises ConfigError when the address or the key cannot be one."""
        self.name = f"openai:{model}"
        self._model = model
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._endpoint = Endpoint(url, path="/chat/completions", headers=headers)
        self._dialect = 0

    def reply(self, request: Request, *, seconds: float) -> Reply:
        """What it says. Raises ModelFailed."""
        until = time.monotonic() + seconds
        first = self._dialect
        for calls, dialect in enumerate(range(first, len(_DIALECTS)), 1):
            try:
                answer = self._endpoint.post(self._body(request, dialect), until=until)
            except ModelFailed as failed:
                failed.calls = calls
                if isinstance(failed, Unaccepted) and dialect < len(_DIALECTS) - 1:
                    continue
                raise
            self._dialect = dialect
            return _read(answer, calls)
        raise AssertionError("a dialect is always left")

    def _body(self, request: Request, dialect: int) -> dict[str, object]:
        messages = [
            {"role": "system", "content": request.instructions},
            {"role": "user", "content": request.material},
        ]
        return {"model": self._model, "messages": messages, "stream": False, **_DIALECTS[dialect](request)}


def _schema(request: Request) -> Mapping[str, object]:
    form = {"name": request.task, "strict": True, "schema": request.schema}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


_DIALECTS = (
    lambda request: {"max_tokens": request.most_tokens, "temperature": 0, **_schema(request)},
    lambda request: {"max_completion_tokens": request.most_tokens, **_schema(request)},
    lambda request: {"max_tokens": request.most_tokens},
)


def _read(answer: Any, calls: int) -> Reply:
    text = dug(answer, "choices", 0, "message", "content")
    if isinstance(text, list):
        text = "".join(part for each in text if isinstance(part := dug(each, "text"), str))
    if text is not None and not isinstance(text, str):
        raise ModelFailed("malformed", "no message in the answer", calls=calls)
    if dug(answer, "choices", 0, "message") is None:
        raise ModelFailed("malformed", "no message in the answer", calls=calls)
    return Reply(
        text=text or "",
        tokens_in=count(dug(answer, "usage", "prompt_tokens")),
        tokens_out=count(dug(answer, "usage", "completion_tokens")),
        calls=calls,
    )
