"""Whether a memory is worth interrupting for: what speaks for it raises the judgement, what does not lowers it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import Hit, Kind, Memory, MemoryId, Uid, Why, WordStatistics
from recollect.policy.intent import Intent, intent
from recollect.policy.relevance import MEMORIES
from recollect.policy.stem import stem
from recollect.policy.worth import rules_for, stems_needed, worthwhile

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GATEWAY = "The gateway listens on port 9000"
ASKED = intent("which port does the gateway listen on?")
GATE = stem("gateway")
AMONG = WordStatistics(texts=300, words=3_000, holding={GATE: 2, "port": 9, "listen": 4, "test": 120})
share = st.floats(0, 1)


def memory(content: str, *, kind: Kind = Kind.FACT, number: int = 1) -> Memory:
    return Memory(
        id=MemoryId(number), uid=Uid(f"m{number}"), content=content, kind=kind, created_at=NOW, updated_at=NOW
    )


def hit(content: str = GATEWAY, *, words: float = 0.5, meaning: float = 0.5, relevance: float = 0.5, n: int = 1) -> Hit:
    why = (Why(factor="words", value=words * MEMORIES.words), Why(factor="meaning", value=meaning * MEMORIES.meaning))
    return Hit(memory=memory(content, number=n), score=relevance, relevance=relevance, why=why)


def sure(*hits: Hit, wanted: Intent = ASKED, among: WordStatistics = AMONG) -> list[float]:
    """How sure the judgement is of each, in the order in which they were handed in."""
    judged = {each.memory.uid: each.relevance for each in worthwhile(hits, wanted, among, least=0.0)}
    return [judged[each.memory.uid] for each in hits]


def test_what_is_asked_for_by_name_is_worth_it_and_what_shares_a_common_word_is_not() -> None:
    named, near = hit(words=0.9, meaning=0.8), hit("Run the tests before a merge", words=0.2, meaning=0.2, n=2)
    found = worthwhile([near, named], ASKED, AMONG, least=0.6)
    assert [each.memory for each in found] == [named.memory]
    [helps] = [why for why in found[0].why if why.factor == "helps"]
    assert helps.value == found[0].relevance
    assert "shares 3 telling words" in helps.detail


@given(words=share, meaning=share, relevance=share)
def test_it_is_a_probability_and_keeps_the_reasons(words: float, meaning: float, relevance: float) -> None:
    one = hit(words=words, meaning=meaning, relevance=relevance)
    [judged] = worthwhile([one], ASKED, AMONG, least=0.0)
    assert 0 < judged.relevance < 1
    assert judged.why[: len(one.why)] == one.why
    assert judged.memory == one.memory


@given(low=share, high=share, other=share)
def test_more_evidence_is_never_worth_less(low: float, high: float, other: float) -> None:
    low, high = sorted((low, high))
    assert sure(hit(words=low, meaning=other))[0] <= sure(hit(words=high, meaning=other))[0]
    assert sure(hit(words=other, meaning=low))[0] <= sure(hit(words=other, meaning=high))[0]


@given(low=share, high=share)
def test_the_further_behind_the_best_the_less_it_is_worth(low: float, high: float) -> None:
    low, high = sorted((low, high))
    best = hit(relevance=1.0, n=9)
    one, other = sure(hit(relevance=low, n=1), hit(relevance=high, n=2), best)[:2]
    assert one <= other


@given(few=st.integers(1, 299), many=st.integers(1, 299))
def test_a_rarer_word_in_common_is_worth_more(few: int, many: int) -> None:
    few, many = sorted((few, many))
    rare, frequent = (replace(AMONG, holding={**AMONG.holding, GATE: count}) for count in (few, many))
    assert sure(hit("gateway"), among=rare)[0] >= sure(hit("gateway"), among=frequent)[0] - 1e-9


def test_the_more_of_a_memory_the_prompt_names_the_more_it_is_worth() -> None:
    long = f"{GATEWAY}, the mailer, the cron jobs, the archive, the printers and the telephone exchange"
    whole, part = sure(hit(), hit(long, n=2))
    assert whole > part


@given(least=share, evidence=st.lists(st.tuples(share, share, share), max_size=6))
def test_a_higher_gate_lets_less_through_in_the_same_order(
    least: float, evidence: list[tuple[float, float, float]]
) -> None:
    hits = [hit(words=w, meaning=m, relevance=r, n=n) for n, (w, m, r) in enumerate(evidence)]
    every = worthwhile(hits, ASKED, AMONG, least=0.0)
    passed = worthwhile(hits, ASKED, AMONG, least=least)
    assert len(every) == len(hits)
    assert passed == [each for each in every if each.relevance >= least]
    assert [each.relevance for each in every] == sorted((each.relevance for each in every), reverse=True)


@given(prompt=st.text(max_size=80), content=st.text(max_size=80), texts=st.integers(0, 5))
def test_it_never_raises(prompt: str, content: str, texts: int) -> None:
    """Whatever is asked and remembered, in an empty store too."""
    wanted, hits = intent(prompt), [hit(content)]
    needed = stems_needed(hits, wanted)
    among = WordStatistics(texts=texts, words=texts, holding=dict.fromkeys(needed, min(1, texts)))
    assert len(worthwhile(hits, wanted, among, least=0.0)) == 1


def test_the_stems_of_prompt_and_memories_are_needed() -> None:
    assert {GATE, "port", "listen", "penguin"} <= stems_needed([hit(), hit("Penguins swim", n=2)], ASKED)
    assert stems_needed([], intent("")) == frozenset()


# --- Rules ---------------------------------------------------------------------------------------------------------

PNPM = memory("No, use pnpm, never npm", kind=Kind.CORRECTION)
PYTEST = memory("Run pytest with -q", kind=Kind.PREFERENCE, number=2)


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("install the dependencies", [PNPM]),
        ("run the tests", [PYTEST]),
        ("what is 2 + 2", []),
        ("thanks", []),
        ("which dependencies does the parser have?", []),
    ],
)
def test_a_rule_comes_up_when_its_activity_is_asked_for(prompt: str, found: list[Memory]) -> None:
    hits = rules_for(prompt, [PNPM, PYTEST])
    assert [each.memory for each in hits] == found
    assert all(each.relevance == 0.75 and each.why[0].factor == "occasion" for each in hits)


def test_many_rules_on_one_thing_are_about_something_narrower() -> None:
    rules = [memory(f"use pnpm for package {n}", kind=Kind.CORRECTION, number=n) for n in range(3)]
    assert len(rules_for("install the dependencies", rules[:2])) == 2
    assert rules_for("install the dependencies", rules) == []
