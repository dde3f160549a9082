#include "core/model/row_ids.h"

#include <string>

#include "core/base/error.h"

namespace headlight {

void check_row_ids(std::span<const int> ids, std::int64_t rows) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < rows) continue;
    throw UsageError(Message{"model.no_id",
                             {{"place", std::to_string(i)},
                              {"got", std::to_string(ids[i])},
                              {"last", std::to_string(rows - 1)}}});
  }
}

}  // namespace headlight
