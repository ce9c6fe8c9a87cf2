"""What the live tests share: a real backend, real agents, and the backend's API.

A test is `NAME BUILD_BIN [unittest options]`; BUILD_BIN holds opsagent, opsbackend and opsctl. Everything happens in scratch folders, on ports
that the kernel chose, and ends with the test.
"""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
from collections import Counter

BIN = pathlib.Path(os.path.abspath(sys.argv.pop(1))) if len(sys.argv) > 1 else pathlib.Path()
LONG = 60  # seconds that something quick may take on a machine that is busy with other things


def main():
    if not (BIN / "opsbackend").exists():
        sys.exit(f"usage: {sys.argv[0]} FOLDER_OF_PROGRAMS [unittest options]")
    unittest.main(verbosity=2)


def wait_until(condition, seconds=LONG):
    """What the condition answered once it was true; false when it did not come true in time."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer or time.monotonic() > end:
            return answer
        time.sleep(0.05)


def rss_of(pid):
    """Bytes of memory that a process has in use."""
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def own_network():
    """From here on, loopback is one that nobody else has, so that packets on it can be dropped. False where that is not allowed."""
    if os.geteuid() != 0:
        print(f"{sys.argv[0]}: without root, connections are not made half-open", file=sys.stderr)
        return False
    if os.environ.get("OWN_NETWORK") != "1":
        os.environ["OWN_NETWORK"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *([sys.argv[0], str(BIN)] + sys.argv[1:])])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for command in ("add table inet test", "add chain inet test input { type filter hook input priority 0; }"):
        subprocess.run(["nft", command], check=True)
    return True


def drop_packets(port):
    """Makes the connection with this port half-open: nothing of it arrives any more. In a network of our own."""
    for side in ("sport", "dport"):
        subprocess.run(["nft", "add", "rule", "inet", "test", "input", "tcp", side, str(port), "drop"], check=True)


def check_reports(test, versions, states):
    """Every state of every version of every machine changed exactly once, and no sequence number is missing or doubled.

    The backend has ended. `versions`: by the machine's name.
    """
    database = sqlite3.connect(next(test.backend.data.glob("*.db")))
    changed = Counter(database.execute(
        "SELECT instance_id, r.recipe_version, state_id FROM results r JOIN instances i ON i.id = r.instance WHERE outcome = 'changed'"))
    for name, expected in versions.items():
        for version in expected:
            for state in states:
                test.assertEqual(changed[(name, version, state)], 1, f"{name}, version {version}, {state}")
    for name, least, most, count in database.execute(
            "SELECT i.instance_id, min(seq), max(seq), count(*) FROM (SELECT agent, seq FROM results UNION ALL SELECT agent, seq FROM rounds"
            " UNION ALL SELECT agent, seq FROM statuses) r JOIN agents a ON a.id = r.agent JOIN instances i ON i.id = a.instance GROUP BY a.id"):
        if name in versions:
            test.assertEqual((least, most), (1, count), f"sequence numbers of {name}")
    database.close()


class ApiError(Exception):
    def __init__(self, status, problem):
        super().__init__(f"{status}: {problem}")
        self.status = status
        self.problem = problem


class Backend:
    """An opsbackend, with TLS unless --plain is among the options. It can be killed and started again on the same data and port."""

    program = BIN / "opsbackend"

    def __init__(self, scratch, *options, host="127.0.0.1"):
        self.data = scratch / "backend"
        self.host = host  # that it listens on; it is reached on 127.0.0.1
        self.log = scratch / "backend.log"
        self.options = options
        self.listen = "127.0.0.1:0"
        self.process = None
        self.start()

    def start(self):
        seen = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.program, "--data", self.data, "--listen",
                                             self.listen.replace("127.0.0.1", self.host), *self.options],
                                            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        found = wait_until(lambda: re.search(rb"https?://([\d.]+:\d+)", self.log.read_bytes()[seen:])
                           or self.process.poll() is not None)
        if not found or found is True:
            raise AssertionError("the backend did not start:\n" + self.log.read_text()[-2000:])
        self.listen = found[1].decode().replace(self.host, "127.0.0.1")
        if not wait_until(self.is_ready, 20):
            self.kill()
            raise AssertionError("the backend does not get ready:\n" + self.log.read_text()[-2000:])

    @property
    def is_plain(self):
        return "--plain" in self.options

    def tls(self, certificate=None):
        """What Python needs to trust this backend, and to show a certificate of its own: a file with key and chain."""
        context = ssl.create_default_context(cafile=self.data / "ca.crt")
        if certificate:
            context.load_cert_chain(certificate)
        return context

    def connect(self, timeout=LONG):
        if self.is_plain:
            return http.client.HTTPConnection(self.listen, timeout=timeout)
        return http.client.HTTPSConnection(self.listen, timeout=timeout, context=self.tls())

    def is_ready(self):
        connection = self.connect(timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def stop(self, number=signal.SIGTERM, seconds=LONG):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise
        return self.process.returncode

    def kill(self):
        self.stop(signal.SIGKILL)

    def rss(self):
        return rss_of(self.process.pid)

    @property
    def token(self):
        return (self.data / "admin.token").read_text().strip()

    @property
    def uri(self):
        return f"{'ws' if self.is_plain else 'wss'}://{self.listen}/agent/"

    def join_token(self, app="default", **more):
        """With any name that the machine asks for, unless the test says otherwise."""
        if "instance_id" not in more:
            more.setdefault("name", "*")
        return self.api("POST", "/join-tokens", {"app_id": app, **more})["token"]

    def api(self, method, path, body=None, headers=None, text=None):
        """The answer's JSON; an ApiError for a problem."""
        connection = self.connect()
        given = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        payload = text
        if body is not None:
            payload = json.dumps(body)
            given.setdefault("Content-Type", "application/json")
        connection.request(method, "/api/v1" + path, payload, given)
        answer = connection.getresponse()
        content = answer.read().decode()
        connection.close()
        value = json.loads(content) if content else None
        if answer.status >= 400:
            raise ApiError(answer.status, value)
        return value

    def get(self, path, **query):
        return self.api("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))

    def items(self, path, **query):
        """All of a list, page by page."""
        found, after = [], None
        if "instance" in query:
            query.setdefault("app", "default")
        while True:
            page = self.get(path, limit=500, **query, **({"after": after} if after else {}))
            found += page["items"]
            after = page["next"]
            if not after:
                return found

    def push(self, name, states, **more):
        return self.api("POST", f"/recipes/{name}/revisions", {"recipe": name, "states": states, **more})

    def assign(self, recipe, selector="*", app="default", **more):
        return self.api("POST", "/assignments", {"app_id": app, "selector": selector, "recipe": recipe, **more})

    def instance(self, name, app="default"):
        return self.get(f"/instances/{app}/{name}")

    def gauge(self, name):
        """One number of /metrics."""
        connection = self.connect()
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return float(re.search(rf"^{name} (\S+)", text, re.M)[1])

    def settled(self, name, version=None, status="converged"):
        """Whether an instance has reported this about the version that it should run (or about `version`)."""
        try:
            found = self.instance(name)
        except ApiError:
            return False
        return (found["reported_version"] == (version or found["recipe_version"]) and found["status"] == status) and found

    def events(self, **query):
        if "instance" in query:
            query.setdefault("app", "default")
        return Events(self, query)


class Events:
    """The backend's event stream, gathered by a thread."""

    def __init__(self, backend, query):
        self.found = []
        self.connection = backend.connect(timeout=3600)
        self.connection.request("GET", "/api/v1/events" + ("?" + urllib.parse.urlencode(query) if query else ""),
                                headers={"Authorization": f"Bearer {backend.token}"})
        self.answer = self.connection.getresponse()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        event = {}
        try:
            for line in self.answer:
                line = line.decode().rstrip("\r\n")
                if not line:
                    if "data" in event:
                        self.found.append({**event, "data": json.loads(event["data"])})
                    event = {}
                elif ":" in line and not line.startswith(":"):
                    key, _, value = line.partition(":")
                    event[key] = value.removeprefix(" ")
        except (OSError, ValueError, AttributeError):
            pass  # closed

    def of(self, kind):
        return [event["data"] for event in list(self.found) if event.get("event") == kind]

    def close(self):
        if self.connection.sock:
            self.connection.sock.shutdown(2)
        self.thread.join(10)
        self.connection.close()


class Agent:
    """An opsagent. It can be killed and started again.

    With a root of its own (the default) several can be given the same recipe of files; without, it can run commands.
    """

    program = BIN / "opsagent"

    def __init__(self, scratch, name, uri, *options, self_tags=(), round_delay=1, own_root=True):
        self.name = name
        self.folder = scratch / name
        self.root = self.folder / "root"
        self.state_dir = self.folder / "state"
        self.log = self.folder / "log"
        self.root.mkdir(parents=True)
        self.arguments = ["run", "--ws-uri", uri, "--instance-id", name, "--state-dir", self.state_dir,
                          *(("--root", self.root) if own_root else ()), "--round-delay", str(round_delay), "--config", "/dev/null",
                          *(word for tag in self_tags for word in ("--tag", tag)), *options]
        self.process = None
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.program, *self.arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def stop(self, number=signal.SIGTERM, seconds=LONG):
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(seconds)
        return self.process.returncode

    def kill(self):
        self.stop(signal.SIGKILL)

    def has(self, path, content):
        file = self.root / path.lstrip("/")
        try:
            return file.read_text() == content
        except OSError:
            return False


class LiveTest(unittest.TestCase):
    backend_options = ()
    backend_host = "127.0.0.1"

    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="opsagent-live."))
        self.agents = {}
        self.backend = Backend(self.scratch, *self.backend_options, host=self.backend_host)

    def tearDown(self):
        outcome = self._outcome.result if self._outcome else None
        failed = outcome and any(case is self for case, _ in outcome.failures + outcome.errors)
        for agent in self.agents.values():
            agent.kill()
        if self.backend.process.poll() is None:
            self.backend.kill()
        if failed:
            for log in sorted(self.scratch.rglob("log")) + [self.backend.log]:
                print(f"--- {log.relative_to(self.scratch)}\n{log.read_text(errors='replace')[-3000:]}", file=sys.stderr)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def agent(self, name, *options, tags=(), **more):
        """`tags` are the operator's, `self_tags` what the machine says of itself."""
        given = dict(tag.split("=", 1) for tag in tags)
        joins = () if self.backend.is_plain else ("--join-token", self.backend.join_token(instance_id=name, tags=given))
        self.agents[name] = Agent(self.scratch, name, self.backend.uri, *joins, *options, **more)
        self.assertTrue(wait_until(lambda: self.is_online(name)), f"{name} does not get online")
        if self.backend.is_plain and given:
            self.backend.api("PATCH", f"/instances/default/{name}", {"tags": given})
        return self.agents[name]

    def is_online(self, name):
        try:
            return self.backend.instance(name)["online"]
        except ApiError:
            return False

    def run_recipe(self, states, *names, recipe="r", **more):
        """Assigns the states to the named agents (all when none is named) and waits until they are converged."""
        self.backend.push(recipe, states)
        selector = " or ".join(f"instance={name}" for name in names) or "*"
        self.backend.assign(recipe, selector, **more)
        for name in names or self.agents:
            self.assertTrue(wait_until(lambda: self.backend.settled(name)), f"{name} does not converge: {self.backend.instance(name)}")


def file_state(identity, path, content, **more):
    return {"id": identity, "module": "linux.file", "parameter": {"path": path, "content": content}, **more}


def command_state(identity, command, **more):
    return {"id": identity, "module": "linux.cmd", "parameter": {"cmd": command}, **more}
