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
from dataclasses import dataclass, fields, replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Literal, get_args, get_origin

from recollect.errors import ConfigError

from .settings import LARGEST
from .settings import Settings as Settings

_FILE = "config.toml"
_PREFIX = "RECOLLECT_"
_HOME = "RECOLLECT_HOME"
_HOOKS = "RECOLLECT_HOOKS"  # no setting: whoever runs a host as a judge keeps our hooks from answering with it


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
        return f"at least {self.least:,}" if self.most == LARGEST else f"from {self.least:,} to {self.most:,}"


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
        if not name.startswith(_PREFIX) or name in (_HOME, _HOOKS):
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
            return float(given) if abs(given) <= LARGEST else given
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
