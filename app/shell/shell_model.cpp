// The shell's part for trained models: choosing one, what then differs.
#include <filesystem>

#include "app/shell/shell.h"
#include "core/train/model_recipe.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

// A folder's weights of this size are read within a frame.
constexpr std::uintmax_t kLoadAtOnceBytes = 8u << 20;

bool is_small(const std::string& ref) {
  if (ref.starts_with(kBundledRef)) return true;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(fs::path(ref) / "model.safetensors", error);
  return error || size <= kLoadAtOnceBytes;
}

// A session may be opened from another folder.
std::string absolute_ref(const std::string& ref) {
  if (ref.empty() || ref.starts_with(kBundledRef)) return ref;
  std::error_code error;
  const fs::path whole = fs::absolute(ref, error);
  return error ? ref : whole.lexically_normal().string();
}

}  // namespace

void Shell::on(const ChooseModel& a) {
  state_.history.end_group();
  worker_.drop(TraceTask::kModel);  // this one is wanted now
  state_.derived.computing = worker_.awaits(TraceTask::kShown);
  if (a.ref.empty()) {
    state_.history.edit(choose_sandbox(state_.document()));
    return;
  }
  if (a.ref == kRunRef) {
    if (run_model_) take_model({a.ref, run_model_, {}});
    return;
  }
  const std::string ref = absolute_ref(a.ref);
  if (!options_.background || is_small(ref)) {
    if (std::optional<LoadedModel> loaded = worker_.load_now(ref)) return take_model(*loaded);
  }
  worker_.request_model(ref);
  state_.derived.computing = true;
}

void Shell::take_model(LoadedModel loaded) {
  state_.derived.computing = worker_.awaits(TraceTask::kShown);
  if (!loaded.model) {
    notify(NoticeKind::kError, Message{"notice.problem"}.with(loaded.problem));
    return;
  }
  const SetModel edit = choose_model(state_.document(), *loaded.model);
  const bool other = edit.sentence && *edit.sentence != state_.document().sentence;
  if (other && !state_.document().sentence.empty())
    notify(NoticeKind::kInfo, Message{"notice.example_sentence", {{"name", loaded.model->name}}});
  state_.history.edit(edit);
  ++state_.session.text_revision;
}

// A model's tokens are not always the tokenizer's: "[SEP]" is one.
std::optional<Edit> Shell::move_in_model(const Edit& edit) const {
  const auto* move = std::get_if<MoveToken>(&edit);
  const auto& model = state_.derived.model;
  if (!move || !model || state_.document().model != model->ref) return std::nullopt;
  if (model->vocabulary->cut() == TextCut::kBytes) return std::nullopt;
  return SetDocument{move_model_token(state_.document(), *model->vocabulary, *move)};
}

}  // namespace headlight
