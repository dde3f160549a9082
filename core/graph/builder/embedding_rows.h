// What is said of each step from the tokens to the first layer, as the rows of step_rows.h.
#pragma once

#include "core/graph/program.h"

namespace headlight {

class EmbeddingRows {
 public:
  explicit EmbeddingRows(const Config& config) : c(config) {}

  StepRow embedding() const {
    return {"step.embedding",
            {"W_E[id]", "[[out]]_{t} = W_{E}[id_{t}]", "step.embedding.words"},
            {"dW_E", "dW_{E}[id][[=1]] Σ_{t} [[out]]_{t}", "back.embedding"},
            {"words.embedding"}};
  }
  StepRow scale() const {
    return {"step.embed_scale",
            {"× √d", "[[out]] = √d · [[x0]]", "step.embed_scale.words"},
            {"× √d", "[[d0]] = √d · [[out]]", "back.embed_scale"},
            {"words.embed_scale"}};
  }
  // With one row alone every token has the same added.
  StepRow segment() const {
    const bool one = c.segment_rows == 1;
    return {"step.segment",
            {"W_seg[seg]", "[[out]]_{t} = W_{seg}[seg_{t}]",
             one ? "step.segment.words.one" : "step.segment.words"},
            {"dW_seg", "dW_{seg}[s] = Σ_{t: seg_t = s} [[out]]_{t}",
             one ? "back.segment.one" : "back.segment"},
            one ? std::vector<std::string_view>{"words.segment.one"}
                : std::vector<std::string_view>{"words.segment", "words.segment.row"}};
  }
  StepRow segment_sum() const {
    const bool one = c.segment_rows == 1;
    return {"step.segment_sum",
            {"[[x0]] + [[x1]]", "[[out]] = [[x0]] + [[x1]]",
             one ? "step.segment_sum.words.one" : "step.segment_sum.words"},
            {"[[d0]], [[d1]]", "[[d0=]] [[out]],  [[d1=]] [[out]]", "back.position_sum"},
            {one ? "words.segment_sum.one" : "words.segment_sum"}};
  }
  StepRow sinusoid() const {
    StepRow row{
        "step.position",
        {"sin, cos", "p_{t,2i} = sin(t / 10000^{2i/d}),  p_{t,2i+1} = cos(t / 10000^{2i/d})",
         "step.position.words.sinusoidal"},
        position_back(),
        {"words.position.sinusoidal"}};
    if (c.sinusoid != Sinusoid::kInterleaved) {
      row.forward.sentence = "step.position.words.halves";
      row.forward.formula =
          c.sinusoid == Sinusoid::kHalves
              ? "p_{t,i} = sin(t / 10000^{2i/d}),  p_{t,d/2+i} = cos(t / 10000^{2i/d})"
              : "p_{t,i} = sin(t / 10000^{i/(d/2−1)}),  p_{t,d/2+i} = cos(t / 10000^{i/(d/2−1)})";
      row.paragraphs = {"words.position.halves"};
    }
    return with_offset(std::move(row));
  }
  StepRow learned_position() const {
    return with_offset({"step.position.learned",
                        {c.position_offset == 0 ? "W_pos[t]" : "W_pos[t + s]",
                         c.position_offset == 0 ? "p_{t} = W_{pos}[t]" : "p_{t} = W_{pos}[t + s]",
                         "step.position.words.learned"},
                        position_back(),
                        {"words.position.learned"}});
  }
  StepRow position_sum() const {
    return {"step.position_sum",
            {"[[x0]] + p", "[[out]] = [[x0]] + p",
             c.tells_sentences() ? "step.position_sum.words.segments" : "step.position_sum.words"},
            {"[[d0]], dp", "[[d0=]] [[out]],  dp = [[out]]", "back.position_sum"},
            {c.tells_sentences() ? "words.position_sum.segments" : "words.position_sum"}};
  }

 private:
  StepRow with_offset(StepRow row) const {
    if (c.position_offset > 0) row.paragraphs.push_back("words.position.offset");
    return row;
  }
  StepWords position_back() const {
    return {"dW_pos", c.position_offset == 0 ? "dW_{pos}[t] = dp_{t}" : "dW_{pos}[t + s] = dp_{t}",
            "back.position"};
  }

  const Config& c;
};

}  // namespace headlight
