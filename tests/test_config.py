"""Settings: every one can be given in three ways, every mistake is named, nothing is guessed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.config import Declared, Loaded, Settings, declared, home_folder, load, parse_value
from recollect.embed import EMBEDDERS
from recollect.errors import ConfigError
from recollect.policy.rank import PROFILES

TEXTS = {
    "embed.url": "http://localhost:11434/v1",
    "embed.remote": "nomic-embed-text",
    "embed.key_env": "OPENAI_API_KEY",
    "prune.schedule": "30 5 * * mon-fri",
    "garden.schedule": "0 3 1 * *",
    "session.schedule": "*/30 2-5 * * *",
    "backup.schedule": "0 1 * * 6",
    "governor.zone": "Europe/Berlin",
    "judge.url": "http://127.0.0.1:11434",
    "judge.model": "qwen3:4b",
    "judge.key_env": "OPENAI_API_KEY",
    "judge.command": "~/bin/claude",
    "mirror.path": "notes/MEMORY.md",
    "session.path": "~/sessions",
}
KEYS = st.sampled_from([setting.key for setting in declared()])

each_setting = pytest.mark.parametrize("setting", declared(), ids=lambda setting: setting.key)


def another(setting: Declared) -> object:
    """A value the setting can take that is not its default, wherever it can take more than one."""
    if setting.choices:
        return setting.choices[-1] if setting.choices[-1] != setting.default else setting.choices[0]
    match setting.default:
        case bool():
            return not setting.default
        case int():
            return setting.default + 1
        case float():
            return max(setting.default / 2, setting.least)
        case None if setting.kind in ("int", "float"):
            return 40 if setting.kind == "int" else 40.5
    return TEXTS[setting.key]


def toml(key: str, value: object) -> str:
    """A config.toml that sets one key."""
    section, _, name = key.partition(".")
    return f"[{section}]\n{name} = {json.dumps(value)}\n"


def from_file(home: Path, text: str | bytes, env: dict[str, str] | None = None) -> Loaded:
    """What is loaded when config.toml holds this text."""
    (home / "config.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(home, env=env or {})


# The table


def test_without_any_file_or_variable_every_setting_has_its_default(tmp_path: Path) -> None:
    """An empty home and an empty environment are all it takes."""
    loaded = load(tmp_path / "not-there", env={})
    assert loaded.settings == Settings()
    assert {setting.key: loaded.value(setting.key) for setting in declared()} == {
        setting.key: setting.default for setting in declared()
    }
    assert loaded.sources == {setting.key: "default" for setting in declared()}


@each_setting
def test_every_setting_is_declared_completely(setting: Declared) -> None:
    """Meaning is a sentence, the section one word, the type of the default the declared one."""
    section, _, name = setting.key.partition(".")
    assert re.fullmatch(r"[a-z]+", section)
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", name)
    assert re.fullmatch(r"[A-Z].+[^.]\.", setting.meaning)
    assert setting.env == f"RECOLLECT_{section}_{name}".upper() != "RECOLLECT_HOME"
    assert setting.type
    assert type(setting.default).__name__ == setting.kind or (setting.optional and setting.default is None)


def test_no_two_settings_share_an_environment_variable() -> None:
    """Underscores in keys never make two names the same."""
    assert len({setting.env for setting in declared()}) == len(declared())


@each_setting
def test_a_default_is_a_value_its_own_setting_takes(tmp_path: Path, setting: Declared) -> None:
    """Writing a default out changes nothing but where it came from."""
    loaded = load(tmp_path, env={}, overrides={setting.key: setting.default})
    assert loaded.settings == Settings()
    assert loaded.sources[setting.key] == "override"


@pytest.mark.parametrize(
    ("key", "type_", "allowed"),
    [
        ("write.content_limit", "a whole number", "at least 1"),
        ("recall.deadline_ms", "a whole number", "from 1 to 60,000"),
        ("cascade.edge_decay", "a number", "from 0 to 1"),
        ("prune.max_size", "a whole number or a size such as 100MB", "at least 0"),
        ("recall.search", "a choice", "one of fts5, hybrid"),
        ("flush.enabled", "true or false", ""),
        ("embed.model", "a choice", "one of static, minilm, http"),
        ("embed.url", "text, or empty for none", ""),
        ("embed.key_env", "text", ""),
        ("embed.timeout", "a number", "at least 0.1"),
        ("recall.gate", "a number", "from 0 to 1"),
        ("recall.vector_weight", "a number", "from 0 to 100"),
        ("store.format", "a choice", "one of sqlite, json"),
        ("mirror.path", "a path, or empty for none", ""),
    ],
)
def test_a_declaration_says_in_words_what_it_takes(key: str, type_: str, allowed: str) -> None:
    """Listings and documentation are written from these words."""
    (setting,) = [setting for setting in declared() if setting.key == key]
    assert (setting.type, setting.allowed) == (type_, allowed)


@pytest.mark.parametrize(
    ("key", "default"),
    [
        pytest.param("mirror.path", None, marks=pytest.mark.row("B12", "memory-path")),
        pytest.param("mirror.limit", 50_000, marks=pytest.mark.row("B12", "max-memory-size")),
        pytest.param("session.path", None, marks=pytest.mark.row("B12", "sessions-path")),
        pytest.param("session.retention_days", 30, marks=pytest.mark.row("B12", "session-retention-days")),
        pytest.param("compaction.threshold", 100_000, marks=pytest.mark.row("B12", "compaction-threshold")),
        pytest.param("compaction.keep_recent", 10, marks=pytest.mark.row("B12", "compaction-keep-recent")),
        pytest.param("flush.enabled", True, marks=pytest.mark.row("B12", "flush-enabled")),
        pytest.param("flush.threshold", 80_000, marks=pytest.mark.row("B12", "flush-threshold")),
        # Two defaults are ours on purpose: search is hybrid, with the built-in model; "fts5" remains a choice.
        pytest.param("recall.search", "hybrid", marks=pytest.mark.row("B12", "search-provider")),
        pytest.param("embed.model", "static", marks=pytest.mark.row("B12", "vector-model")),
        pytest.param("working.tool_results", 5, marks=pytest.mark.row("B12", "tool-result-retention")),
    ],
)
def test_a_memory_configuration_key_exists_under_its_meaning(tmp_path: Path, key: str, default: object) -> None:
    """Each has its default, and can be set in the file."""
    (setting,) = [setting for setting in declared() if setting.key == key]
    assert load(tmp_path, env={}).value(key) == setting.default == default
    assert from_file(tmp_path, toml(key, another(setting))).value(key) == another(setting)


@pytest.mark.row("B12", "search-provider")
@pytest.mark.parametrize("provider", ["fts5", "hybrid"])
def test_search_can_use_words_alone_or_words_and_meaning(tmp_path: Path, provider: str) -> None:
    """Both of the providers can be chosen."""
    assert from_file(tmp_path, toml("recall.search", provider)).settings.recall.search == provider


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_every_ranking_profile_can_be_chosen(tmp_path: Path, name: str) -> None:
    """The setting knows the profiles that there are, and no others."""
    assert from_file(tmp_path, toml("recall.profile", name)).settings.recall.profile == name
    (setting,) = [setting for setting in declared() if setting.key == "recall.profile"]
    assert set(setting.choices) == set(PROFILES)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_every_embedding_model_can_be_chosen(tmp_path: Path, name: str) -> None:
    """The setting knows the models that there are, and no others."""
    assert from_file(tmp_path, toml("embed.model", name)).settings.embed.model == name
    (setting,) = [setting for setting in declared() if setting.key == "embed.model"]
    assert set(setting.choices) == set(EMBEDDERS)


def test_the_key_of_an_endpoint_may_be_in_the_environment(tmp_path: Path) -> None:
    """Under the name that the settings give it by default."""
    settings = Settings()
    assert load(tmp_path, env={settings.embed.key_env: "sk-secret"}).settings == settings


def test_settings_cannot_be_changed_once_loaded(tmp_path: Path) -> None:
    """Whoever holds settings holds the same ones for good."""
    settings = load(tmp_path, env={}).settings
    with pytest.raises(FrozenInstanceError):
        settings.write.content_limit = 1  # type: ignore[misc]


# Three ways to set one


@each_setting
def test_every_setting_can_be_set_in_the_file(tmp_path: Path, setting: Declared) -> None:
    """The file is the source that is reported."""
    loaded = from_file(tmp_path, toml(setting.key, another(setting)))
    assert loaded.value(setting.key) == another(setting)
    assert loaded.sources[setting.key] == "config.toml"


@each_setting
def test_every_setting_can_be_set_in_the_environment(tmp_path: Path, setting: Declared) -> None:
    """The variable is the source that is reported."""
    loaded = load(tmp_path, env={setting.env: str(another(setting)), "PATH": "/bin", "RECOLLECT_HOME": "/elsewhere"})
    assert loaded.value(setting.key) == another(setting)
    assert type(loaded.value(setting.key)) is type(another(setting))
    assert loaded.sources[setting.key] == setting.env


@each_setting
def test_every_setting_can_be_overridden_by_the_caller(tmp_path: Path, setting: Declared) -> None:
    """Only the setting named has another source."""
    loaded = load(tmp_path, env={}, overrides={setting.key: another(setting)})
    assert loaded.value(setting.key) == another(setting)
    assert loaded.sources[setting.key] == "override"


def test_an_override_beats_the_environment_which_beats_the_file_which_beats_the_default(tmp_path: Path) -> None:
    """Each setting is decided by itself, so all four sources can be at work at once."""
    text = "[write]\ncontent_limit = 1\ntags_limit = 1\ntag_length = 1\n"
    env = {"RECOLLECT_WRITE_CONTENT_LIMIT": "2", "RECOLLECT_WRITE_TAGS_LIMIT": "2"}
    (tmp_path / "config.toml").write_text(text)
    loaded = load(tmp_path, env=env, overrides={"write.content_limit": 3})
    write = loaded.settings.write
    assert (write.content_limit, write.tags_limit, write.tag_length, write.paths_limit) == (3, 2, 1, 64)
    assert [
        loaded.sources[f"write.{name}"] for name in ("content_limit", "tags_limit", "tag_length", "paths_limit")
    ] == [
        "override",
        "RECOLLECT_WRITE_TAGS_LIMIT",
        "config.toml",
        "default",
    ]


def test_a_value_that_is_overruled_must_still_be_right(tmp_path: Path) -> None:
    """A mistake in the file does not hide behind a variable."""
    with pytest.raises(ConfigError, match="is below 1"):
        from_file(tmp_path, toml("write.content_limit", 0), {"RECOLLECT_WRITE_CONTENT_LIMIT": "5"})


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        *[("flush.enabled", text, True) for text in ("true", "TRUE", "1", "yes", "on", " On ")],
        *[("flush.enabled", text, False) for text in ("false", "False", "0", "no", "off")],
        ("write.content_limit", "12_000", 12_000),
        ("write.content_limit", " 12 ", 12),
        ("budget.share", "1", 1.0),
        ("budget.share", "5e-2", 0.05),
        ("prune.max_size", "10GB", 10_000_000_000),
        ("prune.max_size", "100 MB", 100_000_000),
        ("prune.max_size", "1.5kb", 1_500),
        ("prune.max_size", "2GiB", 2 * 2**30),
        ("prune.max_size", "500_000", 500_000),
        ("prune.max_size", "0", 0),
        ("prune.schedule", "*/15 0-6 1,15 * sun", "*/15 0-6 1,15 * sun"),
        ("mirror.path", "", None),
        ("mirror.path", "notes/Gedächtnis.md", "notes/Gedächtnis.md"),
    ],
)
def test_text_is_read_as_its_setting_means_it(key: str, text: str, value: object) -> None:
    """The environment and the command line have only text."""
    parsed = parse_value(key, text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('[prune]\nmax_size = "2MB"', 2_000_000),
        ("[prune]\nmax_size = 2_000_000", 2_000_000),
        ("prune.max_size = 2_000_000", 2_000_000),
        ("prune = { max_size = 0x1E8480 }", 2_000_000),
        ("\N{ZERO WIDTH NO-BREAK SPACE}[prune]\r\nmax_size = 2_000_000\r\n", 2_000_000),
    ],
)
def test_the_file_may_use_any_spelling_toml_has(tmp_path: Path, text: str, value: int) -> None:
    """Sizes with a unit are text; a byte order mark is passed over."""
    assert from_file(tmp_path, text).settings.prune.max_size == value


def test_empty_text_in_the_file_unsets_what_may_be_unset(tmp_path: Path) -> None:
    """TOML has no word for nothing."""
    loaded = from_file(tmp_path, '[mirror]\npath = ""')
    assert (loaded.settings.mirror.path, loaded.sources["mirror.path"]) == (None, "config.toml")


# Presets of limits


@pytest.mark.parametrize(
    ("preset", "limits"),
    [
        ("none", (10_000_000_000, 0, 0, 0, 0)),
        ("koshi", (100_000_000, 0, 0, 0, 0)),
        ("praxis", (10_000_000_000, 3_000, 2_700, 5_000, 4_000)),
        ("tiers", (10_000_000_000, 1_000, 900, 0, 0)),
    ],
)
def test_a_preset_sets_the_limits_it_is_named_for(tmp_path: Path, preset: str, limits: tuple[int, ...]) -> None:
    """What is left after archiving or trimming follows from the limit."""
    settings = from_file(tmp_path, toml("capacity.preset", preset)).settings
    capacity, audit = settings.capacity, settings.audit
    found = (settings.prune.max_size, capacity.soft_limit, capacity.evict_to, audit.max_events, audit.trim_to)
    assert found == limits


def test_a_limit_set_by_hand_stands_against_a_preset(tmp_path: Path) -> None:
    """Wherever each was set; the preset fills in only the rest, and is named as its source."""
    env = {"RECOLLECT_CAPACITY_PRESET": "praxis"}
    loaded = from_file(tmp_path, toml("capacity.soft_limit", 500), env)
    assert (loaded.settings.capacity.soft_limit, loaded.settings.capacity.evict_to) == (500, 450)
    assert loaded.sources["capacity.soft_limit"] == "config.toml"
    assert loaded.sources["audit.max_events"] == "capacity.preset praxis"


# Mistakes


@pytest.mark.parametrize(
    ("text", "key", "problem", "nearest"),
    [
        ("[wrtie]\ncontent_limit = 5", "wrtie", "no such section", "write"),
        ("[zzz]\n", "zzz", "no such section", None),
        ("[write]\ncontent_limt = 5", "write.content_limt", "no such setting", "write.content_limit"),
        ("[recall]\ncontent_limit = 5", "recall.content_limit", "no such setting", "write.content_limit"),
        ("[write]\nzzz = 5", "write.zzz", "no such setting", None),
        ("content_limit = 5", "content_limit", "not in a section", "write.content_limit"),
        ("write = 5", "write", "is a section, written [write]", None),
        ("[[write]]\ncontent_limit = 5", "write", "is a section, written [write]", None),
        ("[write.content_limit]\nvalue = 5", "write.content_limit", "is not a whole number", None),
        ('[write]\ncontent_limit = "5"', "write.content_limit", "'5' is not a whole number", None),
        ("[write]\ncontent_limit = 5.0", "write.content_limit", "5.0 is not a whole number", None),
        ("[write]\ncontent_limit = true", "write.content_limit", "True is not a whole number", None),
        ("[write]\ncontent_limit = 2026-01-01", "write.content_limit", "is not a whole number", None),
        ("[write]\ncontent_limit = 0", "write.content_limit", "0 is below 1", None),
        ("[write]\ncontent_limit = 9007199254740992", "write.content_limit", "is above 9,007,199,254,740,991", None),
        (f"[write]\ncontent_limit = 0x{'f' * 5000}", "write.content_limit", "this int is above", None),
        ("[budget]\nshare = 1.5", "budget.share", "1.5 is above 1", None),
        ("[budget]\nshare = -0.1", "budget.share", "-0.1 is below 0", None),
        ("[budget]\nshare = nan", "budget.share", "nan is not a number", None),
        ("[budget]\nshare = inf", "budget.share", "inf is not a number", None),
        ("[budget]\nshare = true", "budget.share", "True is not a number", None),
        (f"[budget]\nshare = 0x{'f' * 5000}", "budget.share", "this int is above 1", None),
        ("[flush]\nenabled = 1", "flush.enabled", "1 is not true or false", None),
        ('[flush]\nenabled = "yes"', "flush.enabled", "'yes' is not true or false", None),
        ('[recall]\nsearch = "hybrd"', "recall.search", "'hybrd' is not one of fts5, hybrid", "hybrid"),
        ('[recall]\nsearch = "FTS5"', "recall.search", "'FTS5' is not one of fts5, hybrid", "fts5"),
        ("[recall]\nsearch = 5", "recall.search", "5 is not one of fts5, hybrid", None),
        ('[embed]\nmodel = ""', "embed.model", "'' is not one of static, minilm, http", None),
        ('[embed]\nmodel = "all-minilm"', "embed.model", "is not one of static, minilm, http", "minilm"),
        ('[embed]\nkey_env = ""', "embed.key_env", "'' is not text", None),
        ('[embed]\nkey_env = "a\\u0000b"', "embed.key_env", "is not text", None),
        ('[embed]\nurl = "http://a\\nb"', "embed.url", "is not text", None),
        ("[embed]\ntimeout = 0", "embed.timeout", "0 is below 0.1", None),
        ('[recall]\nprofile = "cascde"', "recall.profile", "'cascde' is not one of default", "cascade"),
        ("[recall]\ngate = 1.1", "recall.gate", "1.1 is above 1", None),
        ("[recall]\ntext_weight = -1", "recall.text_weight", "-1 is below 0", None),
        ('[prune]\nmax_size = "10 apples"', "prune.max_size", "'10 apples' is not a whole number or a size", None),
        ('[prune]\nmax_size = "1.5B"', "prune.max_size", "'1.5B' is not a whole number or a size", None),
        ("[prune]\nmax_size = -1", "prune.max_size", "-1 is below 0", None),
        ('[prune]\nschedule = "every night"', "prune.schedule", "is not five cron fields", None),
        (f"[embed]\nkey_env = {'[' * 50}{']' * 50}", "embed.key_env", "...", None),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, key: str, problem: str, nearest: str | None) -> None:
    """With the key, the file, what is wrong and what was probably meant."""
    with pytest.raises(ConfigError) as caught:
        from_file(tmp_path, text)
    assert (caught.value.key, caught.value.where) == (key, str(tmp_path / "config.toml"))
    assert problem in str(caught.value)
    assert caught.value.nearest == nearest
    assert nearest is None or nearest in caught.value.hint


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        (b"[write]\ncontent_limit = \n", "not valid TOML", ", line 2"),
        (b"[write]\ncontent_limit = 1\ncontent_limit = 2\n", "not valid TOML", ", line 3"),
        (b"[write]\n\ncontent_limit = [1,", "not valid TOML", ", line 3"),
        (b"[write]\n# caf\xe9\n", "not UTF-8", ", line 2"),
        (b"[write]\ncontent_limit = " + b"9" * 5_000, "cannot be taken in", ""),
        (b"[write]\ncontent_limit = " + b"[" * 100_000, "cannot be taken in", ""),
    ],
)
def test_a_malformed_file_is_refused_and_the_line_named(tmp_path: Path, text: bytes, problem: str, line: str) -> None:
    """Nothing of a file that cannot be read as a whole is used."""
    with pytest.raises(ConfigError, match=problem) as caught:
        from_file(tmp_path, text)
    assert caught.value.where == f"{tmp_path / 'config.toml'}{line}"


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """It is not passed over as if it were not there."""
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(tmp_path, env={})


@pytest.mark.parametrize(
    ("name", "text", "key", "nearest"),
    [
        ("RECOLLECT_WRITE_CONTENT_LIMT", "5", None, "RECOLLECT_WRITE_CONTENT_LIMIT"),
        ("RECOLLECT_HOM", "/x", None, "RECOLLECT_HOME"),
        ("RECOLLECT_CONTENT_LIMIT", "5", None, "RECOLLECT_WRITE_CONTENT_LIMIT"),
        ("RECOLLECT_ZZZ", "5", None, None),
        ("RECOLLECT_", "5", None, None),
        ("RECOLLECT_WRITE_CONTENT_LIMIT", "many", "write.content_limit", None),
        ("RECOLLECT_WRITE_CONTENT_LIMIT", "", "write.content_limit", None),
        ("RECOLLECT_WRITE_CONTENT_LIMIT", "9" * 5_000, "write.content_limit", None),
        ("RECOLLECT_BUDGET_SHARE", "nan", "budget.share", None),
        ("RECOLLECT_BUDGET_SHARE", "1e999", "budget.share", None),
        ("RECOLLECT_FLUSH_ENABLED", "maybe", "flush.enabled", None),
        ("RECOLLECT_RECALL_MODE", "injected", "recall.mode", "inject"),
        ("RECOLLECT_MIRROR_PATH", "caf\udce9.md", "mirror.path", None),
    ],
)
def test_a_mistake_in_the_environment_is_named(
    tmp_path: Path, name: str, text: str, key: str | None, nearest: str | None
) -> None:
    """An unknown variable of ours is a mistake too."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, env={name: text})
    assert (caught.value.key, caught.value.where) == ((key, name) if key else (name, "environment"))
    assert caught.value.nearest == nearest


