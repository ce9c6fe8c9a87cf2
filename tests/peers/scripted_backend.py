"""A backend that says what a test tells it to: the websocket half, in a thread of its own.

Written from the specification of the protocol, not from our programs. Version 1 and 2.
"""

import asyncio
import json
import queue
import threading
import time

import websockets


class Connection:
    """One agent that is connected. All calls come from the test's thread."""

    def __init__(self, backend, socket):
        self.backend, self.socket = backend, socket
        self.received = queue.Queue()
        self.closed = threading.Event()
        self.close_code = None

    def send(self, code=None, **fields):
        self.send_text(json.dumps({"code": code} | fields))

    def send_text(self, text):
        asyncio.run_coroutine_threadsafe(self.socket.send(text), self.backend.loop).result(5)

    def send_frame(self, data):
        """Text frames from str, binary ones from bytes."""
        self.send_text(data)

    def close(self, code=1001):
        asyncio.run_coroutine_threadsafe(self.socket.close(code), self.backend.loop).result(10)

    def drop(self):
        """Without a word."""
        self.backend.loop.call_soon_threadsafe(self.socket.transport.abort)

    def next(self, code, within=15, where=lambda message: True):
        """The next message of this code for which `where` holds; others are passed over."""
        end = time.monotonic() + within
        while True:
            left = end - time.monotonic()
            try:
                message = self.received.get(timeout=max(left, 0.001))
            except queue.Empty:
                raise AssertionError(f"no {code} within {within} s") from None
            if message["code"] == code and where(message):
                return message

    def all_for(self, seconds):
        """What comes in this time."""
        time.sleep(seconds)
        messages = []
        while not self.received.empty():
            messages.append(self.received.get())
        return messages


class ScriptedBackend:
    """Listens on a port that the kernel chose, or on `port`; accept() gives the next agent."""

    def __init__(self, acknowledge=False, port=0, tls=None):
        self.acknowledge = acknowledge  # every report, at once
        self.tls = tls  # an ssl.SSLContext, or None for ws://
        self.connections = queue.Queue()
        self.stored = {}  # (agent_uid, seq) -> report
        self.repeated = 0
        self.uid = None
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self._started = threading.Event()
        self.port = port
        self.server = None
        self.thread.start()
        self._started.wait(10)

    @property
    def uri(self):
        return f"{'wss' if self.tls else 'ws'}://127.0.0.1:{self.port}/agent/"

    def accept(self, within=20):
        try:
            return self.connections.get(timeout=within)
        except queue.Empty:
            raise AssertionError(f"nobody connected within {within} s") from None

    def stop(self):
        async def end():
            self.server.close()
            await self.server.wait_closed()
        asyncio.run_coroutine_threadsafe(end(), self.loop).result(20)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    def results(self):
        """Stored results, in order."""
        return [report for (_, _), report in sorted(self.stored.items(), key=lambda item: item[0][1])
                if report["code"] == "StateLog"]

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self._listen())
        self._started.set()
        self.loop.run_forever()

    async def _listen(self):
        self.server = await websockets.serve(self._serve, "127.0.0.1", self.port, max_size=64 * 1024 * 1024, ssl=self.tls)
        self.port = self.server.sockets[0].getsockname()[1]

    async def _serve(self, socket, *_):
        connection = Connection(self, socket)
        self.connections.put(connection)
        try:
            async for text in socket:
                message = json.loads(text)
                if message["code"] == "Handshake":
                    self.uid = message.get("agent_uid")
                connection.received.put(message)
                if self.acknowledge and message.get("seq"):
                    key = (self.uid, message["seq"])
                    self.repeated += key in self.stored
                    self.stored.setdefault(key, message)
                    await socket.send(json.dumps({"code": "Ack", "ack_seq": message["seq"]}))
        except websockets.ConnectionClosed:
            pass
        finally:
            connection.close_code = socket.close_code
            connection.closed.set()


def welcome(connection, ack_seq=0, **more):
    connection.send("Welcome", protocol_version=2, capabilities=[], session="s", epoch=1, ack_seq=ack_seq,
                    heartbeat_s=30, max_message=4194304, report="all", server_time="2026-03-01T12:00:00.000Z",
                    **more)
