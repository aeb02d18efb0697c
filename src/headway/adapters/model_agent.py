"""The `model` agent: any provider through pydantic-ai's direct requests. One proposal is one short conversation.

The model sees the request's context, may ask the desk, and ends its turn with the tool `propose`. What goes wrong on
the way (rate limits, server errors, silence, truncated streams, malformed calls) is dealt with here by the policy
below and reported as incidents; what cannot be dealt with comes back as a `NoProposal`. Keys come from the
environment; nothing here writes them anywhere. The prompt's prefix is byte-stable, so that provider caches hit.
"""

import asyncio
import functools
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from headway.adapters.model_prompts import (
    CANDIDATE_SCHEMA,
    INSTRUCTIONS,
    PROPOSE_SCHEMA,
    REVIEW,
    numbered,
    opening,
    proposed,
)
from headway.adapters.model_providers import connected, short
from headway.core.ports.agent import Incident, NoProposal, Proposal, Request, Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
    from pydantic_ai.models import Model, ModelRequestParameters

Sleep = Callable[[float], Awaitable[None]]
REVIEW_CHARACTERS = 800


@dataclass(frozen=True, slots=True)
class Policy:
    """How patient the agent is. Times in seconds."""

    retries: int = 4
    """How often one model request is repeated after a rate limit, server error, stall or truncation."""
    backoff: float = 2.0
    """First pause; doubled each time, unless the provider names one."""
    longest_pause: float = 120.0
    silence: float = 60.0
    """A stream that says nothing for so long has stalled."""
    turns: int = 12
    """Model requests in one proposal, desk questions and corrected calls included."""


@dataclass
class _Talk:
    """One proposal in the making."""

    request: Request
    messages: "list[ModelMessage]"
    model: "Model"
    tools: "ModelRequestParameters"
    incidents: list[Incident] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class _Ended(Exception):
    """The conversation is over without a proposal."""

    kind: Literal["declined", "provider_error", "timed_out", "malformed", "context_overflow"]
    message: str
    permanent: bool = False


