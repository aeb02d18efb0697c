"""The model agent over real HTTP, in both protocols: what it asks, and what it makes of everything that goes wrong."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from benchmarks.model_server import Call, Cut, Fault, ModelServer, Say, Silence, Step
from headway.adapters.model_agent import ModelAgent, Policy
from headway.core.errors import HeadwayError
from headway.core.ports.agent import AgentLimits, NoProposal, Proposal, Request

KEY = "sk-test-0123456789abcdef0123456789"
GOOD = Call(
    "propose", {"hypothesis": "wider tiles", "parent": "7", "files": [{"path": "candidate.py", "content": "x = 1\n"}]}
)
REQUEST = Request("optimise", "GOAL: faster.\n\nLedger: empty.", {"candidate.py": "x = 0\n"}, AgentLimits(20.0))
POLICY = Policy(retries=3, backoff=1.0, silence=0.4, turns=5)


@dataclass
class World:
    provider: str
    pauses: list[float]

    def ask(
        self, script: list[Step], request: Request = REQUEST, **options: Any
    ) -> tuple[Proposal | NoProposal, ModelServer]:
        """One proposal against a server with this script; pauses are noted, not slept."""

        async def note(seconds: float) -> None:
            self.pauses.append(seconds)

        with ModelServer(script) as server:
            url = server.url if self.provider == "anthropic" else f"{server.url}/v1"
            env = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
            agent = ModelAgent(f"{self.provider}:m", base_url=url, env=env, policy=POLICY, sleep=note, **options)
            try:
                return agent.propose(request), server
            finally:
                agent.close()


@pytest.fixture(params=["openai", "anthropic"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    yield World(request.param, [])


def kinds(answer: Proposal | NoProposal) -> list[str]:
    return [incident.kind for incident in answer.incidents]


def test_a_call_of_propose_is_the_proposal(world: World) -> None:
    answer, server = world.ask([GOOD])
    assert isinstance(answer, Proposal)
    assert (answer.files, answer.hypothesis, answer.parent) == ({"candidate.py": "x = 1\n"}, "wider tiles", "7")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (100, 20)
    assert KEY not in answer.transcript and any(KEY in key for key in server.keys)


def test_a_rate_limit_waits_as_long_as_the_provider_says(world: World) -> None:
    answer, _ = world.ask([Fault(429, headers={"retry-after": "7"}), GOOD])
    assert isinstance(answer, Proposal)
    assert kinds(answer) == ["rate_limited"] and world.pauses == [7.0]


def test_server_errors_are_asked_again_with_growing_pauses_and_then_given_up(world: World) -> None:
    answer, server = world.ask([Fault(500), Fault(503), GOOD])
    assert isinstance(answer, Proposal) and world.pauses == [1.0, 2.0]
    answer, server = world.ask([Fault(500)] * 9)
    assert isinstance(answer, NoProposal) and answer.kind == "provider_error" and not answer.permanent
    assert len(server.requests) == 4


def test_a_silent_stream_is_a_stall_and_is_asked_again(world: World) -> None:
    answer, _ = world.ask([Silence(1.5), GOOD])
    assert isinstance(answer, Proposal) and kinds(answer) == ["stalled"]


def test_a_truncated_stream_never_becomes_a_proposal(world: World) -> None:
    answer, _ = world.ask([Cut(), GOOD])
    assert isinstance(answer, Proposal) and answer.files == {"candidate.py": "x = 1\n"}
    assert kinds(answer) == ["truncated"]


def test_a_malformed_call_is_told_why_and_may_be_mended(world: World) -> None:
    answer, server = world.ask([Call("propose", {"files": "no"}), Call("propose", '{"files": [{"path":'), GOOD])
    assert isinstance(answer, Proposal) and kinds(answer) == ["malformed_call", "malformed_call"]
    assert "cannot be used" in str(server.requests[1]["messages"])


def test_words_alone_are_asked_for_the_tool_and_end_as_malformed(world: World) -> None:
    answer, _ = world.ask([Say("I think wider tiles would help.")] * 9)
    assert isinstance(answer, NoProposal) and answer.kind == "malformed"


def test_a_refusal_is_declined_not_retried(world: World) -> None:
    answer, server = world.ask([Say("no", finish="content_filter"), GOOD])
    assert isinstance(answer, NoProposal) and answer.kind == "declined"
    assert len(server.requests) == 1


def test_context_overflow_comes_back_as_itself(world: World) -> None:
    words = "prompt is too long: 250000 tokens > 200000 maximum"
    code = "context_length_exceeded" if world.provider == "openai" else "invalid_request_error"
    answer, server = world.ask([Fault(400, words, code), GOOD])
    assert isinstance(answer, NoProposal) and answer.kind == "context_overflow"
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", [Fault(401, "bad key"), Fault(404, "no such model", "model_not_found")])
def test_what_asking_again_cannot_mend_is_permanent(world: World, fault: Fault) -> None:
    answer, server = world.ask([fault, GOOD])
    assert isinstance(answer, NoProposal) and answer.permanent
    assert len(server.requests) == 1 and KEY not in answer.message


class Shelf:
    """A desk with one question."""

    def questions(self) -> dict[str, str]:
        return {"recall": "One strategy, whole."}

    def ask(self, question: str, subject: str) -> str:
        return f"{question} {subject}: it spilled registers"


def test_the_desk_answers_and_the_pair_stays_whole(world: World) -> None:
    answer, server = world.ask([Call("recall", {"subject": "s12"}), GOOD], replace(REQUEST, desk=Shelf()))
    assert isinstance(answer, Proposal) and answer.usage.input_tokens == 200
    assert "recall s12: it spilled registers" in str(server.requests[1]["messages"])


def test_a_proposal_past_the_output_limit_is_refused_by_size(world: World) -> None:
    small = replace(REQUEST, limits=AgentLimits(20.0, output_bytes=3))
    answer, _ = world.ask([GOOD] * 9, small)
    assert isinstance(answer, NoProposal) and set(kinds(answer)) == {"malformed_call"}


def test_the_prompt_prefix_is_byte_stable_while_only_refusals_grow(world: World) -> None:
    bodies = []
    for refusals in ((), ("too slow",), ("too slow", "wrong result")):
        _, server = world.ask([GOOD], replace(REQUEST, refusals=refusals))
        bodies.append(server.requests[0])
    system = [body.get("system") or body["messages"][0] for body in bodies]
    assert system[0] == system[1] == system[2]
    texts = [said(body["messages"][-1]["content"]) for body in bodies]
    assert texts[2].startswith(texts[1]) and texts[1].startswith(texts[0])


def said(content) -> str:
    """The words of a message in either protocol."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def test_a_missing_key_and_a_malformed_name_are_one_sentence_each() -> None:
    with pytest.raises(HeadwayError, match="needs a key in OPENAI_API_KEY"):
        ModelAgent("openai:m", base_url="http://127.0.0.1:9", env={})
    with pytest.raises(HeadwayError, match="names no provider"):
        ModelAgent("gpt", env={})
    with pytest.raises(HeadwayError, match="cannot be used"):
        ModelAgent("nobody:m", env={})


