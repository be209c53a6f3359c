"""The declarations: every setting with its default, its meaning and its bounds."""

# Annotations stay real objects here, without the __future__ import: the type of a field is the type of its setting.

from dataclasses import dataclass, field
from typing import Literal, TypeVar

LARGEST = 2**53 - 1  # the largest whole number that SQLite, JSON and JavaScript all hold exactly

_T = TypeVar("_T")


def _setting(default: _T, meaning: str, *, least: float = 0, most: float = LARGEST, unit: str = "") -> _T:
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most, "unit": unit})


def _days(kind: str) -> float | None:
    return _setting(None, f"The half-life of {kind}.", least=0.01, most=36_500, unit="days")


def _ttl(kind: str) -> int | None:
    return _setting(None, f"The TTL of {kind}.", most=36_500, unit="days")


def _cron(value: _T, what: str) -> _T:
    return _setting(value, f"When {what}, as the five fields of cron: minute, hour, day, month, weekday.", unit="cron")


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
    class Judge:
        """Whether a language model helps to judge what is relevant, worth keeping or contradicting."""

        kind: Literal["rules", "openai", "anthropic", "command"] = _setting(
            "rules",
            "Who judges: rules; any endpoint with OpenAI's chat interface, such as Ollama; Anthropic's; or the command "
            "line of a coding agent. Rules stand in wherever another has no good answer in time.",
        )
        url: str | None = _setting(None, "The endpoint's address; anthropic has one of its own.", unit="address")
        model: str | None = _setting(None, "The model that is asked; a command may do without.", unit="name")
        key_env: str = _setting("JUDGE_API_KEY", "The environment variable that holds the endpoint's key, if any.")
        timeout: float = _setting(20.0, "How long an answer may take.", least=0.1, most=600, unit="seconds")
        host: Literal["claude", "codex", "gemini", "opencode"] = _setting("claude", "The agent that command runs.")
        command: str | None = _setting(None, "The agent's program, if it is not on the path.", unit="path")
        max_tokens: int = _setting(1_024, "How long an answer may be.", least=64, most=32_000, unit="tokens")
        rerank: bool = _setting(False, "Whether it puts the results of every recall in order, which takes its time.")

    judge: Judge = Judge()

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
        schedule: str | None = _cron("30 4 * * 0", "the garden is looked over")
        idle: float | None = _setting(30.0, "After how long without use the garden is looked over.", unit="minutes")

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
        schedule: str | None = _cron("15 4 * * *", "sessions past their retention are archived")

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
        schedule: str = _cron("0 4 * * *", "the size is checked")
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
        schedule: str | None = _cron(None, "a backup is made by itself")

    backup: Backup = Backup()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Governor:
        """What background work may cost, by the hour and by the day in UTC; 0 allows none, empty is no limit."""

        calls_hour: int | None = _setting(200, "How often models may be called in an hour.", unit="calls")
        calls_day: int | None = _setting(1_000, "How often models may be called in a day.", unit="calls")
        tokens_hour: int | None = _setting(200_000, "How many tokens may be sent and received in an hour.")
        tokens_day: int | None = _setting(1_000_000, "How many tokens may be sent and received in a day.")
        money_hour: float | None = _setting(0.5, "What models may cost in an hour, in the money of the prices.")
        money_day: float | None = _setting(2.0, "What models may cost in a day, in the money of the prices.")
        price_in: float = _setting(0.0, "What a million tokens cost that a model is sent.", most=1_000_000)
        price_out: float = _setting(0.0, "What a million tokens cost that a model answers with.", most=1_000_000)
        cpu_share: float = _setting(0.25, "What share of one processor core all of it may take.", most=1_000)
        wall_hour: float | None = _setting(1_800.0, "How long it may be at work in an hour.", unit="seconds")
        queue: int = _setting(1_000, "How many pieces of work of one kind may wait.", unit="pieces")
        zone: str | None = _setting(None, "The time zone of all schedules; when not set, this machine's.", unit="zone")

    governor: Governor = Governor()

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Project:
        """Which project a folder belongs to."""

        join: Literal["auto", "never"] = _setting(
            "auto",
            "Whether a new clone joins the project it has its remote and root commit in common with, or never joins.",
        )

    project: Project = Project()
