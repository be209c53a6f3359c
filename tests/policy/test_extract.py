"""What a session leaves worth keeping: labelled messages, half of which leave nothing, deeds, and any input at all."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import Finding, Json, Kind
from recollect.policy.extract import LONGEST, Said, findings
from recollect.policy.identity import fingerprint


def heard(*turns: tuple[str, str]) -> list[Said]:
    """A session of turns that are told by their role and their text."""
    roles = {"user": "user", "assistant": "assistant"}
    return [Said(role=roles[role], text=text, position=at) for at, (role, text) in enumerate(turns)]  # type: ignore[arg-type]


def after(message: str) -> tuple[Finding, ...]:
    """What is found in an agent's message that answers a request."""
    return findings(heard(("user", "please have a look"), ("assistant", message)))


def called(name: str, given_input: Json, result: str = "ok", *, said: str = "", at: int = 0) -> list[Said]:
    """An agent's message, its call of a tool, and what came back."""
    return [
        Said(role="assistant", text=said, position=at),
        Said(role="tool_call", name=name, input=given_input, position=at + 1),
        Said(role="tool_result", name=name, text=result, position=at + 2),
    ]


def of_kind(found: tuple[Finding, ...], kind: Kind) -> list[Finding]:
    return [each for each in found if each.kind is kind]


