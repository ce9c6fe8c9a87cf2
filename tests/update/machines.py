"""What the update tests share: a release base signed by the real opsctl, archives of the real agent and of bad ones, and machines: a prefix, a state
folder, the real launcher.

Programs: BUILD_BIN holds opsagent (the version that is installed first), opsagent_next (the same, with another version), opsagent-launch, opsctl.
"""

import gzip
import hashlib
import io
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))
from support import BIN, LiveTest, wait_until  # noqa: E402

ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
PASSPHRASE = "only for tests"
CLOSED = ("confirmed", "rolled_back", "failed", "refused")
TRIAL = int(os.environ.get("TRIAL", "2"))  # seconds; the deadline is three times that


def version_of(program):
    return subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout.split()[1]


def archive_of(version, program, **more):
    """The bytes of an archive with this program, as scripts/release lays it out. `more`: further programs."""
    files = {"bin/opsagent": program, "bin/opsagent-launch": (BIN / "opsagent-launch").read_bytes()}
    files |= {f"bin/{name}": content for name, content in more.items()}
    manifest = f"opsagent {version}\ntarget linux {ARCH}\nglibc 2.36\ncommit test\n"
    for name, content in files.items():
        manifest += f"file {hashlib.sha256(content).hexdigest()} 0755 {len(content)} {name}\n"
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        def add(name, content, mode, kind=tarfile.REGTYPE):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.type = len(content), mode, kind
            tar.addfile(entry, io.BytesIO(content))
        add("bin", b"", 0o755, tarfile.DIRTYPE)
        for name, content in files.items():
            add(name, content, 0o755)
        add("manifest", manifest.encode(), 0o644)
    # Two blocks of zeros at the end, not a whole record.
    content = plain.getvalue().rstrip(b"\0")
    return gzip.compress(content + b"\0" * (-len(content) % 512 + 1024), 1, mtime=0)


def script_agent(run, self_test="exit 0"):
    """A program that is not an agent: what it does as `self-test` and as `run`."""
    return f"#!/bin/sh\ncase $1 in\nself-test) {self_test};;\n*) {run};;\nesac\n".encode()


_archives = {}  # packing the real agent takes a while


def real_archive(name):
    """(version, archive) of a program that was built."""
    if name not in _archives:
        version = version_of(BIN / name)
        _archives[name] = (version, archive_of(version, (BIN / name).read_bytes()))
    return _archives[name]


class ReleaseBase:
    """A folder with releases, and its keys."""

    def __init__(self, folder):
        self.path = folder / "base"
        self.keys = folder / "keys"
        self.keys.mkdir(parents=True)
        for name in ("root", "release", "timestamp"):
            self.opsctl("key", "create", self.keys / name)
        self.opsctl("root", "create", self.path, "--root-key", self.keys / "root", "--release-key", self.keys / "release", "--timestamp-key",
                    self.keys / "timestamp")

    def opsctl(self, *words):
        done = subprocess.run([BIN / "opsctl", "release", *map(str, words)], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.keys), "OPSCTL_PASSPHRASE": PASSPHRASE})
        if done.returncode != 0:
            raise AssertionError(f"opsctl release {words}: {done.stdout}{done.stderr}")

    @property
    def root(self):
        return self.path / "1.root.json"

    def publish(self, version, archive):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / f"opsagent-{version}-linux-{ARCH}.tar.gz"
            file.write_bytes(archive)
            self.opsctl("publish", self.path, file, "--version", version, "--release-key", self.keys / "release", "--timestamp-key",
                        self.keys / "timestamp")

    def publish_next(self):
        """N+1: the real agent, with another version."""
        version, archive = real_archive("opsagent_next")
        self.publish(version, archive)
        return version

    def publish_bad(self, version, run, self_test="exit 0"):
        self.publish(version, archive_of(version, script_agent(run, self_test)))
        return version


