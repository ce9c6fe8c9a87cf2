"""The programs that bench/fleet/run starts: the backend, and fleet-load, which is told what to do by lines."""

import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

APP = "default"


def rss_kib(pid, field="VmRSS"):
    return int(re.search(rf"{field}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Backend:
    def __init__(self, binaries, scratch, tls):
        self.binaries, self.data, self.log, self.tls = binaries, scratch / "data", scratch / "log", tls
        self.authority = self.data / "ca.crt"
        self.listen = "127.0.0.1:0"
        self.start()

    def start(self):
        seen = self.log.stat().st_size if self.log.exists() else 0
        command = [self.binaries / "opsbackend", "--data", self.data, "--listen", self.listen]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command + ([] if self.tls else ["--plain"]), stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)
        end = time.monotonic() + 30
        while not (found := re.search(rb"https?://(127\.0\.0\.1:\d+)", self.log.read_bytes()[seen:])):
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit("the backend does not start:\n" + self.log.read_text())
            time.sleep(0.02)
        self.listen = found[1].decode()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)

    @property
    def pid(self):
        return self.process.pid

    def connection(self):
        if not self.tls:
            return http.client.HTTPConnection(self.listen, timeout=120)
        return http.client.HTTPSConnection(self.listen, timeout=120, context=ssl.create_default_context(cafile=self.authority))

    def api(self, method, path, body=None, connection=None):
        connection = connection or self.connection()
        token = (self.data / "admin.token").read_text().strip()
        connection.request(method, "/api/v1" + path, None if body is None else json.dumps(body),
                           {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read().decode()
        if answer.status >= 400:
            sys.exit(f"{method} {path}: {answer.status} {content}")
        return json.loads(content)

    def join_token(self, uses):
        return self.api("POST", "/join-tokens", {"app_id": APP, "name": "*", "uses": uses, "ttl_s": 3600})["token"]


class Load:
    """fleet-load, spoken to by lines."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.early = []  # what came before anybody waited for it

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait_for(self, event):
        for answer in self.early:
            if answer["event"] == event:
                self.early.remove(answer)
                return answer
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer["event"] == event:
                return answer
            if answer["event"] == "error":
                sys.exit(f"fleet-load: {answer['text']}")
            self.early.append(answer)
        sys.exit(f"fleet-load ended while waiting for '{event}'")

    def ask(self, line, event):
        self.tell(line)
        return self.wait_for(event)

    def use_tls(self, backend, enrolments):
        self.tell(f"tls {backend.authority} {backend.join_token(enrolments)}")

    def agents(self, verb, number, backend, event):
        return self.ask(f"{verb} {number} {backend.listen.replace(':', ' ')} {APP}", event)

    def end(self):
        self.tell("quit")
        self.process.wait(30)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
