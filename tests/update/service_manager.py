"""The part of a service manager that matters here: it hears "WATCHDOG=1" (sd_notify), and knows when it has not for too long."""

import os
import socket
import threading
import time


class ServiceManager:
    """Give `environment` to the service, and ask is_silent() again and again."""

    def __init__(self, seconds):
        self.seconds = seconds
        name = f"opsagent-test-{os.getpid()}-{time.monotonic_ns()}"  # in the abstract namespace
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name)
        self.environment = {"NOTIFY_SOCKET": "@" + name, "WATCHDOG_USEC": str(seconds * 1_000_000)}
        self.begin()
        self.thread = threading.Thread(target=self._hear)
        self.thread.start()

    def begin(self):
        """The service was started: it has all the time again."""
        self.heard = time.monotonic()

    def _hear(self):
        while words := self.socket.recv(4096):
            if words.startswith((b"WATCHDOG=1", b"READY=1")):
                self.heard = time.monotonic()

    def is_silent(self):
        return time.monotonic() - self.heard > self.seconds

    def close(self):
        self.socket.shutdown(socket.SHUT_RD)
        self.thread.join()
        self.socket.close()
