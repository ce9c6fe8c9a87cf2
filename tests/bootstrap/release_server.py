"""A web server for a folder of releases, with ranges, that can be told to misbehave; on loopback or any address of the test's network."""

import http.server
import pathlib
import re
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        path = self.path.lstrip("/").removeprefix("releases/") if server.below_releases else self.path.lstrip("/")
        server.asked.append(path)
        trouble = server.trouble.get(path)
        if trouble:
            return trouble(self)
        file = server.folder / path
        if ".." in path or not file.is_file():
            return self.answer(404, b"not here\n")
        content, start = file.read_bytes(), 0
        if found := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start = int(found[1])
            if start >= len(content):
                return self.answer(416, b"")
        self.answer(206 if start else 200, content[start:], **({"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}))

    def answer(self, status, content, length=None, **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class ReleaseServer(http.server.ThreadingHTTPServer):
    """`trouble`: {path: function(handler)} for answers of the test's own."""

    daemon_threads = True

    def __init__(self, folder, address="127.0.0.1", below_releases=False):
        super().__init__((address, 0), Handler)
        self.folder = pathlib.Path(folder)
        self.below_releases = below_releases
        self.trouble = {}
        self.asked = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def handle_error(self, *_):
        pass  # clients that are killed

    @property
    def url(self):
        return f"http://{self.server_address[0]}:{self.server_port}"

    def close(self):
        self.shutdown()
        self.server_close()


def trickle(handler):
    """A byte a second, for ever."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    for _ in range(100000):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(1)


def endless(handler):
    """As fast as it goes, without saying how much."""
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True
    while True:
        handler.wfile.write(b" " * 65536)


def redirect(handler):
    handler.answer(302, b"", Location="http://127.0.0.2/elsewhere")


def cut_off(server, path, after, times):
    """The connection ends after so many bytes; `times` times, then all of it comes."""
    file = server.folder / path
    left = [times]

    def answer(handler):
        if left[0] == 0:
            server.trouble.pop(path, None)
            return handler.do_GET()
        left[0] -= 1
        start = int(found[1]) if (found := re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))) else 0
        content = file.read_bytes()[start:]
        handler.close_connection = True
        handler.answer(206 if start else 200, content[:after], len(content),
                       **({"Content-Range": f"bytes {start}-{start + len(content) - 1}/{start + len(content)}"} if start else {}))

    server.trouble[path] = answer
