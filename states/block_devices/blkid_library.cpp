#include "states/block_devices/blkid_library.hpp"

#include <dlfcn.h>

#include <string>

namespace states::block_devices {

namespace {

constexpr const char* kFile = "libblkid.so.1";

base::Error cannot_load() {
  const char* const reason = ::dlerror();
  return base::Error(
      base::ErrorCode::unsupported,
      std::string("cannot load ") + kFile + " (package libblkid1): " + (reason ? reason : "unknown reason"));
}

}  // namespace

base::Result<BlkidLibrary> BlkidLibrary::load() {
  // RTLD_NODELETE: the functions stay valid after dlclose().
  void* const handle = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) return cannot_load();
  bool complete = true;
  const auto find = [&]<class Function>(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(::dlsym(handle, name));
    complete = complete && function != nullptr;
  };
  BlkidLibrary library{};
  find(library.new_probe, "blkid_new_probe");
  find(library.free_probe, "blkid_free_probe");
  find(library.probe_set_device, "blkid_probe_set_device");
  find(library.probe_enable_superblocks, "blkid_probe_enable_superblocks");
  find(library.probe_set_superblocks_flags, "blkid_probe_set_superblocks_flags");
  find(library.probe_enable_partitions, "blkid_probe_enable_partitions");
  find(library.do_safeprobe, "blkid_do_safeprobe");
  find(library.probe_lookup_value, "blkid_probe_lookup_value");
  find(library.get_cache, "blkid_get_cache");
  find(library.put_cache, "blkid_put_cache");
  find(library.evaluate_tag, "blkid_evaluate_tag");
  if (!complete) {
    base::Error error = cannot_load();
    ::dlclose(handle);
    return error;
  }
  ::dlclose(handle);
  return library;
}

}  // namespace states::block_devices
