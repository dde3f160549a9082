// The Code tab: the step as NumPy or as PyTorch.
#include <cmath>

#include "app/ui/inspector/inspector.h"

namespace headlight {
namespace {

// A line of code; what stands behind "#" is quieter. Long lines go on under themselves.
void code_line(InspectorColumn& c, std::string_view line) {
  Ui& ui = c.ui;
  ImFont* font = ui.fonts.mono_small;
  const float advance = std::round(font_size(font) * 1.5f);
  if (line.empty()) {
    c.y += advance * 0.7f;
    return;
  }
  const std::size_t mark = line.find('#');
  const bool comment_alone = mark == 0;
  std::string_view code = line.substr(0, mark == line.npos ? line.size() : mark);
  while (!code.empty() && code.back() == ' ') code.remove_suffix(1);
  const std::string_view note = mark == line.npos ? "" : line.substr(mark);
  float x = c.x;
  if (!comment_alone) {
    c.y += ui.wrapped(font, {c.x, c.y}, c.width(), ui.theme.text, code) - font_size(font) * 1.35f;
    x += ui.measure(font, code).x + ui.px(10);
  }
  if (!note.empty()) {
    const bool fits = x + ui.measure(font, note).x <= c.right;
    if (!fits && !comment_alone) c.y += std::round(font_size(font) * 1.35f);
    if (!fits) x = c.x + (comment_alone ? 0 : ui.px(12));
    c.y += ui.wrapped(font, {x, c.y}, c.right - x, ui.theme.muted, note) - font_size(font) * 1.35f;
  }
  c.y += advance;
}

}  // namespace

void inspector_code(InspectorColumn& c, const Inspected& now) {
  Ui& ui = c.ui;
  const bool torch = c.state.session.library == CodeLibrary::kTorch;
  const bool kernel = c.state.session.kernel;
  const std::string labels[] = {"NumPy", "PyTorch", std::string(ui.tr("kernel.tab"))};
  const std::string_view words[] = {"numpy", "torch", "kernel"};
  const int chosen = ui.segmented("inspector/library", labels,
                                  kernel  ? 2
                                  : torch ? 1
                                          : 0,
                                  {c.x, c.y}, ui.px(28), words);
  if (chosen >= 0) ui.push(ShowKernel{chosen == 2});
  if (chosen >= 0 && chosen < 2)
    ui.push(ChooseLibrary{chosen == 1 ? CodeLibrary::kTorch : CodeLibrary::kNumpy});
  c.y += ui.px(40);
  if (kernel) return inspector_kernel(c, now);
  const bool none = now.code.results.empty();  // NumPy has no gradients
  c.y += ui.wrapped(ui.fonts.control, {c.x, c.y}, c.width(), ui.theme.muted,
                    ui.tr(none ? "inspector.no_numpy_gradients" : "inspector.code_help")) +
         ui.px(12);
  if (none) return;
  std::string_view rest = now.code.text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    code_line(c, rest.substr(0, end));
    rest = end == rest.npos ? "" : rest.substr(end + 1);
  }
}

}  // namespace headlight
