"""Websockets by hand (RFC 6455), for peers that break its rules: frames as bytes, and both sides of the upgrade on a plain socket."""

import base64
import hashlib
import json
import os
import socket
import struct

TEXT, BINARY, CLOSE, PING, CONTINUATION = 1, 2, 8, 9, 0
MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def frame(payload, opcode=TEXT, final=True, masked=True, length=None, reserved=0):
    """One frame. `length`: what its header claims, whatever the payload is. Agents mask, backends do not."""
    payload = payload.encode() if isinstance(payload, str) else payload
    claimed = len(payload) if length is None else length
    first = (0x80 if final else 0) | reserved << 4 | opcode
    mask_bit = 0x80 if masked else 0
    if claimed < 126:
        header = struct.pack("!BB", first, mask_bit | claimed)
    elif claimed < 1 << 16:
        header = struct.pack("!BBH", first, mask_bit | 126, claimed)
    else:
        header = struct.pack("!BBQ", first, mask_bit | 127, claimed)
    # A mask of zeros is a mask: it leaves the payload as it is.
    return header + (bytes(4) if masked else b"") + payload


def in_fragments(payload, size, masked=True):
    """The payload as one message of many frames."""
    payload = payload.encode() if isinstance(payload, str) else payload
    pieces = [payload[i:i + size] for i in range(0, len(payload), size)]
    return b"".join(frame(piece, TEXT if number == 0 else CONTINUATION, number == len(pieces) - 1, masked)
                    for number, piece in enumerate(pieces))


def rubbish(masked):
    """What no peer may send, by name: bytes, and the close codes that may answer it. An empty set: the socket may just be closed."""
    text = json.dumps
    return {
        "100,000 brackets": (frame("[" * 100_000, masked=masked), {1007, 1009}),
        "60,000 brackets": (frame("[" * 60_000, masked=masked), {1007}),
        "not UTF-8": (frame(b'{"code":"\xff\xfe"}', masked=masked), {1007}),
        "half a character": (frame(b'{"code":"\xc3', masked=masked), {1007}),
        "a surrogate": (frame('{"code":"\\ud800"}', masked=masked), {1007}),
        "a key twice": (frame('{"code":"Test","code":"Test"}', masked=masked), {1007}),
        "no JSON": (frame("hello", masked=masked), {1007}),
        "nothing": (frame("", masked=masked), {1007}),
        "a number beyond all": (frame('{"code":"Ack","ack_seq":1e999}', masked=masked), {1002, 1007}),
        "a list": (frame("[]", masked=masked), {1002}),
        "no code": (frame(text({"a": 1}), masked=masked), {1002}),
        "a code that is no text": (frame(text({"code": 7}), masked=masked), {1002}),
        "a field of another type": (frame(text({"code": "Ack", "ack_seq": "x"}), masked=masked), {1002}),
        "a negative seq": (frame(text({"code": "Ack", "ack_seq": -1}), masked=masked), {1002, 1007}),
        "a binary frame": (frame(b"\0\1\2", BINARY, masked=masked), {1003}),
        "half a character in fragments": (in_fragments(b'{"code":"\xff"}', 1, masked), {1007}),
        "brackets in fragments of a byte": (in_fragments("[" * 3000, 1, masked), {1007}),
        "more than any message": (frame(b"x" * 1000, masked=masked, length=1 << 40), {1009}),
        "a length with the highest bit": (frame(b"", masked=masked, length=(1 << 63) + 5), {1002, 1009}),
        "reserved bits": (frame("{}", masked=masked, reserved=7), {1002}),
        "an opcode that is none": (frame("{}", opcode=5, masked=masked), {1002}),
        "the wrong mask": (frame("{}", masked=not masked), {1002}),
        "a continuation of nothing": (frame("{}", opcode=CONTINUATION, masked=masked), {1002}),
        "a text within a text": (frame("{", final=False, masked=masked) + frame("{}", masked=masked), {1002}),
        "a ping in fragments": (frame("x", opcode=PING, final=False, masked=masked), {1002}),
        "a ping that is too long": (frame(b"x" * 126, opcode=PING, masked=masked), {1002}),
        "half a close": (frame(b"\x03", opcode=CLOSE, masked=masked), {1002}),
        "a close code that is none": (frame(b"\x00\x01", opcode=CLOSE, masked=masked), {1002}),
    }


class Peer:
    """A socket behind its upgrade. Blocking, with a deadline."""

    def __init__(self, connection, left, masked):
        self.socket = connection
        self.left = left
        self.masked = masked  # what we send

    def send(self, data):
        self.socket.sendall(data)

    def say(self, code, **fields):
        self.send(frame(json.dumps({"code": code} | fields), masked=self.masked))

    def exactly(self, count):
        while len(self.left) < count:
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("closed")
            self.left += more
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def read(self):
        """Opcode and payload of the next frame."""
        first, second = self.exactly(2)
        length = second & 0x7F
        if length == 126:
            length = struct.unpack("!H", self.exactly(2))[0]
        elif length == 127:
            length = struct.unpack("!Q", self.exactly(8))[0]
        mask = self.exactly(4) if second & 0x80 else bytes(4)
        payload = self.exactly(length)
        return first & 0x0F, bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload)) if any(mask) else payload

    def hear(self, code):
        """The next message of this code; others are passed over."""
        while True:
            opcode, payload = self.read()
            if opcode == CLOSE:
                raise ConnectionError(f"closed: {payload!r}")
            if opcode == TEXT:
                message = json.loads(payload)
                if message["code"] == code:
                    return message

    def close_code(self):
        """Reads up to the end, and answers a close. The code of the peer's close frame; 0: it said none; None: no end in time."""
        code = 0
        try:
            while True:
                opcode, payload = self.read()
                if opcode == CLOSE:
                    code = struct.unpack("!H", payload[:2])[0] if len(payload) >= 2 else 1005
                    self.send(frame(payload, CLOSE, masked=self.masked))
                    if not self.masked:
                        return code  # a server is the one who hangs up
        except TimeoutError:
            return None
        except OSError:
            return code

    def close(self):
        self.socket.close()


def connect(address, deadline=30, receive_buffer=None, source="127.0.0.1"):
    connection = socket.socket()
    connection.bind((source, 0))
    connection.settimeout(deadline)
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    try:
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def read_head(connection):
    """An HTTP head, and what came behind it."""
    text = b""
    while b"\r\n\r\n" not in text:
        more = connection.recv(4096)
        if not more:
            raise ConnectionError("closed")
        text += more
    head, _, left = text.partition(b"\r\n\r\n")
    return head, left


UPGRADE = ("GET /agent/ HTTP/1.1\r\nHost: backend\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: {}\r\n\r\n")


def as_agent(address, **more):
    """Connected as an agent connects."""
    connection = connect(address, **more)
    try:
        connection.sendall(UPGRADE.format(base64.b64encode(os.urandom(16)).decode()).encode())
        head, left = read_head(connection)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(head.split(b"\r\n")[0].decode())
    except OSError:
        connection.close()
        raise
    return Peer(connection, left, masked=True)


def as_backend(connection):
    """Accepts the upgrade that an agent asks for."""
    head, left = read_head(connection)
    key = next(line.split(b":", 1)[1].strip() for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key:"))
    accept = base64.b64encode(hashlib.sha1(key + MAGIC).digest())
    connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: " + accept
                       + b"\r\n\r\n")
    return Peer(connection, left, masked=False)