@pytest.mark.parametrize(
    ("key", "value", "nearest"),
    [
        ("write.contentlimit", 5, "write.content_limit"),
        ("content_limit", 5, "write.content_limit"),
        ("contnt_limit", 5, "write.content_limit"),
        ("write", {"content_limit": 5}, None),
        ("write.content_limit", None, None),
        ("write.content_limit", b"5", None),
        ("recall.search", "hybridd", "hybrid"),
    ],
)
def test_a_mistake_in_an_override_is_named(tmp_path: Path, key: str, value: object, nearest: str | None) -> None:
    """Callers get the same care as files."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, env={}, overrides={key: value})
    assert (caught.value.key, caught.value.where, caught.value.nearest) == (key, "override", nearest)


@pytest.mark.parametrize(
    "ask",
    [lambda key: parse_value(key, "hybrid"), load(Path("/nonexistent"), env={}).value],
    ids=["parse_value", "value"],
)
def test_asking_for_a_setting_that_does_not_exist_names_the_nearest(ask: Callable[[str], object]) -> None:
    """Whether a text is to be read or a value looked up."""
    with pytest.raises(ConfigError, match="no such setting") as caught:
        ask("recall.serch")
    assert caught.value.nearest == "recall.search"


@pytest.mark.parametrize(
    ("given_", "key", "problem"),
    [
        ({"slo.healthy_ms": 400}, "slo.healthy_ms", "may not be above slo.degrade_ms, which is 300"),
        ({"slo.degrade_ms": 100}, "slo.degrade_ms", "slo.healthy_ms is 200"),
        ({"slo.window": 4}, "slo.window", "slo.min_samples is 5"),
        ({"capacity.soft_limit": 10, "capacity.evict_to": 11}, "capacity.evict_to", "which is 10"),
        ({"audit.max_events": 10, "audit.trim_to": 11}, "audit.trim_to", "which is 10"),
        ({"budget.shared": 0.3}, "budget.shared", "add up to 1.1"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    tmp_path: Path, given_: dict[str, object], key: str, problem: str
) -> None:
    """The error is about one that was set, not about a default."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, env={}, overrides=given_)
    assert (caught.value.key, caught.value.where) == (key, "override")
    assert problem in str(caught.value)


