"""Sets of each form through the real store and engine: what is loaded, when it is asked, and what is made of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

import pytest

from recollect import Recollect
from recollect import open as open_memory
from recollect.errors import EmbedderUnavailable, NotFound
from recollect.evaluate import BASELINES, Benchmark, Opener, Report, evaluate, report_json, spread
from recollect.evaluate.measures import reciprocal_rank
from recollect.evaluate.sets import load_beir, load_jsonl, load_locomo
from recollect.policy.tokens import estimate_tokens

Look = Callable[[Recollect], None]

TOPICS = (
    *("the kiln reached cone six last night", "my sourdough starter is called Bubbles", "the tent leaked in Scotland"),
    *("our choir rehearses every Thursday", "the beehives survived the winter", "the marathon starts at the harbour"),
    *("her thesis is about medieval maps", "the puppy chewed the accordion", "the orchard has forty quince trees"),
    *("the telescope needs a new mirror", "grandfather repaired church clocks", "the ferry to Bornholm was late"),
    *("pottery glaze recipes fill my notebook", "the aquarium pump broke again", "the judo belt exam is in June"),
    *("we painted the hallway turquoise", "the chess club moved to the library", "the violin is from Cremona"),
    *("the greenhouse grows forty chillies", "the unicycle has a flat tyre", "the harvest festival was rained off"),
    *("the sauna is finally insulated", "the podcast got a new jingle", "the origami crane took an hour"),
)


@pytest.fixture
def opener(tmp_path: Path) -> Opener:
    return opening(tmp_path, lambda memory: None)


def opening(folder: Path, look: Look, **settings: str) -> Opener:
    """Opens empty memories under a folder, and looks at each before it closes."""
    keys = {name.replace("_", "."): value for name, value in settings.items()}
    count = iter(range(100))

    @contextmanager
    def opened(clock: Callable[[], datetime]) -> Iterator[Recollect]:
        home = folder / f"store-{next(count)}"
        home.mkdir()
        store = str(home / "memory.db")
        with open_memory(store=store, home=home, clock=clock, settings=keys, background=False) as memory:
            yield memory
            look(memory)

    return opened


def conversations(path: Path) -> Benchmark:
    """Two conversations of 24 turns in eight sessions, shaped as LoCoMo is; one question of each sort about each."""
    made: list[dict[str, object]] = []
    for name in ("conv-a", "conv-b"):
        sessions: dict[str, object] = {"speaker_a": "Ada", "speaker_b": "Bo"}
        for session in range(8):
            sessions[f"session_{session + 1}_date_time"] = f"{session + 1}:30 pm on {session + 3} May, 2023"
            sessions[f"session_{session + 1}"] = [
                {
                    "dia_id": f"D{session + 1}:{turn + 1}",
                    "speaker": ("Ada", "Bo")[turn % 2],
                    "text": f"You know what, {TOPICS[3 * session + turn]}.",
                }
                for turn in range(3)
            ]
        asked = [
            ("Which quince trees and which Cremona violin came up?", ["D3:3; D6:3"], 1),
            ("When did the ferry to Bornholm arrive late?", ["D4:3"], 2),
            ("Would Ada enjoy insulating a sauna?", ["D8:1"], 3),
            ("What is the sourdough starter called?", ["D1:2"], 4),
            ("Why did Ada sell her accordion?", ["D3:2"], 5),
            ("What was never said?", [], 4),
        ]
        questions = [{"question": text, "evidence": gold, "category": sort} for text, gold, sort in asked]
        made.append({"sample_id": name, "conversation": sessions, "qa": questions})
    path.write_text(json.dumps(made))
    return load_locomo(path)


def memories(path: Path, *records: dict[str, object]) -> Benchmark:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return load_jsonl(path)


def told(name: str, text: str, date: str = "2025-06-02") -> dict[str, object]:
    return {"memory": name, "text": text, "date": date}


def asked(name: str, text: str, *gold: str, **more: object) -> dict[str, object]:
    return {"question": name, "text": text, "gold": list(gold), **more}


WORK = (
    *(told(f"m{number}", f"{topic.capitalize()}.") for number, topic in enumerate(TOPICS)),
    asked("q1", "What happened to the beehives in winter?", "m4", category="words"),
    asked("q2", "Who repaired church clocks?", "m10", category="words"),
    asked("q3", "Where did the ferry go and what did the puppy chew?", "m11", "m7", category="both"),
    asked("x1", "xylophone zeppelin kumquat", category="absent"),
)


# LoCoMo


def test_conversations_are_searched_turn_by_turn(tmp_path: Path, opener: Opener) -> None:
    """Questions whose words stand in the turn find it; adversarial ones are told apart."""
    report = evaluate(conversations(tmp_path / "l.json"), opener=opener)
    assert report.figures.questions == 8
    assert {name: each.questions for name, each in report.categories.items()} == {
        "multi-hop": 2,
        "temporal": 2,
        "open-domain": 2,
        "single-hop": 2,
    }
    mean = report.figures.mean
    assert mean.recall_10 == mean.recall_all_10 == mean.hit_10 == mean.session_recall_5 == 1.0
    assert report.figures.interval == (1.0, 1.0)
    assert report.categories["single-hop"].mean.mrr == 1.0
    assert report.adversarial is not None
    assert report.adversarial.figures.questions == 2
    assert report.adversarial.abstained is not None
    assert report.abstention is None
    assert report.fresh_first is None
    assert 0 < report.latency.p50 <= report.latency.p95


def test_the_figures_are_those_of_what_the_engine_finds(tmp_path: Path) -> None:
    """Asking again by hand, in the same store, gives the same reciprocal ranks and as much to read."""
    ranks, tokens = [], []
    benchmark = conversations(tmp_path / "l.json")

    def look(memory: Recollect) -> None:
        collection = benchmark.collections[0]
        for question in (each for each in collection.questions if each.counted):
            found = memory.search_passages(question.text, corpus="sessions", limit=50, gate=False)
            ids = [f"D{each.passage.document[8:]}:{each.passage.position + 1}" for each in found]
            ranks.append(reciprocal_rank(ids, question.gold))
            tokens.append(sum(estimate_tokens(each.passage.reading) for each in found[:10]))

    report = evaluate(benchmark, opener=opening(tmp_path, look))
    assert report.figures.mean.mrr == pytest.approx(fmean(ranks))
    assert report.figures.mean.tokens == pytest.approx(fmean(tokens))


def test_each_conversation_has_a_store_of_its_own(tmp_path: Path) -> None:
    """Where nothing of another can be found, and nothing is left without a vector."""
    held, left = [], []

    def look(memory: Recollect) -> None:
        held.append(len(memory.search_passages("you know what", corpus="sessions", limit=50, gate=False)))
        left.append(memory.embed_pending())

    evaluate(conversations(tmp_path / "l.json"), opener=opening(tmp_path, look))
    assert len(held) == 2
    assert max(held) <= 24
    assert left == [0, 0]


# The chosen profile against the simple ones


def test_the_baselines_are_asked_the_same_questions(tmp_path: Path, opener: Opener) -> None:
    """And the lead is the difference, question by question."""
    report = evaluate(conversations(tmp_path / "l.json"), opener=opener, compare=True)
    assert tuple(report.baselines) == BASELINES
    for baseline in report.baselines.values():
        assert baseline.figures.questions == report.figures.questions
        lead = report.figures.mean.recall_10 - baseline.figures.mean.recall_10
        assert baseline.ahead == pytest.approx(lead)
        assert baseline.interval[0] - 1e-9 <= baseline.ahead <= baseline.interval[1] + 1e-9
    assert report.baselines["words"].figures.mean.recall_10 == 1.0


@pytest.mark.parametrize("profile", BASELINES)
def test_a_profile_is_nowhere_ahead_of_itself(tmp_path: Path, opener: Opener, profile: str) -> None:
    """A baseline that is chosen scores what it scores as a baseline."""
    report = evaluate(memories(tmp_path / "w.jsonl", *WORK), opener=opener, profile=profile, gate=False, compare=True)
    itself = report.baselines[profile]
    assert report.profile == profile
    assert itself.figures == report.figures
    assert (itself.ahead, itself.interval) == (0.0, (0.0, 0.0))


def test_a_profile_that_does_not_exist_is_told_before_anything_is_loaded(tmp_path: Path, opener: Opener) -> None:
    """Nothing is half done."""
    steps: list[int] = []
    with pytest.raises(NotFound, match="nonsense"):
        evaluate(
            memories(tmp_path / "w.jsonl", *WORK),
            opener=opener,
            profile="nonsense",
            progress=lambda done, total: steps.append(done),
        )
    assert steps == []


@pytest.mark.parametrize("profile", ["default", "words"])
def test_a_model_that_cannot_be_had_is_no_reason_for_figures_of_another(tmp_path: Path, profile: str) -> None:
    """As little as half of the vectors would be."""
    opener = opening(tmp_path, lambda memory: None, embed_model="minilm")
    with pytest.raises(EmbedderUnavailable, match="minilm") as caught:
        evaluate(memories(tmp_path / "w.jsonl", *WORK), opener=opener, profile=profile)
    assert "recollect models install minilm" in caught.value.hint


def test_words_alone_need_no_model(tmp_path: Path) -> None:
    """And none is named."""
    opener = opening(tmp_path, lambda memory: None, recall_search="fts5")
    report = evaluate(memories(tmp_path / "w.jsonl", *WORK), opener=opener)
    assert (report.model, report.figures.mean.recall_10) == ("none", 1.0)


def test_asking_leaves_no_habits_that_later_questions_profit_from(tmp_path: Path) -> None:
    """The store is the same after the last question as before the first."""
    counts: list[int] = []
    look: Look = lambda memory: counts.extend(each.access_count for each in memory.list())  # noqa: E731
    evaluate(memories(tmp_path / "w.jsonl", *WORK), opener=opening(tmp_path, look))
    assert counts == [0] * len(TOPICS)


# Memories


def test_memories_are_told_on_their_day_and_questions_asked_on_theirs(tmp_path: Path) -> None:
    """Or, without one, on the day of the newest memory."""
    created: dict[str, datetime] = {}
    moments: list[datetime] = []
    clocks: list[Callable[[], datetime]] = []

    def look(memory: Recollect) -> None:
        created.update({each.content: each.created_at for each in memory.list()})

    inner = opening(tmp_path, look)

    def opener(clock: Callable[[], datetime]) -> AbstractContextManager[Recollect]:
        clocks.append(clock)
        return inner(clock)

    benchmark = memories(
        tmp_path / "w.jsonl",
        told("b", "The kiln reached cone six", "2025-09-01"),
        told("a", "The tent leaked in Scotland", "2025-02-03"),
        asked("q1", "Where did the tent leak?", "a"),
        asked("q2", "What did the kiln reach?", "b", asked="2026-01-05T10:00:00Z"),
    )
    evaluate(
        benchmark,
        opener=opener,
        gate=False,
        progress=lambda done, total: moments.append(clocks[-1]()),
    )
    assert created == {
        "The tent leaked in Scotland": datetime(2025, 2, 3, tzinfo=UTC),
        "The kiln reached cone six": datetime(2025, 9, 1, tzinfo=UTC),
    }
    first, second, later = (
        datetime(2025, 2, 3, tzinfo=UTC),
        datetime(2025, 9, 1, tzinfo=UTC),
        datetime(2026, 1, 5, 10, tzinfo=UTC),
    )
    assert moments == [first, second, second, second, later]  # both stored, both embedded at once, both asked


def test_memories_that_say_the_same_are_one(tmp_path: Path, opener: Opener) -> None:
    """Whichever of them is the gold."""
    report = evaluate(
        memories(
            tmp_path / "w.jsonl",
            told("a", "The kiln reached cone six", "2025-02-03"),
            told("b", "the KILN reached cone six", "2025-09-01"),
            asked("q1", "What did the kiln reach?", "a"),
            asked("q2", "Which cone did the kiln reach?", "b"),
            asked("q3", "How hot was the kiln, which cone?", "a", "b"),
        ),
        opener=opener,
    )
    assert (report.figures.mean.recall_10, report.figures.mean.mrr) == (1.0, 1.0)


def test_questions_that_nothing_answers_test_the_gate(tmp_path: Path, opener: Opener) -> None:
    """They are no part of the ranking; words that occur nowhere are answered with nothing."""
    report = evaluate(memories(tmp_path / "w.jsonl", *WORK), opener=opener)
    assert (report.gate, report.figures.questions, list(report.categories)) == (False, 3, ["words", "both"])
    assert report.figures.mean.recall_10 == 1.0
    assert report.gated is not None
    assert report.gated.questions == 3
    assert report.abstention is not None
    assert (report.abstention.absent, report.abstention.answerable) == (1, 3)
    assert report.abstention.abstained == 1.0
    assert report.abstention.wrongly == 0.0


@pytest.mark.parametrize("gate", [True, False])
def test_the_gate_can_be_forced(tmp_path: Path, opener: Opener, gate: bool) -> None:
    """Then everything is asked once; without it, nothing is said of abstention."""
    steps: list[tuple[int, int]] = []
    report = evaluate(
        memories(tmp_path / "w.jsonl", *WORK),
        opener=opener,
        gate=gate,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert (report.gate, report.gated) == (gate, None)
    assert (report.abstention is not None) == gate
    assert steps[-1] == (2 * len(TOPICS) + (4 if gate else 3),) * 2


def test_the_new_should_come_before_the_old(tmp_path: Path, opener: Opener) -> None:
    """By words alone, the question's own words decide: once for the new, once for the old."""
    report = evaluate(
        memories(
            tmp_path / "w.jsonl",
            told("old1", "The idle timeout of a web session is 30 minutes", "2025-01-01"),
            told("new1", "Idle sessions now live 75 minutes", "2026-01-01"),
            told("old2", "Backups were kept ninety days", "2025-01-01"),
            told("new2", "The retention of nightly backups is thirty days", "2026-01-01"),
            *(told(f"m{number}", topic) for number, topic in enumerate(TOPICS)),
            asked("q1", "What is the idle timeout of a web session?", "new1", stale=["old1"]),
            asked("q2", "What is the retention of nightly backups?", "new2", stale=["old2"]),
            asked("q3", "Who repaired church clocks?", "m10"),
        ),
        opener=opener,
        profile="words",
        gate=False,
    )
    assert report.fresh_first is not None
    assert (report.fresh_first.questions, report.fresh_first.share) == (2, 0.5)


