"""`eval`: how good recall is on a labelled set, in figures."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from .terminal import Terminal, table, visible

if TYPE_CHECKING:
    from ...config import Settings
    from ...engine import Recollect
    from ...evaluate import Figures, Opener, Report

_FIGURES = ("questions", "recall@5", "recall@10", "all@10", "hit@10", "NDCG@10", "MRR", "session@5")


@click.command("eval")
@click.argument("form", type=click.Choice(["locomo", "jsonl", "beir", "relations", "inject"]))
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--compare", is_flag=True, help="Also ask the baselines: words, vectors, rrf.")
@click.option("--profile", metavar="NAME", help="Rank by this profile [default: as the settings say].")
@click.option("--model", metavar="NAME", help="Embed with this model [default: as the settings say].")
@click.option(
    "--gate/--no-gate",
    default=None,
    help="Let the relevance gate drop what is not sure enough, or not [default: first without, then with it].",
)
@click.option(
    "--limit-questions",
    metavar="N",
    type=click.IntRange(min=1),
    help="Ask at most N questions that count, taken evenly from the whole set.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@click.pass_obj
def evaluation(
    outer: Terminal,
    form: str,
    path: Path | None,
    compare: bool,
    profile: str | None,
    model: str | None,
    gate: bool | None,
    limit_questions: int | None,
    as_json: bool,
) -> None:
    """Run the labelled set at PATH through the real store and print how much of what it asks for was found.

    The set is a JSON file of conversations (locomo), a file or folder of memories and questions, a line each (jsonl),
    or a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv (beir). A file of pairs of memories (relations) asks
    what a newer one is to an older one: the same, its replacement, a contradiction, or another. A file of memories and
    prompts (inject) asks whether memory speaks up when it helps and is silent when it does not; without PATH, the sets
    that come with Recollect. Each collection gets an empty store in a temporary folder; your own memory is neither read
    nor written. Your settings and installed models apply.

    \b
    Examples:
      recollect eval jsonl questions.jsonl
      recollect eval locomo locomo10.json --compare
      recollect eval beir scifact --profile words --limit-questions 100
      recollect eval jsonl questions/ --gate --json | jq .abstention
      recollect eval relations pairs.jsonl
      recollect eval inject --json | jq .[].precision
    """
    terminal = Terminal(project=outer.project, shared=False, as_json=as_json or outer.as_json)
    if path is None and form != "inject":
        raise click.UsageError(f"`eval {form}` needs the PATH of a labelled set.")
    from ...config import home_folder, load

    home = home_folder(os.environ, sys.platform)
    chosen = {"recall.profile": profile, "embed.model": model}
    overrides = {key: value for key, value in chosen.items() if value is not None}
    settings = load(home, env=os.environ, overrides=overrides).settings
    if path is None or form == "inject":
        _speak(terminal, path, _opener(settings, home / "models"))
        return
    if form == "relations":
        _judge_relations(terminal, path)
        return
    from ...evaluate import LOADERS, evaluate, report_json, spread

    benchmark = LOADERS[form](path)
    if limit_questions is not None:
        benchmark = spread(benchmark, limit_questions)
    with terminal.progress("Loading and asking") as progress:
        report = evaluate(
            benchmark,
            opener=_opener(settings, home / "models"),
            gate=gate,
            compare=compare,
            progress=progress,
        )
    terminal.show(report_json(report), lambda: _print_report(report))


def _speak(terminal: Terminal, path: Path | None, opener: Opener) -> None:
    from ...codec import encode
    from ...evaluate.speaking import BUILT_IN, load_prompts, speak

    files = sorted(BUILT_IN.glob("*.jsonl")) if path is None else [path]
    with terminal.progress("Remembering and asking") as progress:
        found = [speak(load_prompts(file), opener, progress=progress) for file in files]
    told = [encode(each) for each in found]
    rows = [
        (
            each.name,
            f"{each.memories:,}",
            f"{each.prompts:,}",
            *map(_percent, (each.precision, each.silence, each.coverage)),
            f"{each.given:,}",
            f"{each.tokens:.0f}",
        )
        for each in found
    ]
    header = ("set", "memories", "prompts", "precision", "silence", "coverage", "given", "tokens a prompt")
    terminal.show(told if path is None else told[0], lambda: table(header, rows, right=range(1, len(header))))


def _judge_relations(terminal: Terminal, path: Path) -> None:
    from ...codec import encode
    from ...embed.static import StaticEmbedder
    from ...engine.meaning import Meaning
    from ...evaluate.relations import EXPECTED, judge_pairs, load_pairs

    judged = judge_pairs(load_pairs(path), Meaning(StaticEmbedder, lambda model: None))
    verdicts = [verdict.value for verdict in EXPECTED.values()]
    rows = [
        *((label, *(str(judged.counts[label].get(each, 0)) for each in verdicts)) for label in EXPECTED),
        ("precision", *(_percent(judged.precision[each]) for each in verdicts)),
        ("recall", *(_percent(judged.recall[each]) for each in verdicts)),
    ]
    terminal.show(encode(judged), lambda: table(("label", *verdicts), rows, right=range(1, len(verdicts) + 1)))


def _opener(settings: Settings, models: Path) -> Opener:
    """Opens an empty memory with a home of its own, in which only the installed models are the person's."""
    from ...opening import open as open_memory

    @contextmanager
    def opened(clock: Callable[[], datetime]) -> Iterator[Recollect]:
        with TemporaryDirectory(prefix="recollect-eval-") as folder:
            home = Path(folder)
            if models.is_dir():
                (home / "models").symlink_to(models.resolve(), target_is_directory=True)
            with open_memory(
                store=str(home / "memory.db"),
                home=home,
                settings=settings,
                clock=clock,
                actor="eval",
                background=False,  # which would write down habits while questions are still asked
            ) as memory:
                yield memory

    return opened