def test_a_limit_of_zero_contradicts_nothing(tmp_path: Path) -> None:
    """Zero is no limit, so what would be left of it does not matter."""
    assert load(tmp_path, env={}, overrides={"capacity.evict_to": 5}).settings.capacity.soft_limit == 0


# Whatever anybody writes


def refusal(ask: Callable[[], object]) -> ConfigError | None:
    """The error that asking ends in, if it does; any other error is a failure."""
    try:
        ask()
    except ConfigError as error:
        return error
    return None


@given(key=KEYS, text=st.text())
def test_any_text_is_a_value_or_a_config_error(key: str, text: str) -> None:
    """No text breaks the reading of a setting, and what one way of giving it refuses, the other refuses."""
    env = {setting.env: text for setting in declared() if setting.key == key}
    parsed = refusal(lambda: parse_value(key, text))
    loaded = refusal(lambda: load(Path("/nonexistent"), env=env))
    assert parsed is None or parsed.key == key
    assert (parsed is None) == (loaded is None or "may not be above" in str(loaded) or "add up to" in str(loaded))


@given(st.binary() | st.text().map(str.encode) | st.builds(toml, KEYS, st.integers() | st.text()).map(str.encode))
def test_any_file_is_settings_or_a_config_error(text: bytes) -> None:
    """No file breaks the start in any other way."""
    with TemporaryDirectory() as home:
        error = refusal(lambda: from_file(Path(home), text))
    assert error is None or "config.toml" in error.where


