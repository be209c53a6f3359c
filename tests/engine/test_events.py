"""Events: their names and facts, and that no subscriber, log or telemetry holds anybody up."""

from __future__ import annotations

import importlib.util
import json
import logging
import threading
import time
from collections.abc import Iterator

import pytest

from recollect import InvalidInput
from recollect.engine.events import NAMES, QUEUE, Compact, Event, Events, Flush, Read, Search, Write
from recollect.model import Json

EACH: list[tuple[Event, str, dict[str, Json]]] = [
    (
        Read(type="long-term", path="MEMORY.md", size=120),
        "memory:read",
        {"type": "long-term", "path": "MEMORY.md", "size": 120},
    ),
    (
        Write(type="session", path="s1.jsonl", delta=-4),
        "memory:write",
        {"type": "session", "path": "s1.jsonl", "delta": -4},
    ),
    (Flush(session_id="s1"), "memory:flush", {"sessionId": "s1"}),
    (
        Compact(session_id="s1", before=100_000, after=9_000),
        "memory:compact",
        {"sessionId": "s1", "before": 100_000, "after": 9_000},
    ),
    (
        Search(query="which port?", results=("4", "g7")),
        "memory:search",
        {"query": "which port?", "results": ["4", "g7"]},
    ),
]
SDK = importlib.util.find_spec("opentelemetry") and importlib.util.find_spec("opentelemetry.sdk")


@pytest.fixture
def events() -> Iterator[Events]:
    """Somewhere to tell events."""
    made = Events()
    yield made
    made.close()


@pytest.mark.row("B11", "memory:read", "memory:write", "memory:flush", "memory:compact", "memory:search")
@pytest.mark.parametrize("event, name, payload", EACH, ids=NAMES)
def test_an_event_is_told_with_its_facts(events: Events, event: Event, name: str, payload: dict[str, Json]) -> None:
    """Under the documented name, to whoever subscribed."""
    heard: list[Event] = []
    events.subscribe(heard.append)
    events.tell(event)
    events.close()
    assert heard == [event]
    assert (event.name, event.payload()) == (name, payload)
    assert name in NAMES


def test_a_subscriber_hears_what_it_asked_for_in_order(events: Events) -> None:
    """By name; and no name that there is not."""
    heard: list[Event] = []
    told: list[Event] = [Flush(session_id=f"s{number}") for number in range(50)]
    events.subscribe(heard.append, names=["memory:flush"])
    for each in told:
        events.tell(each)
        events.tell(Read(type="long-term", path="MEMORY.md", size=1))
    events.close()
    assert heard == told
    with pytest.raises(InvalidInput, match="'memory:forget' is not one of memory:read"):
        events.subscribe(heard.append, names=["memory:forget"])


def test_a_subscriber_that_left_hears_nothing_more(events: Events) -> None:
    """And leaving twice is no mistake."""
    heard: list[Event] = []
    other: list[Event] = []
    subscription = events.subscribe(heard.append)
    events.subscribe(other.append)
    events.unsubscribe(subscription)
    events.unsubscribe(subscription)
    events.tell(Flush(session_id="s1"))
    events.close()
    assert (heard, len(other)) == ([], 1)


def test_a_subscriber_that_blocks_holds_nobody_up(events: Events) -> None:
    """Telling stays fast, the others hear everything, and what its queue cannot take is counted."""
    release = threading.Event()
    heard = threading.Semaphore(0)

    def block(event: Event) -> None:
        release.wait(30)

    stuck = events.subscribe(block)
    events.subscribe(lambda event: heard.release())
    slowest = 0.0
    for number in range(QUEUE + 50):
        began = time.perf_counter()
        events.tell(Flush(session_id=str(number)))
        slowest = max(slowest, time.perf_counter() - began)
        assert heard.acquire(timeout=10), "the other one hears each while the first is stuck"
    assert slowest < 0.5
    assert stuck.lost == 49, "one is at work, a queue full waits"
    began = time.perf_counter()
    events.close(0.2)
    assert time.perf_counter() - began < 2, "closing does not wait for it either"
    release.set()


