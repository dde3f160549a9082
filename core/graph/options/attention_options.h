// Options of attention: what validate() asks of them, and how files say them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/graph/config.h"
#include "core/graph/config_json.h"

namespace headlight {

/// Throws UsageError for what attention cannot do, also for options that say something about
/// attention where there is none.
void validate_attention(const Config&);

/// Takes out the options that mean nothing after a person's other choices: of layers that are gone,
/// of positions or a mixer that are others now.
void drop_unfit_options(Config&);

/// The scale, cap and windows of scores and the scaling of rotary positions, each only where it is
/// not the default.
void write_attention_options(const Config&, OrderedJson&);
void read_attention_options(const JsonReader&, Config&);

/// Throws UsageError unless low <= value <= high. `what` is the text id of the number's name.
void expect_range(std::string_view what, std::int64_t value, std::int64_t low, std::int64_t high);

}  // namespace headlight
