"""Owners of runs that are killed: real processes, with real agents and tools below them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from atomic.processes import ProcessId, marked
from atomic.record import AttemptRecord, Owner, RunRecord, RunStore
from atomic.verdict.facts import Verdict

HEAD = b"""\
{"type":"session","version":3,"id":"s-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}
{"type":"agent_start"}
{"type":"turn_start"}
{"type":"message_start","message":{"role":"user","content":[{"type":"text","text":"p"}]}}
{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"p"}]}}
{"type":"message_start","message":{"role":"assistant","content":[],"provider":"fake","model":"ok","stopReason":"stop"}}
"""
TAIL = b"""\
{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"forty-two"}],"provider":"fake",\
"model":"ok","stopReason":"stop","usage":{"input":10,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":12,\
"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.25}}}}
{"type":"turn_end","message":{"role":"assistant"},"toolResults":[]}
{"type":"agent_end","messages":[]}
{"type":"agent_settled"}
"""

# An agent: writes the head, starts a tool in a session of its own, and does as it is told.
AGENT = """
import os, subprocess, sys, time
head, tail, mode, go = os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2]), sys.argv[3], sys.argv[4]
os.write(1, head)
if mode == "tool":
    subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
if mode != "answer":
    while not os.path.exists(go):
        time.sleep(0.01)
os.write(1, tail)
"""

# An owner: begins a run as a session does, starts the agent, says so, and waits to be killed.
OWNER = """
import os, subprocess, sys, time
from pathlib import Path
from atomic.policy.facts import Limits
from atomic.processes import MARKER, boot_id, identify
from atomic.record import AttemptRecord, RunStore
from atomic.record.owner import host_name
root, key, mode, agent = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
store = RunStore(root / "records", home=root / "home", fsync=False)
store.claim(key)
folder = store.create(b"p", key=key, name=mode, flow_run_id="flow")
attempt = folder.attempt(1)
attempt.create(b"p")
record = AttemptRecord(run_id=folder.run_id, n=1, model="fake/ok", record="attempt-1", marker=attempt.marker,
    started_at=time.time(), boot_id=boot_id(), host=host_name())
attempt.write(record)
with attempt.stream.open("wb") as out:
    child = subprocess.Popen(agent, stdin=subprocess.DEVNULL, stdout=out, start_new_session=True,
        env={**os.environ, MARKER: attempt.marker})
found = identify(child.pid)
attempt.write(record.model_copy(update={"pid": found.pid, "process_started": found.start_time}))
if mode == "answer":
    child.wait()
print(folder.run_id, flush=True)
time.sleep(600)
"""


class Scene:
    """A home in which owners are started and killed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.go = root / "go"
        self.store = RunStore(root / "records", home=root / "home", fsync=False)
        self.markers: list[str] = []

    def killed(self, mode: str) -> RunFolderOf:
        """An owner that has begun a run (the first has the key "k"), and has been killed: its agent may still run."""
        key = "k" if not self.markers else f"k{len(self.markers)}"
        agent = [sys.executable, "-c", AGENT, os.fsdecode(HEAD), os.fsdecode(TAIL), mode, str(self.go)]
        owner = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(self.root), key, mode, *agent], stdout=subprocess.PIPE, text=True
        )
        assert owner.stdout is not None
        run_id = owner.stdout.readline().strip()
        self.markers.append(f"{run_id}/1")
        stream = self.store.open(run_id).attempt(1).stream
        while stream.stat().st_size < len(HEAD):
            time.sleep(0.005)
        if mode == "tool":
            while len(self.living(run_id)) < 2:
                time.sleep(0.005)
        owner.kill()
        owner.wait()
        owner.stdout.close()
        return RunFolderOf(self.store, run_id)

    def living(self, run_id: str) -> list[ProcessId]:
        """The processes of a run's first attempt."""
        return marked([f"{run_id}/1"])[f"{run_id}/1"]

    def end(self) -> None:
        for processes in marked(self.markers).values():
            for process in processes:
                os.kill(process.pid, signal.SIGKILL)


class RunFolderOf:
    """Shorthand for looking at one run."""

    def __init__(self, store: RunStore, run_id: str) -> None:
        self.run_id = run_id
        self.folder = store.open(run_id)

    @property
    def run(self) -> RunRecord:
        return self.folder.read()

    @property
    def attempt(self) -> AttemptRecord:
        return self.folder.attempt(1).read()

    @property
    def verdict(self) -> Verdict:
        verdict = self.attempt.verdict
        assert verdict is not None
        return verdict

    @property
    def stream(self) -> bytes:
        return b"".join(self.folder.attempt(1).lines())


def disown(scene: Scene, killed: RunFolderOf, owner: Owner) -> None:
    """Give the run another owner."""
    killed.folder.write(killed.run.model_copy(update={"owner": owner}))
    scene.store.live.enter(killed.run_id, killed.folder.path, owner, scene.store.root)
