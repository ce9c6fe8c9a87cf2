"""A small HTTP proxy that knows CONNECT, for tests: it can want a password, send every name to loopback, and die."""

import base64
import socket
import threading


class ConnectProxy:
    def __init__(self, password=None, port=0):
        self.password = password  # "name:password"
        self.asked = []  # (target, status) of every request
        self.open = []
        self.socket = socket.create_server(("127.0.0.1", port))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def uri(self):
        return f"http://127.0.0.1:{self.port}"

    def die(self):
        """With all that goes through it."""
        for each in (self.socket, *self.open):
            try:
                each.shutdown(socket.SHUT_RDWR)  # wakes up whoever is waiting for it
            except OSError:
                pass
        self.socket.close()

    def _accept(self):
        try:
            while True:
                connection, _ = self.socket.accept()
                threading.Thread(target=self._serve, args=[connection], daemon=True).start()
        except OSError:
            pass  # dead

    def _serve(self, client):
        self.open.append(client)
        try:
            head = b""
            while b"\r\n\r\n" not in head:
                more = client.recv(4096)
                if not more:
                    return
                head += more
            method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
            wanted = base64.b64encode((self.password or "").encode())
            if method != "CONNECT":
                status, text = 405, b"HTTP/1.1 405 Method Not Allowed\r\n\r\n"
            elif self.password and b"Basic " + wanted not in head:
                status, text = 407, b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n"
            else:
                status, text = 200, b"HTTP/1.1 200 Connection established\r\n\r\n"
            self.asked.append((target, status))
            if status == 200:
                # Whatever the name: the tests' backends are here.
                server = socket.create_connection(("127.0.0.1", int(target.rsplit(":", 1)[1])), 10)
                self.open.append(server)
                client.sendall(text)
                threading.Thread(target=self._pass, args=[client, server], daemon=True).start()
                self._pass(server, client)
            else:
                client.sendall(text)
        except OSError:
            pass
        finally:
            client.close()

    @staticmethod
    def _pass(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
