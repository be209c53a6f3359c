"""When are two memories the same? Canonical text, fingerprints and the hashes of rows."""

from __future__ import annotations

import unicodedata

from ..codec import canonical, digest, encode
from ..model import Memory

_USAGE = frozenset({"id", "access_count", "accessed_at", "last_hit_at"})
"""What reading leaves behind, and the id a store gave. They may differ without the knowledge being different."""


def canonical_text(text: str) -> str:
    """Text with everything removed that does not change what it says: case, white space, form of the characters."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def spelled_tag(tag: str) -> str:
    """A tag in its one spelling: without its leading #, in lower case, words joined by hyphens."""
    return "-".join(tag.strip().lstrip("#").lower().split())


def fingerprint(text: str) -> str:
    """Equal for texts that say the same in the same words. Two live memories of one scope never share one."""
    return digest("fingerprint", canonical_text(text))


def content_hash(text: str) -> str:
    """Hash of the exact text, which vectors and caches are tied to."""
    return digest("content", text)


def state_hash(memory: Memory) -> str:
    """Hash of everything a store must not lose or alter about a memory.

    The uid, which nobody can guess from the words, is part of it; so the hash of an erased memory does not give its
    words away to somebody who tries likely ones without knowing the uid.
    """
    state = encode(memory)
    assert isinstance(state, dict)
    return digest("memory", canonical({name: held for name, held in state.items() if name not in _USAGE}))
