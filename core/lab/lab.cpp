#include "core/lab/lab.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/similar.h"
#include "core/base/utf8.h"
#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"

namespace headlight {

double LabResult::value(std::string_view name) const {
  const auto found = std::ranges::find(values, name, &LabValue::name);
  if (found == values.end()) throw UsageError("no value " + std::string(name));
  return found->value;
}

std::span<const Lab> all_labs() {
  static const std::vector<Lab> kLabs = {dot_product_lab(), without_parameters_lab(),
                                         building_up_lab(), dictionary_lab(),
                                         scale_lab(),       heads_lab(),
                                         shuffle_lab(),     positions_lab(),
                                         masks_lab(),       pooling_lab(),
                                         experts_lab(),     depth_lab(),
                                         reach_lab(),       cost_lab(),
                                         forms_lab(),       segments_lab(),
                                         pieces_lab(),      sampling_lab(),
                                         induction_lab(),   gradients_lab()};
  return kLabs;
}

const Lab& find_lab(std::string_view id) {
  const std::span<const Lab> labs = all_labs();
  const auto found = std::ranges::find(labs, id, &Lab::id);
  if (found != labs.end()) return *found;
  std::string known;
  for (const Lab& lab : labs) known += (known.empty() ? "" : ", ") + std::string(lab.id);
  throw UsageError(
      Message{"lab.error.unknown", {{"got", shortened(std::string(id), 40)}, {"known", known}}});
}

LabResult run_lab(const Lab& lab, const LabInput& input, const LabSettings& settings) {
  LabRun run(lab, input, settings);
  lab.run(run);
  return std::move(run.result);
}

}  // namespace headlight
