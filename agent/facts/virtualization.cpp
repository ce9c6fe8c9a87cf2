// What kind of machine this is: a container, a virtual machine of some kind, or "none".
#include <sys/stat.h>

#include <array>

#include "agent/facts/facts.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/values/json_text.hpp"

namespace agent::facts {

namespace {

std::string line_of(const std::string& path) {
  const auto text = base::read_file(path, 64 * 1024);
  return text ? std::string(base::trim(*text)) : std::string();
}

bool is_there(const char* path) {
  struct stat st {};
  return ::stat(path, &st) == 0;
}

std::string container() {
  if (std::string name = line_of("/run/systemd/container"); !name.empty()) return name;
  if (is_there("/.dockerenv")) return "docker";
  if (is_there("/run/.containerenv")) return "podman";
  const auto environment = base::read_file("/proc/1/environ", 1024 * 1024);
  if (!environment) return {};
  for (const std::string_view entry : base::split(*environment, '\0'))
    if (entry.starts_with("container=")) return std::string(entry.substr(10));
  return {};
}

std::string virtual_machine() {
  struct Vendor {
    std::string_view text;
    std::string_view name;
  };
  static constexpr std::array kVendors{
      Vendor{"QEMU", "kvm"},
      Vendor{"KVM", "kvm"},
      Vendor{"Amazon EC2", "kvm"},
      Vendor{"Google", "kvm"},
      Vendor{"VMware", "vmware"},
      Vendor{"VirtualBox", "virtualbox"},
      Vendor{"innotek", "virtualbox"},
      Vendor{"Xen", "xen"},
      Vendor{"Microsoft Corporation", "hyper-v"},
      Vendor{"Bochs", "bochs"},
      Vendor{"Parallels", "parallels"},
  };
  const std::string dmi =
      line_of("/sys/class/dmi/id/sys_vendor") + " " + line_of("/sys/class/dmi/id/product_name");
  for (const Vendor& vendor : kVendors)
    if (dmi.find(vendor.text) != std::string::npos) return std::string(vendor.name);
  if (std::string type = line_of("/sys/hypervisor/type"); !type.empty()) return type;
  const auto cpus = base::read_file("/proc/cpuinfo", 4 * 1024 * 1024);
  return cpus && cpus->find(" hypervisor") != std::string::npos ? "vm" : "";
}

}  // namespace

std::string virtualization() {
  std::string kind = container();
  if (kind.empty()) kind = virtual_machine();
  return base::json_quote(kind.empty() ? "none" : kind);
}

}  // namespace agent::facts
