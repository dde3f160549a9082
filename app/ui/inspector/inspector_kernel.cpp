// The Code tab's third page: the shaders that make the chosen cell on the graphics card, with the
// work group and the invocation that do, and the lines that do.
#include <algorithm>
#include <cmath>

#include "app/ui/inspector/inspector.h"
#include "app/ui/kit/line_text.h"

namespace headlight {
namespace {

std::string in_three(const std::array<std::int64_t, 3>& at, const char* between) {
  std::string words;
  for (const std::int64_t one : at) words += (words.empty() ? "" : between) + std::to_string(one);
  return words;
}

// "3–5, 9"
std::string lines_text(const std::vector<int>& lines) {
  std::string words;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t last = i;
    while (last + 1 < lines.size() && lines[last + 1] == lines[last] + 1) ++last;
    words += (words.empty() ? "" : ", ") + std::to_string(lines[i]);
    if (last > i) words += "–" + std::to_string(lines[last]);
    i = last + 1;
  }
  return words;
}

void words(InspectorColumn& c, ImFont* font, Color color, const std::string& text, float after) {
  c.y += c.ui.wrapped(font, {c.x, c.y}, c.width(), color, text) + c.ui.px(after);
}

// A line with its number; those that made the cell stand on a ground of their own.
void source_line(InspectorColumn& c, int number, std::string_view line, bool lit) {
  Ui& ui = c.ui;
  ImFont* font = ui.fonts.mono_small;
  const float gutter = ui.measure(font, "000").x + ui.px(8);
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const float x = c.x + gutter + ui.measure(font, " ").x * static_cast<float>(indent);
  const std::string_view text = line.substr(indent);
  const float room = c.right - x;
  const float single = std::round(font_size(font) * 1.35f);
  const float height =
      text.empty() ? single * 0.8f : std::max(single, ui.wrapped_height(font, room, text));
  if (c.sees(height)) {
    if (lit) {
      ImGui::GetWindowDrawList()->AddRectFilled({c.x - ui.px(6), c.y - ui.px(1)},
                                                {c.right + ui.px(6), c.y + height - ui.px(1)},
                                                to_u32(ui.theme.selection));
      ImGui::GetWindowDrawList()->AddRectFilled({c.x - ui.px(6), c.y - ui.px(1)},
                                                {c.x - ui.px(3), c.y + height - ui.px(1)},
                                                to_u32(ui.theme.q));
    }
    ui.text_right(font, c.x + gutter - ui.px(8), c.y, ui.theme.muted, std::to_string(number));
    const bool comment = text.starts_with("//");
    const Color color = comment ? ui.theme.muted : ui.theme.text;
    if (!text.empty()) ui.wrapped(font, {x, c.y}, room, color, text);
  }
  c.y += height;
}

// The mark by which a line is found says in the file what its ground says here.
std::string_view without_mark(std::string_view line) {
  constexpr std::string_view kMark = "// cell";
  if (!line.ends_with(kMark)) return line;
  line.remove_suffix(kMark.size());
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

void source(InspectorColumn& c, const KernelSource& file) {
  words(c, c.ui.fonts.strong, c.ui.theme.text, file.file, 2);
  if (!file.lines.empty()) {
    words(c, c.ui.fonts.control, c.ui.theme.muted,
          c.ui.tr("kernel.lines", {{"lines", lines_text(file.lines)}}), 4);
  }
  std::string_view rest = file.text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const bool lit = std::binary_search(file.lines.begin(), file.lines.end(), number);
    source_line(c, number, without_mark(rest.substr(0, end)), lit);
    rest = end < rest.size() ? rest.substr(end + 1) : "";
  }
  c.y += c.ui.px(14);
}

void site(InspectorColumn& c, const KernelSite& s, std::size_t place, std::size_t all) {
  Ui& ui = c.ui;
  const Program& program = c.trace.program();
  inspector_section(c, ui.tr("kernel.part", {{"n", std::to_string(place + 1)},
                                             {"all", std::to_string(all)},
                                             {"file", s.file()}}));
  if (s.call >= 0) {
    const OpCall& call = program.calls[static_cast<std::size_t>(s.call)];
    inspector_fact(c, ui.tr("kernel.operation"), std::string(op_info(call.op).id));
  }
  const auto of = [&](const std::array<std::int64_t, 3>& one,
                      const std::array<std::int64_t, 3>& total) {
    return s.help == KernelHelp::kAll ? in_three(total, " × ")
                                      : ui.tr("kernel.of", {{"one", in_three(one, ", ")},
                                                            {"all", in_three(total, " × ")}});
  };
  inspector_fact(c, ui.tr("kernel.group"), of(s.group, s.groups));
  inspector_fact(c, ui.tr("kernel.invocation"), of(s.invocation, s.group_size));
  std::string uniforms;
  for (const auto& [name, value] : s.uniforms)
    uniforms += (uniforms.empty() ? "" : ", ") + name + " = " + value;
  if (place == 0) words(c, ui.fonts.note, ui.theme.muted, std::string(ui.tr("kernel.grid")), 4);
  const std::string_view help = s.help == KernelHelp::kNone     ? "kernel.help.none"
                                : s.help == KernelHelp::kColumn ? "kernel.help.column"
                                : s.help == KernelHelp::kGroup  ? "kernel.help.group"
                                                                : "kernel.help.all";
  std::string told(ui.tr(help));
  if (s.adds) told = two_sentences(told, ui.tr("kernel.adds"));
  words(c, ui.fonts.control, ui.theme.muted, told, 6);
  if (!uniforms.empty()) {
    words(c, ui.fonts.note, ui.theme.muted, std::string(ui.tr("kernel.uniforms")), 1);
    words(c, ui.fonts.mono_small, ui.theme.text, uniforms, 6);
  }
  if (!s.buffers.empty())
    words(c, ui.fonts.note, ui.theme.muted, std::string(ui.tr("kernel.buffers")), 1);
  for (std::size_t i = 0; i < s.buffers.size(); ++i) {
    const std::string name =
        s.buffers[i].empty() ? std::string(ui.tr("kernel.scratch")) : s.buffers[i];
    words(c, ui.fonts.mono_small, ui.theme.text, std::to_string(i) + ": " + name, 0);
  }
  c.y += ui.px(12);
  for (const KernelSource& file : s.sources) source(c, file);
  if (!s.defines.empty()) {
    words(c, ui.fonts.control, ui.theme.muted, std::string(ui.tr("kernel.defines")), 2);
    words(c, ui.fonts.mono_small, ui.theme.text, s.defines, 12);
  }
}

}  // namespace

std::string kernel_text(const KernelView& view) {
  std::string text;
  std::vector<std::string> seen;
  for (const KernelSite& s : view.sites) {
    for (const KernelSource& file : s.sources) {
      if (std::find(seen.begin(), seen.end(), file.file) != seen.end()) continue;
      seen.push_back(file.file);
      text += "// ---- " + file.file + "\n" + file.text + "\n";
    }
  }
  return text;
}

void inspector_kernel(InspectorColumn& c, const Inspected& now) {
  const bool by_gpu = c.trace.backend() == "gl";
  if (!now.kernel) return;
  words(c, c.ui.fonts.control, c.ui.theme.muted,
        std::string(c.ui.tr(by_gpu ? "kernel.by_gpu" : "kernel.by_cpu")), 10);
  if (!now.kernel->none.empty())
    words(c, c.ui.fonts.body, c.ui.theme.text, say(c.ui.language, now.kernel->none), 10);
  const auto& sites = now.kernel->sites;
  for (std::size_t i = 0; i < sites.size(); ++i) site(c, sites[i], i, sites.size());
}

}  // namespace headlight