@given(
    whole=st.integers(0, 9_000),
    unit=st.sampled_from(
        [("", 1), ("B", 1), ("kB", 10**3), ("MB", 10**6), ("GB", 10**9), ("GiB", 2**30), ("TB", 10**12)]
    ),
    space=st.sampled_from(["", " "]),
)
def test_a_size_is_its_number_times_its_unit(whole: int, unit: tuple[str, int], space: str) -> None:
    """Units of a thousand are written kB, MB, GB; those of 1,024 KiB, MiB, GiB."""
    assert parse_value("prune.max_size", f"{whole}{space}{unit[0]}") == whole * unit[1]


@given(st.dictionaries(KEYS, st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.none())))
def test_any_override_is_a_value_of_the_declared_type_or_a_config_error(overrides: dict[str, object]) -> None:
    """What comes out has the type that the settings promise."""
    try:
        loaded = load(Path("/nonexistent"), env={}, overrides=overrides)
    except ConfigError:
        return
    for setting in declared():
        value = loaded.value(setting.key)
        assert type(value).__name__ == setting.kind or (setting.optional and value is None)


# The home folder


@pytest.mark.parametrize(
    ("env", "platform", "folder"),
    [
        ({"HOME": "/home/ada"}, "linux", "/home/ada/.local/share/recollect"),
        ({"HOME": "/home/ada", "XDG_DATA_HOME": "/data"}, "linux", "/data/recollect"),
        ({"HOME": "/home/ada", "XDG_DATA_HOME": "data"}, "linux", "/home/ada/.local/share/recollect"),
        ({"HOME": "/home/ada", "XDG_DATA_HOME": ""}, "linux", "/home/ada/.local/share/recollect"),
        ({"XDG_DATA_HOME": "/data"}, "linux", "/data/recollect"),
        ({"HOME": "/Users/ada"}, "darwin", "/Users/ada/Library/Application Support/recollect"),
        ({"HOME": "/ada", "XDG_DATA_HOME": "/data"}, "darwin", "/ada/Library/Application Support/recollect"),
        ({"HOME": "/home/ada", "RECOLLECT_HOME": "/memory"}, "linux", "/memory"),
        ({"HOME": "/home/ada", "RECOLLECT_HOME": "/memory"}, "darwin", "/memory"),
        ({"HOME": "/home/ada", "RECOLLECT_HOME": "~"}, "linux", "/home/ada"),
        ({"HOME": "/home/ada", "RECOLLECT_HOME": "~/memory"}, "linux", "/home/ada/memory"),
        ({"HOME": "/home/ada", "RECOLLECT_HOME": ""}, "linux", "/home/ada/.local/share/recollect"),
        ({"RECOLLECT_HOME": "/memory"}, "linux", "/memory"),
    ],
)
def test_the_home_is_the_one_named_or_the_data_folder_of_the_platform(
    env: dict[str, str], platform: str, folder: str
) -> None:
    """Only what is passed in decides it."""
    assert home_folder(env, platform) == Path(folder)


