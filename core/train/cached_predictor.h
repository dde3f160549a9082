// CachedPredictor: what comes next, for rows that grow token by token. Of a row whose beginning it
// has read before, only the rest is computed.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/backends/backend.h"
#include "core/backends/cpu/attention_cache.h"
#include "core/model/model.h"

namespace headlight {

class CachedPredictor {
 public:
  /// Can rows of this model be read one token after the other, computed as `config` says (see
  /// run_config)? Not where a query looks at what follows it, nor by additive scores, nor with
  /// memory.
  static bool can_read(const Model&, const Config& config);

  /// can_read() must hold.
  CachedPredictor(std::shared_ptr<const Model>, const Config&);

  /// The logits of the token behind these (vocab), valid until the next call. As Predictor's last
  /// row, to a few units in the last place. Throws Error for an id that the model does not have,
  /// and UsageError for no id or more than its context.
  std::span<const float> logits(std::span<const int> ids);

  const Model& model() const { return *model_; }

 private:
  struct Rows {  // that depend on the position alone
    TensorId id;
    std::int64_t width;
    FloatBuffer cells;  // (context, width)
  };
  void prepare_positions(const Config&);
  void read(int id);

  std::shared_ptr<const Model> model_;
  std::unique_ptr<Backend> backend_;
  ModelParameters source_;
  std::shared_ptr<const Program> program_;      // of one position
  std::vector<std::vector<OpCall>> stretches_;  // an attention behind each but the last
  std::vector<cpu::AttentionCache> caches_;
  std::vector<Rows> rows_;
  FloatBuffer mask_, local_mask_;  // (context, context)
  FloatBuffer arena_;
  std::vector<float*> memory_;
  std::vector<std::shared_ptr<const Tensor>> parameters_;
  std::vector<int> read_;
};

}  // namespace headlight
