#include "core/train/pytorch/pytorch_lacks.h"

#include <span>
#include <string_view>

namespace headlight {
namespace {

template <class T>
struct Lack {
  std::string_view option;
  bool (*uses)(const T&);
};

// Masks of a person's own belong to single sentences, not to a run.
constexpr Lack<Config> kOfModels[] = {
    {"--mixer recurrent", [](const Config& c) { return c.mixer == MixerKind::kRecurrent; }},
    {"--mixer gru", [](const Config& c) { return c.mixer == MixerKind::kGru; }},
    {"--mixer convolution", [](const Config& c) { return c.mixer == MixerKind::kConvolution; }},
    {"--memory", [](const Config& c) { return c.memory > 0; }},
    {"numbers (--task curve)", [](const Config& c) { return c.numbers; }},
    {"--mask padding", [](const Config& c) { return c.mask.kind == MaskKind::kPadding; }},
    {"--mask free", [](const Config& c) { return c.mask.kind == MaskKind::kFree; }},
    {"--mask-file", [](const Config& c) { return !c.mask.added.empty(); }},
    {"--forbid-head", [](const Config& c) { return !c.mask.by_head.empty(); }},
    {"--head-mask", [](const Config& c) { return !c.masked_heads.empty(); }},
    {"--source-padding", [](const Config& c) { return !c.mask.source_padding.empty(); }},
};

constexpr Lack<RunSettings> kOfRuns[] = {
    {"--storage", [](const RunSettings& r) { return r.storage != NumberFormat::kFloat32; }},
};

template <class T>
std::string lacking(std::span<const Lack<T>> known, const T& of) {
  std::string list;
  for (const Lack<T>& lack : known) {
    if (lack.uses(of)) list += (list.empty() ? "" : ", ") + std::string(lack.option);
  }
  return list;
}

}  // namespace

std::string pytorch_lacks(const Config& c) { return lacking<Config>(kOfModels, c); }

std::string pytorch_lacks(const RunSettings& r) { return lacking<RunSettings>(kOfRuns, r); }

}  // namespace headlight
