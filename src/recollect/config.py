"""Every setting of Recollect, declared once: its default, its meaning, its bounds.

The key of a setting is `section.key`. It can be given, each way overruling the one before,

    in <home>/config.toml       [write]
                                content_limit = 4000
    in the environment          RECOLLECT_WRITE_CONTENT_LIMIT=4000
    by the caller               load(home, env=env, overrides={"write.content_limit": 4000})

and `load` turns them into one frozen `Settings`. A key that does not exist or a value that a setting cannot take is a
`ConfigError`, never a guess. Only programs load settings; everything else is handed the values it needs.
"""

# Annotations stay real objects here, without the __future__ import: the type of a field is the type of its setting.

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Literal, TypeVar, get_args, get_origin

from recollect.errors import ConfigError

_FILE = "config.toml"
_PREFIX = "RECOLLECT_"
_HOME = "RECOLLECT_HOME"
_LARGEST = 2**53 - 1  # the largest whole number that SQLite, JSON and JavaScript all hold exactly

_T = TypeVar("_T")


def _setting(default: _T, meaning: str, *, least: float = 0, most: float = _LARGEST, unit: str = "") -> _T:
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most, "unit": unit})


def _days(kind: str) -> float | None:
    return _setting(None, f"The half-life of {kind}.", least=0.01, most=36_500, unit="days")


