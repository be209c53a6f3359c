"""Working memory: what leaves the messages of a loop, and that what stays can still be sent."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.policy.tokens import estimate_tokens
from recollect.policy.working import fit

Message = dict[str, Any]
LONG = "a line of output that nobody needs any more " * 20

SYSTEM: Message = {"role": "system", "content": "Answer briefly."}


def said(text: str) -> Message:
    return {"role": "user", "content": text}


def answered(text: str) -> Message:
    return {"role": "assistant", "content": text}


def blocks(*names: str, text: str = LONG) -> list[Message]:
    """Calls and their results as blocks, all results in one message."""
    calls = [{"type": "tool_use", "id": name, "name": "read", "input": {"path": f"{name}.py"}} for name in names]
    results = [{"type": "tool_result", "tool_use_id": name, "content": f"{name} {text}"} for name in names]
    return [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]


def fields(*names: str, text: str = LONG) -> list[Message]:
    """The same as fields and messages, one message a result."""
    calls = [
        {"id": name, "type": "function", "function": {"name": "read", "arguments": f'{{"path": "{name}.py"}}'}}
        for name in names
    ]
    results = [{"role": "tool", "tool_call_id": name, "content": f"{name} {text}"} for name in names]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


SHAPES = {"blocks": blocks, "fields": fields}


def calls_in(messages: list[Message]) -> list[str]:
    found = []
    for message in messages:
        content = message["content"] if isinstance(message["content"], list) else []
        found += [block["id"] for block in content if block["type"] == "tool_use"]
        found += [call["id"] for call in message.get("tool_calls", [])]
    return found


def results_in(messages: list[Message]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for message in messages:
        content = message["content"] if isinstance(message["content"], list) else []
        found |= {block["tool_use_id"]: block["content"] for block in content if block["type"] == "tool_result"}
        if message["role"] == "tool":
            found[message["tool_call_id"]] = message["content"]
    return found


def shell(message: Message) -> tuple[str, str, list[str], list[str]]:
    """What fitting leaves of a message in any case."""
    own = message["content"] if isinstance(message["content"], str) and message["role"] != "tool" else ""
    return message["role"], own, calls_in([message]), list(results_in([message]))


# --- Results --------------------------------------------------------------------------------------------------------


@pytest.mark.row("B1", "tool-results", "tool-calls")
@pytest.mark.parametrize("shape", SHAPES)
def test_only_the_last_five_results_keep_their_content(shape: str) -> None:
    """Older ones say how much was dropped; every call is still there, and has its result."""
    names = [f"call{number}" for number in range(8)]
    messages = [SYSTEM, said("go"), *(message for name in names for message in SHAPES[shape](name))]
    got = fit(messages)
    results = results_in(got.messages)
    assert [name for name in names if results[name].startswith(name)] == names[3:]
    size = estimate_tokens(f"call0 {LONG}")
    assert results["call0"] == f"[result dropped: {size:,} tokens]"
    assert calls_in(got.messages) == names
    assert got.emptied == 3
    assert got.dropped == 0
    assert got.tokens_before - got.tokens_after == 3 * (size - estimate_tokens(results["call0"]))


@pytest.mark.row("B1", "tool-results")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "keep, full", [(0, []), (1, ["c"]), (2, ["b", "c"]), (3, ["a", "b", "c"]), (9, ["a", "b", "c"])]
)
def test_results_of_calls_made_together_count_one_by_one(shape: str, keep: int, full: list[str]) -> None:
    """The last few are counted by result, not by message."""
    got = results_in(fit(SHAPES[shape]("a", "b", "c"), keep_results=keep).messages)
    assert [name for name, content in got.items() if content.startswith(name)] == full


def test_a_result_keeps_all_but_its_content() -> None:
    """Whether it was an error and which call it answers is not lost; what is beside it stays."""
    result = {"type": "tool_result", "tool_use_id": "a", "is_error": True, "content": [{"type": "text", "text": LONG}]}
    note = {"type": "text", "text": "and be quick"}
    call = blocks("a")[0]
    got = fit([call, {"role": "user", "content": [result, note], "name": "me"}], keep_results=0).messages[1]
    size = estimate_tokens(LONG)
    assert got == {
        "role": "user",
        "content": [{**result, "content": f"[result dropped: {size:,} tokens]"}, note],
        "name": "me",
    }


@pytest.mark.parametrize("content", ["", [], None])
def test_a_result_without_content_stays_as_it_is(content: object) -> None:
    """There is nothing to drop."""
    messages = [fields("a")[0], {"role": "tool", "tool_call_id": "a", "content": content}]
    got = fit(messages, keep_results=0)
    assert got.messages == messages
    assert got.emptied == 0


def test_a_picture_is_not_counted_by_its_characters() -> None:
    """An encoded picture takes what pictures take; a document in words takes what its words take."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 50_000}}
    words = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": LONG * 20}}
    seen, read = (fit([{"role": "user", "content": [block]}]).tokens_before for block in (picture, words))
    assert 500 < seen < 3_000
    assert read >= estimate_tokens(LONG * 20)


