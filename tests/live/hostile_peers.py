"""Everything that a peer can do wrong to a backend, at once: malformed frames, floods, slow and silent peers, half-open sockets.

An Attack is a process of its own, so that the test beside it keeps its share of the machine. It knows no secrets: no access token, and machines of its
own only.
"""

import json
import multiprocessing
import os
import pathlib
import resource
import signal
import sys
import threading
import time
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from raw_socket import PING, as_agent, connect, frame, in_fragments, rubbish
from support import drop_packets

SOURCE = "127.0.0.9"  # one address has so many places: the attack is not to take those of the operator's
SILENT = 2000      # connections that send nothing at all
UNINTRODUCED = 200  # websockets that never say who they are
SLOW_HEADERS = 100
BODIES = 8         # large requests of which the last byte never comes
BODY = 7 * 1024 * 1024
DEAF = 6           # agents that never read
HALF_OPEN = 4
LARGEST_BEFORE_WELCOME = 64 * 1024


def handshake(name, **more):
    return json.dumps({"code": "Handshake", "instance_id": name, "app_id": "default", "agent_version": "1", "protocol_version": 1,
                       "protocol_max": 2, "instance_token": f"token of {name}", "agent_uid": f"uid-{name}", "init_errors": None} | more)


class Attack:
    """Runs until stop(), which answers what was done, by kind; what is called "wrong: …" must not have happened."""

    def __init__(self, listen, can_drop):
        host, port = listen.rsplit(":", 1)
        here, self.there = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=run, args=((host, int(port)), can_drop, here), daemon=True)
        self.process.start()
        here.close()

    def stop(self):
        self.there.send("stop")
        counts = self.there.recv() if self.there.poll(60) else Counter({"wrong: the attack did not end": 1})
        self.process.join(10)
        if self.process.is_alive():
            self.process.kill()
        return counts


def run(address, can_drop, pipe):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    attackers = Attackers(address)
    kinds = [attackers.silent, attackers.unintroduced, attackers.slow_headers, attackers.bodies, attackers.strangers, attackers.known,
             attackers.pings, attackers.reports, attackers.handshakes, *[lambda i=i: attackers.deaf(i) for i in range(DEAF)]]
    if can_drop:
        kinds.append(attackers.half_open)
    for kind in kinds:
        threading.Thread(target=attackers.repeat, args=[kind], daemon=True).start()
    pipe.recv()
    attackers.over.set()
    time.sleep(0.5)
    pipe.send(attackers.counts)
    os._exit(0)


