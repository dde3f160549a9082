// A document for each kind of model: random ones, and those that come with the program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/document/document.h"
#include "core/model/presets.h"
#include "core/train/model_recipe.h"

namespace headlight {

inline Document random_model(auto change) {
  Document document;
  document.sentence = "the cat sat on the mat and the dog lay under it all day";
  document.config.seed = 3;
  change(document.config);
  return document;
}

inline Document trained(const char* name) {
  Document document;
  document.model = std::string("bundled:") + name;
  document.sentence = bundled_recipe(name).example;
  return document;
}

inline std::vector<std::pair<const char*, Document>> kinds_of_models() {
  std::vector<std::pair<const char*, Document>> kinds = {
      {"decoder", random_model([](Config&) {})},
      {"classifier", random_model([](Config& c) {
         c.form = ModelForm::kClasses;
         c.mask.kind = MaskKind::kNone;
       })},
      {"experts", random_model([](Config& c) { c.experts = 4; })},
      {"recurrent", random_model([](Config& c) { c.mixer = MixerKind::kRecurrent; })},
      {"memory", random_model([](Config& c) {
         c.memory = 6;
         c.positions = PositionKind::kTransformerXl;
       })},
      {"relative positions",
       random_model([](Config& c) { c.positions = PositionKind::kRelative; })},
      {"wide heads", random_model([](Config& c) { c.attention = AttentionKind::kWide; })},
      {"random encoder-decoder",
       random_model([](Config& c) { c = miniature(preset("transformer-base")); })},
      {"bundled decoder", trained("stories")},
      {"bundled classifier", trained("sentiment")},
      {"masked", trained("masked")},
      {"encoder-decoder", trained("dates")}};
  for (auto& [name, document] : kinds) {
    if (document.config.memory > 0) document.max_tokens = 5;
  }
  return kinds;
}

}  // namespace headlight
