"""What the tests of the agent against scripted backends share: a daemon in a scratch folder, and a backend that says what it is told to.

A test is `NAME PROGRAM [unittest options]`; PROGRAM is opsagent.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from scripted_backend import ScriptedBackend, welcome

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""


def wait_until(condition, seconds=15):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class AgentTest(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="opsagent-peer-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.state_dir = self.scratch / "state"
        self.log = self.scratch / "log"
        self.agent = None
        self.addCleanup(self.end_agent)
        self.backend = ScriptedBackend(acknowledge=True)
        self.addCleanup(lambda: self.backend.stop())
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.scratch), "OPSAGENT_CONFIG": "/dev/null",
                            "OPSAGENT_STATE_DIR": str(self.state_dir)}

    def start(self, *options, uris=None):
        arguments = [f"--ws-uri={uri}" for uri in uris or [self.backend.uri]]
        self.agent = subprocess.Popen(
            [PROGRAM, "run", *arguments, "--instance-id", "web1", "--round-delay", "1", "--log-level", "debug",
             *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log_file(),
            cwd=self.scratch, env=self.environment)

    def log_file(self):
        file = open(self.log, "ab")
        self.addCleanup(file.close)
        return file

    def end_agent(self):
        if self.agent and self.agent.poll() is None:
            self.agent.kill()
            self.agent.wait()

    def kill(self):
        self.agent.kill()
        self.agent.wait()

    def command(self, *arguments, status=0):
        done = subprocess.run([PROGRAM, *arguments], env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def status(self):
        return json.loads(self.command("status", "--json"))

    def join(self, version=2, **more):
        """A new connection that was welcomed, with its handshake."""
        connection = self.backend.accept()
        hello = connection.next("Handshake")
        if version == 2:
            welcome(connection, **more)
        return connection, hello

    def file(self, name, content="x\n"):
        return {"id": name, "module": "linux.file",
                "parameter": {"path": str(self.scratch / name), "content": content}}

    def command_state(self, name, script, **more):
        return {"id": name, "module": "linux.cmd", "parameter": {"cmd": script}} | more

    def log_text(self):
        return self.log.read_text()

    def rss(self):
        """Bytes of memory that the agent has in use."""
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.agent.pid}/status").read_text())[1]) * 1024
