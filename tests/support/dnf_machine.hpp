// DnfMachine: a scratch machine with a real dnf and rpm, a repository made by the test, and Red Hat's family
// forced. Only in the suite "system-managers".
#pragma once

#include <filesystem>
#include <string>

#include "tests/support/apt_machine.hpp"

namespace tests {

inline constexpr auto kRpms = "/srv/rpms";

struct Rpm {
  std::string name;
  std::string version;
  std::string tags{};  // more lines of the spec file
};

// The file of a package that holds little more than its name.
inline std::string build_rpm(const Rpm& rpm, const std::string& folder = kRpms) {
  std::filesystem::create_directories(folder);
  const std::string file = "/usr/share/" + rpm.name + "/version";
  put("/srv/package.spec",
      "Name: " + rpm.name + "\nVersion: " + rpm.version +
          "\nRelease: 1\nSummary: made by a test\nLicense: none\nBuildArch: noarch\n" + rpm.tags +
          "\n%description\nmade by a test\n%install\nmkdir -p %{buildroot}/usr/share/" + rpm.name +
          "\necho " + rpm.version + " >%{buildroot}" + file + "\n%files\n" + file + "\n");
  shell("rpmbuild -bb --define '_rpmdir " + folder +
        "' --define '_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' /srv/package.spec "
        ">/dev/null 2>&1");
  return folder + "/" + rpm.name + "-" + rpm.version + "-1.noarch.rpm";
}

class DnfMachine : public StateHarness {
 public:
  DnfMachine() : StateHarness(RunningSystem{}) {
    REQUIRE_MESSAGE(std::filesystem::exists("/etc/opsagent-scratch"), "these tests change the machine");
    host().os.family = base::OsRelease::Family::rhel;
    timeout = std::chrono::seconds(120);
    // Debian's rpm has its database in the home of whoever asks.
    put("/etc/rpm/macros", "%_dbpath /var/lib/rpm\n");
    put("/etc/yum.repos.d/test.repo",
        "[test]\nname=Test\nbaseurl=file://" + std::string(kRpms) + "\ngpgcheck=0\nmetadata_expire=-1\n");
    shell(
        "rpm -qa | grep '^t-' | xargs -r rpm -e --nodeps; rpm -e --allmatches gpg-pubkey >/dev/null 2>&1 || "
        "true; "
        "rm -rf /srv/rpms /srv/package.spec /var/cache/dnf/* /var/lib/dnf/*; mkdir -p /srv/rpms");
    index();
  }
  void offer(std::initializer_list<Rpm> rpms) {
    for (const Rpm& rpm : rpms)
      build_rpm(rpm);
    index();
  }
  // With what dnf has fetched before forgotten.
  static void index() { shell("createrepo_c --quiet /srv/rpms >/dev/null 2>&1; rm -rf /var/cache/dnf/*"); }

  // "1.0-1", "" as rpm itself says.
  static std::string found(const std::string& name) {
    return shell("rpm -q --qf '%{VERSION}-%{RELEASE}' " + name +
                 " 2>/dev/null | grep -v 'not installed' || true");
  }
};

}  // namespace tests
