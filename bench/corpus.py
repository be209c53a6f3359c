"""Text to measure with: memories of about 25 words whose words are as unevenly used as in real language."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate

FREQUENT = (
    "the of to and a in is it for we that on with as this be are by use not from or at when all should which an was "
    "new code test file run can add if then each only one make after before set get change config server user data"
).split()
_ONSETS = "b bl br c ch d dr f fl g gr h j k kl l m n p pl pr qu r s sh sl st t tr v w z".split()
_VOWELS = "a e i o u ai ea ee io ou".split()
_CODAS = "b ck d ft g l ll m n nd ng nt p r rd rt s ss st t x".split()
VOCABULARY = 30_000


class Corpus:
    """A seeded source of memories and questions. The same seed gives the same text on every machine."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        rare: set[str] = set()
        while len(rare) < VOCABULARY:
            rare.add("".join(self._syllable() for _ in range(self._random.choice((1, 2, 2, 3)))))
        self._words = [*FREQUENT, *sorted(rare)]
        # Zipf: the n-th word is used in proportion to 1/n.
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))

    def _syllable(self) -> str:
        pick = self._random.choice
        return pick(_ONSETS) + pick(_VOWELS) + pick(_CODAS)

    def memories(self, count: int) -> Iterator[str]:
        """Texts of 15 to 35 words, each with a number of its own, so that none is a duplicate."""
        for number in range(count):
            length = self._random.randint(15, 35)
            words = self._random.choices(self._words, cum_weights=self._weights, k=length)
            yield f"{' '.join(words)} {number}"

    def question(self, memory: str) -> str:
        """Ten words: four of the memory's own, the rest ordinary, frequent ones among them."""
        own = self._random.sample(memory.split()[:-1], 4)
        other = self._random.choices(self._words, cum_weights=self._weights, k=6)
        words = [*own, *other]
        self._random.shuffle(words)
        return " ".join(words)