# Each message with what it leaves: the kind, and the words that are kept.
TOLD: list[tuple[str, str, str]] = [
    # decisions
    (
        "I'll use SQLite instead of Postgres because the tool has to work offline.",
        "decision",
        "Use SQLite instead of Postgres because the tool has to work offline.",
    ),
    (
        "We went with `argon2` over bcrypt because `bcrypt` truncates passwords at 72 bytes.",
        "decision",
        "Went with `argon2` over bcrypt because `bcrypt` truncates passwords at 72 bytes.",
    ),
    (
        "Decision: events are stored as JSON lines in `data/events/`, one file a day.",
        "decision",
        "Events are stored as JSON lines in `data/events/`, one file a day.",
    ),
    (
        "Good point. I decided to keep the retry logic in `client.py` rather than in every caller.",
        "decision",
        "Decided to keep the retry logic in `client.py` rather than in every caller.",
    ),
    (
        "**Decision:** `SessionStore` is append-only; deletions are tombstones.",
        "decision",
        "`SessionStore` is append-only; deletions are tombstones.",
    ),
    (
        "I chose a partial unique index on `users.email` since deleted rows keep their address.",
        "decision",
        "Chose a partial unique index on `users.email` since deleted rows keep their address.",
    ),
    (
        "Switched from `moment` to `date-fns` to avoid shipping locale data.",
        "decision",
        "Switched from `moment` to `date-fns` to avoid shipping locale data.",
    ),
    (
        "Kept the `v1` routes in `api/legacy.py` because mobile clients older than 4.2 still call them.",
        "decision",
        "Kept the `v1` routes in `api/legacy.py` because mobile clients older than 4.2 still call them.",
    ),
    (
        "I've gone with a queue table rather than Redis, because the deployment has no Redis.",
        "decision",
        "Gone with a queue table rather than Redis, because the deployment has no Redis.",
    ),
    (
        "`load_todos` deliberately lets `FileNotFoundError` propagate rather than returning an empty list; "
        "if you'd rather have that, say so.",
        "decision",
        "`load_todos` deliberately lets `FileNotFoundError` propagate rather than returning an empty list",
    ),
    ("### Key decisions\n\n- Tokens live in `auth.db`, never in the browser", "decision", "Tokens live in `auth.db`"),
    # how the parts fit
    (
        "`OrderService` delegates payment to `StripeGateway`, which is the only module that talks to Stripe.",
        "architecture",
        "`OrderService` delegates payment to `StripeGateway`, which is the only module that talks to Stripe.",
    ),
    (
        "The `ingest` worker reads from the `events` topic and writes Parquet files to S3.",
        "architecture",
        "The `ingest` worker reads from the `events` topic and writes Parquet files to S3.",
    ),
    (
        "`apps/web` is a Next.js frontend; `apps/api` is a FastAPI service behind it.",
        "architecture",
        "`apps/web` is a Next.js frontend; `apps/api` is a FastAPI service behind it.",
    ),
    (
        "Requests flow through `middleware/auth.ts`, which attaches the tenant before `routes/` are reached.",
        "architecture",
        "Requests flow through `middleware/auth.ts`",
    ),
    (
        "Three modules:\n\n1. **`parser.py`** (108 lines) - Data extraction and parsing\n"
        "   - `load()`\n2. **`renderer.py`** - HTML generation and formatting",
        "architecture",
        "`parser.py`: Data extraction and parsing; `renderer.py`: HTML generation and formatting",
    ),
    (
        "#### **SubagentLive** (`lib/subagent_live.ex`)\n\n- Loads messages via `load_messages/1`\n"
        "- Calls `Renderer.render/1` for each of them",
        "architecture",
        "SubagentLive (`lib/subagent_live.ex`): loads messages via `load_messages/1`; calls `Renderer.render/1`",
    ),
    # conventions
    (
        "All handlers in `api/` return a `Result` type instead of raising.",
        "pattern",
        "All handlers in `api/` return a `Result` type instead of raising.",
    ),
    (
        "The codebase uses `structlog` for all logging, never the standard `logging` module.",
        "pattern",
        "The codebase uses `structlog` for all logging, never the standard `logging` module.",
    ),
    (
        "Tests follow the naming convention `test_<unit>_<behaviour>`, with fixtures in `conftest.py`.",
        "pattern",
        "Tests follow the naming convention `test_<unit>_<behaviour>`",
    ),
    (
        "By convention every migration in `db/migrations` starts with a timestamp.",
        "pattern",
        "By convention every migration in `db/migrations` starts with a timestamp.",
    ),
    # pitfalls
    (
        "Note that `make test` must run against a clean database, otherwise `test_billing` fails.",
        "warning",
        "`make test` must run against a clean database, otherwise `test_billing` fails.",
    ),
    (
        "Be careful with `cache.clear()`: it drops the entries of every tenant, not only the current one.",
        "warning",
        "Be careful with `cache.clear()`: it drops the entries of every tenant, not only the current one.",
    ),
    (
        "**Gotcha:** `pnpm install` rewrites `pnpm-lock.yaml` unless it is run with `--frozen-lockfile`.",
        "warning",
        "`pnpm install` rewrites `pnpm-lock.yaml` unless it is run with `--frozen-lockfile`.",
    ),
    (
        "⚠️ `generate_schema.py` overwrites `schema.graphql`, so manual edits there will be lost.",
        "warning",
        "`generate_schema.py` overwrites `schema.graphql`, so manual edits there will be lost.",
    ),
    (
        "`useEffect` in `Chart.tsx` must not depend on `data`, because the array is rebuilt on every render.",
        "warning",
        "`useEffect` in `Chart.tsx` must not depend on `data`",
    ),
    (
        "The migration will fail on MySQL 5.7 because `JSON_TABLE` is not supported there.",
        "warning",
        "The migration will fail on MySQL 5.7",
    ),
    (
        "### Limitations\n\n- `ExportQueue` is not thread-safe, so only `Worker.run` may drain it",
        "warning",
        "`ExportQueue` is not thread-safe, so only `Worker.run` may drain it",
    ),
    (
        "`settings.toml` must be read before `Logger.start()`, otherwise the level is ignored.",
        "warning",
        "`settings.toml` must be read before `Logger.start()`, otherwise the level is ignored.",
    ),
    # things found out
    (
        "`clean_text` removes `<system-reminder>` blocks even when they are quoted.",
        "discovery",
        "`clean_text` removes `<system-reminder>` blocks even when they are quoted.",
    ),
    (
        "### Key findings\n\n- The `Scoreboard` reads the score from `GameMode` on every frame, not from `ScoreStore`",
        "architecture",
        "The `Scoreboard` reads the score from `GameMode` on every frame, not from `ScoreStore`",
    ),
    (
        "It turns out that `requests` follows redirects for HEAD only when `allow_redirects=True` is passed.",
        "discovery",
        "`requests` follows redirects for HEAD only when `allow_redirects=True` is passed.",
    ),
    (
        "I found that `parse_config` silently ignores unknown keys.",
        "discovery",
        "`parse_config` silently ignores unknown keys.",
    ),
    (
        "Found it: `DATABASE_URL` is read before `.env` is loaded.",
        "discovery",
        "`DATABASE_URL` is read before `.env` is loaded.",
    ),
    (
        "Turns out the staging bucket `assets-stg` has versioning disabled.",
        "discovery",
        "The staging bucket `assets-stg` has versioning disabled.",
    ),
    (
        "The root cause is that `Session.close()` is never awaited in `worker.py`.",
        "discovery",
        "`Session.close()` is never awaited in `worker.py`.",
    ),
    (
        "Perfect! So `get_user()` returns `None` for archived accounts.",
        "discovery",
        "`get_user()` returns `None` for archived accounts.",
    ),
    (
        "The rate limiter in `gateway/limits.go` counts requests per IP, not per token.",
        "discovery",
        "The rate limiter in `gateway/limits.go` counts requests per IP, not per token.",
    ),
    # errors and what resolved them
    (
        "**Root cause:** `flush()` was called after the connection pool had been closed.\n\n"
        "**Fix:** `shutdown()` in `app.py` now closes the pool last.",
        "error",
        "`flush()` was called after the connection pool had been closed. "
        "Fix: `shutdown()` in `app.py` now closes the pool last.",
    ),
    (
        "### Problem\n\nDividers were appearing between all messages of `transcript.html`.\n\n"
        "### Solution\n\nThe template shows the first divider only.",
        "error",
        "Dividers were appearing between all messages of `transcript.html`. Fix: The template shows the first",
    ),
    (
        "Fixed. The bug: `scale` silently returned `[]` for an empty list. Added a guard at the top of `scale`.",
        "error",
        "`scale` silently returned `[]` for an empty list. Fix: Added a guard at the top of `scale`.",
    ),
    (
        "1. We identified that the order of arguments in calls to `retry_async` was wrong.\n"
        "2. We fixed the order in `_execute_with_retry` of `src/core.py` to match the signature.",
        "error",
        "The order of arguments in calls to `retry_async` was wrong. Fix: fixed the order",
    ),
    (
        "The bug was that `normalize_path` lower-cased paths on Linux, where they are case-sensitive. "
        "By asking `os.path.normcase` instead, the case is left alone there.",
        "error",
        "`normalize_path` lower-cased paths on Linux, where they are case-sensitive. Fix: By asking `os.path.normcase`",
    ),
    (
        "Fixed the flaky `test_upload` by waiting for the `upload:done` event instead of sleeping.",
        "error",
        "Fixed the flaky `test_upload` by waiting for the `upload:done` event instead of sleeping.",
    ),
    (
        "I fixed a race in `Scheduler.tick` where two workers could claim the same job, by taking a row lock.",
        "error",
        "Fixed a race in `Scheduler.tick` where two workers could claim the same job, by taking a row lock.",
    ),
    (
        "The problem was that `vite.config.ts` aliased `@` to `src/`, while `tsconfig.json` still had `app/`. "
        "I changed both to `src/`.",
        "error",
        "`vite.config.ts` aliased `@` to `src/`, while `tsconfig.json` still had `app/`. Fix: changed both to",
    ),
    (
        "**Root cause:** `retry()` was given seconds where it takes milliseconds.\n\n"
        "**Fix:** Use `Duration` in `client.rs`.\n\nFixed, and all tests pass.",
        "error",
        "`retry()` was given seconds where it takes milliseconds. Fix: Use `Duration` in `client.rs`.",
    ),
    (
        "**Problem:** `Ledger` took the date as its first argument, while three callers gave it the amount.\n\n"
        "**Fix:** the order was put right in these files:\n- `till.py`\n- `refund.py`\n- `import.py`\n\nDone.",
        "error",
        "Fix: the order was put right in these files: `till.py`, `refund.py`, `import.py`",
    ),
    # what goes with the item above it, or with what follows
    (
        "What I did:\n\n1. **Image uploads**:\n   - Using presigned URLs instead of a proxy through the API\n"
        "   - Raised the limit",
        "decision",
        "Image uploads: using presigned URLs instead of a proxy through the API",
    ),
    (
        "`compose.yml` has a block for every service. Most have defaults, only `DB_URL` and `MAIL_HOST` are required.",
        "discovery",
        "`compose.yml` has a block for every service. Most have defaults, only `DB_URL` and `MAIL_HOST` are required.",
    ),
    (
        "### `TicketQueue`\n\n- `push()`: Puts a ticket behind those of its customer\n"
        "- `drain()`: Hands out tickets until the desk closes",
        "architecture",
        "`TicketQueue`: `push()`: Puts a ticket behind those of its customer; `drain()`: Hands out",
    ),
    # where the work stands
    (
        "Summary:\n\n1. For the `Invoice` model, I:\n   - Removed the old `memo` parameter\n"
        "   - Added the `due` field to the constructor\n2. In `mailer.py`:\n   - Moved retries to the queue\n",
        "task_progress",
        "Done: `Invoice` model (removed the old `memo` parameter; added the `due` field to the constructor); "
        "`mailer.py` (moved retries to the queue).",
    ),
    (
        "1. Fixed the export:\n- Added a header row to `export.csv`\n- Replaced tabs with semicolons",
        "task_progress",
        "Done: Fixed the export (added a header row to `export.csv`; replaced tabs with semicolons).",
    ),
    (
        "## Summary\n\n- Added `RateLimiter` to `gateway/limits.go`\n- Replaced the map in `store.go` with Redis\n"
        "- Updated `README.md`\n\n## Remaining\n\n- Metrics for rejected requests in `gateway/metrics.go`\n"
        "- Load test against `staging`",
        "task_progress",
        "Done: Added `RateLimiter` to `gateway/limits.go`; Replaced the map in `store.go` with Redis. "
        "Remaining: Metrics for rejected requests in `gateway/metrics.go`; Load test against `staging`.",
    ),
    (
        "Done. What changed:\n\n1. **Extracted `PriceCalculator`** from `checkout.ts` into `pricing/calculator.ts`\n"
        "2. We removed the `legacyDiscount` flag and its callers",
        "task_progress",
        "Done: Extracted `PriceCalculator` from `checkout.ts` into `pricing/calculator.ts`; "
        "Removed the `legacyDiscount` flag and its callers.",
    ),
]