def test_a_subscriber_that_fails_affects_nobody(events: Events) -> None:
    """It is told the next event all the same, and so are the others."""
    heard: list[Event] = []
    asked: list[Event] = []

    def fail(event: Event) -> None:
        asked.append(event)
        raise RuntimeError("broken")

    failing = events.subscribe(fail)
    events.subscribe(heard.append)
    for number in range(20):
        events.tell(Flush(session_id=str(number)))
    events.close()
    assert len(heard) == len(asked) == failing.failures == 20


def test_a_subscriber_may_tell_events_and_leave_from_within(events: Events) -> None:
    """Nothing locks itself out."""
    heard: list[str] = []
    done = threading.Event()

    def again(event: Event) -> None:
        heard.append(event.name)
        if isinstance(event, Flush):
            events.tell(Compact(session_id="s1", before=2, after=1))
        else:
            events.unsubscribe(subscription)
            done.set()

    subscription = events.subscribe(again)
    events.tell(Flush(session_id="s1"))
    assert done.wait(10)
    assert heard == ["memory:flush", "memory:compact"]


def test_many_threads_may_tell_at_once(events: Events) -> None:
    """Nothing is lost as long as queues are not full."""
    heard: list[Event] = []
    subscription = events.subscribe(heard.append)

    def tell_some() -> None:
        for _ in range(25):
            events.tell(Flush(session_id="s"))

    threads = [threading.Thread(target=tell_some) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events.close()
    assert len(heard) + subscription.lost == 200
    assert subscription.lost == 0


def test_telling_nobody_starts_nothing(events: Events, monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread and no work where nobody listens."""
    monkeypatch.setattr("recollect.engine.events.sys.modules", {})
    before = threading.active_count()
    for _ in range(100):
        events.tell(Search(query="q", results=()))
    assert threading.active_count() == before


def test_events_are_lines_of_the_log(events: Events, caplog: pytest.LogCaptureFixture) -> None:
    """A JSON object each, with secrets masked."""
    secret = "AKIAZ7Q2M4XN5B6V3C2D"
    with caplog.at_level(logging.INFO, logger="recollect.events"):
        for event, *_ in EACH:
            events.tell(event)
        events.tell(Search(query=f"where is {secret} used?", results=()))
        events.close()
    lines = [json.loads(record.getMessage()) for record in caplog.records]
    assert [line["event"] for line in lines] == [*NAMES, "memory:search"]
    for line, (_, name, payload) in zip(lines, EACH, strict=False):
        assert {key: line[key] for key in payload} == payload, name
    assert secret not in caplog.text
    assert abs(lines[0]["at"] / 1_000 - time.time()) < 60


def test_a_log_that_is_off_is_told_nothing(events: Events, caplog: pytest.LogCaptureFixture) -> None:
    """Where nobody asked for these lines there are none."""
    with caplog.at_level(logging.WARNING, logger="recollect.events"):
        events.tell(Flush(session_id="s1"))
        events.close()
    assert caplog.records == []


@pytest.mark.skipif(not SDK, reason="opentelemetry-sdk is not installed")
def test_events_are_spans_and_counts_of_opentelemetry(events: Events) -> None:
    """Under the span they happened in, with sizes and never with texts."""
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, reader, provider = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider(metric_readers=[reader]))
    with trace.get_tracer("test").start_as_current_span("turn"):
        for event, *_ in EACH:
            events.tell(event)
    events.close(5)
    found = {span.name: span for span in spans.get_finished_spans()}
    assert set(found) == {*NAMES, "turn"}
    assert {found[name].parent.span_id for name in NAMES} == {found["turn"].context.span_id}
    assert dict(found["memory:search"].attributes) == {"recollect.query.length": 11, "recollect.results": 2}
    assert "which port?" not in str([span.to_json() for span in found.values()])
    counted = json.loads(reader.get_metrics_data().to_json())
    points = counted["resource_metrics"][0]["scope_metrics"][0]["metrics"][0]["data"]["data_points"]
    assert {point["attributes"]["event"]: point["value"] for point in points} == dict.fromkeys(NAMES, 1)
