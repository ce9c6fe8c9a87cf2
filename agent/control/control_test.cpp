#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include <doctest/doctest.h>

#include "agent/control/control_address.hpp"
#include "agent/control/control_client.hpp"
#include "agent/control/control_server.hpp"
#include "agent/control/pid_file.hpp"
#include "tests/support/scratch_folder.hpp"

using namespace agent::control;
using namespace std::chrono_literals;

TEST_CASE("a client asks the daemon, and sees its end") {
  const tests::ScratchFolder scratch;
  CHECK(ControlClient::connect(scratch.path()).error().code() == base::ErrorCode::not_found);
  auto loop = std::make_unique<transport::Loop>(1);
  auto server = ControlServer::listen(*loop, socket_path(scratch.path()), [](const base::Value& request) {
    return std::string(request.find("command") ? R"({"ok":true})" : R"({"error":"what?"})");
  });
  REQUIRE(server);
  CHECK(scratch.mode("control.sock") == 0600);
  std::thread thread([&] { loop->run(); });
  {
    auto client = ControlClient::connect(scratch.path());
    REQUIRE(client);
    CHECK(*client->ask(R"({"command":"status"})", 5s) == R"({"ok":true})");
    auto silly = ControlClient::connect(scratch.path());
    REQUIRE(silly);
    CHECK(silly->ask("[", 5s)->find("error") != std::string::npos);
    CHECK(!client->wait_for_end(50ms));
    loop->stop();
    thread.join();
    server->reset();
    loop.reset();
    CHECK(client->wait_for_end(5s));
  }
  CHECK(!scratch.exists("control.sock"));
}

TEST_CASE("one daemon per state folder, and whoever asks learns its process") {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "opsagent.pid";
  CHECK(!PidFile::holder(path));
  {
    const auto held = PidFile::acquire(path);
    REQUIRE(held);
    CHECK(PidFile::holder(path) == ::getpid());
    CHECK(PidFile::acquire(path).error().code() == base::ErrorCode::exists);
  }
  CHECK(!PidFile::holder(path));  // the number is still in it
  CHECK(PidFile::acquire(path));
}

TEST_CASE("a daemon that was killed is no daemon, though what it had started has its lock for a moment") {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "opsagent.pid";
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    const auto held = PidFile::acquire(path);
    if (held && ::fork() == 0) ::usleep(300'000);  // with the descriptor, as a supervisor before its exec
    ::_exit(held ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(daemon, &status, 0) == daemon);
  REQUIRE(status == 0);
  CHECK(PidFile::acquire(path));
}

TEST_CASE("the pid file is its owner's alone, whoever made it under whatever umask") {
  const tests::ScratchFolder state;
  state.write("opsagent.pid", "1\n");
  ::chmod((state / "opsagent.pid").c_str(), 0644);
  REQUIRE(PidFile::acquire(state / "opsagent.pid"));
  CHECK(state.mode("opsagent.pid") == 0600);
}