# Messages that leave nothing.
NOTHING: list[str] = [
    # plans
    "I'll start by looking at `src/main.py` to understand the structure.",
    "Let me check whether `parse()` handles empty input.",
    "Now I'll update `config.py` to read the new setting:",
    "Next, I will run the test suite and see what breaks.",
    "First I'm going to use `grep` because the folder is large.",
    # chatter and restating
    "Great question! I'd be happy to help with that.",
    "Perfect! All 63 tests are passing.",
    "You're absolutely right, the button should be on the left.",
    "You asked me to add a `--verbose` flag to the CLI.",
    "The user wants the `Export` button to be blue.",
    "I've updated `README.md`.",
    "Committed and pushed to `origin/main`.",
    "Two issues: formatting and dialyzer errors.",
    "Here is the summary of the changes:",
    "Hello! How can I help you today?",
    "Done.",
    "",
    # guesses and questions
    "This might be caused by the cache in `store.py`.",
    "It looks like `redis` isn't running.",
    "I think `fetchUser` probably returns a promise here.",
    "Would you like me to use `zod` instead of `yup`?",
    "Should I remove the `legacy` folder because nothing imports it?",
    # advice and proposals
    "It is generally a good idea to write tests before refactoring.",
    "Always remember to validate user input.",
    "Consider using a message queue for better scalability.",
    "Keep the `SessionStart` hooks fast since they run on every session.",
    "We could use `lru_cache` here, or a hand-written dictionary.",
    "Benefits:\n\n- `Cache` is now cleaner and easier to maintain\n- Improved readability throughout the codebase",
    "Next steps:\n\n- Add more tests\n- Improve the documentation",
    "Options:\n\n1. Use `redis` because it is fast\n2. Use `memcached` instead of Redis to avoid licences",
    # code, quotes, headings, tables
    "```python\n# Note that `foo` must not be None because bar\nraise ValueError\n```",
    "> Decision: we use `pnpm` because it is faster",
    "## Decision: use Postgres because of JSON support",
    "| `parser.py` | reads the files because … |",
    "<system-reminder>\nNote that `CLAUDE.md` must be followed.\n</system-reminder>",
    "<thinking>\nI'll use `sqlite` because the user prefers it.\n</thinking>",
    # what nobody could place who was not there
    "That is because it returns `None`.",
    "It must be called before `init()`.",
    "They use `asyncio` for all of this.",
    "The function returns `None` in this case.",
    "The test expects `200` but got `404`.",
    "As shown above, `run()` calls `step()`.",
    "See line 42 of `app.py`, where `count` is reset.",
    "The `Config` class automatically creates entries for them.",
    # how the work of the moment goes
    "The file has been updated successfully.",
    "`main.py` now compiles without warnings.",
    "The build is failing because `foo.ts` has a type error.",
    "Still compiling the dependencies of `tokio`. Let me wait for it to finish.",
    "Fixed a linter error by removing an unused import (`cast`).",
    "Explain how `todo.py` stores its state — addressed.",
    "The `upload` method has too many statements (51, exceeding the limit of 50).",
    "- Updated the CHANGELOG.md file with the recent changes\n- Improved error handling for better debugging",
    "Removed the overrides for `.tool-input` since it's no longer used.",
    "全部完成。Decision: `api_remove_xdata` 已落地，跨两项目改动如下。",
    # what is about to be put right
    "`Ledger.close()` writes the footer before the rows are flushed. I need to move the flush up.",
    "The generated schema sets `price` to NOT NULL, which will fail on MySQL if rows exist. Let me rewrite it.",
    # fixes that nobody has made yet
    "**Root cause:** `sum_rows()` was fed strings by the CSV reader.\n\n**Fix:** Convert each cell before it is added.",
    "**Root cause:** `tz_of()` was given a naive date.\n\n**Fix:** Use `UTC` by default.\n\nShall I apply it?",
    "The root cause is that `Mailer.send()` never closes its socket.\n\nWould you like me to fix it?",
    "**Root cause:** `Basket.total()` adds the tax twice for `EU` orders.",
    "**Root cause:** The tests compare `path` with a string.\n\n**Fix:** `normalise()` now returns a `Path`.",
    "Key decisions:\n\n- Exports go through `tempfile` before they reach `out/`\n\nReady to proceed?",
    # steps of an account, and items that say little without what is above them
    "1. A request comes in:\n   - `begin()` sets `busy = true` and stores the place\n   - `finish()` returns early",
    "- `reset()` sets `count = 0`\n- `poll()` returns `false`",
    "- **Blocking calls:** cannot run on the UI thread because `Dispatcher` would deadlock.",
    "- **Safety:** `merge()` must never break an export, because the caller does not retry.",
    "### Limitations\n\n- Requires `libvips` 8.12 on the build machine",
    "The `limit` argument always falls back to the hardcoded default.",
    # lists of changes
    "- `api/routes.py` — Used `PathParam` to read the id on any platform\n"
    "- `api/cache.py` — When a key is short, fall back to the raw key instead of skipping it",
    "**Modified files:**\n\n- `app/menu.ts` — entry for exports in `buildMenu`, and its icon\n"
    "- `app/tray.ts` — the same entry in `trayItems`, and its label",
    "- `lib/a.ex` — keeps the tokens of all open sessions\n- `lib/b.ex` — updated to read the tokens from there\n"
    "- `lib/c.ex` — formats what is shown on the page",
    "Done:\n\n- Updated `a.py`, `b.py` and `c.py`\n- Created `tests/test_a.py` (12 tests)",
    # words for a note that cautions against nothing, and for a pattern that is none
    "Note that `Renderer` is the class that draws the charts of the report page.",
    "**Pattern:** Release 3 focused on the checkout (`cart.ts`, `pay.ts`).",
    "The project has a `Makefile` with a target called `docs`.",
    "All three call sites take `timeout` from the settings.",
    "### Patterns\n\n- A `for` loop with `try`/`except`, only one `break` at the end",
    "### Decisions\n\n- Tooling: `npm run cov` for the client, `make cov` for the server\n- (2) E2E against `compose`",
    # what a thing is by its nature
    "`FileNotFoundError` is a subclass of `OSError`, and some builds raise the latter.",
    # choices that everybody makes all day
    "Updated `client.py` to match the new signature of `fetch`.",
    "Changed the tests from `.dat` files to `.json` files because the loader reads `.json`.",
    # what stands under a plan, under what is to be done, or was only ticked off
    "# Search: A Plan\n\n## Architecture\n\n- `Crawler`: Fetches the pages of a site one by one\n"
    "- `IndexWriter`: Writes the words of a page to the index",
    "Files to delete:\n\n- `old/cart.py` - Kept for the former checkout page\n- `old/tax.py` - Rates of the last year",
    "Updated `TODO.md`.\n\n### Tasks Marked as Completed\n\n- Added `--dry-run` to the importer\n"
    "- Implemented paging in `list_users`",
    # pieces of something that is not named
    "- Removed the `limit` parameter\n- Added the new entries to the `defaults` dictionary",
    "- Moved the `return rows` statement out of the `with` block\n- Removed the `rows = []` assignment",
    "1. **README.md**:\n   - Added examples for `connect()`\n   - Added a table of flags for `serve`",
    "I added patterns:\n\n1. Text:\n   - Added split patterns\n   - Added join patterns\n   - Added trim patterns\n"
    "2. Numbers:\n   - Added rounding patterns\n   - Added DataFrame patterns",
    # no choice that lasts
    "Kept `BASE_URL` as it was since it was already correct.",
    "I'll keep the `cleanup` entry in `queue.txt` since it's a valid entry.",
    "I'll use `sed` to append the rule to `nginx.conf`, because the editor failed.",
    "Updated the `Pager.next` method to use `self._size` instead of `self.size`.",
    "Added `overflow: hidden` to the card to prevent scrolling on `Home`.",
    "Using `spawn` instead of `exec` for better process handling.",
    # what was wrong, and nothing of what put it right
    "The bug was that `TokenStore` compared expiry dates as strings.",
    "Fixed the `deploy.sh` script by removing the problematic `sync_all` function.",
    "**Problem:** `Grid` wanted a parameter `cols`, but two pages called it with `cols` instead.\n\n"
    "**Fix:** Both were corrected.",
    # what is about to be put right, a lint's findings, what only leads on, and what holds everywhere
    "`Pool.size` is defined as a float in `pool.py`. It is used as a count.\n\nI will change the type of `Pool.size`.",
    "mypy reports a few issues:\n\n- `render()` expects a `str` for `path`, but never gets one from `main()`",
    "The `stats` command gathers figures from each `Collector` through several mechanisms.",
    "`pip` typically uses the metadata of the wheel that was uploaded.",
    "`poetry` manages dependencies with incredible speed, while `tox` runs the `matrix`.",
    "`old_api.py` has also been removed.",
    "Here are the proposed changes. `Router` delegates each path to `Page`, which renders it.",
    # a machine's words
    "<summary>\nThe codebase uses `structlog` for all logging, never the standard `logging` module.\n</summary>",
    "<local-command-stdout>\nI found that `parse_config` silently ignores unknown keys.\n</local-command-stdout>",
]


