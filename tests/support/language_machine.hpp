// Machines with the package tools of languages, and packages made by the test: for the suite
// "system-managers", which runs in a scratch machine that has pip, npm and gem
// (tests/container/packages-managers).
#pragma once

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/apt_machine.hpp"

namespace tests {

class LanguageMachine : public StateHarness {
 public:
  LanguageMachine() : StateHarness(RunningSystem{}) {
    REQUIRE_MESSAGE(std::filesystem::exists("/etc/opsagent-scratch"), "these tests change the machine");
    timeout = std::chrono::seconds(120);
  }
};

// A user of the machine, whose home is new and is his, and open to be looked at: /home/t-bob.
inline void make_bob() {
  shell(
      "userdel --remove t-bob >/dev/null 2>&1 || true; rm -rf /home/t-bob; "
      "useradd --create-home t-bob; chmod 755 /home/t-bob");
}

inline constexpr auto kWheels = "/srv/wheels";

// A wheel of a package that holds little more than its name, in the folder where pip looks (use_wheels()).
inline void offer_wheel(const std::string& name, const std::string& version,
                        const std::string& requires_dist = {}) {
  constexpr auto kScript = R"(
import sys, zipfile, os
folder, name, version, requires = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
info = f"{name}-{version}.dist-info"
files = {
    f"{name}.py": f"version = '{version}'\n",
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + (f"Requires-Dist: {requires}\n" if requires else ""),
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
with zipfile.ZipFile(f"{folder}/{name}-{version}-py3-none-any.whl", "w") as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
)";
  put("/srv/make-wheel", kScript);
  shell("python3 -I /srv/make-wheel " + std::string(kWheels) + " " + name + " " + version + " '" +
        requires_dist + "'");
}

// pip asks no index, only that folder.
inline void use_wheels() {
  std::filesystem::remove_all(kWheels);
  std::filesystem::create_directories(kWheels);
  put("/etc/pip.conf", "[global]\nno-index = true\nfind-links = " + std::string(kWheels) + "\n");
}

// A registry of npm on loopback, which the whole machine uses while the object is there.
class NpmRegistry {
 public:
  NpmRegistry() {
    put(kOffers, "");
    shell("rm -rf /root/.npm");
    put("/etc/npmrc", "registry=http://127.0.0.1:4873/\nfetch-retries=0\n");
    pid_ = static_cast<pid_t>(std::stol(shell(
        "/opsagent/source/tests/support/npm_registry " + std::string(kOffers) +
        " 4873 >/srv/registry.log 2>&1 & echo $!; "
        "for i in $(seq 100); do bash -c '</dev/tcp/127.0.0.1/4873' 2>/dev/null && break; sleep 0.1; done")));
  }
  ~NpmRegistry() {
    ::kill(pid_, SIGKILL);
    std::filesystem::remove("/etc/npmrc");
  }
  NpmRegistry(const NpmRegistry&) = delete;

  // `tags`: of the registry, "" for the latest.
  void offer(const std::string& name, const std::string& version, const std::string& tags = {}) {
    std::ofstream(kOffers, std::ios::app) << name << " " << version << " " << tags << "\n";
    shell("rm -rf /root/.npm /home/*/.npm");
  }

 private:
  static constexpr auto kOffers = "/srv/npm-offers";
  pid_t pid_ = -1;
};

// A source of gems in a folder, which the whole machine uses.
class GemSource {
 public:
  GemSource() {
    shell("rm -rf /srv/gems /root/.local/share/gem /root/.gem; mkdir -p /srv/gems/gems");
    put("/etc/gemrc", ":sources:\n- file:///srv/gems\n");
  }
  void offer(const std::string& name, const std::string& version) {
    put("/srv/gem/lib/" + name + ".rb", "# made by a test\n");
    put("/srv/gem/" + name + ".gemspec",
        "Gem::Specification.new do |s|\n  s.name = '" + name + "'\n  s.version = '" + version +
            "'\n  s.summary = 'made by a test'\n  s.authors = ['nobody']\n  s.files = ['lib/" + name +
            ".rb']\nend\n");
    shell("cd /srv/gem && gem build --quiet " + name +
          ".gemspec >/dev/null 2>&1 && mv *.gem /srv/gems/gems && rm -rf /srv/gem");
    shell(
        "cd /srv/gems && gem generate_index --quiet >/dev/null 2>&1; rm -rf /root/.local/share/gem/specs "
        "/root/.gem/specs");
  }
};

}  // namespace tests