class ModelAgent:
    """`spec` is `provider:model` as pydantic-ai has it; `base_url` points at a compatible server instead."""

    name = "model"

    def __init__(
        self,
        spec: str,
        *,
        base_url: str | None = None,
        env: Mapping[str, str] | None = None,
        policy: Policy = Policy(),
        sleep: Sleep = asyncio.sleep,
        at_once: int = 1,
        reviewer: str | None = None,
    ) -> None:
        """`at_once` conversations give as many proposals a call; `reviewer` is another model, which is only heard.

        Raises HeadwayError for a missing key or a malformed spec, CouldNotRun without the `models` extra.
        """
        environment = os.environ if env is None else env
        self._model = connected(spec, base_url, environment)
        self._reviewer = None if reviewer is None else connected(reviewer, base_url, environment)
        self._at_once = at_once
        self._policy = policy
        self._sleep = sleep
        self._loop = asyncio.new_event_loop()
        self._desk = asyncio.Lock()

    def close(self) -> None:
        """Close the provider's connections, then the event loop they live on."""
        for model in (self._model, self._reviewer):
            client = getattr(model, "client", None)
            if client is not None:
                self._loop.run_until_complete(client.close())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def propose(self, request: Request) -> Proposal | NoProposal:
        """See the port."""
        return self._loop.run_until_complete(self._all(request))

    async def _all(self, request: Request) -> Proposal | NoProposal:
        """One conversation, or several side by side; what they used is counted together."""
        answers = await asyncio.gather(*(self._one(request, number) for number in range(1, self._at_once + 1)))
        proposals = [answer for answer in answers if isinstance(answer, Proposal)]
        first: Proposal | NoProposal = proposals[0] if proposals else answers[0]
        usage = functools.reduce(_sum, (answer.usage for answer in answers))
        transcript = "\n".join(answer.transcript for answer in answers)
        incidents = tuple(incident for answer in answers for incident in answer.incidents)
        first = replace(first, usage=usage, transcript=transcript, incidents=incidents)
        return replace(first, others=tuple(proposals[1:])) if isinstance(first, Proposal) else first

    async def _one(self, request: Request, number: int) -> Proposal | NoProposal:
        """One proposal within the limits, heard by the reviewer if there is one."""
        from pydantic_ai.messages import ModelRequest, UserPromptPart

        said = opening(request) + (numbered(number, self._at_once) if self._at_once > 1 else "")
        first = ModelRequest(parts=[UserPromptPart(said)], instructions=INSTRUCTIONS[request.purpose])
        talk = _Talk(request, [first], self._model, _tools(request))
        try:
            proposal = await asyncio.wait_for(self._reviewed(talk), request.limits.seconds)
            return replace(proposal, usage=talk.usage, transcript=_written(talk), incidents=tuple(talk.incidents))
        except _Ended as end:
            kind, message, permanent = end.kind, end.message, end.permanent
        except TimeoutError:
            kind, message, permanent = "timed_out", f"No proposal within {request.limits.seconds:g} s.", False
        return NoProposal(kind, message, talk.usage, _written(talk), tuple(talk.incidents), permanent)

    async def _reviewed(self, talk: _Talk) -> Proposal:
        """A proposal with what the other model says of it. Its words decide nothing, and neither does its silence."""
        from pydantic_ai.messages import ModelRequest, UserPromptPart
        from pydantic_ai.models import ModelRequestParameters

        proposal = await self._converse(talk)
        if self._reviewer is None:
            return proposal
        asked = ModelRequest(parts=[UserPromptPart(proposed(talk.request, proposal))], instructions=REVIEW)
        review = _Talk(talk.request, [asked], self._reviewer, ModelRequestParameters(allow_text_output=True))
        try:
            said = " ".join(((await self._persistently(review)).text or "").split())
        except _Ended as end:
            review.incidents.append(Incident("no_review", end.message))
            said = ""
        talk.usage = _sum(talk.usage, review.usage)
        talk.incidents += review.incidents
        return replace(proposal, review=said[:REVIEW_CHARACTERS])

    async def _converse(self, talk: _Talk) -> Proposal:
        """Ask until the model proposes. Raises _Ended."""
        from pydantic_ai.messages import ModelRequest, ToolCallPart, UserPromptPart

        for _ in range(self._policy.turns):
            response = await self._persistently(talk)
            talk.messages.append(response)
            if response.finish_reason == "content_filter":
                raise _Ended("declined", "The provider's filter stopped the answer.")
            calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
            if not calls:
                if response.finish_reason == "stop" and _declines(response):
                    raise _Ended("declined", (response.text or "")[:300])
                talk.messages.append(ModelRequest(parts=[UserPromptPart("Answer with the tool `propose`.")]))
                talk.incidents.append(Incident("malformed_call", "words without a tool call"))
                continue
            answers, proposal = await self._handle(talk, calls)
            if proposal is not None:
                return proposal
            talk.messages.append(ModelRequest(parts=answers))
        raise _Ended("malformed", f"No usable proposal in {self._policy.turns} turns.")

    async def _handle(self, talk: _Talk, calls: "list[ToolCallPart]") -> tuple[list[Any], Proposal | None]:
        """Answer every call of one response (pairs of call and result stay whole); the first good proposal wins."""
        from pydantic_ai.messages import ToolReturnPart

        answers: list[Any] = []
        for call in calls:
            if call.tool_name == "propose":
                proposal, fault = _proposal_in(call, talk.request)
                if proposal is not None:
                    return [], proposal
                talk.incidents.append(Incident("malformed_call", fault))
                text = f"That call cannot be used: {fault}. Call `propose` again."
            elif talk.request.desk is not None and call.tool_name in talk.request.desk.questions():
                async with self._desk:  # an answer may take a worker's job: other conversations go on meanwhile
                    text = await asyncio.to_thread(
                        talk.request.desk.ask, call.tool_name, _subject_in(call, talk.request)
                    )
            else:
                talk.incidents.append(Incident("unknown_tool", call.tool_name[:80]))
                text = f"There is no tool {call.tool_name!r}."
            answers.append(ToolReturnPart(call.tool_name, text, call.tool_call_id))
        return answers, None

    async def _persistently(self, talk: _Talk) -> "ModelResponse":
        """One model response, asked for again by policy. Raises _Ended."""
        pause = self._policy.backoff
        for attempt in range(self._policy.retries + 1):
            try:
                response = await self._once(talk)
                talk.usage = _added(talk.usage, response)
                return response
            except _Trouble as trouble:
                wait = min(trouble.retry_after or pause, self._policy.longest_pause)
                last = attempt == self._policy.retries
                talk.incidents.append(Incident(trouble.kind, trouble.detail, 0.0 if last else wait))
                if last:
                    raise _Ended("provider_error", f"Gave up after {attempt + 1} tries: {trouble.detail}") from trouble
                await self._sleep(wait)
                pause *= 2
        raise AssertionError("unreachable: the last try returns or raises")

    async def _once(self, talk: _Talk) -> "ModelResponse":
        """One streamed request. Raises _Trouble for what may pass, _Ended for what will not."""
        from pydantic_ai import exceptions
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.settings import ModelSettings

        settings: ModelSettings = {"max_tokens": talk.request.limits.tokens or 16_384}
        try:
            async with model_request_stream(
                talk.model, talk.messages, model_settings=settings, model_request_parameters=talk.tools
            ) as stream:
                events = aiter(stream)
                while True:
                    try:
                        await asyncio.wait_for(anext(events), self._policy.silence)
                    except StopAsyncIteration:
                        break
                    except TimeoutError as silence:
                        raise _Trouble("stalled", f"the stream was silent for {self._policy.silence:g} s") from silence
                response = stream.get()
        except exceptions.ModelContextWindowExceededError as overflow:
            raise _Ended("context_overflow", "The context is larger than the model takes.") from overflow
        except exceptions.ModelQuotaExceededError as spent:
            raise _Ended("provider_error", f"The provider's quota is spent: {short(spent)}", permanent=True) from spent
        except exceptions.ModelRequestRejectedError as refused:
            raise _Ended("provider_error", f"The provider refused the request: {short(refused)}", True) from refused
        except exceptions.ContentFilterError as filtered:
            raise _Ended("declined", "The provider's filter stopped the answer.") from filtered
        except exceptions.ModelAPIError as trouble:
            raise _as_trouble(trouble) from trouble
        except exceptions.UnexpectedModelBehavior as broken:
            raise _Trouble("truncated", short(broken)) from broken
        # pydantic-ai fills in a finish reason where the provider gave none; only the provider's own word counts
        if "finish_reason" not in (response.provider_details or {}) or response.state != "complete":
            raise _Trouble("truncated", "the stream ended before the answer did")
        if response.finish_reason == "length":
            raise _Trouble("truncated", "the answer was cut at the token limit")
        return response