@pytest.mark.row("P2", "decision", "error", "discovery", "architecture", "warning", "pattern", "task-progress")
@pytest.mark.parametrize("message, kind, kept", TOLD)
def test_a_message_leaves_what_it_tells(message: str, kind: str, kept: str) -> None:
    """The one finding of a message has its kind and its words, without those that only lead in."""
    found = [each for each in after(message) if kept in each.content]
    assert [each.kind for each in found] == [Kind(kind)]


@pytest.mark.row("P2")
@pytest.mark.parametrize("message", NOTHING)
def test_most_messages_leave_nothing(message: str) -> None:
    """Plans, chatter, guesses, advice, code and what leans on the session are no findings."""
    assert after(message) == ()


def test_the_tables_are_balanced() -> None:
    """Half of the labelled messages leave nothing, and there are enough of them."""
    assert len(TOLD) + len(NOTHING) >= 80
    assert len(NOTHING) >= len(TOLD)


@pytest.mark.row("P2")
def test_errors_say_that_they_were_resolved() -> None:
    """An error is told with what resolved it, which counts when it comes to keeping it."""
    for message, kind, _ in TOLD:
        assert all(each.resolves == (each.kind is Kind.ERROR) for each in after(message)), kind


# --- The user's turns ------------------------------------------------------------------------------------------------


@pytest.mark.row("K15")
def test_what_a_user_states_is_found_as_stated() -> None:
    """Corrections, decisions and preferences of the user's come with the position of their turn."""
    found = findings(
        heard(
            ("user", "no, we use pnpm here, not npm"),
            ("assistant", "Sorry, I'll use pnpm."),
            ("user", "let's go with Postgres"),
            ("user", "I prefer small commits"),
        )
    )
    assert [(each.kind, each.message) for each in found] == [
        (Kind.CORRECTION, 0),
        (Kind.DECISION, 2),
        (Kind.PREFERENCE, 3),
    ]
    assert all(each.stated for each in found)


@pytest.mark.row("K15")
@pytest.mark.row("P2", "preference")
def test_preferences_are_the_users_only() -> None:
    """An agent that talks like a user states nothing for good."""
    assert after("I prefer tabs. Always use `uv`, never pip. From now on run the linter first.") == ()


CHOICE = "Moved the sorting of `orders` to the browser instead of the database."


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param([("user", "sort them"), ("assistant", CHOICE), ("user", "/undo")], id="an undo"),
        pytest.param(
            [("user", "sort them"), ("assistant", CHOICE), ("user", "/diff"), ("user", "/undo")], id="a command between"
        ),
        pytest.param(
            [("user", "sort them"), ("assistant", CHOICE), ("user", "No, revert that please.")], id="in words"
        ),
        pytest.param(
            [("user", "sort them"), ("assistant", CHOICE), ("user", "Hm. Never mind, it was fine.")], id="never mind"
        ),
        pytest.param(
            [("user", "sort them"), ("assistant", CHOICE), ("user", "Let's go back to the database for that.")],
            id="the other one stays",
        ),
        pytest.param([("user", "Let's use fish instead of zsh"), ("user", "ok, keep using zsh then")], id="the user's"),
    ],
)
def test_what_was_taken_back_is_no_finding(turns: list[tuple[str, str]]) -> None:
    """An undo, a word of the user's or the opposite choice leaves nothing of what it takes back."""
    assert findings(heard(*turns)) == ()


