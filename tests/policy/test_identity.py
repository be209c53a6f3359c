"""When two memories are the same, and what a store must not alter."""

from __future__ import annotations

import unicodedata
from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Anchor, Kind, Memory, Origin, Procedure, Provenance, Scope, Source, Status
from recollect.model import MemoryId, Reinforcement, Uid
from recollect.policy.identity import canonical_text, content_hash, fingerprint, state_hash

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.row("P15", "fingerprint")
@pytest.mark.parametrize(
    "one, other",
    [
        ("Deploys go out from main", "deploys GO out from MAIN"),
        ("Deploys go out from main", "  Deploys\tgo\n\nout  from main \u3000"),
        ("Café", "Cafe\u0301"),
        ("ﬁle", "file"),
        ("ＡＢＣ１２３", "abc123"),
        ("Straße", "STRASSE"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("①②", "12"),
        ("Å", "\u212b"),
    ],
)
def test_texts_that_say_the_same_in_the_same_words_are_the_same(one: str, other: str) -> None:
    """Case, white space and the form of characters do not matter; the exact text still has a hash of its own."""
    assert fingerprint(one) == fingerprint(other)
    assert content_hash(one) != content_hash(other)


@pytest.mark.parametrize(
    "one, other",
    [
        ("Use port 8080", "Use port 8081"),
        ("Use tabs", "Use no tabs"),
        ("Use tabs", "Use tabs."),
        ("cafe", "café"),
        ("now here", "nowhere"),
        ("a b", "b a"),
    ],
)
def test_texts_that_differ_in_anything_else_are_different(one: str, other: str) -> None:
    """A number, a negation, an accent or a mark is a difference."""
    assert fingerprint(one) != fingerprint(other)


@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda w: w.split() == [w]), min_size=1),
    st.lists(st.sampled_from([" ", "\t", "\n", "\u00a0", "  "]), min_size=1),
    st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]),
)
def test_no_form_or_spacing_of_a_text_changes_its_fingerprint(words: list[str], spaces: list[str], form: str) -> None:
    """Nor does the case of its plain letters."""
    text = " ".join(words)
    spaced = "".join(word + spaces[number % len(spaces)] for number, word in enumerate(words))
    swapped = "".join(letter.swapcase() if letter.isascii() else letter for letter in spaced)
    assert fingerprint(unicodedata.normalize(form, swapped)) == fingerprint(text)  # type: ignore[arg-type]


@given(st.text(), st.text())
def test_fingerprints_differ_where_the_words_do(one: str, other: str) -> None:
    """Two texts share one exactly when their canonical texts are equal."""
    assert (fingerprint(one) == fingerprint(other)) == (canonical_text(one) == canonical_text(other))


@given(st.text())
def test_a_hash_names_its_function(text: str) -> None:
    """So that another can live beside it one day."""
    for hashed in (fingerprint(text), content_hash(text)):
        assert hashed.startswith("b2:")
        assert len(hashed) == 67
    assert fingerprint(text) != content_hash(text)


OTHER: dict[str, object] = {
    "id": MemoryId(7),
    "uid": Uid("11111111-0000-4000-8000-000000000000"),
    "version": 2,
    "content": "y",
    "kind": Kind.DECISION,
    "scope": Scope.TASK,
    "status": Status.PINNED,
    "importance": 0.7,
    "confidence": 0.7,
    "trust": 0.7,
    "strength": 2,
    "score": 2,
    "access_count": 2,
    "created_at": LATER,
    "updated_at": LATER,
    "accessed_at": LATER,
    "last_hit_at": LATER,
    "confirmed_at": LATER,
    "valid_from": LATER,
    "valid_to": LATER,
    "origin": Origin.INFERRED,
    "source": Source.NARRATIVE,
    "provenance": (Provenance(origin=Origin.OBSERVED, at=NOW),),
    "reinforcements": (Reinforcement(at=NOW),),
    "session_id": "s",
    "task_id": "t",
    "narrative_id": "n",
    "message_range": (1, 2),
    "agent": "a",
    "host": "h",
    "anchors": (Anchor(path="a.py"),),
    "tags": ("a",),
    "triggers": ("a",),
    "procedure": Procedure(name="a"),
    "season": "w",
    "stage": "s",
    "payload": {"a": 1},
    "fingerprint": "b2:1",
    "content_hash": "b2:2",
    "token_cost": 3,
    "superseded_by": Uid("2"),
}
USAGE = {"id", "access_count", "accessed_at", "last_hit_at"}


@pytest.mark.parametrize("name", [each.name for each in fields(Memory)])
def test_whatever_a_store_must_not_alter_is_in_the_hash_of_its_state(name: str) -> None:
    """Everything but the id a store gave and what reading leaves behind."""
    memory = Memory(uid=Uid("00000000-0000-4000-8000-000000000000"), content="x", created_at=NOW, updated_at=NOW)
    other = replace(memory, **{name: OTHER[name]})  # type: ignore[arg-type]
    assert other != memory
    assert (state_hash(other) == state_hash(memory)) == (name in USAGE)
