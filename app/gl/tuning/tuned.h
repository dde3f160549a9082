// The kernel table that `headlight tune` found to be the best of a device, kept in a file.
#pragma once

#include <filesystem>
#include <optional>

#include "app/gl/compute/kernel_table.h"
#include "core/base/message.h"

namespace headlight {

/// "tuned" beside the folder of compiled programs; empty where there is none.
std::filesystem::path default_tuned_folder();

/// The file of a device, told by its vendor and renderer.
std::filesystem::path tuned_file(const std::filesystem::path& folder, const GlDevice&);

struct TunedTable {
  std::optional<KernelTable> table;  // none where nothing is kept, or what is kept is no use
  Message problem;                   // why it is no use; else empty
  bool is_newer = false;             // it is a newer Headlight's, and stays as it is
};

/// Nothing where `folder` is empty. A table that does not fit the device's limits is no use.
TunedTable read_tuned(const std::filesystem::path& folder, const GlDevice&);

/// Throws Error where the file cannot be written.
void keep_tuned(const std::filesystem::path& folder, const GlDevice&, const KernelTable&);

/// Was there a file to delete?
bool forget_tuned(const std::filesystem::path& folder, const GlDevice&);

}  // namespace headlight