def test_the_opposite_choice_takes_the_place_of_the_first() -> None:
    """Of two choices that are each other's opposite the later one stands."""
    later = "Using the database for the sorting instead of doing it in the browser, which froze `orders`."
    found = findings(heard(("user", "sort them"), ("assistant", CHOICE), ("user", "it hangs"), ("assistant", later)))
    assert [each.content for each in found] == [later]


@pytest.mark.parametrize(
    "asked",
    [
        "Now add an undo that reverts the last column of the table.",
        "Roll back the last migration on staging.",
        "Revert orders to draft when payment fails.",
    ],
)
def test_a_request_about_undoing_takes_nothing_back(asked: str) -> None:
    """What a program is to undo is work like any other."""
    found = findings(heard(("user", "sort them"), ("assistant", CHOICE), ("user", asked)))
    assert [each.content for each in found] == [CHOICE]


def test_an_undo_takes_back_one_request() -> None:
    """What was settled before it stands."""
    other = "Switched from `moment` to `date-fns` to avoid shipping locale data."
    turns = [("user", "dates"), ("assistant", other), ("user", "sort them"), ("assistant", CHOICE), ("user", "/undo")]
    assert [each.content for each in findings(heard(*turns))] == [other]


def test_an_answer_to_the_agents_question_is_a_decision() -> None:
    """What the user picks when a tool asks is kept, unless it is about how to go on."""
    result = (
        'User has answered your questions: "Which date library should the parser use?"="date-fns". '
        '"Shall I proceed with the commit?"="Yes". You can now continue.'
    )
    found = findings(called("AskUserQuestion", {"questions": []}, result))
    assert [(each.kind, each.content) for each in found] == [
        (Kind.DECISION, "Which date library should the parser use? date-fns")
    ]


# --- What Recollect injected -----------------------------------------------------------------------------------------

MARKED = [
    "<recollect>\n{}\n</recollect>",
    '<recollect source="memory" nonce="1f">\n{}\n</recollect>',
    "<project_memory>\n{}\n</project_memory>",
    "&lt;recollect&gt;\n{}\n&lt;/recollect&gt;",
    "[recollect:begin 1f]\n{}\n[recollect:end 1f]",
    "<RECOLLECT>{}</RECOLLECT>",
    "<recollect>\n{}",
]


@pytest.mark.row("X6")
@pytest.mark.parametrize("marks", MARKED)
@pytest.mark.parametrize(
    "role, words",
    [
        ("assistant", "The codebase uses `structlog` for all logging, never the standard `logging` module."),
        ("user", "never push to main"),
    ],
)
def test_what_recollect_injected_is_never_found_again(marks: str, role: str, words: str) -> None:
    """Neither in a turn of anybody's, nor in the turn of one who repeats it, while the same words without marks are."""
    assert findings(heard((role, words))) != ()
    assert findings(heard((role, marks.format(words)))) == ()
    assert findings(heard(("user", marks.format(words)), ("assistant", words), ("user", "go on with the parser"))) == ()


@pytest.mark.row("X6")
def test_an_injected_turn_is_not_read() -> None:
    """A turn that nobody said leaves nothing, and nobody who repeats it does."""
    words = "`get_user()` returns `None` for archived accounts."
    injected = Said(role="user", text=f"never push to main\n{words}", injected=True, position=0)
    assert findings([injected]) == ()
    assert findings([injected, *called("Bash", {"command": "ls"}, said=words, at=1)]) == ()


@pytest.mark.row("X6")
def test_what_the_memory_answered_is_not_found_again() -> None:
    """An agent that repeats what it was told from memory has found nothing."""
    words = "`get_user()` returns `None` for archived accounts."
    asked = called("mcp__memory__memory_query", {"query": "users"}, f"[id:4] {words}")
    told = [Said(role="assistant", text=f"Good to know: {words}", position=9)]
    assert findings([*asked, *told]) == ()
    assert findings(told) != ()


def test_words_around_the_marks_are_read() -> None:
    """What stands before and after something injected is the author's own."""
    found = findings(heard(("user", "<recollect>old notes</recollect>\nnever push to main")))
    assert [each.content for each in found] == ["never push to main"]


# --- Files that were changed -----------------------------------------------------------------------------------------

PATCH = """*** Begin Patch
*** Add File: src/shop/cart.py
+class Cart:
+    def total(self) -> int:
+        return 0
*** Update File: src/shop/models.py
@@
-def old_price(item):
-    return item.price
+def price(item):
+    return item.price
*** End Patch"""

WRITTEN = "class Cart:\n    def total(self) -> int:\n        return 0\n"

EDITS: list[tuple[str, str, Json, str]] = [
    (
        "Claude Code, an edit",
        "Edit",
        {
            "file_path": "/w/shop/src/cart.py",
            "old_string": "x = 1",
            "new_string": "x = 1\n\ndef total(cart):\n    pass",
        },
        "Changed `src/cart.py`: added `total`.",
    ),
    (
        "Claude Code, several edits",
        "MultiEdit",
        {
            "file_path": "/w/shop/src/cart.py",
            "edits": [
                {"old_string": "def worn():\n    pass", "new_string": ""},
                {"old_string": "x", "new_string": "class Cart:\n    pass"},
            ],
        },
        "Changed `src/cart.py`: added `Cart`, removed `worn`.",
    ),
    (
        "Claude Code, a new file",
        "Write",
        {"file_path": "/w/shop/src/cart.py", "content": WRITTEN},
        "Created `src/cart.py`: defines `Cart`, `total`.",
    ),
    (
        "Codex, a patch",
        "apply_patch",
        {"input": PATCH},
        "Changes in `src/shop/` — `cart.py` (new): defines `Cart`, `total`; "
        "`models.py`: added `price`, removed `old_price`.",
    ),
    (
        "Codex, a patch as plain text",
        "apply_patch",
        PATCH,
        "Changes in `src/shop/` — `cart.py` (new): defines `Cart`, `total`; "
        "`models.py`: added `price`, removed `old_price`.",
    ),
    (
        "Codex, a patch through the shell",
        "shell",
        {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]},
        "Changes in `src/shop/` — `cart.py` (new): defines `Cart`, `total`; "
        "`models.py`: added `price`, removed `old_price`.",
    ),
    (
        "Gemini, an edit",
        "replace",
        {"file_path": "/w/shop/src/cart.ts", "old_string": "", "new_string": "export function total(cart: Cart) {\n}"},
        "Changed `src/cart.ts`: added `total`.",
    ),
    (
        "Gemini, a new file",
        "write_file",
        {
            "file_path": "src/cart.rs",
            "content": "pub struct Cart {}\nimpl Cart {\n    pub fn total(&self) -> u32 { 0 }\n}",
        },
        "Created `src/cart.rs`: defines `Cart`, `total`.",
    ),
    (
        "OpenCode, an edit",
        "edit",
        {"filePath": "/w/shop/src/cart.go", "oldString": "x", "newString": "func Total(c Cart) int {\n\treturn 0\n}"},
        "Changed `src/cart.go`: added `Total`.",
    ),
    (
        "OpenCode, a patch",
        "patch",
        {"patchText": PATCH},
        "Changes in `src/shop/` — `cart.py` (new): defines `Cart`, `total`; "
        "`models.py`: added `price`, removed `old_price`.",
    ),
]