def _ttl(kind: str) -> int | None:
    return _setting(None, f"The TTL of {kind}.", most=36_500, unit="days")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, a section each: `settings.write.content_limit` is the setting `write.content_limit`."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Write:
        """What one memory may hold, and what writing it again does."""

        content_limit: int = _setting(
            8_000, "The most text one memory may hold; longer text is refused, never cut.", least=1, unit="characters"
        )
        tags_limit: int = _setting(32, "The most tags one memory may carry.", unit="tags")
        tag_length: int = _setting(64, "The longest a tag may be.", least=1, unit="characters")
        paths_limit: int = _setting(64, "The most files one memory may be tied to.", unit="files")
        payload_limit: int = _setting(
            65_536, "The largest payload one memory may carry, written as JSON.", least=2, unit="characters"
        )
        batch_limit: int = _setting(
            10_000, "The most memories that may be written in one call.", least=1, unit="memories"
        )
        duplicate_importance: float = _setting(
            0.1, "How much importance a memory gains when the same words are remembered again.", most=1
        )
        reinforce: int = _setting(3, "How much the score of a memory rises each time it is reinforced.", most=1_000)
        demote: int = _setting(1, "How much the score of a memory falls each time it is demoted.", most=1_000)

    write: Write = Write()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Recall:
        """How memories are found, ranked and handed to an agent."""

        mode: Literal["inject", "tools", "both"] = _setting(
            "both", "Whether memories are put into the prompt unasked, only given when a tool asks for them, or both."
        )
        delivery: Literal["auto", "same-turn", "next-turn"] = _setting(
            "auto",
            "When memories for a prompt arrive: within the turn, up to the deadline, or ready for the next one without "
            "any waiting; auto is same-turn in hooks and next-turn in the library's background agent.",
        )
        search: Literal["fts5", "hybrid"] = _setting(
            "hybrid", "What finds memories: only their words (fts5), or words and meaning together (hybrid)."
        )
        profile: Literal["default", "koshi", "cascade", "praxis", "brain", "words", "vectors", "rrf"] = _setting(
            "default", "The ranking profile that finds and orders memories; the last three are there to compare with."
        )
        gate: float = _setting(
            0.2,
            "How sure a search must be that a memory answers the question before it is returned; 0 returns all that "
            "was found.",
            most=1,
        )
        vector_weight: float = _setting(0.7, "What closeness in meaning counts in the profile brain.", most=100)
        text_weight: float = _setting(0.3, "What the words count in the profile brain.", most=100)
        limit: int = _setting(
            10, "How many results a query returns when it does not say.", least=1, most=1_000, unit="memories"
        )
        query_limit: int = _setting(
            10_000, "How much of a query is read; the rest of it is ignored.", least=1, unit="characters"
        )
        postings: int = _setting(
            5_000,
            "How much of the word index one query reads before it leaves its most frequent words out.",
            least=1,
            unit="index entries",
        )
        rounds: int = _setting(
            3, "How many queries an agent may make for one message when it recalls with tools.", least=1, most=100
        )
        candidates: int = _setting(
            500, "How many memories one query scores at most.", least=1, most=1_000_000, unit="memories"
        )
        top_k: int = _setting(
            15, "How many of the best scored memories go on to the final selection.", least=1, unit="memories"
        )
        inject: int = _setting(5, "How many found memories are put into a prompt at most.", most=1_000, unit="memories")
        inject_gate: float = _setting(
            0.6,
            "How sure it must be that a memory helps with a prompt before it is put there unasked; stricter than gate.",
            most=1,
        )
        least_trust: float = _setting(
            0.5, "Memories trusted less than this are shown only when somebody asks, and then as quotations.", most=1
        )
        pinned: int = _setting(
            5, "How many pinned memories are put into a prompt at most.", most=1_000, unit="memories"
        )
        per_source: int = _setting(
            2, "How many of the memories put into a prompt may come from the same session.", least=1, unit="memories"
        )
        deadline_ms: int = _setting(
            200,
            "How long finding memories for a prompt may take before what was found so far is used.",
            least=1,
            most=60_000,
            unit="milliseconds",
        )

    recall: Recall = Recall()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Cascade:
        """How recall walks from the memories it found to the memories they are linked with."""

        similarity_threshold: float = _setting(
            0.4, "The least similarity of meaning that makes a memory a starting point.", most=1
        )
        initial_hits: int = _setting(
            10, "How many starting points are taken at most.", least=1, most=10_000, unit="memories"
        )
        depth: int = _setting(2, "How many links away from a starting point the walk goes.", most=10)
        results: int = _setting(
            10, "How many memories the walk returns at most.", least=1, most=10_000, unit="memories"
        )
        edge_decay: float = _setting(0.7, "What share of the score is kept with each link walked.", most=1)

    cascade: Cascade = Cascade()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Embed:
        """How the meaning of a memory becomes a vector."""

        model: Literal["static", "minilm", "http"] = _setting(
            "static",
            "The embedding model: static is built in, minilm is installed by `recollect models install minilm`, http "
            "is any endpoint that speaks OpenAI's embeddings interface.",
        )
        url: str | None = _setting(None, "The address of the endpoint, for the model http.", unit="address")
        remote: str | None = _setting(None, "The model that the endpoint is asked for.", unit="name")
        key_env: str = _setting(
            "EMBEDDINGS_API_KEY", "The environment variable that holds the endpoint's key, if it wants one."
        )
        timeout: float = _setting(10.0, "How long an answer of the endpoint may take.", least=0.1, unit="seconds")

    embed: Embed = Embed()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Slo:
        """When recall does less in order to stay fast."""

        window: int = _setting(
            100, "How many of the latest recalls the latency is judged by.", least=1, most=100_000, unit="recalls"
        )
        min_samples: int = _setting(
            5, "How many recalls must have been timed before the latency is judged at all.", least=1, unit="recalls"
        )
        degrade_ms: int = _setting(
            300, "Recall does less once its 95th percentile is above this.", least=1, unit="milliseconds"
        )
        healthy_ms: int = _setting(
            200, "Recall does its full work again once its 95th percentile is below this.", least=1, unit="milliseconds"
        )

    slo: Slo = Slo()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Budget:
        """How much of a prompt memory may take, and how its parts share that."""

        share: float = _setting(0.08, "What share of the remaining context window memory may take.", most=1)
        ceiling: int = _setting(5_000, "The most memory may take of a prompt, however large the window.", unit="tokens")
        task: float = _setting(0.4, "What share of a context goes to the memory of the task.", most=1)
        project: float = _setting(0.4, "What share of a context goes to the memory of the project.", most=1)
        shared: float = _setting(
            0.2, "What share of a context goes to the global memory that all projects share.", most=1
        )
        head_tail: int = _setting(
            0,
            "How many items at each end of a context are kept first when it must be cut; 0 keeps neither end.",
            unit="items",
        )

    budget: Budget = Budget()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Agent:
        """The background agent that looks for memories while the main agent works."""

        queue: int = _setting(
            16, "How many contexts may wait for it; when more come, the oldest is dropped.", least=1, most=10_000
        )
        topic_similarity: float = _setting(
            0.3, "Below this similarity to the context before, a new topic has begun.", most=1
        )
        cluster_every: int = _setting(50, "After how many recalls clusters are refreshed.", least=1, unit="recalls")

    agent: Agent = Agent()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Feedback:
        """What saying that a memory helped, or did not, changes."""

        helpful: float = _setting(0.05, "How much confidence a memory gains when it was helpful.", most=1)
        unhelpful: float = _setting(0.1, "How much confidence a memory loses when it was not helpful.", most=1)
        strength: int = _setting(1, "How much strength a memory gains when it was helpful.", most=1_000)

    feedback: Feedback = Feedback()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Consolidate:
        """What happens to a new memory that says the same as one that is there, or something else of the same."""

        mode: Literal["auto", "ask", "off"] = _setting(
            "auto",
            "Whether a correction or a plainly newer memory takes the place of an older one (auto), or both are kept "
            "and a conflict is opened (ask); off only knows memories of the very same words.",
        )
        settled_hours: float = _setting(
            24.0,
            "How long a memory must have stood for another value to be a change of it; before that, it is a conflict.",
            most=87_600,
            unit="hours",
        )
        neighbours: int = _setting(
            8, "With how many of the closest memories a new one is compared.", least=1, most=100, unit="memories"
        )
        batch_limit: int = _setting(
            100, "Of more than this, written in one call, none is compared; the garden does so later.", unit="memories"
        )

    consolidate: Consolidate = Consolidate()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class HalfLife:
        """In how many days the confidence of each kind of memory fades to 1/e. When not set, the kind table."""

        fact: float | None = _days("facts")
        preference: float | None = _days("preferences")
        procedure: float | None = _days("procedures")
        correction: float | None = _days("corrections")
        negative: float | None = _days("negative memories")
        decision: float | None = _days("decisions")
        architecture: float | None = _days("architecture")
        pattern: float | None = _days("patterns")
        warning: float | None = _days("warnings")
        discovery: float | None = _days("discoveries")
        error: float | None = _days("errors")
        file_change: float | None = _days("file changes")
        task_progress: float | None = _days("task progress")
        summary: float | None = _days("summaries")
        reasoning: float | None = _days("reasoning")
        tool_output: float | None = _days("tool output")

    halflife: HalfLife = HalfLife()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Ttl:
        """After how many days extracted or inferred memories are archived; 0 is never. When not set, the kind table."""

        fact: int | None = _ttl("facts")
        preference: int | None = _ttl("preferences")
        procedure: int | None = _ttl("procedures")
        correction: int | None = _ttl("corrections")
        negative: int | None = _ttl("negative memories")
        decision: int | None = _ttl("decisions")
        architecture: int | None = _ttl("architecture")
        pattern: int | None = _ttl("patterns")
        warning: int | None = _ttl("warnings")
        discovery: int | None = _ttl("discoveries")
        error: int | None = _ttl("errors")
        file_change: int | None = _ttl("file changes")
        task_progress: int | None = _ttl("task progress")
        summary: int | None = _ttl("summaries")
        reasoning: int | None = _ttl("reasoning")
        tool_output: int | None = _ttl("tool output")

    ttl: Ttl = Ttl()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Garden:
        """Tending the whole of a memory: merging, resolving, checking, pruning."""

        confirm: bool = _setting(True, "Whether steps by which memories leave recall wait for somebody to agree.")
        loss_limit: float = _setting(
            0.1, "What share of the live memories a plan may retire; one that would retire more is stopped.", most=1
        )
        similarity: float = _setting(
            0.95, "How close in meaning two memories must be to be looked at for merging.", least=0.5, most=1
        )
        weak_confidence: float = _setting(
            0.05, "Below this confidence, a memory that nothing ever strengthened is proposed for the archive.", most=1
        )
        stale_days: float = _setting(
            90.0,
            "After how long without being made, changed, vouched for or used a memory counts as stale.",
            most=36_500,
            unit="days",
        )

    garden: Garden = Garden()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Promotion:
        """Which findings of a session become memories of the project."""

        mode: Literal["weighted", "explicit"] = _setting(
            "weighted", "Whether findings are promoted when their signals are strong enough, or only when asked."
        )
        preset: Literal["conservative", "balanced", "aggressive"] = _setting(
            "balanced", "How readily findings are promoted."
        )
        auto: bool = _setting(
            True, "Whether sessions are made into memories without being asked; promotion on request always works."
        )
        quarantine_hours: float = _setting(
            24.0, "How long a promoted memory stays a candidate before it is confirmed.", most=87_600, unit="hours"
        )

    promotion: Promotion = Promotion()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Session:
        """Transcripts of sessions."""

        path: str | None = _setting(
            None,
            "The folder transcripts are kept in, a relative one starting at the project's root; when not set, "
            "the sessions folder of the project under the home.",
            unit="path",
        )
        retention_days: int = _setting(
            30, "After how long without use a session is archived; 0 archives none.", most=36_500, unit="days"
        )
        checkpoint_every: int = _setting(
            10, "After how many messages a session's findings are saved.", least=1, unit="messages"
        )

    session: Session = Session()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Compaction:
        """Replacing the older part of a long session by a summary; the full transcript stays."""

        threshold: int = _setting(100_000, "The length at which a session is compacted.", least=1, unit="tokens")
        keep_recent: int = _setting(10, "How many of the latest messages are left as they are.", unit="messages")

    compaction: Compaction = Compaction()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Flush:
        """Saving what is worth keeping before a session is compacted."""

        enabled: bool = _setting(True, "Whether memories are saved from a session before it is compacted.")
        threshold: int = _setting(80_000, "The length at which a session's memories are saved.", least=1, unit="tokens")

    flush: Flush = Flush()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Working:
        """The context of one loop of an agent."""

        tool_results: int = _setting(
            5, "How many of the latest tool results stay in the context; the calls themselves all stay."
        )

    working: Working = Working()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Mirror:
        """MEMORY.md, which shows the memories of a project and takes edits back."""

        path: str | None = _setting(
            None,
            "The file that mirrors the memories, a relative one starting at the project's root; when not set, "
            "MEMORY.md in the project's folder under the home.",
            unit="path",
        )
        limit: int = _setting(50_000, "The most text the mirror may hold.", least=1, unit="characters")
        auto: bool = _setting(
            True,
            "Whether commands take edits of MEMORY.md and tasks.json before they work and write MEMORY.md after; "
            "else `recollect mirror` does.",
        )

    mirror: Mirror = Mirror()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Capacity:
        """How many memories a project keeps at hand; those beyond are archived, never deleted."""

        preset: Literal["none", "koshi", "praxis", "tiers"] = _setting(
            "none",
            "A named set of limits for all that was not set otherwise: koshi is 100 MB, praxis 3,000 memories and "
            "5,000 audit events, tiers 1,000 memories.",
        )
        soft_limit: int = _setting(
            0, "Above how many memories the least important are archived; 0 is no limit.", unit="memories"
        )
        evict_to: int = _setting(
            0, "How many memories archiving leaves; 0 is all but a tenth of the limit.", unit="memories"
        )
        evict_every: int = _setting(50, "After how many accesses the limit is checked again.", least=1, unit="accesses")

        def __post_init__(self) -> None:
            """Settle `evict_to`, so that nobody who reads it has to."""
            if not self.evict_to:
                object.__setattr__(self, "evict_to", self.soft_limit - self.soft_limit // 10)

    capacity: Capacity = Capacity()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Prune:
        """Archiving the least useful memories when the store has grown too large."""

        max_size: int = _setting(
            10_000_000_000, "The size of a store above which it is pruned; 0 is no limit.", unit="bytes"
        )
        schedule: str = _setting(
            "0 4 * * *",
            "When the size is checked, as the five fields of cron: minute, hour, day, month, weekday.",
            unit="cron",
        )
        percent: float = _setting(
            1.0, "What part of the memories is archived at a time.", least=0.01, most=100, unit="percent"
        )

    prune: Prune = Prune()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Audit:
        """The record of every change."""

        max_events: int = _setting(0, "Above how many events the oldest are let go; 0 keeps every one.", unit="events")
        trim_to: int = _setting(0, "How many events are left then; 0 is all but a fifth of the most.", unit="events")

        def __post_init__(self) -> None:
            """Settle `trim_to`, so that nobody who reads it has to."""
            if not self.trim_to:
                object.__setattr__(self, "trim_to", self.max_events - self.max_events // 5)

    audit: Audit = Audit()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Store:
        """Where memories are kept."""

        format: Literal["sqlite", "json"] = _setting(
            "sqlite",
            "How each project's memories are kept under the home: in a SQLite file that many programs can share, or "
            "in one JSON file that a person can read and one program at a time can open.",
        )
        lock_timeout: float = _setting(
            10.0, "How long a write waits for its turn among other processes.", most=3_600, unit="seconds"
        )
        busy_timeout: float = _setting(
            5.0, "How long the database engine itself waits for a lock.", most=3_600, unit="seconds"
        )

    store: Store = Store()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Backup:
        """Copies of the store."""

        keep: int = _setting(
            7, "How many automatic backups of each store are kept, the oldest going first.", unit="backups"
        )

    backup: Backup = Backup()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Project:
        """Which project a folder belongs to."""

        join: Literal["auto", "never"] = _setting(
            "auto",
            "Whether a new clone joins the project it has its remote and root commit in common with, or never joins.",
        )

    project: Project = Project()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One setting as it is declared, for listing, documenting and checking."""

    key: str
    kind: Literal["bool", "int", "float", "str"]
    default: object
    meaning: str
    unit: str
    optional: bool
    choices: tuple[str, ...]
    least: float
    most: float

    @property
    def env(self) -> str:
        """The environment variable that sets it."""
        return _PREFIX + self.key.replace(".", "_").upper()

    @property
    def type(self) -> str:
        """What a value of it is, in words."""
        words = "a choice" if self.choices else _WORDS.get(self.unit, _WORDS[self.kind])
        return f"{words}, or empty for none" if self.optional else words

    @property
    def allowed(self) -> str:
        """Its choices or bounds, in words; empty where any value of its type will do."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.kind in ("bool", "str"):
            return ""
        return f"at least {self.least:,}" if self.most == _LARGEST else f"from {self.least:,} to {self.most:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Settings and where each came from: `default`, `config.toml`, a preset, an environment variable or `override`."""

    settings: Settings
    sources: Mapping[str, str]

    def value(self, key: str) -> object:
        """The value of the setting with this key."""
        section, _, name = _find(key, where="as given").key.partition(".")
        found: object = getattr(getattr(self.settings, section), name)
        return found


_DEFAULTS = Settings()
_WORDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bytes": "a whole number or a size such as 100MB",
    "path": "a path",
    "cron": "five cron fields such as 0 4 * * *",
}
_BOOLEANS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
_SIZES = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_SIZE = re.compile(r"(\d[\d_]*)(?:\.(\d+))? ?([a-z]*)", re.ASCII)
_CRON = re.compile(r"[\w*/,?#-]+( +[\w*/,?#-]+){4}", re.ASCII)
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # controls, and what is left of bytes that were not UTF-8

_PRESETS: Mapping[str, Mapping[str, int]] = {
    "none": {},
    "koshi": {"prune.max_size": 100_000_000},
    "praxis": {"capacity.soft_limit": 3_000, "audit.max_events": 5_000},
    "tiers": {"capacity.soft_limit": 1_000},
}

# The first of each pair means nothing when it is above the second; a second of 0 is no limit.
_ORDERED = (
    ("slo.min_samples", "slo.window"),
    ("slo.healthy_ms", "slo.degrade_ms"),
    ("capacity.evict_to", "capacity.soft_limit"),
    ("audit.trim_to", "audit.max_events"),
)
_SHARES = ("budget.task", "budget.project", "budget.shared")


def home_folder(env: Mapping[str, str], platform: str) -> Path:
    """The folder everything is kept in: `RECOLLECT_HOME`, else the data folder of the platform (`sys.platform`)."""
    if chosen := env.get(_HOME):
        return _expanded(chosen, env).absolute()
    if platform == "darwin":
        return _user_folder(env) / "Library" / "Application Support" / "recollect"
    data = Path(env.get("XDG_DATA_HOME", ""))
    if not data.is_absolute():  # unset, empty, or relative, which the XDG specification says to ignore
        data = _user_folder(env) / ".local" / "share"
    return data / "recollect"


def load(home: Path, *, env: Mapping[str, str], overrides: Mapping[str, object] | None = None) -> Loaded:
    """Defaults, then `config.toml` in `home`, then `env`, then `overrides`; all of it checked."""
    values: dict[str, object] = {}
    sources = {setting.key: "default" for setting in declared()}
    for setting, value, source in (*_from_file(home / _FILE), *_from_env(env), *_from_overrides(overrides or {})):
        values[setting.key] = value
        sources[setting.key] = source
    preset = str(values.get("capacity.preset", "none"))
    for key, limit in _PRESETS[preset].items():
        if key not in values:
            values[key] = limit
            sources[key] = f"capacity.preset {preset}"
    loaded = Loaded(settings=_built(values), sources=sources)
    _check_together(loaded)
    return loaded


@cache
def declared() -> tuple[Declared, ...]:
    """Every setting, in the order in which it is declared."""
    return tuple(
        Declared(
            key=f"{section.name}.{made.name}",
            kind=_kind(made.type),
            default=made.default,
            optional=type(None) in get_args(made.type),
            choices=get_args(made.type) if get_origin(made.type) is Literal else (),
            **made.metadata,
        )
        for section in fields(Settings)
        for made in fields(getattr(_DEFAULTS, section.name))
    )


def parse_value(key: str, text: str, *, where: str = "as given") -> object:
    """The value that `text` means for one setting, as in the environment or on a command line."""
    setting = _find(key, where)
    return _accepted(setting, _read(setting, text), where)


def _kind(annotation: object) -> Literal["bool", "int", "float", "str"]:
    annotation = next((each for each in get_args(annotation) if each in (int, float)), annotation)
    if annotation is bool:
        return "bool"
    if annotation is int:
        return "int"
    return "float" if annotation is float else "str"


@cache
def _by_key() -> Mapping[str, Declared]:
    return {setting.key: setting for setting in declared()}


def _user_folder(env: Mapping[str, str]) -> Path:
    if not env.get("HOME"):
        raise ConfigError(
            _HOME, "neither it nor HOME is set, so there is no folder to keep memories in", where="environment"
        )
    return Path(env["HOME"])


def _expanded(text: str, env: Mapping[str, str]) -> Path:
    path = Path(text)
    if path.parts[:1] == ("~",):
        return _user_folder(env).joinpath(*path.parts[1:])
    try:
        return path.expanduser()  # ~somebody: only the system knows that folder
    except RuntimeError as error:
        raise ConfigError(_HOME, f"{text!r} names a user this system does not know", where="environment") from error


# Reading: each yields the setting, the value it accepted, and the source as `Loaded.sources` names it.


def _from_file(path: Path) -> list[tuple[Declared, object, str]]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(_FILE, f"cannot be read: {error.strerror}", where=str(path)) from error
    where = str(path)
    found: list[tuple[Declared, object, str]] = []
    for section, content in _parsed(data, where).items():
        if section not in _sections():
            problem = "there is no such section" if isinstance(content, dict) else "is not in a section"
            nearest = _nearest(section, _sections()) if isinstance(content, dict) else _nearest_key(section)
            raise ConfigError(section, problem, where=where, nearest=nearest)
        if not isinstance(content, dict):
            raise ConfigError(section, f"is a section, written [{section}], and has no value itself", where=where)
        for name, value in content.items():
            setting = _find(f"{section}.{name}", where)
            found.append((setting, _accepted(setting, value, where), _FILE))
    return found


def _parsed(data: bytes, where: str) -> dict[str, object]:
    import tomllib  # only here: most starts have no file to read, and start-up time is a promise

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(_FILE, "is not UTF-8 text", where=f"{where}, line {line}") from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else len(text.splitlines())
        raise ConfigError(_FILE, f"is not valid TOML: {error}", where=f"{where}, line {line}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists within lists within lists
        raise ConfigError(_FILE, f"cannot be taken in: {error}", where=where) from error


def _from_env(env: Mapping[str, str]) -> list[tuple[Declared, object, str]]:
    by_name = {setting.env: setting for setting in declared()}
    found: list[tuple[Declared, object, str]] = []
    for name in sorted(env):
        if not name.startswith(_PREFIX) or name == _HOME:
            continue
        if name not in by_name:
            bare = tuple(known.removeprefix(_PREFIX) for known in (*by_name, _HOME))  # what all share makes none alike
            nearest = _nearest(name.removeprefix(_PREFIX), bare)
            raise ConfigError(
                name, "there is no such setting", where="environment", nearest=_PREFIX + nearest if nearest else None
            )
        setting = by_name[name]
        found.append((setting, _accepted(setting, _read(setting, env[name]), name), name))
    return found


def _from_overrides(overrides: Mapping[str, object]) -> list[tuple[Declared, object, str]]:
    settings = ((_find(key, "override"), value) for key, value in overrides.items())
    return [(setting, _accepted(setting, value, "override"), "override") for setting, value in settings]


def _sections() -> tuple[str, ...]:
    return tuple(section.name for section in fields(Settings))


def _built(values: Mapping[str, object]) -> Settings:
    changed: dict[str, dict[str, object]] = {}
    for key, value in values.items():
        section, _, name = key.partition(".")
        changed.setdefault(section, {})[name] = value
    return replace(_DEFAULTS, **{name: replace(getattr(_DEFAULTS, name), **given) for name, given in changed.items()})


# Checking


def _find(key: str, where: str) -> Declared:
    setting = _by_key().get(key)
    if setting is None:
        raise ConfigError(str(key), "there is no such setting", where=where, nearest=_nearest_key(str(key)))
    return setting


def _nearest(name: str, candidates: tuple[str, ...]) -> str | None:
    from difflib import get_close_matches  # only here: needed for nothing but an error

    by_lower = {candidate.lower(): candidate for candidate in candidates}
    close = get_close_matches(name[:100].lower(), by_lower, n=1)
    return by_lower[close[0]] if close else None


def _nearest_key(key: str) -> str | None:
    """The right name in another section, else the key that looks most alike, else the name that does."""
    name = key.rpartition(".")[2]
    by_name = {known.partition(".")[2]: known for known in _by_key()}
    same = [known for known in _by_key() if known.endswith(f".{name}")]
    if len(same) == 1:
        return same[0]
    if close := _nearest(key, tuple(_by_key())):
        return close
    return by_name.get(_nearest(name, tuple(by_name)) or "")


def _read(setting: Declared, text: str) -> object:
    """What `text` says, as a value of the setting's kind; the text itself where it says no such thing."""
    try:
        if setting.kind == "bool":
            return _BOOLEANS.get(text.strip().lower(), text)
        if setting.kind == "int" and setting.unit != "bytes":
            return int(text)
        return float(text) if setting.kind == "float" else text
    except ValueError:
        return text


def _accepted(setting: Declared, given: object, where: str) -> object:
    """The value to use, or a `ConfigError` that says what is wrong with it."""
    if setting.optional and (given is None or given == ""):
        return None
    value = _typed(setting, given)
    if setting.choices and value not in setting.choices:
        nearest = _nearest(given, setting.choices) if isinstance(given, str) else None
        raise ConfigError(setting.key, f"{_shown(given)} is not {setting.allowed}", where=where, nearest=nearest)
    if value is None:
        raise ConfigError(setting.key, f"{_shown(given)} is not {setting.type}", where=where)
    if not isinstance(value, str) and value < setting.least:
        raise ConfigError(setting.key, f"{_shown(given)} is below {setting.least:,}", where=where)
    if not isinstance(value, str) and value > setting.most:
        raise ConfigError(setting.key, f"{_shown(given)} is above {setting.most:,}", where=where)
    return value


def _typed(setting: Declared, given: object) -> bool | int | float | str | None:
    """`given` as the type of the setting, or None where it is of another."""
    if isinstance(given, bool) or setting.kind == "bool":
        return given if isinstance(given, bool) and setting.kind == "bool" else None
    if setting.unit == "bytes" and isinstance(given, str):
        return _size(given)
    match setting.kind, given:
        case "int", int():
            return given
        case "float", float():
            return given if isfinite(given) else None
        case "float", int():
            return float(given) if abs(given) <= _LARGEST else given
        case "str", str() if given.strip() and not _UNSTORABLE.search(given):
            return given if setting.unit != "cron" or _CRON.fullmatch(given.strip()) else None
    return None


def _size(text: str) -> int | None:
    """The bytes that a size such as `10GB`, `1.5 MiB` or `500_000` means, if it is one and whole."""
    found = _SIZE.fullmatch(text.strip().lower())
    if found is None or found[3] not in _SIZES or len(text) > 40:
        return None
    decimals = found[2] or ""
    size, rest = divmod(int(found[1].replace("_", "") + decimals) * _SIZES[found[3]], 10 ** len(decimals))
    return None if rest else size


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        return f"this {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_together(loaded: Loaded) -> None:
    """Settings that are each fine and contradict one another."""
    for low, high in _ORDERED:
        small, large = loaded.value(low), loaded.value(high)
        if isinstance(small, int) and isinstance(large, int) and small > large > 0:
            key = low if loaded.sources[low] != "default" else high
            problem = f"{low} is {small:,} and may not be above {high}, which is {large:,}"
            raise ConfigError(key, problem, where=loaded.sources[key])
    budget = loaded.settings.budget
    if (total := budget.task + budget.project + budget.shared) > 1.000_001:
        key = next(key for key in _SHARES if loaded.sources[key] != "default")
        problem = f"{', '.join(_SHARES)} are shares of one whole and add up to {total:.3g}"
        raise ConfigError(key, problem, where=loaded.sources[key])