def _print_report(report: Report) -> None:
    gate = "with the gate" if report.gate else "without the gate"
    print(visible(f"{report.benchmark}: profile {report.profile}, model {report.model}, {gate}; figures in percent\n"))
    table(("", *_FIGURES), list(_figure_rows(report)), right=range(1, len(_FIGURES) + 1))
    if report.baselines:
        print(f"\nHow far ahead {visible(report.profile)} is, question by question:")
        table(
            ("", "recall@10", "NDCG@10", "session@5", "ahead at recall@10", "95 %"),
            list(_baseline_rows(report)),
            right=range(1, 6),
        )
    print()
    table(("", ""), list(_further_rows(report)))


def _figure_rows(report: Report) -> Iterator[tuple[str, ...]]:
    yield _row("all that count", report.figures)
    for name, figures in report.categories.items():
        yield _row(f"  {name}", figures)
    if report.gated:
        yield _row("with the gate", report.gated)
    if report.adversarial:
        yield _row("adversarial, apart", report.adversarial.figures)


def _row(name: str, figures: Figures) -> tuple[str, ...]:
    mean = figures.mean
    shares = (
        *(mean.recall_5, mean.recall_10, mean.recall_all_10, mean.hit_10),
        *(mean.ndcg_10, mean.mrr, mean.session_recall_5),
    )
    return name, f"{figures.questions:,}", *map(_percent, shares)


def _baseline_rows(report: Report) -> Iterator[tuple[str, ...]]:
    for name, baseline in report.baselines.items():
        mean, (low, high) = baseline.figures.mean, baseline.interval
        found = map(_percent, (mean.recall_10, mean.ndcg_10, mean.session_recall_5))
        yield name, *found, f"{100 * baseline.ahead:+.1f}", f"{100 * low:+.1f} to {100 * high:+.1f}"


def _further_rows(report: Report) -> Iterator[tuple[str, str]]:
    low, high = report.figures.interval
    yield "recall@10", f"{_percent(low)} to {_percent(high)} (95 % interval)"
    yield "latency", f"{report.latency.p50:.1f} ms in the middle, {report.latency.p95:.1f} ms at the 95th percentile"
    yield "tokens", f"{report.figures.mean.tokens:,.0f} in the ten results of a question"
    if fresh := report.fresh_first:
        yield "fresh first", f"{_percent(fresh.share)} % of {fresh.questions:,} questions about what has changed"
    if told := report.abstention:
        yield "nothing, rightly", f"{_percent(told.abstained)} % of {told.absent:,} questions that nothing answers"
        yield "nothing, wrongly", f"{_percent(told.wrongly)} % of {told.answerable:,} questions that something answers"
    if (apart := report.adversarial) and apart.abstained is not None:
        yield "nothing, adversarial", f"{_percent(apart.abstained)} % of {apart.figures.questions:,} questions"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
