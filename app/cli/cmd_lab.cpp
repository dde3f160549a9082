// headlight lab: the arguments why each part is there, each an experiment on a sentence.
#include <charconv>
#include <cstdio>

#include "app/cli/cli.h"
#include "app/platform/offscreen.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/io/atomic_file.h"
#include "core/io/png.h"
#include "core/lab/lab_files.h"

namespace headlight {
namespace {

struct LabOptions {
  ModelOptions model;
  std::string name, json, csv, tensors, code, kept, language = "en";
  std::vector<std::string> settings;
  std::string out, theme = "light";  // a print picture
  int width = 1240;
  bool list = false;
};

// As it is typed: "0.05", "1000000".
std::string end_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr};
}

int list_labs(Language language) {
  for (const Lab& lab : all_labs()) {
    std::printf("%-20s %s\n", std::string(lab.id).c_str(),
                std::string(lab_text(language, lab, "question")).c_str());
    for (const LabControl& c : lab.controls) {
      std::string known;
      for (const std::string_view w : c.words)
        known += (known.empty() ? "" : ", ") + std::string(w);
      if (c.words.empty()) known = end_of(c.low) + " to " + end_of(c.high);
      std::printf("  %-18s %s\n", std::string(c.id).c_str(), known.c_str());
    }
  }
  return 0;
}

LabSettings settings_of(const std::vector<std::string>& given) {
  LabSettings settings;
  for (const std::string& one : given) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError("--set is CONTROL=VALUE; got '" + one + "'");
    settings[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return settings;
}

void print(const Lab& lab, const LabResult& r, Language language) {
  std::printf("%s\n", std::string(lab_text(language, lab, "question")).c_str());
  for (const LabValue& v : r.values)
    std::printf("  %-24s %s\n", v.name.c_str(), number_text(v.value, 4).c_str());
  for (const Message& m : r.notice) std::printf("- %s\n", say(language, m).c_str());
  for (const LabQuestion& q : r.questions) {
    const AskedQuestion text = asked(language, lab, q);
    std::printf("? %s\n", text.text.c_str());
    for (std::size_t i = 0; i < text.answers.size(); ++i)
      std::printf("  %s %s\n", i == q.right ? "*" : " ", text.answers[i].c_str());
    std::printf("  %s\n", say(language, q.because).c_str());
  }
}

// The page of the window, as high as it needs to be.
void print_picture(const LabOptions& o, const Lab& lab, Document document) {
  document.labs.lab = lab.id;
  document.labs.settings[document.labs.lab] = settings_of(o.settings);
  ShellOptions options;
  options.limits = o.model.limits();
  options.threads = o.model.threads;
  options.background = false;
  Shell shell(std::move(document), options);
  shell.set_look(o.theme == "dark", 1);
  shell.set_language(*language_from_word(o.language));
  shell.push(ShowMode{Mode::kLabs});
  shell.apply();
  if (!shell.state().labs.problem.empty()) throw Error(shell.state().labs.problem);
  int height = 400;
  for (const bool measured : {false, true}) {
    Offscreen screen(shell, o.width, height);
    screen.frontend().show_only_lab();
    const std::vector<std::uint8_t> rgba = screen.picture();
    if (measured) return write_file_atomic(o.out, encode_png(o.width, height, rgba));
    height = static_cast<int>(screen.frontend().drawn().find("lab/end")->max.y);
  }
}

int run_lab_command(const LabOptions& o) {
  const Language language = *language_from_word(o.language);
  if (o.list) return list_labs(language);
  if (o.name.empty())
    throw UsageError("say which lab, as `headlight lab scale`, or --list for all of them");
  const Lab& lab = find_lab(o.name);
  const Document document = o.model.document();
  Runner runner(o.model.limits());
  const auto backend = make_backend(o.model.backend, o.model.threads);
  const LabResult r = run_lab(lab, {document, runner, *backend}, settings_of(o.settings));
  for (const Message& note : r.notes) tell(say(language, note));
  if (!o.json.empty()) write_file_atomic(o.json, lab_json(lab, r, language));
  if (!o.csv.empty()) write_file_atomic(o.csv, lab_csv(r));
  if (!o.code.empty()) write_file_atomic(o.code, lab_code(lab));
  if (!o.kept.empty()) write_file_atomic(o.kept, lab_kept(r));
  if (!o.tensors.empty()) write_file_atomic(o.tensors, lab_safetensors(lab, r));
  if (!o.out.empty()) print_picture(o, lab, document);
  if (!o.out.empty()) return 0;
  if (o.json.empty() && o.csv.empty() && o.tensors.empty() && o.code.empty())
    print(lab, r, language);
  return 0;
}

}  // namespace

void add_lab_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<LabOptions>();
  CLI::App* sub = app.add_subcommand("lab", "Why each part is there: an experiment on a sentence");
  sub->add_option("name", o->name, "Which one");
  sub->add_flag("--list", o->list, "All labs and their controls");
  sub->add_option("--set", o->settings, "CONTROL=VALUE, again for others");
  sub->add_option("--json", o->json, "FILE.json for what was found");
  sub->add_option("--csv", o->csv, "FILE.csv for the series");
  sub->add_option("--tensors", o->tensors, "FILE.safetensors for what went in");
  sub->add_option("--code", o->code, "FILE.py that computes the same from those tensors");
  sub->add_option("--keep", o->kept, "FILE.safetensors for what its training found");
  sub->add_option("--out", o->out, "FILE.png for a picture of its page, to be printed");
  sub->add_option("--width", o->width, "--out: how wide, in pixels")
      ->capture_default_str()
      ->check(CLI::Range(480, 8192));
  sub->add_option("--theme", o->theme, "--out: light or dark")
      ->capture_default_str()
      ->check(CLI::IsMember({"light", "dark"}));
  sub->add_option("--lang", o->language, "Language of the sentences, en or zh")
      ->check(CLI::IsMember({"en", "zh"}))
      ->capture_default_str();
  o->model.add_to(*sub);
  o->model.add_model_to(*sub);
  sub->callback([o, &run] { run = [o] { return run_lab_command(*o); }; });
}

}  // namespace headlight