class Attackers:
    """One method per kind; each is called again and again."""

    def __init__(self, address):
        self.address = address
        self.over = threading.Event()
        self.counts = Counter()

    def repeat(self, kind):
        while not self.over.is_set():
            try:
                kind()
            except OSError:
                self.counts["refused or cut off"] += 1
                time.sleep(0.05)

    def admitted(self, name, receive_buffer=None, **more):
        peer = as_agent(self.address, source=SOURCE, receive_buffer=receive_buffer)
        peer.send(frame(handshake(name, tags={"role": name.partition("-")[0]}, **more)))
        return peer

    def hold(self, how_many, send, again=None, every=1.0):
        """Keeps so many connections on which `send` was sent once, and `again` every so often. Those that were closed are replaced."""
        held = []
        try:
            while not self.over.is_set():
                while len(held) < how_many and not self.over.is_set():
                    connection = connect(self.address, source=SOURCE)
                    connection.sendall(send)
                    connection.setblocking(False)
                    held.append(connection)
                    self.counts[f"connections of {how_many}"] += 1
                for connection in list(held):
                    try:
                        if again:
                            connection.send(again)
                        if connection.recv(4096) == b"":
                            raise ConnectionError
                    except BlockingIOError:
                        pass
                    except OSError:
                        held.remove(connection)
                        connection.close()
                self.over.wait(every)
        finally:
            for connection in held:
                connection.close()

    def silent(self):
        self.hold(SILENT, b"")

    def slow_headers(self):
        self.hold(SLOW_HEADERS, b"GET /healthz HTTP/1.1\r\nHost: ", b"a", 0.3)

    def bodies(self):
        held = []
        for _ in range(BODIES):
            connection = connect(self.address, source=SOURCE)
            connection.sendall(b"POST /api/v1/recipes/x/revisions HTTP/1.1\r\nHost: b\r\nContent-Type: application/json\r\n"
                               b"Authorization: Bearer wrong\r\nContent-Length: 8000000\r\n\r\n")
            for _ in range(BODY // 65536):
                connection.sendall(b" " * 65536)
            held.append(connection)
            self.counts["bodies without an end"] += 1
        self.over.wait(8)
        for connection in held:
            connection.close()

    def unintroduced(self):
        peers = []
        for _ in range(UNINTRODUCED):
            if self.over.is_set():
                break
            peers.append(as_agent(self.address, source=SOURCE))
            self.counts["websockets that say nothing"] += 1
        self.over.wait(8)
        for peer in peers:
            peer.close()

    def strangers(self):
        """Rubbish instead of a handshake."""
        first = {name: entry for name, entry in rubbish(masked=True).items()}
        first["another message first"] = (frame(json.dumps({"code": "StateLog", "recipe_version": 1, "id": "x", "state_result": True})), {1002, 1008})
        first["a version 1 agent"] = (frame(handshake("old", protocol_max=1)), {1008})
        for name, (data, codes) in first.items():
            if self.over.is_set():
                return
            self.expect(as_agent(self.address, source=SOURCE), data, codes, f"a stranger: {name}")

    def known(self):
        """Rubbish from a machine that was welcomed, and a good message in the smallest fragments."""
        for name, (data, codes) in rubbish(masked=True).items():
            if self.over.is_set():
                return
            peer = self.admitted("known")
            peer.hear("Welcome")
            peer.send(in_fragments(json.dumps({"code": "Unheard", "mid": "1"}), 1))
            peer.hear("Nack")
            # 100,000 brackets fit now, and are refused for their depth.
            self.expect(peer, data, codes, f"a known machine: {name}")

    def expect(self, peer, data, codes, what):
        try:
            peer.send(data)
            code = peer.close_code()
        except OSError:
            code = 0  # cut off while we were sending
        finally:
            peer.close()
        self.counts["malformed"] += 1
        if code not in codes | {0}:
            self.counts[f"wrong: {what} was answered with {code} instead of {sorted(codes)}"] += 1
        elif code:
            self.counts["malformed, and told so"] += 1

    def pings(self):
        peer = self.admitted("pings")
        flood = frame(b"x" * 125, opcode=PING) * 200
        try:
            while not self.over.is_set():
                peer.send(flood)  # and the pongs stay unread
                self.counts["pings"] += 200
        finally:
            peer.close()

    def reports(self):
        """As fast as the socket takes them, the acknowledgements read as they come. After a break it goes on where the backend is."""
        peer = self.admitted("flood", last_seq=1 << 40)
        seq = peer.hear("Welcome")["ack_seq"]
        threading.Thread(target=peer.close_code, daemon=True).start()
        body = {"code": "StateLog", "recipe_version": 1, "id": "s", "state_result": True, "state_comment": "x" * 1000, "state_stdout": None,
                "outcome": "kept", "run_id": "r", "round": 1}
        try:
            while not self.over.is_set():
                some = bytearray()
                for _ in range(100):
                    seq += 1
                    some += frame(json.dumps(body | {"seq": seq}))
                peer.send(some)
                self.counts["reports"] += 100
        finally:
            peer.close()

    def handshakes(self):
        """As large as they may be, and larger."""
        tags = {f"tag{i}": "x" * 200 for i in range(200)}
        peer = as_agent(self.address, source=SOURCE)
        peer.send(frame(handshake("large", tags=tags)))
        peer.socket.settimeout(5)
        self.counts["large handshakes"] += 1
        self.over.wait(0.1)
        peer.close()
        self.expect(as_agent(self.address, source=SOURCE), frame(handshake("large", os="x" * LARGEST_BEFORE_WELCOME)), {1009}, "a handshake of more than 64 KiB")

    def deaf(self, number):
        peer = self.admitted(f"deaf-{number}", receive_buffer=4096)
        self.counts["agents that do not read"] += 1
        began = time.monotonic()
        try:
            while not self.over.wait(0.5) and time.monotonic() - began < 30:
                peer.send(frame(json.dumps({"code": "Unheard", "mid": "1"})))  # fails once the backend has given it up
        finally:
            peer.close()

    def half_open(self):
        peers = [self.admitted(f"half-{i}") for i in range(HALF_OPEN)]
        for peer in peers:
            peer.hear("Welcome")
            drop_packets(peer.socket.getsockname()[1])
            self.counts["half-open connections"] += 1
        self.over.wait(7)
        for peer in peers:
            peer.close()
