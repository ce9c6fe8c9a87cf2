// Package files: which package a .deb file holds.
#pragma once

#include "states/context.hpp"
#include "states/linux_apt_package/entry.hpp"

namespace states::linux_apt_package {

// The entry with the name, architecture and version that its file says, to be compared with what is
// installed. Starts `dpkg-deb -f`: only dpkg knows all the ways in which a package file may be packed.
base::Result<Entry> read_package_file(const Entry& entry, Context& context);

}  // namespace states::linux_apt_package
