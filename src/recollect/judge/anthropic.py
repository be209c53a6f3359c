"""Anthropic's Messages interface. The answer comes as the input of a tool that the model is told to call."""

from __future__ import annotations

import json
import time
from typing import Any

from .http import Endpoint, Unaccepted, count, dug
from .model import ModelFailed, Reply, Request

ADDRESS = "https://api.anthropic.com"
_VERSION = "2023-06-01"
_TOOL = "answer"


class AnthropicModel:
    """`Model` behind `/messages`. Where a model cannot be made to call a tool, it is asked for plain text instead."""

    def __init__(self, *, model: str, key: str | None = None, url: str = ADDRESS) -> None:
        """Settle where to ask. Raises ConfigError when the address or the key cannot be one."""
        self.name = f"anthropic:{model}"
        self._model = model
        headers = {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}
        self._endpoint = Endpoint(url, path="/messages", headers=headers)
        self._plain = False

    def reply(self, request: Request, *, seconds: float) -> Reply:
        """What it says. Raises ModelFailed."""
        until = time.monotonic() + seconds
        calls = 1
        if not self._plain:
            try:
                return _read(self._endpoint.post(self._body(request, plain=False), until=until), calls)
            except Unaccepted:
                calls += 1
        try:
            answer = self._endpoint.post(self._body(request, plain=True), until=until)
        except ModelFailed as failed:
            failed.calls = calls
            raise
        self._plain = True
        return _read(answer, calls)

    def _body(self, request: Request, *, plain: bool) -> dict[str, object]:
        body: dict[str, object] = {
            "model": self._model,
            "max_tokens": request.most_tokens,
            "system": request.instructions,
            "messages": [{"role": "user", "content": request.material}],
            "stream": False,
        }
        if not plain:
            tool = {"name": _TOOL, "description": "Give the answer.", "input_schema": request.schema}
            body |= {"tools": [tool], "tool_choice": {"type": "tool", "name": _TOOL}}
        return body


def _read(answer: Any, calls: int) -> Reply:
    blocks = dug(answer, "content")
    if not isinstance(blocks, list):
        raise ModelFailed("malformed", "no content in the answer", calls=calls)
    called = [dug(each, "input") for each in blocks if dug(each, "type") == "tool_use"]
    texts = [dug(each, "text") for each in blocks if dug(each, "type") == "text"]
    said = json.dumps(called[0]) if called else "\n".join(each for each in texts if isinstance(each, str))
    return Reply(
        text=said,
        tokens_in=count(dug(answer, "usage", "input_tokens")),
        tokens_out=count(dug(answer, "usage", "output_tokens")),
        calls=calls,
    )