class Machine:
    """An installed agent: what the bootstrap leaves on a machine, in folders of its own."""

    def __init__(self, scratch, name, uri, base, *options, own_root=True, prefix=None, environment=None, round_delay=600):
        self.name = name
        self.folder = scratch / name
        self.prefix = prefix or self.folder / "prefix"
        self.state_dir = self.folder / "state"
        self.root = self.folder / "root"
        self.log = self.folder / "log"
        self.environment = environment or {}
        self.root.mkdir(parents=True)
        (self.state_dir / "update").mkdir(parents=True)
        (self.state_dir / "update").chmod(0o700)
        self.state_dir.chmod(0o711)
        shutil.copy(base.root, self.state_dir / "update" / "root.json")
        self.version, archive = real_archive("opsagent")
        self.first = self.install(self.version, archive)
        self.arguments = [self.prefix / "launch", "--prefix", self.prefix, "--state-dir", self.state_dir, "--", "--ws-uri", uri,
                          "--instance-id", name, "--state-dir", self.state_dir, *(("--root", self.root) if own_root else ()), "--round-delay",
                          str(round_delay), "--config", "/dev/null", "--prefix", self.prefix, "--release-base", base.path, "--update-trial",
                          str(TRIAL), "--update-delay", "0", *options]
        self.process = None

    def install(self, version, archive):
        name = f"{version}-{hashlib.sha256(archive).hexdigest()[:8]}"
        folder = self.prefix / "versions" / name
        folder.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(folder)
        shutil.copy(BIN / "opsagent-launch", self.prefix / "launch")
        (self.prefix / "current").symlink_to(f"versions/{name}")
        return name

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(list(map(str, self.arguments)), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env={**os.environ, **self.environment})

    def agent_pid(self):
        """The agent that the launcher has started; 0 when there is none."""
        if self.process is None or self.process.poll() is not None:
            return 0
        try:
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        except OSError:
            return 0
        return int(children[0]) if children else 0

    def kill_agent(self):
        if pid := self.agent_pid():
            os.kill(pid, signal.SIGKILL)
        return pid

    def kill(self):
        """The launcher, and the agent with it."""
        agent = self.agent_pid()
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if agent:
            try:
                os.kill(agent, signal.SIGKILL)
            except ProcessLookupError:
                pass
            wait_until(lambda: not alive(agent), 10)

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)

    def current(self):
        return os.readlink(self.prefix / "current").removeprefix("versions/")

    def versions(self):
        return sorted(entry.name for entry in (self.prefix / "versions").iterdir())

    def floor(self):
        """No release below it is believed; 0: nothing was ever believed."""
        trusted = self.state_dir / "update" / "trusted"
        return int(re.search(r"^floor (\d+)$", trusted.read_text(), re.M)[1]) if trusted.exists() else 0

    def journal(self):
        """The record as a dictionary; empty when there is none."""
        try:
            lines = (self.state_dir / "update" / "journal").read_text().splitlines()
        except FileNotFoundError:
            return {}
        return dict(line.split(" ", 1) for line in lines[1:-1])


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class UpdateTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.base = ReleaseBase(self.scratch)
        self.updates = self.backend.events(types="update")

    def tearDown(self):
        super().tearDown()  # the backend ends, and the stream with it
        self.updates.close()

    def machine(self, name="m1", *options, **more):
        """A machine that is online."""
        joins = () if self.backend.is_plain else ("--join-token", self.backend.join_token(instance_id=name))
        machine = self.agents[name] = Machine(self.scratch, name, self.backend.uri, self.base, *joins, *options, **more)
        machine.start()
        self.assertTrue(wait_until(lambda: self.is_online(name)), f"{name} does not get online")
        return machine

    def ask(self, version, name="m1"):
        """A rollout to this machine alone, at once. Its id is the action's."""
        for rollout in self.backend.items("/rollouts"):
            if rollout["state"] in ("running", "paused"):
                self.backend.api("POST", f"/rollouts/{rollout['id']}/abort")
        return self.backend.api("POST", "/rollouts", {"version": version, "selector": f"instance={name}", "pause_s": 0, "jitter_s": 0})["id"]

    def state_of(self, action):
        return self.backend.get(f"/rollouts/{action}")["items"][0]

    def wait_closed(self, action, seconds=60):
        found = wait_until(lambda: self.state_of(action)["phase"] in CLOSED and self.state_of(action), seconds)
        self.assertTrue(found, f"not closed: {self.state_of(action)}")
        return found

    def reports(self, action):
        """The phases that were reported, in order."""
        return [event["phase"] for event in self.updates.of("update") if event["action_id"] == action]

    def assert_closed_once(self, action, phase):
        time.sleep(0.5)  # a second one would follow the first
        self.assertEqual([p for p in self.reports(action) if p in CLOSED], [phase])

    def runs(self, name="m1"):
        return self.backend.instance(name).get("agent_version")

    def assert_runs(self, version, name="m1", seconds=60):
        self.assertTrue(wait_until(lambda: self.is_online(name) and self.runs(name) == version, seconds),
                        f"{name} runs {self.runs(name)}, online: {self.is_online(name)}")


class BadVersionTest(UpdateTest):
    """N runs, N+1 (0.3.0) is bad in one way or another: N must be back, and say why, once."""

    def tried(self, run, self_test="exit 0", expected="rolled_back", seconds=90):
        self.bench = self.machine()
        self.base.publish_bad("0.3.0", run, self_test)
        return self.ends_as(expected, seconds)

    def ends_as(self, expected, seconds=90):
        """Asks for what was published. Answers why it was not confirmed."""
        before = self.bench.current()
        floor = self.bench.floor()
        action = self.ask("0.3.0")
        closed = self.wait_closed(action, seconds)
        self.assertEqual(closed["phase"], expected, closed)
        self.assert_runs(self.bench.version)
        self.assertEqual(self.bench.current(), before)
        self.assert_closed_once(action, expected)
        self.assertTrue(wait_until(lambda: self.bench.versions() == [before]), self.bench.versions())
        self.assertEqual(self.bench.floor(), floor)
        return closed["error"]

    def assert_refused_again(self):
        starts = self.bench.log.read_text().count("on trial")
        again = self.wait_closed(self.ask("0.3.0"))
        self.assertEqual(again["phase"], "refused")
        self.assertIn("not tried again", again["error"])
        self.assertEqual(self.bench.log.read_text().count("on trial"), starts)

    def assert_another_may_come(self):
        version = self.base.publish_next()
        self.assertEqual(self.wait_closed(self.ask(version))["phase"], "confirmed")
        self.assert_runs(version)