def test_progress_goes_up_to_its_total(tmp_path: Path, opener: Opener) -> None:
    """Through loading and asking, over all collections."""
    steps: list[tuple[int, int]] = []
    benchmark = conversations(tmp_path / "l.json")
    evaluate(benchmark, opener=opener, compare=True, progress=lambda done, total: steps.append((done, total)))
    # 24 turns, stored and embedded; five questions without and with the gate; the four that count for each baseline
    total = 2 * (24 + 24 + 5 + 5 + 3 * 4)
    assert {each[1] for each in steps} == {total}
    assert [each[0] for each in steps] == sorted({each[0] for each in steps})
    assert steps[-1] == (total, total)


# BEIR


def test_documents_are_found_by_title_and_text(tmp_path: Path, opener: Opener) -> None:
    """Each of them a document of its own, so that both levels agree."""
    folder = tmp_path / "crafts"
    (folder / "qrels").mkdir(parents=True)
    documents = [{"_id": f"d{n}", "title": f"Note {n}", "text": topic} for n, topic in enumerate(TOPICS)]
    documents[12]["title"] = "Celadon"
    queries = [
        {"_id": "1", "text": "celadon"},
        {"_id": "2", "text": "forty quince trees or forty chillies"},
        {"_id": "3", "text": "not judged"},
    ]
    for name, records in (("corpus", documents), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    judged = "query-id\tcorpus-id\tscore\n1\td12\t1\n2\td8\t2\n2\td18\t1\n2\td0\t0\n"
    (folder / "qrels" / "test.tsv").write_text(judged)
    report = evaluate(load_beir(folder), opener=opener)
    mean = report.figures.mean
    assert (report.benchmark, report.figures.questions, dict(report.categories)) == ("crafts", 2, {})
    assert (mean.recall_5, mean.recall_10, mean.session_recall_5, mean.mrr) == (1.0, 1.0, 1.0, 1.0)


# For programs


def test_a_report_for_programs_has_every_figure(tmp_path: Path, opener: Opener) -> None:
    """The top level for the chosen profile and what counts; what the set has no questions for is not there."""
    printed = report_json(evaluate(conversations(tmp_path / "l.json"), opener=opener, compare=True))
    figures = {"questions", "recall@5", "recall@10", "recall_all@10", "hit@10", "ndcg@10", "mrr", "session", "tokens"}
    about = {"benchmark", "profile", "model", "gate"}
    further = {"interval", "categories", "baselines", "latency_ms", "gated", "adversarial"}
    assert set(printed) == figures | about | further
    assert (printed["questions"], printed["recall@10"], printed["interval"]) == (8, 1.0, [1.0, 1.0])
    assert (printed["gate"], printed["session"]) == (False, {"recall@5": 1.0})
    assert parts(printed["categories"]) == {"multi-hop", "temporal", "open-domain", "single-hop"}
    assert parts(printed["baselines"]) == set(BASELINES)
    assert parts(printed["latency_ms"]) == {"p50", "p95"}
    assert parts(printed["gated"]) == figures
    assert parts(printed["adversarial"]) == figures | {"abstained"}
    assert isinstance(printed["baselines"], dict)
    assert all(parts(each) == figures | {"ahead", "ahead_interval"} for each in printed["baselines"].values())
    assert json.loads(json.dumps(printed)) == printed


def parts(value: object) -> set[str]:
    assert isinstance(value, dict)
    return set(value)


def test_what_only_memories_have_is_told_where_there_is_any(tmp_path: Path, opener: Opener) -> None:
    """Abstention and freshness."""
    records = [*WORK, asked("u1", "Where does the chess club meet?", "m16", stale=["m17"])]
    printed = report_json(evaluate(memories(tmp_path / "w.jsonl", *records), opener=opener))
    assert printed["abstention"] == {"questions": 1, "abstained": 1.0, "answerable": 4, "wrongly_abstained": 0.0}
    assert printed["fresh_first"] == {"questions": 1, "share": 1.0}
    assert "adversarial" not in printed


def test_the_same_set_gives_the_same_figures(tmp_path: Path, opener: Opener) -> None:
    """All but the time it took; also when fewer questions than there are is all of them."""

    def timeless(report: Report) -> dict[str, object]:
        return {name: value for name, value in report_json(report).items() if name != "latency_ms"}

    benchmark = conversations(tmp_path / "l.json")
    once = timeless(evaluate(benchmark, opener=opener, compare=True))
    assert timeless(evaluate(spread(benchmark, 100), opener=opener, compare=True)) == once
