"""A judge: whatever takes understanding more than rules have. It is optional, and it only ever advises.

`open_judge` gives one of four: rules, which are always there; any endpoint that speaks OpenAI's chat interface;
Anthropic's interface; or a host's own command line. The last three fall back to rules whenever they have no good answer
in time, and count it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import ConfigError
from .anthropic import ADDRESS, AnthropicModel
from .asking import (
    Candidate,
    Extract,
    InferTags,
    Judge,
    Linked,
    Question,
    Relate,
    Relation,
    Rerank,
    Summarise,
    Verified,
    Verify,
)
from .command import HOOKS, HOSTS, CommandModel
from .falling_back import Allowed, FallingBack, Spent, Tally, always, quietly
from .model import Model, ModelFailed, Reply, Request
from .openai import OpenAiModel
from .rules import RulesJudge

__all__ = [
    "HOOKS",
    "JUDGES",
    "Allowed",
    "Candidate",
    "Extract",
    "FallingBack",
    "InferTags",
    "Judge",
    "Linked",
    "Model",
    "ModelFailed",
    "Question",
    "Relate",
    "Relation",
    "Reply",
    "Request",
    "Rerank",
    "RulesJudge",
    "Spent",
    "Summarise",
    "Tally",
    "Verified",
    "Verify",
    "open_judge",
]

JUDGES = ("rules", "openai", "anthropic", "command")
"""The names `open_judge` knows, which are the values of the setting judge.kind."""


def open_judge(
    kind: str,
    *,
    env: Mapping[str, str],
    url: str | None = None,
    model: str | None = None,
    key_env: str = "",
    timeout: float = 20.0,
    host: str = "claude",
    command: str | None = None,
    max_tokens: int = 1_024,
    rules: RulesJudge | None = None,
    allowed: Allowed = always,
    spent: Spent = quietly,
) -> Judge:
    """The judge of that kind, ready for use; nothing is asked and nothing is run yet.

    The others are the settings of the section judge, and `env` is the environment that holds the key. `allowed` is
    asked before each request, `spent` is told after it. Raises ConfigError where the settings cannot work. Inside a
    host that a judge runs, a host is not run again: there it is rules.
    """
    by_rules = rules or RulesJudge()
    speaking = _model(kind, env=env, url=url, model=model, key=env.get(key_env) or None, host=host, command=command)
    if speaking is None:
        return by_rules
    return FallingBack(speaking, rules=by_rules, deadline=timeout, most_tokens=max_tokens, allowed=allowed, spent=spent)


def _model(
    kind: str,
    *,
    env: Mapping[str, str],
    url: str | None,
    model: str | None,
    key: str | None,
    host: str,
    command: str | None,
) -> Model | None:
    match kind:
        case "rules":
            return None
        case "openai":
            return OpenAiModel(_given("url", url), model=_given("model", model), key=key)
        case "anthropic":
            return AnthropicModel(url=url or ADDRESS, model=_given("model", model), key=key)
        case "command" if host in HOSTS:
            if env.get(HOOKS) == "off":
                return None
            return CommandModel(host, env=env, command=command, model=model or "")
        case "command":
            raise ConfigError("judge.host", f"{host!r} is not one of {', '.join(HOSTS)}", where="settings")
    raise ConfigError("judge.kind", f"{kind!r} is not one of {', '.join(JUDGES)}", where="settings")


def _given(name: str, value: str | None) -> str:
    if not value:
        raise ConfigError(f"judge.{name}", "is not set, and judge.kind needs it", where="settings")
    return value
