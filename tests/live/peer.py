"""A peer of the backend that says what a test wants, with a certificate or without: OpenSSL's command and Python's websockets, nothing of ours."""

import asyncio
import json
import ssl
import subprocess
import threading

import websockets


def make_key(folder, name):
    """A key and a certificate request; answers the request's text. The key is in folder/name.key."""
    key, request = folder / f"{name}.key", folder / f"{name}.csr"
    subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", request,
                    "-subj", "/CN=whatever"], check=True, capture_output=True)
    return request.read_text()


class Peer:
    """A websocket in a thread of its own. Everything that the backend says is in `heard`; `closed` is (code, reason) once it is closed."""

    def __init__(self, backend, certificate=None):
        self.heard = []
        self.closed = None
        self.uri = backend.uri
        self.tls = None if backend.is_plain else backend.tls(certificate)
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.loop.run_until_complete, args=[self.talk()], daemon=True)
        self.thread.start()
        self.ready.wait(30)

    async def talk(self):
        try:
            async with websockets.connect(self.uri, ssl=self.tls, max_size=None) as self.socket:
                self.ready.set()
                async for text in self.socket:
                    self.heard.append(json.loads(text))
                self.closed = (self.socket.close_code, self.socket.close_reason)
        except websockets.exceptions.ConnectionClosed as end:
            self.closed = (end.rcvd.code, end.rcvd.reason) if end.rcvd else (1006, str(end))
        except (OSError, ssl.SSLError, websockets.exceptions.WebSocketException) as end:
            self.closed = (0, str(end))
        finally:
            self.ready.set()

    def send(self, code, **fields):
        self.send_text(json.dumps({"code": code, **fields}))

    def send_text(self, text):
        if self.closed:
            return
        try:
            asyncio.run_coroutine_threadsafe(self.socket.send(text), self.loop).result(5)
        except (websockets.exceptions.ConnectionClosed, AttributeError, TimeoutError):
            pass  # it was closed; the test looks at `closed`

    def of(self, code):
        return [message for message in list(self.heard) if message["code"] == code]

    def close(self):
        if self.thread.is_alive() and hasattr(self, "socket"):
            asyncio.run_coroutine_threadsafe(self.socket.close(), self.loop)
        self.thread.join(20)


def enrol(backend, folder, name, token, app="default", wait_until=None):
    """A machine enrolled by hand. Answers the file with its key and chain, for Peer(certificate=…)."""
    request = make_key(folder, name)
    peer = Peer(backend)
    peer.send("CertRequest", mid="1", csr=request, token=token, app_id=app, instance_id=name)
    answered = wait_until(lambda: peer.heard or peer.closed)
    peer.close()
    issued = peer.of("CertIssued")
    if not issued:
        raise AssertionError(f"not enrolled: {peer.heard} {peer.closed} {answered}")
    certificate = folder / f"{name}.pem"
    certificate.write_text((folder / f"{name}.key").read_text() + issued[0]["chain"])
    return certificate