class _Trouble(Exception):
    """Something that may pass if asked again."""

    def __init__(
        self,
        kind: Literal["rate_limited", "server_error", "unreachable", "stalled", "truncated"],
        detail: str,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after


def _tools(request: Request) -> Any:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

    tools = [ToolDefinition(name="propose", description="End your turn.", parameters_json_schema=PROPOSE_SCHEMA)]
    subject = {"type": "object", "properties": {"subject": {"type": "string"}}, "required": ["subject"]}
    for name, what in sorted(request.desk.questions().items()) if request.desk else []:
        schema = CANDIDATE_SCHEMA if name == "evaluate" else subject
        tools.append(ToolDefinition(name=name, description=what, parameters_json_schema=schema))
    return ModelRequestParameters(function_tools=tools, allow_text_output=True)


def _proposal_in(call: "ToolCallPart", request: Request) -> tuple[Proposal | None, str]:
    """The proposal a call holds, or why it holds none."""
    try:
        arguments = call.args_as_dict()
        files = {str(file["path"]): str(file["content"]) for file in arguments["files"]}
    except (ValueError, KeyError, TypeError, AssertionError) as fault:
        return None, f"its arguments are not of the schema ({type(fault).__name__})"
    deleted = tuple(str(path) for path in arguments.get("deleted") or ())
    if not files and not deleted:
        return None, "it changes no file"
    size = sum(len(content.encode("utf-8", "replace")) for content in files.values())
    if size > request.limits.output_bytes:
        return None, f"it holds {size} bytes, more than the {request.limits.output_bytes} allowed"
    words = str(arguments.get("hypothesis", "")), str(arguments.get("parent", ""))
    return Proposal(files, *words, deleted=deleted if request.editable else ()), ""


def _subject_in(call: "ToolCallPart", request: Request) -> str:
    if call.tool_name == "evaluate":
        proposal, _ = _proposal_in(call, request)
        return json.dumps(dict(proposal.files)) if proposal is not None else ""
    try:
        return str(call.args_as_dict().get("subject", ""))
    except (ValueError, AssertionError):
        return ""


def _declines(response: "ModelResponse") -> bool:
    """A final answer in words from a model that says it will not; anything else is asked for the tool again."""
    text = (response.text or "").lower()
    return any(phrase in text for phrase in ("i can't help", "i cannot help", "i won't", "i'm not able to", "i refuse"))


def _as_trouble(error: Any) -> _Trouble:
    from pydantic_ai import exceptions

    detail, after = short(error), error.retry_after
    status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else 0
    if isinstance(error, exceptions.ModelRateLimitError | exceptions.ModelOverloadedError) or status == 429:
        return _Trouble("rate_limited", detail, after)
    if isinstance(error, exceptions.ModelConnectionError):
        return _Trouble("truncated" if error.in_stream else "unreachable", detail, after)
    if 400 <= status < 500 and status != 408:
        raise _Ended("provider_error", f"The provider refused the request: {detail}", permanent=True)
    return _Trouble("server_error", detail, after)


def _added(usage: Usage, response: "ModelResponse") -> Usage:
    counted = response.usage
    try:
        money = float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):  # a model whose price nobody knows costs no known money
        money = 0.0
    return _sum(usage, Usage(counted.input_tokens, counted.output_tokens, counted.cache_read_tokens, money))


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cached_tokens + other.cached_tokens,
        one.money + other.money,
    )


def _written(talk: _Talk) -> str:
    """The conversation as JSON, for a blob; request headers and keys are not part of it."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    return json.dumps(ModelMessagesTypeAdapter.dump_python(talk.messages, mode="json"), ensure_ascii=False)