def test_a_whole_proposal_has_one_time_limit(world: World) -> None:
    answer, _ = world.ask([Silence(5.0)] * 9, replace(REQUEST, limits=AgentLimits(0.7)))
    assert isinstance(answer, NoProposal) and answer.kind == "timed_out"


def test_several_proposals_come_of_one_call_and_differ_in_the_last_line_of_their_prompts(world: World) -> None:
    second = Call("propose", {"hypothesis": "longer tiles", "files": [{"path": "candidate.py", "content": "x = 2\n"}]})
    answer, server = world.ask(
        [GOOD, second, Call("propose", {"files": "no"}), Say("I can't help with that.")], at_once=3
    )
    assert isinstance(answer, Proposal) and len(answer.others) == 1
    assert {answer.hypothesis, answer.others[0].hypothesis} == {"wider tiles", "longer tiles"}
    assert answer.usage.input_tokens == 100 * len(server.requests) and "malformed_call" in kinds(answer)
    prompts = [json.dumps(body["messages"]) for body in server.requests[:3]]
    ends = sorted(prompt[prompt.index("This is proposal") :][:27] for prompt in prompts)
    assert ends == [f"This is proposal {n} of 3 tha" for n in (1, 2, 3)]
    assert len({prompt[: prompt.index("This is proposal")] for prompt in prompts}) == 1, "one prefix for all"


def test_another_model_is_heard_and_decides_nothing(world: World) -> None:
    answer, server = world.ask([GOOD, Say("It will  be\nslower.")], reviewer=f"{world.provider}:other")
    assert isinstance(answer, Proposal) and answer.review == "It will be slower."
    asked = json.dumps(server.requests[1])
    assert "PROPOSED: wider tiles" in asked and "+x = 1" in asked and server.requests[1]["model"] == "other"
    assert not server.requests[1].get("tools") and answer.usage.input_tokens == 200


def test_a_reviewer_that_fails_holds_nothing_up(world: World) -> None:
    answer, _ = world.ask([GOOD, Fault(401, "no such key")], reviewer=f"{world.provider}:other")
    assert isinstance(answer, Proposal) and answer.review == "" and kinds(answer) == ["no_review"]
