"""How good recall is, in figures: labelled sets, run through the real store and engine.

    benchmark = LOADERS["jsonl"](Path("questions.jsonl"))
    report = evaluate(benchmark, opener=opener, compare=True)

`sets` reads the sets, `measures` judges answers, `run` brings both together with the engine. It opens no memory of its
own accord: the opener it is given does, so that a program decides where and with which settings.
"""

from __future__ import annotations

from .measures import Figures, Score
from .run import BASELINES, Opener, Report, evaluate, report_json
from .sets import LOADERS, Benchmark, Collection, Filed, Question, Told, spread

__all__ = [
    "BASELINES",
    "LOADERS",
    "Benchmark",
    "Collection",
    "Figures",
    "Filed",
    "Opener",
    "Question",
    "Report",
    "Score",
    "Told",
    "evaluate",
    "report_json",
    "spread",
]
