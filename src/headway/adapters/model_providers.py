"""From `provider:model` to a client of that provider. Keys come from the environment and are written nowhere."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from headway.core.errors import CouldNotRun, HeadwayError

if TYPE_CHECKING:
    from pydantic_ai.models import Model


def connected(spec: str, base_url: str | None, env: Mapping[str, str]) -> "Model":
    """The model, its client built.

    Raises HeadwayError for a missing key or a malformed spec, CouldNotRun without the `models` extra.
    """
    try:
        from pydantic_ai import exceptions
        from pydantic_ai.models import infer_model
    except ImportError as missing:
        raise CouldNotRun("The model agent needs pydantic-ai.", "pip install 'headway[models]'") from missing
    provider, _, name = spec.partition(":")
    if not name:
        raise HeadwayError(f"The model {spec!r} names no provider.", "Write provider:model, e.g. openai:gpt-5.")
    if provider in OWN_CLIENTS or base_url is not None:
        key_name = f"{provider.upper()}_API_KEY"
        if not env.get(key_name):
            raise HeadwayError(f"The model {spec!r} needs a key in {key_name}.", f"Set {key_name} and try again.")
        return OWN_CLIENTS.get(provider, _openai)(name, env[key_name], base_url)
    try:
        return infer_model(spec)
    except (exceptions.UserError, ValueError) as fault:
        raise HeadwayError(f"The model {spec!r} cannot be used: {short(fault)}") from fault


# The SDKs retry by themselves, unseen; with max_retries=0 every wait is this agent's policy and is in the log.
def _openai(name: str, key: str, base_url: str | None) -> "Model":
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(api_key=key, base_url=base_url, max_retries=0)
    return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client))


def _anthropic(name: str, key: str, base_url: str | None) -> "Model":
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(api_key=key, base_url=base_url, max_retries=0)
    return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))


OWN_CLIENTS: dict[str, Callable[[str, str, str | None], "Model"]] = {"openai": _openai, "anthropic": _anthropic}
"""Providers whose client is built here; any other provider with a `base_url` is taken to speak OpenAI's protocol."""


def short(error: Exception) -> str:
    """The error on one line, cut."""
    return " ".join(str(error).split())[:300]