# --- The bound ------------------------------------------------------------------------------------------------------


def exchange(name: str, shape: str) -> list[Message]:
    return [said(f"question {name}"), *SHAPES[shape](name), answered(f"answer {name}")]


@pytest.mark.row("B1", "bounded")
@pytest.mark.parametrize("shape", SHAPES)
def test_whole_exchanges_leave_oldest_first(shape: str) -> None:
    """A question leaves with its calls, results and answer, until the rest fits; the system message stays."""
    old, middle, last = (exchange(name, shape) for name in ("old", "middle", "last"))
    messages = [SYSTEM, *old, *middle, *last]
    whole = fit(messages)
    for bound, left in [
        (whole.tokens_after, messages),
        (whole.tokens_after - 1, [SYSTEM, *middle, *last]),
        (fit([SYSTEM, *middle, *last]).tokens_after - 1, [SYSTEM, *last]),
    ]:
        got = fit(messages, bound=bound)
        assert got.messages == left
        assert got.tokens_after <= bound
        assert got.dropped == len(messages) - len(left)
        assert got.tokens_before == whole.tokens_before


@pytest.mark.row("B1", "bounded")
@pytest.mark.parametrize("shape", SHAPES)
def test_within_one_task_old_steps_leave(shape: str) -> None:
    """Where one message of the user began everything, it stays and the oldest calls leave with their results."""
    steps = [SHAPES[shape](f"{name}1", f"{name}2") for name in "abc"]
    messages = [SYSTEM, *exchange("before", shape), said("the task"), *(message for step in steps for message in step)]
    kept = [SYSTEM, said("the task"), *steps[1], *steps[2]]
    got = fit(messages, keep_results=99, bound=fit(kept, keep_results=99).tokens_after)
    assert got.messages == kept
    least = fit(messages, bound=0)
    assert least.messages == [SYSTEM, said("the task")]
    assert least.tokens_after == fit(least.messages).tokens_before > 0


def test_calls_that_wait_for_a_result_stay() -> None:
    """Their results are about to come, and would belong to nothing."""
    asked, first, _ = fields("a", "b")
    got = fit([said("go"), *fields("x"), asked, first], bound=0).messages
    assert got == [said("go"), asked, first]
    alone = blocks("a")[0]
    assert fit([said("go"), alone], bound=0).messages == [said("go"), alone]


def test_a_word_of_the_user_beside_a_result_stays_with_the_call() -> None:
    """It is the last thing the user said; the message that began the exchange stays, so a user speaks first."""
    call, result = blocks("b")
    mixed = {"role": "user", "content": [*result["content"], {"type": "text", "text": "stop after this"}]}
    got = fit([said("old"), answered("yes"), said("go"), *blocks("a"), call, mixed, answered("done")], bound=0).messages
    assert got == [said("go"), call, mixed]


def test_a_user_who_speaks_between_call_and_result_parts_nothing() -> None:
    """What lies between a call and its result stays or leaves with them."""
    call, result = fields("a")
    between = [said("old"), call, said("hurry"), result, answered("done")]
    assert fit(between, bound=0).messages == [call, said("hurry"), result]
    assert fit([*between, said("next")], bound=0).messages == [said("next")]


def test_names_that_are_used_again_pair_with_the_call_before() -> None:
    """Some hosts count calls anew in each answer, and some do not name them at all."""
    for name in ("call_0", ""):
        first, second, third = (fields(name, text=text) for text in ("one", "two", "three"))
        messages = [said("go"), *first, *second, *third]
        bound = fit([said("go"), *third]).tokens_after
        assert fit(messages, bound=bound).messages == [said("go"), *third]


def test_messages_of_the_system_stay_wherever_they_are() -> None:
    """Also under the name that newer models give it, and among exchanges that leave."""
    developer = {"role": "developer", "content": "Be kind."}
    messages = [said("one"), answered("1"), developer, said("two"), SYSTEM, answered("2"), said("three")]
    assert fit(messages, bound=0).messages == [developer, SYSTEM, said("three")]


def test_nothing_comes_of_nothing() -> None:
    """No messages are within every bound."""
    got = fit([], bound=0)
    assert (got.messages, got.tokens_before, got.tokens_after, got.dropped, got.emptied) == ([], 0, 0, 0, 0)


@pytest.mark.parametrize(
    "messages, keep, bound, field",
    [
        ([], -1, None, "keep_results"),
        ([], 5, -1, "bound"),
        (["hello"], 5, None, "messages[0]"),
        ([said("a"), {"content": "b"}], 5, None, "messages[1]"),
        ([{"role": "user", "content": 5}], 5, None, "messages[0].content"),
        ([{"role": "user", "content": [object()]}], 5, None, "messages[0]"),
        ([{"role": "assistant", "content": None, "tool_calls": {"id": "a"}}], 5, None, "messages[0].tool_calls"),
        ([{"role": "assistant", "content": None, "tool_calls": ["a"]}], 5, None, "messages[0]"),
    ],
)
def test_what_is_no_message_is_refused(messages: list[Any], keep: int, bound: int | None, field: str) -> None:
    """What cannot be read could be a call or a result, so it is not guessed at."""
    with pytest.raises(InvalidInput) as caught:
        fit(messages, keep_results=keep, bound=bound)
    assert caught.value.field == field