@pytest.mark.row("P2", "file-change")
@pytest.mark.parametrize("agent, tool, given_input, content", EDITS, ids=[each[0] for each in EDITS])
def test_the_edits_of_every_agent_are_read(agent: str, tool: str, given_input: Json, content: str) -> None:
    """Files that were changed are told with what became of them, whichever agent changed them."""
    changes = of_kind(findings(called(tool, given_input), root="/w/shop"), Kind.FILE_CHANGE)
    assert [each.content for each in changes] == [content], agent
    assert all(path in content or path.rpartition("/")[2] in content for path in changes[0].files)


def edit(path: str, before: str, now: str, at: int, said: str = "", result: str = "ok") -> list[Said]:
    return called("Edit", {"file_path": path, "old_string": before, "new_string": now}, result, said=said, at=at)


@pytest.mark.row("P2")
def test_many_edits_are_one_finding() -> None:
    """A file that was edited again and again, and its neighbours, are told once, with what came of it."""
    turns = [
        *edit("/w/app/src/a.py", "", "def one():\n    pass", 0),
        *edit("/w/app/src/a.py", "def one():\n    pass", "def two():\n    pass", 3),
        *edit("/w/app/src/b.py", "", "class Three:\n    pass", 6),
        *edit("/w/app/docs/c.md", "", "## Setup\n\ntext", 9),
    ]
    found = findings(turns, root="/w/app")
    assert [each.content for each in found] == [
        "Changes in `src/` — `a.py`: added `two`; `b.py`: added `Three`.",
        "Changed `docs/c.md`: added `Setup`.",
    ]
    assert found[0].files == ("src/a.py", "src/b.py")
    assert "python" in found[0].tags


def test_a_file_that_was_there_before_is_not_created() -> None:
    """A file that was read before it was written anew has changed, and only what is new in it is told."""
    turns = [
        *called("Read", {"file_path": "/w/app/a.py"}, "     1→def one():\n     2→    pass", at=0),
        *called("Write", {"file_path": "/w/app/a.py", "content": "def one():\n    pass\ndef two():\n    pass"}, at=3),
    ]
    assert [each.content for each in findings(turns, root="/w/app")] == ["Changed `a.py`: added `two`."]


def written(path: str, text: str, at: int, said: str = "", result: str = "ok") -> list[Said]:
    return called("write_file", {"file_path": path, "content": text}, result, said=said, at=at)


ONE, TWO = "def one():\n    pass\n", "def two():\n    pass\n"
CASES = "def test_one():\n    pass\ndef test_two():\n    pass\n"
OVERWROTE = "Successfully overwrote file: /w/app/a.py."


@pytest.mark.parametrize(
    "turns, content",
    [
        pytest.param(written("/w/app/a.py", ONE + TWO, 0, result=OVERWROTE), "Rewrote `a.py`: defines `one`, `two`."),
        pytest.param(
            written("/w/app/a.py", ONE + TWO, 0, "Now add paging to the list of users:", OVERWROTE),
            "Changed `a.py`: add paging to the list of users.",
        ),
        pytest.param(
            [
                *called("read_file", {"file_path": "/w/app/a.py", "start_line": 1, "end_line": 9}, ONE),
                *written("/w/app/a.py", ONE + TWO, 3),
            ],
            "Rewrote `a.py`: defines `one`, `two`.",
            id="only a piece of it was seen",
        ),
        pytest.param(
            [*called("Read", {"file_path": "/w/app/a.py"}, ONE), *written("/w/app/a.py", TWO, 3)],
            "Changed `a.py`: added `two`, removed `one`.",
            id="all of it was seen",
        ),
        pytest.param(
            [*called("Bash", {"command": "git mv lib pkg"}), *written("/w/app/pkg/a.py", ONE, 3)],
            "Rewrote `pkg/a.py`: defines `one`.",
            id="its folder was moved",
        ),
        pytest.param(
            [*written("/w/app/a.py", ONE, 0), *called("Bash", {"command": "mkdir -p lib && mv a.py lib/b.py"}, at=3)],
            "Created `lib/b.py`: defines `one`.",
            id="it was moved",
        ),
        pytest.param(
            [
                *called("Bash", {"command": "git mv lib pkg"}),
                *written("/w/app/pkg/a.py", ONE, 3, result="Successfully created and wrote to new file: a.py"),
            ],
            "Created `pkg/a.py`: defines `one`.",
            id="new in a folder that was moved",
        ),
        pytest.param(
            [*called("Bash", {"command": "mv b.md notes/"}), *written("/w/app/notes/a.py", ONE, 3)],
            "Created `notes/a.py`: defines `one`.",
            id="another file was moved there",
        ),
        pytest.param(
            [
                *written("/w/app/test_a.py", CASES, 0),
                *written("/w/app/test_a.py", CASES + "def test_three():\n    pass\n", 3, result=OVERWROTE),
            ],
            "Created `test_a.py`: 3 tests.",
            id="tests are counted once",
        ),
        pytest.param(
            edit("/w/app/Makefile", "a:", "b:", 0, "I'll make the script executable and add `b` to the Makefile."),
            "Changed `Makefile`: add `b` to the Makefile.",
            id="what is said of this file",
        ),
    ],
)
def test_a_file_that_is_written_anew_is_told_as_what_it_is(turns: list[Said], content: str) -> None:
    """Names are new only where it is known what was there."""
    assert [each.content for each in findings(turns, root="/w/app")] == [content]


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(edit("/w/app/a.py", "", "def one():\n    pass", 0, result="<tool_use_error>nope"), id="failed"),
        pytest.param(
            edit("/w/app/a.py", "x", ONE, 0, result='{"error": "Failed to edit, 0 occurrences found in a.py"}'),
            id="found nothing to replace",
        ),
        pytest.param(edit("/w/app/a.py", "x", ONE, 0, result="Hunk #1 FAILED at 3."), id="a patch that did not apply"),
        pytest.param(
            [
                *edit("/w/app/main.css", "red", "blue", 0, "Let me change the colour of links to blue:"),
                *edit("/w/app/main.css", "blue", "red", 3),
            ],
            id="changed back",
        ),
        pytest.param(
            [*edit("/w/app/a.py", "x", ONE, 0), *called("Bash", {"command": "git checkout -- a.py"}, at=3)],
            id="put back",
        ),
        pytest.param(
            edit("/w/app/a.css", "red", "blue", 0, "Let me add the new colour to `theme.css`:"), id="another file's aim"
        ),
        pytest.param(edit("/tmp/a.py", "", "def one():\n    pass", 0), id="outside the project"),
        pytest.param(edit("/w/app/tmp/a.py", "", "def one():\n    pass", 0), id="in a temporary folder"),
        pytest.param(
            [
                *called("Write", {"file_path": "/w/app/debug.py", "content": "def one():\n    pass"}),
                *called("Bash", {"command": "python debug.py && rm debug.py"}, at=3),
            ],
            id="removed again",
        ),
        pytest.param(
            called("memory", {"command": "create", "path": "/memories/a.py", "file_text": "def one(): pass"}),
            id="a memory",
        ),
        pytest.param(edit("/w/app/a.py", "x = 1", "x = 2", 0, said="Let me fix that:"), id="nothing tells what"),
    ],
)
def test_changes_in_passing_are_left_out(turns: list[Said]) -> None:
    """What did not happen, did not stay or cannot be told is no finding."""
    assert of_kind(findings(turns, root="/w/app"), Kind.FILE_CHANGE) == []


