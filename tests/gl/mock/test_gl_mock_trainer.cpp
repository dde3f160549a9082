// Training on the graphics card on the strict stand-in for OpenGL: no mistake that a software
// renderer would hide.
#include <doctest/doctest.h>

#include "tests/gl/mock/test_gl_mock_support.h"
#include "tests/gl/test_gl_trainer_support.h"

namespace headlight::test_gl_mock_trainer {

using test::StrictGl;

TEST_CASE("strict gl: training steps of every optimizer and form, and evaluations") {
  StrictGl gl;
  {
    const auto backend = std::make_shared<GlBackend>(test::strict_options(gl));
    for (const auto& form : choices(ModelForm{})) {
      for (const auto& kind : choices(OptimizerKind{})) {
        CAPTURE(form.word);
        CAPTURE(kind.word);
        TrainerOptions training = options_for(0.2);
        training.optimizer = default_options(kind.value);
        for (const double momentum : {0.0, 0.5}) {
          training.optimizer.momentum = momentum;
          const bool plain = momentum == 0;
          Pair pair(plain ? small_config(form.value) : llama_config(form.value), training, backend);
          const std::vector<TokenBatch> batches = {pair.batch(5, 1), pair.batch(3, 2)};
          pair.there->step(batches);
          pair.there->evaluate(pair.batch(7, 3));
          pair.there->parameters()[0].data[0] += 1;
          pair.there->step(batches);
          CHECK(pair.there->gradient(0).size() == pair.there->parameters()[0].data.size());
          CHECK(pair.there->optimizer().steps() == 2);
          CHECK(pair.there->guards_hold());
        }
      }
    }
    // What the stand-in says of gradients is not so large that they would be clipped.
    GlTensors tensors(gl.calls(), 16);
    tensors.begin(1, 1);
    const float cells[] = {1, 2, 3};
    tensors.to_read(0, cells, 3);
    backend->updates().clip({tensors.to_write(0, 3), 3}, 0.5f);
    for (int k = kOperationKernels; k < kKernels; ++k) {
      const std::string_view file = kernel_info(static_cast<Kernel>(k)).file;
      CAPTURE(file);
      CHECK(gl.kernels().contains(std::string(file)));
    }
    CHECK(gl.dispatches() == backend->queue().dispatches());
  }
  test::check_nothing_left(gl);
}

}  // namespace headlight::test_gl_mock_trainer
