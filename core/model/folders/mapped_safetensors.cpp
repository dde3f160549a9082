#include "core/model/folders/mapped_safetensors.h"

#include <limits>

#include "core/base/error.h"

namespace headlight {

MappedSafetensors::MappedSafetensors(std::filesystem::path path)
    : path_(std::move(path)),
      file_(path_, std::numeric_limits<std::uint64_t>::max()),
      header_(safetensors_header(file_)),
      mapped_(MappedFile::map(file_.descriptor(), static_cast<std::size_t>(file_.size()))) {
  if (!mapped_) read_ = file_.all();
}

std::string_view MappedSafetensors::bytes(const SafetensorsEntry& entry) const {
  const std::string_view all = mapped_ ? mapped_->bytes() : std::string_view(read_);
  return all.substr(header_.data_start + entry.begin, entry.end - entry.begin);
}

void MappedSafetensors::check_unchanged() const {
  if (mapped_ && mapped_->state() != MappedFile::State::kWhole)
    throw Error(Message{"safetensors.changed", {{"path", shown(path_)}}});
}

}  // namespace headlight