@pytest.mark.parametrize(
    "said",
    [
        "Let me add the attribute first.",
        "Now let me implement Task 2 of the plan and update the renderer in parallel.",
        "Let me update the missing cases of the parser:",
    ],
)
def test_an_announcement_that_leans_on_the_plan_tells_nothing(said: str) -> None:
    """What is told of a file by the words before an edit must make sense without the plan that they are about."""
    turns = edit("/w/app/main.css", "a { }", "a { color: red }", 0, said=said)
    assert findings(turns, root="/w/app") == ()


def test_what_the_agent_announced_tells_of_an_edit_without_names() -> None:
    """Where an edit defines nothing, the words that announced it tell what it was for."""
    turns = edit("/w/app/main.css", "a { }", "a { color: red }", 0, said="Now let me add hover colours to the links:")
    assert [each.content for each in findings(turns, root="/w/app")] == [
        "Changed `main.css`: add hover colours to the links."
    ]


def test_without_a_root_paths_are_told_from_the_common_folder() -> None:
    """The folder that all files lie in stands for the project, and is cut out of what is told."""
    turns = [
        *called("Read", {"file_path": "/home/me/shop/README.md"}, "# Shop", at=0),
        *edit("/home/me/shop/src/cart.py", "", "def total():\n    pass", 3),
        Said(role="assistant", text="`/home/me/shop/src/cart.py` is the only module that knows taxes.", position=9),
    ]
    assert [each.content for each in findings(turns)] == [
        "Changed `src/cart.py`: added `total`.",
        "`src/cart.py` is the only module that knows taxes.",
    ]


# --- Where the work stands -------------------------------------------------------------------------------------------

PLANS: list[tuple[str, Json]] = [
    (
        "TodoWrite",
        {
            "todos": [
                {"content": "Add `Cart.total` to the API", "status": "completed"},
                {"content": "Move prices to `pricing.py`", "status": "completed"},
                {"content": "Run the tests", "status": "completed"},
                {"content": "Cache totals in Redis for `GET /cart`", "status": "in_progress"},
                {"content": "Expose `GET /cart/total`", "status": "pending"},
            ]
        },
    ),
    (
        "update_plan",
        {
            "plan": [
                {"step": "Add `Cart.total` to the API", "status": "completed"},
                {"step": "Move prices to `pricing.py`", "status": "completed"},
                {"step": "Cache totals in Redis for `GET /cart`", "status": "in_progress"},
                {"step": "Expose `GET /cart/total`", "status": "pending"},
            ]
        },
    ),
    (
        "write_todos",
        {
            "todos": [
                {"description": "Add `Cart.total` to the API", "status": "completed"},
                {"description": "Move prices to `pricing.py`", "status": "completed"},
                {"description": "Cache totals in Redis for `GET /cart`", "status": "pending"},
                {"description": "Expose `GET /cart/total`", "status": "pending"},
            ]
        },
    ),
]
STANDS = (
    "Done: Add `Cart.total` to the API; Move prices to `pricing.py`. "
    "Remaining: Cache totals in Redis for `GET /cart`; Expose `GET /cart/total`."
)


@pytest.mark.row("P2")
@pytest.mark.parametrize("tool, plan", PLANS)
def test_the_plans_of_every_agent_are_read(tool: str, plan: Json) -> None:
    """What was ticked off and what was left is told from the last state of the plan."""
    first: Json = {"todos": [{"content": "Add `Cart.total` to the API", "status": "pending"}]}
    found = findings([*called(tool, first), *called(tool, plan, at=3)])
    assert [(each.kind, each.content) for each in found] == [(Kind.TASK_PROGRESS, STANDS)]


def test_a_plan_that_is_written_item_by_item_is_read() -> None:
    """Items with numbers of their own are ticked off by their numbers."""
    texts = [
        "Add `Cart.total` to the API",
        "Move prices to `pricing.py`",
        "Cache totals in Redis",
        "Expose `GET /cart`",
    ]
    turns: list[Said] = []
    for at, text in enumerate(texts):
        made = called("TaskCreate", {"subject": text}, f"Task #{at + 1} created successfully", at=3 * at)
        turns += made
    for at, number in enumerate(("1", "2")):
        turns += called("TaskUpdate", {"taskId": number, "status": "completed"}, at=20 + 3 * at)
    assert [each.content for each in findings(turns)] == [
        "Done: Add `Cart.total` to the API; Move prices to `pricing.py`. "
        "Remaining: Cache totals in Redis; Expose `GET /cart`."
    ]


# --- Commands that failed --------------------------------------------------------------------------------------------

MISSING = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'dateparser'"


def ran(*commands: tuple[str, str]) -> list[Said]:
    """A session that runs commands, with what each of them printed."""
    return [
        turn
        for at, (command, printed) in enumerate(commands)
        for turn in called("Bash", {"command": command}, printed, at=3 * at)
    ]


