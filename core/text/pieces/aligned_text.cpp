#include "core/text/pieces/aligned_text.h"

namespace headlight {

void AlignedText::append(const AlignedText& other, std::size_t begin, std::size_t end) {
  text_.append(other.text_, begin, end - begin);
  if (!other.as_it_was_) {
    places_.insert(places_.end(), other.places_.begin() + static_cast<std::ptrdiff_t>(begin),
                   other.places_.begin() + static_cast<std::ptrdiff_t>(end));
    return;
  }
  for (std::size_t at = begin; at < end; ++at) places_.push_back(other.place(at));
}

}  // namespace headlight
