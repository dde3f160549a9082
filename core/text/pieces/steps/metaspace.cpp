#include "core/text/pieces/steps/metaspace.h"

#include "core/base/error.h"
#include "core/text/pieces/piece_unicode.h"

namespace headlight {

MetaspaceOptions read_metaspace(const PieceJson& json) {
  // str_rep is an older name of what "replacement" makes.
  json.only({"replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
  MetaspaceOptions o;
  o.mark = json.text("replacement", o.mark);
  if (count_points(o.mark) != 1) json.at("replacement").fail(Message{"pieces.expected.character"});
  o.split = json.boolean("split", true);
  const bool prefix = json.boolean("add_prefix_space", true);
  o.prepend = prefix ? Prepend::kAlways : Prepend::kNever;
  if (!json.has("prepend_scheme")) return o;
  const PieceJson scheme = json.at("prepend_scheme");
  const std::string word = scheme.text();
  if (word == "always") {
    o.prepend = Prepend::kAlways;
  } else if (word == "first") {
    o.prepend = Prepend::kFirst;
  } else if (word == "never") {
    o.prepend = Prepend::kNever;
  } else {
    scheme.fail_unknown(word, "always, first, never");
  }
  if (json.has("add_prefix_space") && !prefix && o.prepend != Prepend::kNever)
    scheme.fail(Message{"pieces.expected.never"});
  return o;
}

}  // namespace headlight