@pytest.mark.row("P2")
@pytest.mark.parametrize(
    "turns, content",
    [
        (
            ran(("cd /w && python debug.py", MISSING), ("uv run python debug.py", "ok")),
            "`python` fails with “ModuleNotFoundError: No module named 'dateparser'”; `uv run python` works.",
        ),
        (
            ran(("pytest -q", MISSING), ("uv pip install dateparser", "ok"), ("pytest -q", "9 passed")),
            "`pytest` fails with “ModuleNotFoundError: No module named 'dateparser'”; "
            "run `uv pip install dateparser` first.",
        ),
        (
            ran(("vitest run", "sh: vitest: command not found"), ("npx vitest run 2>&1 | tail", "3 passed")),
            "`vitest` fails with “vitest: command not found”; `npx vitest` works.",
        ),
    ],
)
def test_a_command_that_works_otherwise_is_told(turns: list[Said], content: str) -> None:
    """A command that fails for want of something around it is told with what made it work."""
    (found,) = findings(turns)
    assert (found.kind, found.resolves, found.content) == (Kind.ERROR, True, content)


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(ran(("pytest", MISSING), ("pytest", MISSING)), id="never worked"),
        pytest.param(ran(("pytest", MISSING), ("pip install klepto", "ok"), ("pytest", "ok")), id="another module"),
        pytest.param(ran(("pytest -q", "1 failed"), ("uv run pytest -q", "ok")), id="an ordinary failure"),
        pytest.param(ran(("ruff check && pytest", MISSING), ("uv run ruff check", "ok")), id="several commands"),
        pytest.param(ran(("pytest a.py", MISSING), ("pytest b.py", "ok")), id="not the same"),
    ],
)
def test_failures_that_teach_nothing_are_left_out(turns: list[Said]) -> None:
    """A failure whose remedy is not known for sure is no finding."""
    assert of_kind(findings(turns), Kind.ERROR) == []


# --- Every finding ---------------------------------------------------------------------------------------------------


@pytest.mark.row("P2")
def test_the_same_is_found_once() -> None:
    """What is told again, in the same words or in nearly the same, is one finding, at its first place."""
    words = "`get_user()` returns `None` for archived accounts."
    found = findings(
        heard(
            ("assistant", words),
            ("user", "go on"),
            ("assistant", f"Great! So {words}"),
            ("assistant", "Indeed, `get_user()` only returns `None` for archived accounts."),
            ("assistant", "`get_team()` returns `None` for archived accounts."),
        )
    )
    assert [(each.content, each.message) for each in found] == [
        (words, 0),
        ("`get_team()` returns `None` for archived accounts.", 4),
    ]


def test_a_users_opposites_are_both_kept() -> None:
    """Statements that differ in one word are not taken for one."""
    found = findings(heard(("user", "never push to main"), ("user", "never push to prod")))
    assert [each.content for each in found] == ["never push to main", "never push to prod"]


def test_files_and_tags_come_from_the_words() -> None:
    """A finding knows the files it names, also by their bare names, and the tools it is about."""
    turns = [
        *called("Read", {"file_path": "/w/app/src/db/pool.py"}, "x", at=0),
        Said(role="assistant", text="`pool.py` calls `pytest` hooks from `tests/conftest.py` on import.", position=4),
    ]
    (found,) = findings(turns, root="/w/app")
    assert found.files == ("src/db/pool.py", "tests/conftest.py")
    assert found.tags == ("pytest", "python")


@pytest.mark.row("J22")
def test_a_whole_session_is_told_in_its_order() -> None:
    """Findings of all sorts come in the order of the messages they are from."""
    turns = [
        Said(role="user", text="never touch the generated files", position=0),
        *edit("/w/app/src/a.py", "", "def one():\n    pass", 1),
        Said(role="assistant", text="It turns out that `make gen` overwrites `src/gen/api.py`.", position=4),
        Said(role="user", text="thanks", position=5),
    ]
    found = findings(turns, root="/w/app")
    assert [each.kind for each in found] == [Kind.NEGATIVE, Kind.FILE_CHANGE, Kind.DISCOVERY]
    assert [each.message for each in found] == [0, 2, 4]


def test_nothing_comes_of_nothing() -> None:
    """A session without turns leaves nothing."""
    assert findings([]) == ()


# --- Any input at all ------------------------------------------------------------------------------------------------

FRAGMENTS = [
    *("`a_b`", "`", "**", "because ", "instead of ", "I'll use ", "Root cause: ", "Fix: ", "- ", "1. ", "## ", "\n"),
    *("```\n", "> ", "| ", "the ", "`x.py`", ": ", ". ", "? ", "<recollect>", "</recollect>", "now ", "All ", "must "),
    *("*** Begin Patch\n", "*** Update File: a.py\n", "+def a():\n", "é", "ǂ", "漢字", "\x00", "\ud800", "’", "⚠️ "),
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join) | st.text(max_size=200)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                "file_path content old_string new_string edits todos plan status command input step path taskId".split()
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
TURNS = st.lists(
    st.builds(
        Said,
        role=st.sampled_from(["user", "assistant", "tool_call", "tool_result"]),
        text=TEXTS,
        name=st.sampled_from(["", "Bash", "Edit", "TaskCreate", "AskUserQuestion", "memory_query"]),
        input=JSONS,
        injected=st.booleans(),
        position=st.integers(0, 50),
    ),
    max_size=12,
)


@pytest.mark.row("P2", "fingerprint", "length")
@given(turns=TURNS, root=st.sampled_from(["", "/", "/w/app", "C:\\w", "a"]))
def test_any_session_is_read(turns: list[Said], root: str) -> None:
    """No session is refused, and whatever is found is short, said by somebody, and found once and for all."""
    found = findings(turns, root=root)
    assert found == findings(turns, root=root)
    assert all(0 < len(each.content) <= LONGEST for each in found)
    assert all(each.content == each.content.strip() for each in found)
    assert len({fingerprint(each.content) for each in found}) == len(found)
    assert {each.message for each in found} <= {turn.position for turn in turns} | {0}
    assert all(len(each.tags) <= 5 and len(each.files) <= 12 for each in found)


@given(words=TEXTS)
def test_nothing_injected_is_found_in_any_words(words: str) -> None:
    """Whatever Recollect injects, no finding comes of it, by itself or repeated word for word."""
    marked = f"<recollect>{words}</recollect>" if "recollect" not in words else f"<recollect>{words}"
    assert findings(heard(("user", marked))) == ()
    assert findings([Said(role="assistant", text=words, injected=True, position=0)]) == ()


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "`",
            "a_",
            "a/",
            "- x\n",
            "**",
            "because ",
            "[a](",
            "*** Begin Patch\n",
            "a.b ",
            "# ",
            "1. ",
            "\n",
            "the `a` ",
        ),
        *("A", "aB", "Note that ", ": ", "<recollect>", "<think>", "x: command not found\n", '"a"="b', "def a():\n"),
        *("The problem was that ", "`a`: does this and that\n", "✅ ", "-", "| ", "```\n", "rm a;"),
    ],
)
def test_a_megabyte_takes_linear_time(piece: str) -> None:
    """Whatever a million characters consist of, and wherever they stand, they are read in a few seconds."""
    text = piece * (1_000_000 // len(piece))
    inputs: list[Json] = [{"file_path": "/w/a.py", "old_string": text, "new_string": text[::-1]}, {"command": text}]
    turns = [Said(role="assistant", text=text, position=0)]
    for at, given_input in enumerate(inputs):
        turns += called("Edit", given_input, text, at=3 * at + 1)
    started = process_time()
    findings(turns)
    assert process_time() - started < 5
