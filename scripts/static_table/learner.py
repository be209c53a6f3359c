"""The learning: batches, the loss, and how well the rows follow the teacher on text that was held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (as everyone calls it)

from recollect.embed.weights import WIDTH

from .rows import formed, freedom
from .texts import PASSAGE, QUESTION

if TYPE_CHECKING:
    from recollect.embed.weights import Floats

    from .teacher import Teacher
    from .texts import Corpus, Tokens

STEPS = 6_000
BATCH = 4_096
WARM = 100  # steps until the full rate; from there it falls to nothing along half a cosine
RATE, SHARED_RATE, LIFT_RATE = 0.01, 0.0006, 0.003
NEAR_PAIRS = 4.0  # how much more a pair counts that the teacher finds the same than one it finds unlike
COSINES, RANKING, VECTORS = 10.0, 0.02, 0.1  # shares of the loss
SHARPNESS = 0.05
CLUSTERS, ROUNDS, NEIGHBOURS = 16_384, 6, 32
TOKENS_AT_ONCE = 400_000
HELD_OUT = 0.01  # of the runs
MOST_HELD_OUT = 24_000


class Texts:
    """Tokens on a device."""

    def __init__(self, tokens: Tokens, device: torch.device) -> None:
        self.flat = torch.from_numpy(tokens.flat.astype(np.int32)).to(device)
        self.lengths = torch.from_numpy(tokens.lengths.astype(np.int64)).to(device)
        self._starts = torch.cumsum(self.lengths, 0) - self.lengths

    def padded(self, which: torch.Tensor, padding: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Some texts (texts, pieces), and which of the pieces are no padding."""
        steps = torch.arange(int(self.lengths[which].max()), device=which.device)
        there = steps < self.lengths[which][:, None]
        places = (self._starts[which][:, None] + steps).clamp(max=len(self.flat) - 1)
        return torch.where(there, self.flat[places].long(), padding), there

    def embedded(self, rows: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
        """What the table makes of some texts: the sum of their rows, of length 1."""
        ids, _ = self.padded(which, len(rows))
        table = torch.cat([rows, rows.new_zeros(1, rows.shape[1])])
        return F.normalize(F.embedding_bag(ids, table, mode="sum", padding_idx=len(rows)), dim=1)


def learned(corpus: Corpus, base: Floats, teacher: Teacher) -> Floats:
    """The rows of the table, from where they start to where the teacher wants them."""
    device = teacher.device
    texts = Texts(corpus.read, device)
    target = _taught(teacher, Texts(corpus.taught, device))
    before = torch.from_numpy(base).to(device)
    alone = _alone(teacher, before)
    apart = corpus.runs.astype(np.uint64) * np.uint64(2_654_435_761) % np.uint64(2**32) < int(HELD_OUT * 2**32)
    inside, outside = (torch.from_numpy(np.flatnonzero(which)).to(device) for which in (~apart, apart))
    kinds = torch.from_numpy(corpus.kinds.astype(np.int64)).to(device)
    marks = _exam(texts, target, kinds, outside)
    print(f"{len(inside):,} texts to learn from, {len(outside):,} held out: {marks(before)}", flush=True)
    sources = torch.from_numpy(corpus.sources.astype(np.int64)).to(device)
    batches = _batches(_clusters(target)[inside], sources[inside], inside)
    counts = torch.bincount(texts.flat.long(), minlength=len(base)).float()
    torch.manual_seed(11)
    own, weight = torch.zeros_like(before), torch.zeros_like(before[:, :1])
    shared = torch.zeros(WIDTH, before.shape[1], device=device)
    lift = torch.randn(before.shape[1], WIDTH, device=device) * 0.01
    rates = ((own, RATE), (weight, RATE), (shared, SHARED_RATE), (lift, LIFT_RATE))
    groups = [{"params": [each.requires_grad_()], "lr": rate} for each, rate in rates]
    optimiser = torch.optim.Adam(groups, betas=(0.9, 0.99))
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, _rate)
    used = before.abs().sum(1, keepdim=True) > 0
    unit = before[used[:, 0]].pow(2).mean().sqrt()  # so that one rate fits changes and weights
    free = freedom(counts)[:, None]

    def rows() -> torch.Tensor:
        return formed(before, used * own * unit, weight, shared=alone @ shared, free=free)

    for step in range(STEPS):
        which = next(batches)
        mine = texts.embedded(rows(), which)
        loss = _loss(mine, target[which].float(), which, lift)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        falling.step()
        if (step + 1) % (STEPS // 12) == 0:
            print(f"step {step + 1:,}: loss {float(loss.detach()):.5f}, {marks(rows().detach())}", flush=True)
    result: Floats = rows().detach().cpu().numpy()
    return result


def _rate(step: int) -> float:
    return min(1.0, (step + 1) / WARM) * 0.5 * (1 + math.cos(math.pi * step / STEPS))


def _loss(mine: torch.Tensor, theirs: torch.Tensor, which: torch.Tensor, lift: torch.Tensor) -> torch.Tensor:
    """How far the table's cosines are from the teacher's, how far its ranking is, and how far its vectors."""
    goal, got = theirs @ theirs.T, mine @ mine.T
    same = which[:, None] == which
    counts = (1 + NEAR_PAIRS * goal.clamp(min=0)).masked_fill(same, 0)
    cosines = ((got - goal) ** 2 * counts).sum() / counts.sum()
    wanted = F.log_softmax((goal / SHARPNESS).masked_fill(same, -1e4), 1)
    ranked = F.log_softmax((got / SHARPNESS).masked_fill(same, -1e4), 1)
    ranking = (wanted.exp() * (wanted - ranked)).sum(1).mean()
    vectors = 1 - F.cosine_similarity(mine @ lift, theirs).mean()
    return COSINES * cosines + RANKING * ranking + VECTORS * vectors


def _taught(teacher: Teacher, texts: Texts) -> torch.Tensor:
    """The teacher's vectors of all texts, those of like length worked on together, the longest first."""
    order = torch.argsort(texts.lengths, descending=True)
    target = torch.empty(len(order), WIDTH, dtype=teacher.dtype, device=teacher.device)
    start = 0
    while start < len(order):
        longest = int(texts.lengths[order[start]]) + 2
        which = order[start : start + max(1, TOKENS_AT_ONCE // longest)]
        target[which] = teacher.of_pieces(*texts.padded(which, 0)).to(teacher.dtype)
        start += len(which)
    return target


def _alone(teacher: Teacher, base: torch.Tensor) -> torch.Tensor:
    """What the teacher makes of each piece by itself, as long as the row that the piece starts from."""
    pieces = torch.arange(len(base), device=base.device)[:, None].split(BATCH)
    vectors = torch.cat([teacher.of_pieces(some, torch.ones_like(some, dtype=torch.bool)) for some in pieces])
    return vectors * base.norm(dim=1, keepdim=True)


def _clusters(vectors: torch.Tensor) -> torch.Tensor:
    """The number of the cluster of each vector: k-means over directions."""
    dice = torch.Generator().manual_seed(3)
    count = min(CLUSTERS, len(vectors) // 100)
    centres = vectors[torch.randperm(len(vectors), generator=dice)[:count].to(vectors.device)].float()
    sample = vectors[torch.randperm(len(vectors), generator=dice)[: count * 40].to(vectors.device)]

    def nearest(some: torch.Tensor) -> torch.Tensor:
        towards = centres.to(some.dtype).T.contiguous()
        return torch.cat([(part @ towards).argmax(1) for part in some.split(65_536)])

    for _ in range(ROUNDS):
        sums = torch.zeros_like(centres).index_add_(0, nearest(sample), sample.float())
        centres = torch.where(sums.norm(dim=1, keepdim=True) == 0, centres, F.normalize(sums, dim=1))
    return nearest(vectors)


def _batches(clusters: torch.Tensor, sources: torch.Tensor, among: torch.Tensor) -> Iterator[torch.Tensor]:
    """Batches without end: half texts at random with one of the same or the next sentence, half near each other."""
    dice = torch.Generator(device=among.device).manual_seed(5)
    by_source = among[torch.argsort(sources, stable=True)]
    by_cluster = among[torch.argsort(clusters, stable=True)]

    def chance(low: int, high: int, shape: tuple[int, ...]) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=dice, device=among.device)

    while True:
        starts = chance(0, len(among) - NEIGHBOURS, (BATCH // 2 // NEIGHBOURS, 1))
        near = by_cluster[(starts + torch.arange(NEIGHBOURS, device=among.device)).flatten()]
        first = chance(0, len(among) - 2, (BATCH // 4,))
        second = first + chance(1, 3, (BATCH // 4,))
        yield torch.cat([by_source[first], by_source[second], near])


def _exam(
    texts: Texts, target: torch.Tensor, kinds: torch.Tensor, outside: torch.Tensor
) -> Callable[[torch.Tensor], str]:
    """How well given rows put texts that were held out in the teacher's order.

    `all`: of any pairs. `near`: of 40 neighbours of a text and 20 others. `agree` and `asked`: how often the teacher's
    nearest text to a text, and to a question, is among the table's ten.
    """
    dice = torch.Generator().manual_seed(7)
    device = outside.device
    which = outside[torch.randperm(len(outside), generator=dice)[:MOST_HELD_OUT].to(device)]
    goal, kinds, count = target[which].float(), kinds[which], len(which)
    left, right = torch.randint(0, count, (2, 200_000), generator=dice).to(device)
    query = torch.randperm(count, generator=dice)[:4096].to(device)
    closest = (goal[query] @ goal.T).scatter_(1, query[:, None], -9).topk(40, 1).indices
    near = torch.cat([closest, torch.randint(0, count, (len(query), 20), generator=dice).to(device)], 1)
    questions = torch.nonzero(kinds == QUESTION)[:4096, 0]
    among = torch.nonzero(kinds <= PASSAGE)[:, 0]
    answers = (goal[questions] @ goal[among].T).argmax(1)

    def places(vectors: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        found = (vectors[one] * vectors[other]).sum(-1).argsort(-1).argsort(-1).double()
        return found - found.mean(-1, keepdim=True)

    def in_ten(scores: torch.Tensor, first: torch.Tensor) -> float:
        return float((scores.topk(10, 1).indices == first[:, None]).any(1).float().mean())

    def marks(rows: torch.Tensor) -> str:
        mine = torch.cat([texts.embedded(rows, part) for part in which.split(BATCH)])
        pairs = {"all": (left, right), "near": (query[:, None], near)}
        found = {
            **{
                name: float(F.cosine_similarity(*(places(each, *pair) for each in (mine, goal)), dim=-1).mean())
                for name, pair in pairs.items()
            },
            "agree": in_ten((mine[query] @ mine.T).scatter_(1, query[:, None], -9), closest[:, 0]),
            "asked": in_ten(mine[questions] @ mine[among].T, answers),
        }
        return ", ".join(f"{name} {mark:.4f}" for name, mark in found.items())

    return marks
