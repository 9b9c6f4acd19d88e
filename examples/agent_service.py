"""A private agent behind HTTP. Every user is one episode, and the agent learns from all of them.

    python agent_service.py users.sqlite 8000

The service may be killed at any moment. Users who were told that they are counted are in the journal, and all others
may come again. Start the service again with the same journal.

The service trusts the name of a person. Put your login in front of it. Otherwise anybody can take the place of another
person, or can ask whether a person has taken part.
"""

from __future__ import annotations

import secrets
import sys
import time
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

import dpproof
from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.journal import JournalError
from dpproof.mechanisms.agents.session import Session

STATUS = {dpproof.UserSeenError: 409, dpproof.BudgetSpentError: 410, JournalError: 503}


def make(journal: str) -> Agent:
    """Return the agent. It chooses how to remind a user, who is new or active, in two steps."""
    return dpproof.agent(
        "private-ucb-vi", observations=["new", "active"], actions=["mail", "call"], horizon=2, reward_range=(0, 1),
        episodes=20_000, epsilon=1, delta="1e-6", adjacency="replace", journal=journal,
    )  # fmt: skip


class Arrival(BaseModel):
    """A user who begins an episode."""

    person: str = Field(min_length=1, max_length=200)


class Situation(BaseModel):
    """What a user observes before an action."""

    observation: str


class Outcome(BaseModel):
    """What followed an action."""

    reward: float
    observation: str
    done: bool = False


class Sessions:
    """The sessions that are under way. Sessions that last longer than ``seconds`` are aborted."""

    def __init__(self, agent: Agent, seconds: float) -> None:
        self._agent, self._seconds = agent, seconds
        self._open: dict[str, tuple[float, Session]] = {}  # the oldest session comes first

    def begin(self, person: str) -> str:
        """Return the key of a new session. Nobody can guess it."""
        self._expire()
        session, key = self._agent.user(person), secrets.token_urlsafe(16)
        self._open[key] = time.monotonic(), session
        return key

    def of(self, key: str) -> Session:
        """Return the session with this key."""
        self._expire()
        if key not in self._open:
            raise HTTPException(
                404, "There is no such session. It has ended, or the service was started again."
            )
        return self._open[key][1]

    def end(self, key: str) -> Session:
        """Remove and return the session with this key."""
        session = self.of(key)
        del self._open[key]
        return session

    def _expire(self) -> None:
        for key, (began, session) in list(self._open.items()):
            if began + self._seconds > time.monotonic():
                break
            del self._open[key]
            session.abort()


def service(agent: Agent, seconds: float = 600) -> FastAPI:
    """Return the web application. Its functions never wait for each other, so requests run one after another."""
    app, sessions, result = FastAPI(title="A private agent"), Sessions(agent, seconds), agent.result
    reached = result.epsilon(agent.promise.delta).upper

    @app.exception_handler(ValueError)
    async def refused(_: Request, error: ValueError) -> JSONResponse:
        status = STATUS.get(type(error), 400)
        return JSONResponse({"detail": str(error) if status != 503 else "Start the service again."}, status)

    @app.post("/sessions", status_code=201)
    async def begin(arrival: Arrival) -> dict[str, str]:
        return {"session": sessions.begin(arrival.person)}

    @app.post("/sessions/{key}/act")
    async def act(key: str, situation: Situation) -> dict[str, Any]:
        return {"action": sessions.of(key).act(situation.observation)}

    @app.post("/sessions/{key}/observe")
    async def observe(key: str, outcome: Outcome) -> dict[str, bool]:
        session = sessions.of(key)
        session.observe(outcome.reward, outcome.observation, terminated=outcome.done)
        if session.done:
            sessions.end(key).finish()  # the user is on the disk before the answer is sent
        return {"counted": session.done}

    @app.delete("/sessions/{key}", status_code=204)
    async def abort(key: str) -> None:
        sessions.end(key).abort()

    @app.get("/guarantee")
    async def guarantee() -> dict[str, Any]:
        asked = {"epsilon": str(agent.promise.epsilon), "delta": str(agent.promise.delta)}
        found = {
            "certified_epsilon": reached,
            "adjacency": result.adjacency.value,
            "trust": result.trust.value,
        }
        return {**asked, **found, "users": agent.users, "most_users": agent.task.episodes}

    @app.get("/passport")
    async def passport() -> Response:
        return Response(agent.passport(), media_type="application/octet-stream")

    return app


def main(journal: str, port: int) -> None:
    """Serve until the process ends."""
    try:
        agent = make(journal)
    except JournalError as error:
        sys.exit(str(error))
    uvicorn.run(service(agent), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
