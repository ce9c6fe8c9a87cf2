"""An agent that speaks only version 1, written from docs/protocol.md and from nothing of ours: Python's websockets library."""

import asyncio
import json
import threading

import websockets


class OldAgent:
    """Connects in a thread of its own. Everything that the backend says is in `heard`."""

    def __init__(self, uri, instance_id, app_id="default", token="a token", version="1.0"):
        self.identity = {"instance_id": instance_id, "app_id": app_id}
        self.handshake = {"code": "Handshake", **self.identity, "agent_version": version, "protocol_version": 1, "instance_token": token,
                          "init_errors": None}
        self.heard = []
        self.closed = None  # the close code, once it is closed
        self.version = 0
        self.uri = uri
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.loop.run_until_complete, args=[self.talk()], daemon=True)
        self.thread.start()
        self.ready.wait(20)

    async def talk(self):
        try:
            async with websockets.connect(self.uri, max_size=None) as self.socket:
                await self.socket.send(json.dumps(self.handshake))
                self.ready.set()
                async for text in self.socket:
                    message = json.loads(text)
                    if message["code"] == "RecipeMetadata":
                        self.version = message["recipe_version"]
                    self.heard.append(message)
        except (OSError, websockets.exceptions.WebSocketException):
            pass
        finally:
            if hasattr(self, "socket"):
                self.closed = self.socket.close_code
            self.ready.set()

    def send(self, code, **fields):
        text = json.dumps({"code": code, **self.identity, **fields})
        asyncio.run_coroutine_threadsafe(self.socket.send(text), self.loop).result(20)

    def send_text(self, text):
        asyncio.run_coroutine_threadsafe(self.socket.send(text), self.loop).result(20)

    def log(self, state, result=True, comment="done", stdout=None):
        self.send("StateLog", recipe_version=self.version, id=state, state_result=result, state_comment=comment, state_stdout=stdout)

    def of(self, code):
        return [message for message in list(self.heard) if message["code"] == code]

    def close(self):
        if self.thread.is_alive() and hasattr(self, "socket"):
            asyncio.run_coroutine_threadsafe(self.socket.close(), self.loop)
        self.thread.join(20)
