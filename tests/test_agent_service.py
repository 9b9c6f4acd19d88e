"""The service example: real servers that are killed at random moments, and clients that try again.

The journal is the independent route. It is copied after every kill, and replayed at the end. What clients were told and
which policies were served must follow from it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import http.client
import io
import itertools
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="fastapi, of the extra `service`, is not installed")
pytest.importorskip("httpx", reason="httpx, of the extra `service`, is not installed")

import httpx

from dpproof import agent, load_agent
from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.passport import digest

ROOT = Path(__file__).resolve().parents[1]
LAUNCHER = """
import os, sys
import scipy.signal
from examples.agent_service import main
for line in sys.stdin:
    child = os.fork()
    if not child:
        main(sys.argv[1], int(sys.argv[2]))
    print(child, flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""
"""Starts one server after the other. Each is a new process that knows only the journal; imports are shared."""
LIMIT = 900.0
"""Seconds after which a run fails."""


class Server:
    """A server that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.journal, self.lives, self.pid = folder / "users.sqlite", 0, 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-c", LAUNCHER, str(self.journal), str(self.port)]
        self._launcher = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def start(self) -> None:
        assert self._launcher.stdin is not None
        assert self._launcher.stdout is not None
        self._launcher.stdin.write("start\n")
        self._launcher.stdin.flush()
        self.pid = int(self._launcher.stdout.readline())
        self.lives += 1

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def gone(self) -> None:
        assert self._launcher.stdout is not None
        assert self._launcher.stdout.readline() == "gone\n"
        self._connection.close()

    def wait(self) -> None:
        """Wait until the server answers."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                self._connection.connect()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise TimeoutError

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        text = None if body is None else json.dumps(body)
        self._connection.request(method, path, text, {"content-type": "application/json"})
        answer = self._connection.getresponse()
        found = answer.read()
        is_json = "json" in (answer.getheader("content-type") or "")
        return answer.status, json.loads(found) if is_json and found else found

    def close(self) -> None:
        self._launcher.stdin.close()  # type: ignore[union-attr] # it is a pipe
        if self.pid:
            self.kill()
        self._launcher.wait(30)
        self._launcher.stdout.close()  # type: ignore[union-attr] # it is a pipe


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server(tmp_path)
    try:
        yield found
    finally:
        found.close()


@dataclass(eq=False)
class Client:
    """A simulated user, who begins again after a server was killed.

    ``sent`` is what the present session got: the observations, and the rewards.
    """

    name: str
    steps: int
    leaves: bool
    rng: random.Random
    key: str = ""
    acts: bool = True
    sent: tuple[list[str], list[float]] = field(default_factory=lambda: ([], []))
    state: str = "open"

    def advance(self, server: Server) -> None:
        """Send one request."""
        seen, rewards = self.sent
        if not self.key:
            status, found = server.call("POST", "/sessions", {"person": self.name})
            assert status in (201, 409), found
            if status == 409:
                self.state = "counted without an answer"
            else:
                self.key, self.sent = found["session"], ([], [])
        elif self.leaves and rewards:
            assert server.call("DELETE", f"/sessions/{self.key}")[0] == 204
            self.state = "left"
        elif self.acts:
            seen[len(rewards) :] = [seen[-1] if seen else "new"]
            status, found = server.call("POST", f"/sessions/{self.key}/act", {"observation": seen[-1]})
            assert status == 200, found
            self.acts = False
        else:
            self._observe(server)

    def _observe(self, server: Server) -> None:
        seen, rewards = self.sent
        rewards.append(float(self.rng.random() < 0.5))
        seen.append(self.rng.choice(["new", "active"]))
        done = len(rewards) == self.steps
        outcome = {"reward": rewards[-1], "observation": seen[-1], "done": done}
        status, found = server.call("POST", f"/sessions/{self.key}/observe", outcome)
        assert (status, found) == (200, {"counted": done or len(rewards) == 2})
        self.acts, self.state = True, "counted" if found["counted"] else "open"

    def again(self) -> None:
        """Begin again. The server may have counted the user before it was killed, so the last path is kept."""
        self.key, self.acts = "", True


@dataclass
class Run:
    """What happened to the clients of a run."""

    server: Server
    rng: random.Random
    ended: list[Client] = field(default_factory=list)
    served: dict[int, str] = field(default_factory=dict)
    guarantees: set[str] = field(default_factory=set)
    users: list[tuple[Any, ...]] = field(default_factory=list)
    words: bytes = b""

    def play(self, users: int, kills: int, at_once: int = 8) -> None:
        """Let users come until all have ended, and kill the server after given numbers of ended users."""
        moments = sorted(self.rng.randrange(users) for _ in range(kills))
        coming = (self._client(number) for number in range(users))
        present = list(itertools.islice(coming, at_once))
        end, timer = time.monotonic() + LIMIT, threading.Timer(0, int)
        self._start()
        while present:
            assert time.monotonic() < end, f"{len(self.ended)} users after {LIMIT} seconds"
            if moments and len(self.ended) >= moments[0] and timer.finished.is_set() | (timer.ident is None):
                moments.pop(0)
                timer = threading.Timer(self.rng.uniform(0, 0.03), self.server.kill)
                timer.start()
            try:
                self._one(present, coming)
            except (OSError, http.client.HTTPException):
                timer.join()
                self._restart(present)
        if timer.ident is not None:
            timer.join()

    def _one(self, present: list[Client], coming: Iterator[Client]) -> None:
        client = self.rng.choice(present)
        client.advance(self.server)
        if client.state != "open":
            present.remove(client)
            self.ended.append(client)
            present.extend(itertools.islice(coming, 1))
            if len(self.ended) % 50 == 0:
                self._look()

    def _client(self, number: int) -> Client:
        leaves = self.rng.random() < 0.05
        return Client(f"user {number}", 2 if leaves else self.rng.choice([1, 1, 2]), leaves, self.rng)

    def _look(self) -> None:
        """Note the policy and the guarantee that are served, and that a person may not come twice."""
        _, passport = self.server.call("GET", "/passport")
        with np.load(io.BytesIO(passport)) as held:
            told, policy = json.loads(str(held["passport"])), digest(held["policy"])
        assert self.served.setdefault(told["users"], policy) == policy
        status, found = self.server.call("GET", "/guarantee")
        assert (status, found.pop("users")) == (200, told["users"])
        self.guarantees.add(json.dumps(found))
        again = self.rng.choice(self.ended).name
        assert self.server.call("POST", "/sessions", {"person": again})[0] == 409

    def _start(self) -> None:
        self.server.start()
        self.server.wait()

    def _restart(self, present: list[Client]) -> None:
        """Copy the journal of a killed server, and start the next one. Some are killed while they start."""
        self.server.gone()
        self._read()
        if self.rng.random() < 0.2:
            self.server.start()
            time.sleep(self.rng.uniform(0, 0.5))
            self.server.kill()
            self.server.gone()
        self._start()
        for client in present:
            client.again()

    def _read(self) -> Path:
        """Return a copy of the journal. It must hold all users and random words that it held before, and more."""
        folder = self.server.journal.parent / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path in self.server.journal.parent.glob(f"{self.server.journal.name}*"):
            shutil.copy(path, folder)
        users, words, _ = rows(folder / self.server.journal.name)
        assert users[: len(self.users)] == self.users
        assert words.startswith(self.words)
        self.users, self.words = users, words
        return folder / self.server.journal.name

    def finish(self) -> Path:
        """Kill the server a last time, and return a copy of its journal."""
        self.server.kill()
        self.server.gone()
        self.server.pid = 0
        return self._read()


def rows(journal: Path) -> tuple[list[tuple[Any, ...]], bytes, bytes]:
    """Return the users of a journal, its random words, and its key."""
    base = sqlite3.connect(journal)
    try:
        users = base.execute(
            "select number, person, record from events where ended order by number"
        ).fetchall()
        words = b"".join(data for (data,) in base.execute("select words from words order by number"))
        (key,) = base.execute("select value from about where name = 'key'").fetchone()
    finally:
        base.close()
    return users, words, key


def path_of(record: bytes) -> tuple[list[int], list[float]]:
    """Return the states and the rewards of a record, whose first line has the type and the shape of each array."""
    head, _, body = record.partition(b"\n")
    n = json.loads(head)["gains"][1][0]
    assert json.loads(head) == {"states": ["<i8", [n + 1]], "actions": ["<i8", [n]], "gains": ["<f8", [n]]}
    return np.frombuffer(body, "<i8", n + 1).tolist(), np.frombuffer(body, "<f8", n, 8 * (2 * n + 1)).tolist()


def numbers(client: Client) -> tuple[list[int], list[float]]:
    """Return what the journal must hold of a client. State 2 is the end of an episode."""
    seen, rewards = client.sent
    n = len(rewards)
    states = [("new", "active").index(text) for text in seen[: n + 1]]
    return [*states[:-1], 2 if n == client.steps else states[-1]], rewards


def check_users(run: Run, journal: Path) -> None:
    """Every ended user is in the journal once, with what was sent, and nobody else is."""
    users, _, key = rows(journal)
    held = {person: record for _, person, record in users}
    assert len(held) == len(users) == len(run.ended)
    for client in run.ended:
        record = held[hmac.digest(key, client.name.encode(), "sha256")]
        assert (None if record is None else path_of(record)) == (None if client.leaves else numbers(client))


def check_replay(run: Run, journal: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """A fresh replay uses all words and no others, and gives every policy that was served."""
    from examples.agent_service import make

    policies: dict[int, str] = {}
    begin = Agent._begin

    def noted(self: Agent) -> None:
        begin(self)
        policies[self.users] = digest(self._learner.weights)

    _, words, _ = rows(journal)
    monkeypatch.setattr(Agent, "_begin", noted)
    private = make(str(journal))
    assert private.users >= len(run.ended)
    last = policies[private.users]  # users who began after it and left no trace had the same policy
    assert {users: policies.get(users, last) for users in run.served} == run.served
    learner: Any = private._learner
    assert learner.releases == (private.users - 1) // learner._counters.counting.every
    private.close()
    assert rows(journal)[1] == words
    return private


@pytest.mark.parametrize(("users", "kills"), [(200, 3), pytest.param(10_000, 50, marks=pytest.mark.slow)])
def test_killed_servers_lose_no_user_and_spend_nothing_twice(
    server: Server, users: int, kills: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, began = Run(server, random.Random(users)), time.monotonic()
    run.play(users, kills)
    seconds = time.monotonic() - began
    assert len(run.ended) == users
    assert server.lives > kills
    _, passport = server.call("GET", "/passport")
    journal = run.finish()
    check_users(run, journal)
    private = check_replay(run, journal, monkeypatch)
    (tmp_path / "served.npz").write_bytes(passport)
    saved = load_agent(tmp_path / "served.npz")
    assert (saved.policy.weights == private.policy.weights).all()
    (told,) = run.guarantees
    assert json.loads(told)["epsilon"] == "1"
    assert json.loads(told)["certified_epsilon"] == private.result.epsilon("1e-6").upper <= 1
    doubts = sum(client.state == "counted without an answer" for client in run.ended)
    print(f"{users} users, {server.lives} lives, {seconds:.0f} s, {doubts} counted without an answer")


class Browser:
    """Requests to a service in this process."""

    def __init__(self, journal: Path, episodes: int = 20, seconds: float = 600, **more: Any) -> None:
        from examples.agent_service import service

        self.agent = agent(
            "private-ucb-vi", observations=["new", "active"], actions=["mail", "call"], horizon=2, reward_range=(0, 1),
            episodes=episodes, epsilon=20, delta="1e-6", adjacency="replace", journal=journal, **more,
        )  # fmt: skip
        self._app = service(self.agent, seconds)

    def __call__(self, method: str, path: str, body: Any = None, text: str | None = None) -> tuple[int, Any]:
        answer = asyncio.run(self._send(method, path, json.dumps(body) if text is None else text))
        return answer.status_code, answer.json() if answer.content else None

    async def _send(self, method: str, path: str, text: str) -> httpx.Response:
        transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
        headers = {"content-type": "application/json"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://service", headers=headers
        ) as client:
            return await client.request(method, path, content=text)

    def begin(self, person: str) -> str:
        status, found = self("POST", "/sessions", {"person": person})
        assert status == 201
        return f"/sessions/{found['session']}"

    def step(self, session: str, **outcome: Any) -> tuple[int, Any]:
        assert self("POST", f"{session}/act", {"observation": "new"})[0] == 200
        return self("POST", f"{session}/observe", {"reward": 1.0, "observation": "new", **outcome})


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    found = Browser(tmp_path / "users.sqlite")
    yield found
    found.agent.close()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("act", '{"observation": "lost"}'),
        ("act", '{"observation": ["new"]}'),
        ("act", '{"observation": NaN}'),
        ("act", "{"),
        ("observe", '{"reward": 2, "observation": "new"}'),
        ("observe", '{"reward": NaN, "observation": "new"}'),
        ("observe", '{"reward": [NaN], "observation": "new"}'),
        ("observe", '{"reward": 1, "observation": "lost"}'),
        ("observe", '{"observation": "new"}'),
    ],
)
def test_a_bad_value_is_refused_and_the_session_goes_on(browser: Browser, path: str, text: str) -> None:
    session = browser.begin("Ann")
    browser("POST", f"{session}/act", {"observation": "new"})
    assert browser("POST", f"{session}/{path}", text=text)[0] in (400, 422)
    assert browser.step(session, done=True) == (200, {"counted": True})
    assert browser.agent.users == 1


@pytest.mark.parametrize("text", ["{}", '{"person": ""}', '{"person": "\\ud800"}', '{"person": 3}'])
def test_a_bad_name_of_a_person_begins_nothing(browser: Browser, text: str) -> None:
    assert browser("POST", "/sessions", text=text)[0] in (400, 422)
    assert browser.agent.users == 0


def test_a_person_takes_part_once_even_after_an_abort(browser: Browser) -> None:
    session = browser.begin("Ann")
    assert browser("POST", "/sessions", {"person": "Ann"})[0] == 409
    assert browser("DELETE", session)[0] == 204
    assert browser("POST", "/sessions", {"person": "Ann"})[0] == 409
    assert browser("POST", f"{session}/act", {"observation": "new"})[0] == 404
    assert browser("DELETE", session)[0] == 404
    assert browser.agent.users == 1


def test_a_session_that_never_ends_is_aborted(tmp_path: Path) -> None:
    browser = Browser(tmp_path / "users.sqlite", seconds=0)
    session = browser.begin("Ann")
    assert browser("POST", f"{session}/act", {"observation": "new"})[0] == 404
    assert browser("POST", "/sessions", {"person": "Ann"})[0] == 409
    assert browser.agent.users == 1
    browser.agent.close()


def test_after_the_last_user_the_policy_is_still_served(browser: Browser) -> None:
    late = browser.begin("late")
    for number in range(19):
        assert browser.step(browser.begin(str(number)), done=True)[0] == 200
    assert browser.step(late, done=True)[0] == 200
    assert browser("POST", "/sessions", {"person": "new"})[0] == 410
    found = browser("GET", "/guarantee")[1]
    assert (found["users"], found["most_users"]) == (20, 20)
    assert found["certified_epsilon"] <= 20


def test_an_error_inside_the_agent_shows_nothing_of_it(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = browser.begin("Ann")
    browser("POST", f"{session}/act", {"observation": "new"})

    def broken(*_: Any) -> None:
        raise ValueError("reward 0.25 of Bob")

    monkeypatch.setattr(browser.agent._learner, "see", broken)
    outcome = {"reward": 1.0, "observation": "new", "done": True}
    for path, body in ((f"{session}/observe", outcome), ("/sessions", {"person": "Eve"})):
        assert browser("POST", path, body) == (503, {"detail": "Start the service again."})


@pytest.mark.slow
def test_two_services_cannot_share_a_journal(tmp_path: Path) -> None:
    browser = Browser(tmp_path / "users.sqlite")
    command = [
        sys.executable,
        str(ROOT / "examples" / "agent_service.py"),
        str(tmp_path / "users.sqlite"),
        "0",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 1
    assert "is in use. One process at a time may hold a journal" in ran.stderr
    browser.agent.close()