@pytest.mark.parametrize(("named", "below"), [("memory", "memory"), (".", "")])
def test_a_relative_home_is_below_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, below: str
) -> None:
    """It is made absolute at once, so that a later change of folder does not move it."""
    monkeypatch.chdir(tmp_path)
    assert home_folder({"RECOLLECT_HOME": named}, "linux") == tmp_path / below


@pytest.mark.parametrize(
    "env", [{}, {"HOME": ""}, {"RECOLLECT_HOME": "~/x"}, {"RECOLLECT_HOME": "~no-such-user-here/x"}]
)
def test_a_home_that_cannot_be_known_is_refused(env: dict[str, str]) -> None:
    """Memories are never put somewhere by accident."""
    with pytest.raises(ConfigError) as caught:
        home_folder(env, "linux")
    assert (caught.value.key, caught.value.where) == ("RECOLLECT_HOME", "environment")


# Start-up


def test_loading_without_a_file_needs_neither_toml_nor_difflib(tmp_path: Path) -> None:
    """Start-up pays only for what it uses."""
    code = (
        "import sys; from pathlib import Path; from recollect.config import load;"
        "load(Path(sys.argv[1]), env={'RECOLLECT_RECALL_LIMIT': '3'});"
        "print(sorted({'tomllib', 'difflib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