# --- Whatever the messages are --------------------------------------------------------------------------------------


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Messages of either shape, valid to send, with exchanges of any length and perhaps calls that wait at the end."""
    texts = st.sampled_from(["ok", "a few words", LONG])
    make = SHAPES[draw(st.sampled_from(sorted(SHAPES)))]
    messages: list[Message] = [SYSTEM] if draw(st.booleans()) else []
    number = 0
    for kind in draw(st.lists(st.sampled_from(["said", "answered", "called"]), max_size=14)):
        if kind == "called":
            names = [f"id{number + more}" for more in range(draw(st.integers(1, 3)))]
            number += len(names)
            messages += make(*names, text=draw(texts))
        else:
            messages.append(said(draw(texts)) if kind == "said" else answered(draw(texts)))
    return [*messages, make(f"id{number}")[0]] if draw(st.booleans()) else messages


keeps = st.integers(0, 6)
bounds = st.none() | st.integers(0, 3_000)


@pytest.mark.row("B1", "transcript-untouched")
@given(messages=histories(), keep=keeps, bound=bounds)
def test_what_was_handed_in_does_not_change(messages: list[Message], keep: int, bound: int | None) -> None:
    """Neither by fitting nor by what is done to the result afterwards."""
    before = deepcopy(messages)
    got = fit(messages, keep_results=keep, bound=bound)
    for message in got.messages:
        for block in message["content"] if isinstance(message["content"], list) else []:
            block["cache_control"] = {"type": "ephemeral"}
        message["content"] = "something else"
    assert messages == before


@pytest.mark.row("B1", "bounded", "tool-calls")
@given(messages=histories(), keep=keeps, bound=bounds)
def test_calls_and_results_stay_paired(messages: list[Message], keep: int, bound: int | None) -> None:
    """No call loses its result and no result its call; only calls that wait for theirs are without one."""
    waiting = set(calls_in(messages)) - set(results_in(messages))
    got = fit(messages, keep_results=keep, bound=bound).messages
    assert set(calls_in(got)) - set(results_in(got)) == waiting
    assert set(results_in(got)) <= set(calls_in(got))
    if bound is None:
        assert calls_in(got) == calls_in(messages)


@pytest.mark.row("B1", "bounded")
@given(messages=histories(), keep=keeps, bound=bounds)
def test_the_counts_are_true_and_the_bound_is_kept(messages: list[Message], keep: int, bound: int | None) -> None:
    """Over the bound only where nothing more may go; order is kept; system and the user's last message stay."""
    got = fit(messages, keep_results=keep, bound=bound)
    assert got.tokens_before == fit(messages, keep_results=99).tokens_after
    assert got.tokens_after == fit(got.messages, keep_results=99).tokens_before
    assert got.dropped == len(messages) - len(got.messages)
    if bound is not None and got.tokens_after > bound:
        assert got.messages == fit(messages, keep_results=keep, bound=0).messages
    stays = [message for message in messages if message["role"] == "system"]
    stays += [message for message in messages if message["role"] == "user" and isinstance(message["content"], str)][-1:]
    assert all(message in got.messages for message in stays)
    order = iter([shell(message) for message in messages])
    assert all(shell(message) in order for message in got.messages)


@given(messages=histories(), keep=keeps)
def test_only_results_lose_content(messages: list[Message], keep: int) -> None:
    """Without a bound every message is there, and all but old results are as they were."""
    got = fit(messages, keep_results=keep)
    before, after = results_in(messages), results_in(got.messages)
    assert list(before) == list(after)
    changed = [name for name in before if before[name] != after[name]]
    assert changed == list(before)[: max(0, len(before) - keep)]
    assert got.emptied == len(changed)
    for then, now in zip(messages, got.messages, strict=True):
        if then["role"] != "tool" and not results_in([then]):
            assert then == now


@given(messages=histories(), keep=keeps, bound=bounds)
def test_fitting_again_changes_nothing(messages: list[Message], keep: int, bound: int | None) -> None:
    """What was dropped is not dropped again, and says the same."""
    once = fit(messages, keep_results=keep, bound=bound)
    twice = fit(once.messages, keep_results=keep, bound=bound)
    assert twice.messages == once.messages
    assert (twice.dropped, twice.emptied) == (0, once.emptied)


@given(messages=histories(), keep=keeps, bound=st.integers(0, 3_000), more=st.integers(0, 1_000))
def test_a_larger_bound_keeps_all_that_a_smaller_one_does(
    messages: list[Message], keep: int, bound: int, more: int
) -> None:
    """More room never costs a message."""
    small, large = (fit(messages, keep_results=keep, bound=room).messages for room in (bound, bound + more))
    assert not Counter(map(str, small)) - Counter(map(str, large))
