// The functions of libblkid that we use, loaded when a block device is first looked at: recipes without one
// do not pay for it. mount(8) needs the library, so it is where mounts are.
#pragma once

#include <blkid/blkid.h>

#include "base/result.hpp"

namespace states::block_devices {

struct BlkidLibrary {
  decltype(&::blkid_new_probe) new_probe;
  decltype(&::blkid_free_probe) free_probe;
  decltype(&::blkid_probe_set_device) probe_set_device;
  decltype(&::blkid_probe_enable_superblocks) probe_enable_superblocks;
  decltype(&::blkid_probe_set_superblocks_flags) probe_set_superblocks_flags;
  decltype(&::blkid_probe_enable_partitions) probe_enable_partitions;
  decltype(&::blkid_do_safeprobe) do_safeprobe;
  decltype(&::blkid_probe_lookup_value) probe_lookup_value;
  decltype(&::blkid_get_cache) get_cache;
  decltype(&::blkid_put_cache) put_cache;
  decltype(&::blkid_evaluate_tag) evaluate_tag;

  // Loads the library, which then stays for as long as the process lives. Cheap when it is there already.
  static base::Result<BlkidLibrary> load();
};

}  // namespace states::block_devices
