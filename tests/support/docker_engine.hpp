// DockerEngine: a real dockerd and a real docker-registry for tests, in namespaces of their own (network,
// mounts, processes): no bridge, rule or process is left behind. Needs root, dockerd and docker-registry.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/support/loop_device.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tests {

class DockerEngine {
 public:
  // The registry at 127.0.0.1:5000 of the engine's network; 5001 is one that wants the user "ops" with the
  // password "tr0ub4dor-x"; 5002 is the first, told by somebody who names another digest each time.
  DockerEngine() {
    folder_.write("registry.yml", config("5000", "", "registry"));
    folder_.write(
        "private.yml",
        config("5001", "auth: {htpasswd: {realm: test, path: " + (folder_ / "htpasswd") + "}}\n", "private"));
    // bcrypt of the password, made with crypt(3)
    folder_.write(
        "htpasswd",
        "ops:" + run_or_fail("perl -e 'print crypt(\"tr0ub4dor-x\", q($2y$05$abcdefghijklmnopqrstuv))'") +
            "\n");
    folder_.write("liar.py", R"(
import hashlib, http.client, http.server, re
said = 0
class Liar(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do(self):
        global said
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        path = self.path
        lie = None
        if self.command in ("GET", "HEAD") and "/manifests/" in path:
            said += 1
            lie = "sha256:" + hashlib.sha256(str(said).encode()).hexdigest()
            if "/manifests/sha256:" in path:
                lie = path.rsplit("/", 1)[1]
                path = path.rsplit("/", 1)[0] + "/latest"
        honest = http.client.HTTPConnection("127.0.0.1", 5000)
        honest.request(self.command, path, body, {name: value for name, value in self.headers.items()})
        answer = honest.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if lie and name.lower() == "docker-content-digest" and answer.status == 200:
                value = lie
            if name.lower() not in ("transfer-encoding", "connection"):
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
    do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = do_DELETE = do
http.server.ThreadingHTTPServer(("127.0.0.1", 5002), Liar).serve_forever()
)");
    folder_.write("run",
                  "#!/bin/sh\nset -e\n"
                  "ip link set lo up\n"
                  "mount -t tmpfs tmpfs /run\nmkdir -p /run/lock\n"
                  "docker-registry serve " +
                      (folder_ / "registry.yml") + " >" + (folder_ / "registry.log") +
                      " 2>&1 &\n"
                      "docker-registry serve " +
                      (folder_ / "private.yml") + " >" + (folder_ / "private.log") +
                      " 2>&1 &\n"
                      "python3 " +
                      (folder_ / "liar.py") + " >" + (folder_ / "liar.log") +
                      " 2>&1 &\n"
                      "exec dockerd --iptables=false --ip6tables=false --data-root=" +
                      (folder_ / "data") +
                      " --exec-root=/run/docker-test --pidfile=/run/docker-test.pid --host=unix://" +
                      socket() + " >" + (folder_ / "dockerd.log") + " 2>&1\n");
    ::chmod((folder_ / "run").c_str(), 0755);
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::setsid();
      const std::string script = folder_ / "run";
      ::execlp("unshare", "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
               script.c_str(), nullptr);
      ::_exit(127);
    }
    ::setenv("DOCKER_HOST", ("unix://" + socket()).c_str(), 1);
    for (int tries = 0; tries < 300; ++tries) {
      bool ok = false;
      shell_output("docker version", ok);
      if (ok) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    throw std::runtime_error("dockerd does not start:\n" + folder_.read("dockerd.log"));
  }
  ~DockerEngine() {
    ::unsetenv("DOCKER_HOST");
    bool ok = false;
    shell_output("DOCKER_HOST=unix://" + socket() + " sh -c 'docker rm -f $(docker ps -aq)'", ok);
    ::kill(child_, SIGKILL);  // and with it all that is in its namespace of processes
    ::waitpid(child_, nullptr, 0);
    shell_output("umount -R " + (folder_ / "data"), ok);
  }
  DockerEngine(const DockerEngine&) = delete;

  std::string socket() const { return folder_ / "docker.sock"; }
  const ScratchFolder& folder() const { return folder_; }

  // An image with busybox and one file more.
  void import(const std::string& name, const std::string& file) const {
    const std::string root = folder_ / "rootfs";
    run_or_fail("rm -rf " + root + " && mkdir -p " + root + "/bin " + root + "/tmp && cp /bin/busybox " +
                root + "/bin/ && for name in sh sleep cat echo touch hostname env sync; do ln -s busybox " +
                root + "/bin/$name; done && echo " + file + " >" + root + "/version && tar -C " + root +
                " -c . | docker import - " + name);
  }
  std::string docker(const std::string& command) const { return run_or_fail("docker " + command); }

  // Why there can be none here; "" when there can.
  static std::string why_not() {
    if (::geteuid() != 0) return "root is needed";
    bool ok = false;
    shell_output("command -v dockerd docker docker-registry busybox", ok);
    return ok ? ""
              : "dockerd, docker, docker-registry or busybox is missing (docker.io, docker-registry, "
                "busybox-static)";
  }

 private:
  std::string config(const std::string& port, const std::string& more, const std::string& name) const {
    return "version: 0.1\nlog: {level: error}\nstorage:\n  filesystem: {rootdirectory: " + (folder_ / name) +
           "}\n  delete: {enabled: true}\nhttp: {addr: \"127.0.0.1:" + port + "\"}\n" + more;
  }

  ScratchFolder folder_;
  pid_t child_ = -1;
};

}  // namespace tests
