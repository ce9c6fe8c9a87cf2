"""The metadata service of a cloud: answers as EC2 does, with session tokens (v2) or without (v1), and as OpenStack does."""

import http.server
import json
import re
import secrets
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        server = self.server
        server.asked.append("PUT " + self.path)
        if server.kind != "ec2-v2" or self.path != "/latest/api/token":
            return self.answer(404 if server.kind == "openstack" else 405)
        if not self.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "").isdigit():
            return self.answer(400)
        server.tokens.append(secrets.token_hex(16))
        self.answer(200, server.tokens[-1])

    def do_GET(self):
        server = self.server
        server.asked.append("GET " + self.path)
        if server.kind == "ec2-v2" and self.headers.get("X-aws-ec2-metadata-token") not in server.tokens:
            return self.answer(401)
        path = self.path if server.kind == "openstack" else re.sub(r"^/(latest|\d{4}-\d\d-\d\d)/", "/latest/", self.path)
        tree = server.openstack() if server.kind == "openstack" else server.ec2()
        if path in tree:
            return self.answer(200, tree[path])
        below = path.rstrip("/") + "/"
        names = {name[len(below):].split("/")[0] + ("/" if "/" in name[len(below):] else "") for name in tree if name.startswith(below)}
        self.answer(200 if names else 404, "\n".join(sorted(names)))

    def answer(self, status, text=""):
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class MetadataServer(http.server.ThreadingHTTPServer):
    """`kind`: ec2-v2, ec2-v1 or openstack."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, kind, instance, userdata, address="169.254.169.254"):
        super().__init__((address, 80), Handler)
        self.kind, self.instance, self.userdata = kind, instance, userdata
        self.tokens, self.asked = [], []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def ec2(self):
        return {"/latest/meta-data/instance-id": self.instance, "/latest/meta-data/ami-id": "ami-1", "/latest/meta-data/local-hostname": self.instance,
                "/latest/meta-data/placement/availability-zone": "test-1a", "/latest/user-data": self.userdata,
                "/latest/dynamic/instance-identity/document": json.dumps({"instanceId": self.instance, "region": "test-1"})}

    def openstack(self):
        return {"/openstack/latest/meta_data.json": json.dumps({"uuid": self.instance, "name": "machine", "hostname": "machine"}),
                "/openstack/latest/user_data": self.userdata}

    def close(self):
        self.shutdown()
        self.server_close()
