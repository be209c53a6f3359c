"""A language model's interface on this machine, good and bad in every way one can be. Run as a process of its own:

    python fake_api.py FOLDER

It prints its port. The first part of a path says how it behaves, and the rest which interface is meant:
`/say/v1/messages` answers with the text in FOLDER/answer. Every request is written to FOLDER/requests.jsonl.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

USAGE = {"input_tokens": 10, "output_tokens": 5}
Event = tuple[str, object]


class FakeApi(BaseHTTPRequestHandler):
    """One connection. `folder` is given by `main`."""

    protocol_version = "HTTP/1.1"
    folder: Path

    def log_message(self, *_given: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.send({"data": [{"id": "fake", "object": "model"}], "models": []})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {"raw": raw.decode("latin-1")}
        seen = {"path": self.path, "headers": {name.lower(): held for name, held in self.headers.items()}, "body": body}
        with (self.folder / "requests.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(seen) + "\n")
        mode = self.path.split("/")[1]
        if mode.startswith("error-"):
            self.send(
                {"error": {"message": "no"}}, status=int(mode[6:9]), **({"Retry-After": "7"} if "after" in mode else {})
            )
        else:
            getattr(self, mode.replace("-", "_"))(body)

    # --- Behaviours ----------------------------------------------------------------------------------------------

    def say(self, body: Any) -> None:
        text = (self.folder / "answer").read_text(encoding="utf-8")
        interface = next((each for name, each in INTERFACES.items() if name in self.path), None)
        if interface is None or "count" in self.path:
            self.send({"input_tokens": 10, "totalTokens": 10})
            return
        whole, events = interface(text, body)
        if body.get("stream") or "stream" in self.path:
            self.send(b"".join(map(written, events)), kind="text/event-stream")
        else:
            self.send(whole)

    def no_schema(self, body: Any) -> None:
        """Accept nothing that asks for a shape of the answer."""
        asks = "response_format" in body or "tools" in body
        self.send({"error": "unknown field"}, status=400) if asks else self.say(body)

    def newer(self, body: Any) -> None:
        """Accept only the newer name of the limit."""
        old = "max_tokens" in body or "temperature" in body
        self.send({"error": "unsupported parameter"}, status=400) if old else self.say(body)

    def slow(self, body: Any) -> None:
        time.sleep(5)
        self.say(body)

    def moody(self, body: Any) -> None:
        """Behave well half of the time, and in one of the other ways else."""
        bad = (self.garbage, self.hang_up, self.cut, self.other_json, self.empty, self.slow, self.fail)
        random.choice((*(self.say for _ in bad), *bad))(body)

    def fail(self, _body: Any) -> None:
        self.send({"error": {"message": "no"}}, status=500)

    def drip(self, _body: Any) -> None:
        """Send a header so slowly that every read is in time and the whole never is."""
        for letter in "HTTP/1.1 200 OK\r\nX-Long: " + "x" * 100:
            self.wfile.write(letter.encode())
            time.sleep(0.1)

    def stream(self, body: Any) -> None:
        """Stream though nobody asked for it."""
        self.say({**body, "stream": True})

    def giant(self, _body: Any) -> None:
        self.send(b'{"choices":[{"message":{"content":"' + b"x" * 8_000_000 + b'"}}]}')

    def cut(self, _body: Any) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices"')
        self.close_connection = True

    def hang_up(self, _body: Any) -> None:
        self.close_connection = True

    def empty(self, _body: Any) -> None:
        self.send(b"")

    def garbage(self, _body: Any) -> None:
        self.send(bytes(range(256)) * 4)

    def other_json(self, _body: Any) -> None:
        self.send([{"content": 7}])

    def redirect(self, _body: Any) -> None:
        self.send({}, status=307, Location="/say/v1/chat/completions")

    def send(self, content: object, *, status: int = 200, kind: str = "application/json", **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


# --- Interfaces: the whole answer, and the events of the same as a stream --------------------------------------------


def written(event: Event) -> bytes:
    name, data = event
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def chat(text: str, body: Any) -> tuple[object, Iterator[Event]]:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    base = {"id": "chat-1", "created": 1, "model": body.get("model"), "usage": usage}
    message = {"role": "assistant", "content": text}

    def events() -> Iterator[Event]:
        for choice in ({"delta": message, "finish_reason": None}, {"delta": {}, "finish_reason": "stop"}):
            yield "", {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]}
        yield "", "[DONE]"

    return {**base, "object": "chat.completion", "choices": [{"index": 0, "message": message}]}, events()


def messages(text: str, body: Any) -> tuple[object, Iterator[Event]]:
    forced = (body.get("tool_choice") or {}).get("name")
    names = [tool.get("name") for tool in body.get("tools") or []]
    asked = forced or next((name for name in names if name == "StructuredOutput"), None)
    answered = "tool_result" in json.dumps(body.get("messages", [])[-1:])
    block: dict[str, Any] = {"type": "text", "text": text}
    if asked and text.startswith("{") and not answered:
        block = {"type": "tool_use", "id": "toolu_1", "name": asked, "input": json.loads(text)}
    stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
    base = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "usage": USAGE}

    def events() -> Iterator[Event]:
        yield "message_start", {"type": "message_start", "message": {**base, "content": [], "stop_reason": None}}
        empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": text}
        if stop == "tool_use":
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": empty}
        yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": 0}
        yield "message_delta", {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": USAGE}
        yield "message_stop", {"type": "message_stop"}

    return {**base, "content": [block], "stop_reason": stop}, events()


def responses(text: str, body: Any) -> tuple[object, Iterator[Event]]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": content}
    usage = {**USAGE, "total_tokens": 15}
    done = {"id": "r1", "object": "response", "status": "completed", "model": body.get("model"), "usage": usage}

    def events() -> Iterator[Event]:
        started = {**done, "status": "in_progress", "output": []}
        yield "response.created", {"type": "response.created", "response": started}
        for name in ("response.output_item.added", "response.output_item.done"):
            yield name, {"type": name, "output_index": 0, "item": item}
        yield "response.completed", {"type": "response.completed", "response": {**done, "output": [item]}}

    return {**done, "output": [item]}, events()


def generate(text: str, _body: Any) -> tuple[object, Iterator[Event]]:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP", "index": 0}
    answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}
    return answer, iter([("", answer)])


INTERFACES: dict[str, Callable[[str, Any], tuple[object, Iterator[Event]]]] = {
    "/chat/completions": chat,
    "/messages": messages,
    "/responses": responses,
    "enerateContent": generate,
}


def main(folder: str) -> None:
    FakeApi.folder = Path(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeApi)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
