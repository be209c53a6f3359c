"""About how many tokens a text is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.policy.tokens import estimate_tokens

# What two common tokenizers make of a text, on average; each text stands for many like it.
COUNTED = [
    ("The API listens on port 8080 and uses PostgreSQL 16 for billing.", 16),
    ("def estimate_tokens(text: str) -> int:\n    return len(text.split())\n", 16),
    ("# Key decisions\n\n- 2026-02-01: Chose SQLite over PostgreSQL for local-first architecture\n", 24),
    ("parseHTTPResponse(user_id, max_retries=3)", 12),
    ("数据库连接池的默认大小是二十。请不要修改它。", 16),
    ("Настройки базы данных хранятся в файле конфигурации проекта.", 19),
]


@pytest.mark.parametrize("text, tokens", COUNTED)
def test_the_estimate_is_near_what_a_tokenizer_counts(text: str, tokens: int) -> None:
    """Within a quarter for a single short text."""
    assert estimate_tokens(text) == pytest.approx(tokens, rel=0.25)


def test_nothing_is_no_token() -> None:
    """Nor are a single blank."""
    assert estimate_tokens("") == estimate_tokens(" ") == 0


@given(st.text(), st.text())
def test_tokens_add_up(text: str, more: str) -> None:
    """Two texts together cost about what they cost apart, and no part costs more than the whole by much."""
    apart = estimate_tokens(text) + estimate_tokens(more)
    assert estimate_tokens(f"{text} {more}") <= apart + 2
    assert estimate_tokens(f"{text} {more}") >= max(estimate_tokens(text), estimate_tokens(more)) - 2
