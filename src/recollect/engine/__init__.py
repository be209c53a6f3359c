"""`Recollect`: the one object users hold. It composes stores, settings and clock; the modules beside it do the work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from ..codec import conform
from ..config import Settings
from ..embed import Embedder
from ..errors import InvalidInput, Refused, StoreDamaged, StoreError
from ..judge import Allowed, Judge, Spent
from ..model import (
    Absence,
    Anchor,
    AuditEntry,
    Check,
    Cluster,
    Corpus,
    Draft,
    Edit,
    Excerpts,
    Finding,
    Json,
    Kind,
    Link,
    LinkKind,
    Memory,
    Origin,
    Passage,
    Procedure,
    Recall,
    Scope,
    Source,
    Status,
    Tag,
    Version,
)
from ..policy.access import Right, Role, require
from ..policy.admit import clean_tags
from ..policy.query import parse_limit, parse_order, parse_where
from ..policy.written import Style
from ..store import Store, set_aside
from . import (
    acting,
    chores,
    cluster,
    conflicts,
    gaps,
    graph,
    lineage,
    maintain,
    passages,
    promotion,
    recall,
    review,
    similar,
    tending,
    transfer,
    write,
)
from .acting import Triggered
from .agent import Agent
from .asked import anchors_of, choice, holds_head, listed, narrowed, parse_head, space_name, texts_of
from .conflicts import Conflict
from .context import Context, Contexts, Situation
from .events import Events, Read
from .files import Files
from .gaps import Gap
from .graph import Graph
from .guard import guarded
from .habit import Habits
from .lineage import Lineage
from .loop import Loop
from .maintain import Overview
from .meaning import BATCH, Background, Meaning
from .named import Aliases, Seasons
from .narratives import Narratives
from .oversight import Oversight
from .parts import Clock, Parts, Ref, SpaceName, at_once
from .places import Places
from .plans import quiet as _quiet
from .project import Project
from .promotion import Promoted
from .recall import FOUND_BY_SEARCH, Wish
from .rerank import AsRanked, ByJudge, Reranker
from .review import Inbox
from .schedule import Schedule
from .session import Session, Sessions
from .sources import Items
from .switch import Switch
from .tasks import Tasks
from .tending import Tended
from .tidying import Plans
from .tiers import RecollectBackend
from .transcripts import Transcripts
from .transfer import Imported, Progress
from .watch import Watch
from .write import Remembered


class Recollect:
    """The memory of one project, and the global one beside it.

    Made by `recollect.open`. Safe to use from many threads; close it, or use it as a context manager.
    """

    def __init__(
        self,
        *,
        project: Callable[[], Store],
        shared: Callable[[], Store],
        settings: Settings,
        clock: Clock,
        actor: str = "library",
        origin: Origin = Origin.OBSERVED,
        identity: Project | None = None,
        home: Path | None = None,
        embedder: Callable[[], Embedder] | None = None,
        other_embedder: Callable[[str], Embedder | None] = lambda model: None,
        reranker: Reranker | None = None,
        background: bool = False,
        role: Role = Role.ADMIN,
        judge: Callable[[Allowed, Spent], Judge] | None = None,
    ) -> None:
        self._opened: dict[SpaceName, Store] = {}
        self._opening = threading.Lock()
        self._closed = False
        self._agent: Agent | None = None
        self._schedule: Schedule | None = None
        self._tended: int | None = None
        self._openers: dict[SpaceName, Callable[[], Store]] = {"project": project, "global": shared}
        self._identity = identity
        self._home = home
        self._places = Places(identity=identity, home=home, role=role)
        oversight = Oversight(settings, clock, home, judge)
        self._background = Background(lambda: oversight.governed("upkeep", self._do_a_little)) if background else None
        self._parts = Parts(
            project=lambda: self._store("project"),
            shared=lambda: self._store("global"),
            settings=settings,
            clock=clock,
            switch=Switch(home, identity.folder if identity else None),
            actor=actor,
            origin=origin,
            meaning=Meaning(embedder, other_embedder),
            habits=Habits(lambda shared: self._store("global" if shared else "project"), clock),
            wake=self._background.wake if self._background else lambda: None,
            later=oversight.leaving(self._background.leave) if self._background else at_once,
            reranker=reranker or (ByJudge(oversight) if judge and settings.judge.rerank else AsRanked()),
            watch=Watch(),
            oversight=oversight,
            background=background,
            role=role,
            root=str(identity.root) if identity else "",
        )
        self._contexts = Contexts(self._parts, identity.root if identity else None, lambda: self.tasks.to_do())

    def _do_a_little(self) -> bool:
        """What the background does: vectors that are missing, then habits that were noticed."""
        meaning = self._parts.meaning
        embedder = meaning.wanted() if meaning.on else None
        more = False
        if embedder is not None:
            for store in list(self._opened.values()):
                done = [meaning.embed_some(store, embedder, corpus, BATCH) for corpus in Corpus]
                more = more or any(done)
        if not more:
            self._contexts.surfaced.write()
            if self._parts.habits.full:
                self._parts.habits.write()
            for store in list(self._opened.values()):
                meaning.retire(store)
            self._tend_when_due()
        return more

    def _tend_when_due(self) -> None:
        """Tend the project's memory when it was opened, and again after so many accesses; the global one by hand."""
        turn = self._parts.habits.accesses // self._parts.settings.capacity.evict_every
        if "project" in self._opened and self._tended != turn:
            self._tended = turn
            tending.tend(self._parts, self._store("project"), prune=False)

    def _store(self, space: SpaceName) -> Store:
        with self._opening:
            if self._closed:
                raise StoreError(space, "is closed")
            if space not in self._opened:
                require(self._parts.role, Right.READ, space)
                self._opened[space] = guarded(self._openers[space](), self._parts.role, space)
                self.events.tell(Read(type=space, path=self._opened[space].url, size=self._opened[space].size()))
            return self._opened[space]

    # --- Writing ---------------------------------------------------------------------------------------------------

    def remember(
        self,
        content: str,
        *,
        kind: Kind | str = Kind.FACT,
        scope: Scope | str = Scope.PROJECT,
        tags: Iterable[str] = (),
        files: Iterable[str | Anchor] = (),
        importance: float | None = None,
        confidence: float = 1.0,
        source: Source | str = Source.AGENT,
        session: str | None = None,
        task: str | None = None,
        narrative: str | None = None,
        message_range: tuple[int, int] | None = None,
        agent: str | None = None,
        host: str | None = None,
        triggers: Iterable[str] = (),
        procedure: Procedure | None = None,
        season: str | None = None,
        stage: str | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        payload: Json = None,
        snippet: str = "",
        reason: str = "",
        derived_from: Iterable[Ref] = (),
        key: str | None = None,
    ) -> Remembered:
        """Store one memory. When this returns, it survives a crash.

        Where a live memory already says this, that one is strengthened and returned. What plainly takes the place of
        an older memory supersedes it; what contradicts one opens a conflict. A memory is trusted no more than what it
        is derived from. `key` makes a retry harmless: the same request under the same key is done once.
        """
        draft = Draft(
            content=content,
            kind=choice(Kind, kind, "kind"),
            scope=choice(Scope, scope, "scope"),
            tags=texts_of("tags", tags),
            anchors=anchors_of(files),
            importance=importance,
            confidence=confidence,
            source=choice(Source, source, "source"),
            session_id=session,
            task_id=task,
            narrative_id=narrative,
            message_range=message_range,
            agent=agent,
            host=host,
            triggers=texts_of("triggers", triggers),
            procedure=procedure,
            season=season,
            stage=stage,
            valid_from=valid_from,
            valid_to=valid_to,
            payload=payload,
            snippet=snippet,
            reason=reason,
        )
        return write.remember(self._parts, [draft], key=key, sources=tuple(derived_from))[0]

    def remember_many(self, memories: Iterable[str | Draft], *, key: str | None = None) -> list[Remembered]:
        """Store many memories in one transaction: all of them, or none."""
        if isinstance(memories, str) or not isinstance(memories, Iterable):
            raise InvalidInput("memories", "expected several; put them in a list")
        drafts = [Draft(content=each) if isinstance(each, str) else each for each in memories]
        return write.remember(self._parts, drafts, key=key)

    def update(
        self,
        ref: Ref,
        content: str | None = None,
        *,
        kind: Kind | str | None = None,
        importance: float | None = None,
        tags: Iterable[str] | None = None,
        files: Iterable[str | Anchor] | None = None,
        triggers: Iterable[str] | None = None,
        procedure: Procedure | None = None,
        season: str | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        clear: Iterable[str] = (),
        expected_version: int | None = None,
    ) -> Memory:
        """Change a memory in place. Its score and history stay; `expected_version` guards against a lost edit."""
        edit = Edit(
            content=content,
            kind=None if kind is None else choice(Kind, kind, "kind"),
            importance=importance,
            tags=None if tags is None else texts_of("tags", tags),
            anchors=None if files is None else anchors_of(files),
            triggers=None if triggers is None else texts_of("triggers", triggers),
            procedure=procedure,
            season=season,
            valid_from=valid_from,
            valid_to=valid_to,
            clear=tuple(clear),
        )
        return write.update(self._parts, ref, edit, expected_version=expected_version)

    def reinforce(self, ref: Ref) -> Memory:
        """This memory was useful: raise its score."""
        return write.reinforce(self._parts, ref)

    def demote(self, ref: Ref) -> Memory:
        """This memory is stale or wrong: lower its score."""
        return write.demote(self._parts, ref)

    def feedback(self, ref: Ref, *, helpful: bool, note: str = "") -> Memory:
        """Say whether a memory helped; it grows stronger or less sure."""
        return write.feedback(self._parts, ref, helpful=helpful, note=note)

    def forget(self, ref: Ref) -> Memory:
        """Hide a memory from everything; `restore` brings it back."""
        return write.retire(self._parts, ref, Status.FORGOTTEN)

    def restore(self, ref: Ref) -> Memory:
        """Bring back a memory that was forgotten, archived or superseded."""
        return write.restore(self._parts, ref)

    def pin(self, ref: Ref) -> Memory:
        """Keep a memory always at hand."""
        return write.pin(self._parts, ref, pinned=True)

    def unpin(self, ref: Ref) -> Memory:
        """Let a pinned memory be an ordinary one again."""
        return write.pin(self._parts, ref, pinned=False)

    def tag(self, ref: Ref, *tags: str) -> Memory:
        """Add tags to a memory."""
        return write.tag(self._parts, ref, add=tags, remove=())

    def untag(self, ref: Ref, *tags: str) -> Memory:
        """Take tags from a memory."""
        return write.tag(self._parts, ref, add=(), remove=tags)

    def link(self, ref: Ref, target: Ref, *, kind: LinkKind | str = LinkKind.RELATES_TO, weight: float = 1.0) -> Link:
        """Connect a memory to another. What it supersedes leaves recall."""
        return write.link(self._parts, ref, target, kind=choice(LinkKind, kind, "kind"), weight=weight)

    def unlink(self, ref: Ref, target: Ref, *, kind: LinkKind | str = LinkKind.RELATES_TO) -> None:
        """Take a connection away."""
        write.unlink(self._parts, ref, target, kind=choice(LinkKind, kind, "kind"))

    # --- Reading ---------------------------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        kinds: Iterable[Kind | str] = (),
        tags: Iterable[str] = (),
        files: Iterable[str] = (),
        near: Iterable[str] = (),
        session: str | None = None,
        task: str | None = None,
        space: SpaceName | None = None,
        profile: str | None = None,
        gate: bool | None = None,
        as_of: datetime | None = None,
    ) -> Recall:
        """The live memories that answer a question best, with reasons; from both spaces unless one is named.

        `files` narrows to memories tied to these files, `near` favours those tied to files at work on. `profile` names
        another ranking than the settings do, `gate=False` returns even what is hardly relevant, and `as_of` answers
        from what was remembered at a moment.
        """
        asked = self._wish(kinds, tags, files, near, space)
        wish = replace(asked, limit=limit, session=session, task=task, profile=profile, gate=gate)
        return recall.recall(self._parts, query, replace(wish, as_of=as_of))

    def context(
        self,
        prompt: str = "",
        *,
        files: Iterable[str] = (),
        previous: str = "",
        session: str = "",
        task: str = "",
        agent: str = "",
        host: str = "",
        remaining: int | None = None,
        start: bool = False,
        asked: bool = False,
        style: Style | str | None = None,
        ceilings: Mapping[str, int] | None = None,
    ) -> Context:
        """What an agent should be told for a prompt, as text for its host; nothing, if nothing would help.

        `previous` is the turn before, `remaining` how much of the context window is left, `start` that a session
        begins. Only when `asked` for it is shown what nobody vouches for. Nothing that goes wrong in here is raised.
        """
        situation = Situation(
            prompt=conform(str, prompt, "prompt"),
            files=texts_of("files", files),
            previous=conform(str, previous, "previous"),
            session=session,
            task=task,
            agent=agent,
            host=host,
            remaining=remaining,
            start=start,
            asked=asked,
            ceilings=ceilings or {},
        )
        return self._contexts.give(situation, style=None if style is None else choice(Style, style, "style"))

    @property
    def agent(self) -> Agent:
        """Looks for memories while the main agent works: hand a `Situation` over, take what it found a turn later."""
        with self._opening:
            if self._agent is None:
                self._agent = Agent(self._parts, self._contexts)
            return self._agent

    def why_not(
        self,
        query: str,
        ref: Ref,
        *,
        limit: int | None = None,
        kinds: Iterable[Kind | str] = (),
        tags: Iterable[str] = (),
        files: Iterable[str] = (),
        near: Iterable[str] = (),
        session: str | None = None,
        task: str | None = None,
        space: SpaceName | None = None,
        profile: str | None = None,
        gate: bool | None = None,
    ) -> Absence:
        """At which step `recall` of the same question leaves a memory out, and by how much."""
        asked = self._wish(kinds, tags, files, near, space)
        wish = replace(asked, limit=limit, session=session, task=task, profile=profile, gate=gate)
        return recall.why_not(self._parts, query, ref, wish)

    def _wish(
        self,
        kinds: Iterable[Kind | str],
        tags: Iterable[str],
        files: Iterable[str],
        near: Iterable[str],
        space: SpaceName | None,
    ) -> Wish:
        """What narrows and favours, checked."""
        return Wish(
            where=narrowed(kinds, clean_tags(texts_of("tags", tags), self._parts.limits), files),
            files=frozenset(texts_of("near", near)),
            space=None if space is None else space_name(space),
        )

    def search(
        self,
        query: str,
        *,
        where: Mapping[str, object] | None = None,
        limit: int | None = None,
        session: str | None = None,
        task: str | None = None,
        space: SpaceName | None = None,
        profile: str | None = None,
        gate: bool | None = None,
    ) -> Recall:
        """Like `recall`, over archived and superseded memories too, narrowed by any filter.

        Whatever holds a word that was asked for is found, however little else speaks for it.
        """
        wish = Wish(
            where=parse_where(where or {}),
            limit=limit,
            session=session,
            task=task,
            space=None if space is None else space_name(space),
            statuses=FOUND_BY_SEARCH,
            words_pass=True,
            profile=profile,
            gate=gate,
        )
        return recall.recall(self._parts, query, wish)

    def search_passages(
        self,
        query: str,
        *,
        corpus: Corpus | str = Corpus.SESSIONS,
        document: str | None = None,
        limit: int | None = None,
        profile: str | None = None,
        gate: bool | None = False,
    ) -> Excerpts:
        """The session turns, knowledge items or source chunks that answer a question best, with their neighbours."""
        return passages.search_passages(
            self._parts,
            query,
            corpus=choice(Corpus, corpus, "corpus"),
            document=document,
            limit=limit,
            profile=profile,
            gate=gate,
        )

    def file_passages(self, pieces: Iterable[Passage]) -> int:
        """Index passages of documents, each in place of the one at its position. Returns how many."""
        return passages.file_passages(self._parts, pieces)

    def unfile(self, corpus: Corpus | str, document: str, *, start: int = 0) -> None:
        """Take a document's passages out of the index, from a position on."""
        passages.unfile(self._parts, choice(Corpus, corpus, "corpus"), document, start)

    def embed_pending(self, *, progress: Progress = _quiet) -> int:
        """Give everything a vector that has none of the present model yet. Returns how many were made."""
        meaning = self._parts.meaning
        made = 0
        for name in self._openers:
            store = self._store(name)
            for each in meaning.coverage(store):
                done = each.done
                while got := meaning.catch_up(store, each.corpus, seconds=60, most=BATCH):
                    done, made = done + got, made + got
                    progress(min(done, each.total), each.total)
        return made

    def get(self, ref: Ref) -> Memory:
        """One memory, whatever its status."""
        return self._parts.find(ref)[1]

    def list(
        self,
        where: Mapping[str, object] | None = None,
        *,
        space: SpaceName = "project",
        order_by: str = "created_at",
        limit: int = 100,
        offset: int = 0,
    ) -> tuple[Memory, ...]:
        """The memories of a space that pass a filter; without one, all that are live. `-field` reverses the order.

        Forgotten ones are listed only by a filter that asks for their status.
        """
        conditions = listed(where)
        start = parse_limit(offset, most=2**62)
        return self._space(space).query(conditions, order=parse_order(order_by), limit=parse_limit(limit), offset=start)

    def count(self, where: Mapping[str, object] | None = None, *, space: SpaceName = "project") -> int:
        """How many memories `list` would list."""
        return self._space(space).count(listed(where))

    def links(self, ref: Ref) -> tuple[Link, ...]:
        """Every link that touches a memory: to tags, clusters and other memories, and from them."""
        store, memory = self._parts.find(ref)
        return store.links(memory.id)

    def tags(self, *, space: SpaceName = "project") -> tuple[Tag, ...]:
        """Every tag in use, most used first."""
        return self._space(space).tags()

    def clusters(self, *, space: SpaceName = "project") -> tuple[Cluster, ...]:
        """Every cluster, largest first."""
        return self._space(space).clusters()

    def members(self, cluster: int, *, space: SpaceName = "project") -> tuple[Memory, ...]:
        """The memories of a cluster."""
        return self._space(space).members(parse_limit(cluster, most=2**62))

    def history(self, ref: Ref) -> tuple[Version, ...]:
        """What a memory said before, oldest first."""
        store, memory = self._parts.find(ref)
        return store.history(memory.id)

    def audit(
        self, *, space: SpaceName = "project", after: int = 0, limit: int | None = 100, newest_first: bool = False
    ) -> tuple[AuditEntry, ...]:
        """Who did what and when."""
        start, most = parse_limit(after, most=2**62), None if limit is None else parse_limit(limit)
        return self._space(space).audit(after=start, limit=most, newest_first=newest_first)

    def similar(self, ref: Ref, *, limit: int | None = None) -> Recall:
        """The live memories closest in meaning to a given one, closest first; by words where there are no vectors."""
        return similar.similar(self._parts, ref, limit=limit)

    def cluster(self, *, space: SpaceName = "project", least: int = 3) -> tuple[Cluster, ...]:
        """Find anew which memories of a space lie close together, `least` or more at a time; the clusters it has now.

        Only what persists is grouped. The extra `clusters` finds groups with HDBSCAN.
        """
        return cluster.cluster(self._parts, self._space(space), least=least)

    def cluster_of(self, ref: Ref) -> Cluster | None:
        """The cluster a memory is in or, if it came later, the one whose centre it is near enough to; or None."""
        return cluster.cluster_of(self._parts, ref)

    def graph(self, *, space: SpaceName = "project") -> Graph:
        """Memories, tags and clusters of a space with what connects them; none forgotten, none of a session or task."""
        return graph.graph(self._space(space), space_name(space))

    # --- Life ------------------------------------------------------------------------------------------------------

    def learn(
        self, turn: str, *, session: str, agent: str = "", host: str | None = None, message: int | None = None
    ) -> tuple[Promoted, ...]:
        """Keep what the user states in a turn of their own: corrections, decisions, standing instructions.

        Give it only what the user said; it is trusted as the user's word.
        """
        return promotion.learn(self._parts, turn, session=session, agent=agent, host=host, message=message)

    def promote_findings(
        self, findings: Iterable[Finding], *, session: str, agent: str = "", host: str | None = None
    ) -> tuple[Promoted, ...]:
        """Note what was found in a session, and make memories of what enough speaks for."""
        return promotion.promote_findings(self._parts, tuple(findings), session=session, agent=agent, host=host)

    def promote(self, ref: Ref, to: Scope | str = Scope.PROJECT, *, confirmed: bool = False) -> Memory:
        """Let a memory hold more widely: from its task or session in the project, or, `confirmed`, everywhere."""
        return promotion.promote(self._parts, ref, choice(Scope, to, "to"), confirmed=confirmed)

    def confirm(self, ref: Ref) -> Memory:
        """Vouch for a memory: a candidate is confirmed, and its confidence ages from now."""
        return promotion.confirm(self._parts, ref)

    def archive(self, ref: Ref) -> Memory:
        """Take a memory out of recall; `search` still finds it, and `restore` brings it back."""
        return write.retire(self._parts, ref, Status.ARCHIVED)

    def triggered(
        self, context: str, *, files: Iterable[str] = (), session: str | None = None, task: str | None = None
    ) -> tuple[Triggered, ...]:
        """The warnings and procedures that a context, or files at work on, trigger, most important first."""
        named = texts_of("files", files)
        return acting.triggered(self._parts, context, files=named, session=session, task=task)

    def conflicts(self, *, space: SpaceName = "project") -> tuple[Conflict, ...]:
        """The memories that contradict each other, newest first."""
        return conflicts.conflicts(self._space(space))

    def resolve(self, ref: Ref, other: Ref, *, keep: Literal["first", "second", "both", "neither"]) -> int:
        """Settle a conflict between two memories. Returns the number of the plan that `plans.undo` undoes it by."""
        return conflicts.resolve(self._parts, ref, other, keep=keep)

    def reopen(self, ref: Ref, other: Ref) -> None:
        """Undo how a conflict was settled."""
        conflicts.reopen(self._parts, ref, other)

    def review(self, *, space: SpaceName = "project") -> Inbox:
        """What waits for somebody to decide: candidates, conflicts, plans, what has grown stale."""
        return review.inbox(self._parts, self._space(space), self._places.tree(space))

    def tend(self, *, space: SpaceName = "project", prune: bool = True) -> Tended:
        """Confirm candidates that proved themselves, and archive what has had its time or has to make room."""
        return tending.tend(self._parts, self._space(space), prune=prune)

    @property
    def plans(self) -> Plans:
        """What tidies memory: plans that are made, read, carried out, refused and undone."""
        return Plans(self._parts, self._space, self._places, self.sessions.recover)

    # --- Sessions, tasks, narratives -------------------------------------------------------------------------------

    def session(self, name: str, *, agent: str = "", host: str = "") -> Session:
        """A session by its name: append turns to it, compact it, fork it, finalise it."""
        return self.sessions.open(name, agent=agent, host=host)

    def loop(self, session: str, *, agent: str = "", host: str = "") -> Loop:
        """The loop of an agent over a session: `intake`, `context`, `execute` and `persist`, and `handover`."""
        lived, name = self.session(session, agent=agent, host=host), self._identity.name if self._identity else ""
        return Loop(self._parts, lived, self._contexts, self.tasks, agent=agent, host=host, project=name)

    def tier(self, scope: Scope | str, owner: str = "default") -> RecollectBackend:
        """What a task (`owner`), the project or all projects remember, as what a tier of `recollect.tiers` keeps."""
        return RecollectBackend(self._parts, choice(Scope, scope, "scope"), owner, self._identity)

    @property
    def sessions(self) -> Sessions:
        """All sessions of the project."""
        root = str(self._identity.root) if self._identity else ""
        return Sessions(self._parts, Transcripts(self._places.sessions(self._parts.settings.session.path)), root=root)

    def note_gap(self, context: str, *, session: str = "") -> Gap:
        """Log that nothing was known for a context."""
        return gaps.note(self._parts, context, session=session)

    def gaps(self, *, answered: bool = False) -> tuple[Gap, ...]:
        """What was asked and nothing answered, the latest first."""
        return gaps.gaps(self._parts.project(), answered=answered)

    @property
    def tasks(self) -> Tasks:
        """The tasks of the project."""
        return Tasks(self._parts, self._identity.folder if self._identity else None)

    @property
    def items(self) -> Items:
        """What the project's own files say: knowledge items and source chunks."""
        folder = self._identity.folder if self._identity else None
        return Items(self._parts, self._places.tree("project"), folder)

    @property
    def files(self) -> Files:
        """Files that memories are made from, and MEMORY.md, which shows them."""
        return Files(self._parts, self._identity)

    @property
    def narratives(self) -> Narratives:
        """The threads of work that sessions belong to."""
        return Narratives(self._parts)

    def lineage(self, ref: Ref) -> Lineage:
        """Where a memory came from and what came of it: sessions, tasks, narratives, memories in both directions."""
        return lineage.lineage(self._parts, ref, sessions=self.sessions, tasks=self.tasks, narratives=self.narratives)

    # --- Definitions -----------------------------------------------------------------------------------------------

    @property
    def aliases(self) -> Aliases:
        """Words that mean the same when questions are asked."""
        return Aliases(self._parts, self._space)

    @property
    def seasons(self) -> Seasons:
        """When memories with the label of a season are recalled."""
        return Seasons(self._parts, self._space)

    # --- Upkeep ----------------------------------------------------------------------------------------------------

    def status(self) -> Overview:
        """How memory stands here."""
        off = self._parts.switch.off_where()
        spaces, trouble = [], []
        for name in self._openers:
            try:
                spaces.append(maintain.space_overview(self._parts, name, self._places.backups(name)))
            except StoreError as error:
                trouble.append(f"the {name} memory cannot be used: {error}")
        identity = self._identity
        here = any(space.name == "project" for space in spaces)
        return Overview(
            health=self._parts.oversight.health(),
            given=self._contexts.surfaced.reception(self._parts.clock()) if here else None,
            project=identity.name if identity else "",
            project_id=identity.id if identity else "",
            root=str(identity.root) if identity else "",
            home=str(self._home) if self._home else "",
            on=off is None,
            off_where=off,
            search="hybrid" if self._parts.meaning.on else "words",
            vectors=tuple(each for store in [*self._opened.values()] for each in self._parts.meaning.coverage(store)),
            spaces=tuple(spaces),
            notes=self.notes,
            trouble=(*trouble, *((meaning.trouble,) if (meaning := self._parts.meaning).trouble else ())),
        )

    @property
    def schedule(self) -> Schedule:
        """What is done by itself at its time, and what of it is due: `schedule.run_due(now)` does it."""
        if self._schedule is None or self._parts.switch.off_where():
            self._schedule = chores.schedule(self._parts, self._places, self.sessions, self.plans)
        return self._schedule

    @property
    def events(self) -> Events:
        """Tells subscribers what memory does: `events.subscribe(take)`."""
        return self._parts.oversight.events

    @property
    def settings(self) -> Settings:
        """The settings it was opened with."""
        return self._parts.settings

    @property
    def home(self) -> Path | None:
        """The folder everything is kept in."""
        return self._home

    @property
    def identity(self) -> Project | None:
        """Which project this is; None for a store opened by itself."""
        return self._identity

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know: a project joined, a backup that stood in."""
        told = self._identity.notes if self._identity else ()
        return (*told, *(note for store in self._opened.values() for note in store.notes))

    def turn_off(self, *, everywhere: bool = False) -> None:
        """Stop all capture, recall and injection, for this project or everywhere."""
        if everywhere:
            require(self._parts.role, Right.WRITE, "global")
        self._parts.switch.turn_off(everywhere=everywhere, actor=self._parts.actor, now=self._parts.clock())

    def turn_on(self, *, everywhere: bool = False) -> None:
        """Resume what `turn_off` stopped."""
        self._parts.switch.turn_on(everywhere=everywhere)

    def export_lines(self, *, space: SpaceName = "project", progress: Progress = _quiet) -> Iterator[str]:
        """Everything of a space as lines of JSON, signed with the home's key."""
        return transfer.export_lines(self._parts, space_name(space), key=self._places.key(), progress=progress)

    def export_file(self, path: str | Path, *, space: SpaceName = "project", progress: Progress = _quiet) -> Path:
        """Write an export to a file, which appears whole or not at all."""
        target = Path(path)
        transfer.write_file(target, self.export_lines(space=space, progress=progress))
        return target

    def import_lines(
        self,
        lines: Iterable[bytes | str],
        *,
        name: str = "import",
        space: SpaceName = "project",
        trusted: bool = False,
        dry_run: bool = False,
        progress: Progress = _quiet,
    ) -> Imported:
        """Take over an export. `trusted` takes a file that this home did not sign at its word."""
        return transfer.import_lines(
            self._parts,
            lines,
            space_name(space),
            key=self._places.key(),
            name=name,
            trusted=trusted,
            dry_run=dry_run,
            progress=progress,
        )

    def backup(self, path: str | Path | None = None, *, space: SpaceName = "project") -> Path:
        """Write a verified copy of a space."""
        target = Path(path) if path else None
        return maintain.back_up(self._parts, self._space(space), target, self._places.backups(space))

    def restore_backup(
        self, path: str | Path | None = None, *, space: SpaceName = "project"
    ) -> tuple[Path, Path | None]:
        """Make a space what a backup holds, keeping a backup of what it was. Returns the two files."""
        source = Path(path) if path else None
        try:
            store = self._space(space)
        except StoreDamaged:
            set_aside(self._places.store_file(space))
            store = self._space(space)
        return maintain.bring_back(self._parts, store, source, self._places.backups(space))

    def salvage(self, *, space: SpaceName = "project") -> tuple[int, int, Path]:
        """Start a damaged store anew with what can be read of it: memories kept, memories lost, the damaged file."""
        with suppress(StoreDamaged):
            if all(check.ok or check.fixable for check in self._space(space).check()):
                raise Refused("the store is sound; there is nothing to salvage")
        opened = self._opened.pop(space_name(space), None)
        if opened is not None:
            opened.close()
        return maintain.salvage(self._parts, self._places.store_file(space), space_name(space))

    def verify_audit(self, *, space: SpaceName = "project", head: str | None = None) -> tuple[str, ...]:
        """Every fault in the audit; empty when all is sound. `head` is one that was noted down earlier."""
        store = self._space(space)
        faults = store.verify_audit()
        if head is not None and not holds_head(store, parse_head(head)):
            faults = (*faults, f"the audit does not hold the head {head}")
        return faults

    def doctor(self, *, rebuild: bool = False) -> tuple[Check, ...]:
        """Look everything over, in plain words; with `rebuild`, make derived data anew and put file modes right."""
        if rebuild and self._home:
            maintain.tighten(self._home)
        return maintain.examine(
            {"project": self._parts.project, "global": self._parts.shared}, self._home, rebuild=rebuild
        )

    def close(self) -> None:
        """Let go of everything. What was acknowledged is safe already."""
        if self._agent is not None:
            self._agent.close(0.8)
        if self._background is not None:  # within two seconds together
            self._background.close(1.0)
        if not self._closed:
            self._contexts.surfaced.write()
            self._parts.habits.write()
        with self._opening:
            self._closed = True
            while self._opened:
                self._opened.popitem()[1].close()
        self._parts.oversight.events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _space(self, space: SpaceName) -> Store:
        return self._parts.store(space_name(space))
