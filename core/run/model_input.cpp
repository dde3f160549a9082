#include "core/run/model_input.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/program_memory.h"
#include "core/model/lacks_head.h"
#include "core/model/row_ids.h"
#include "core/text/number_words.h"

namespace headlight {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

SourceAndTarget split_pair(std::string_view sentence) {
  constexpr std::string_view kArrows[] = {"→", "->"};
  std::size_t at = std::string_view::npos, width = 0;
  for (const std::string_view arrow : kArrows) {
    const std::size_t found = sentence.find(arrow);
    if (found >= at) continue;
    at = found;
    width = arrow.size();
  }
  if (at == std::string_view::npos) return {trimmed(sentence), std::nullopt};
  return {trimmed(sentence.substr(0, at)), trimmed(sentence.substr(at + width))};
}

bool fills_masks(const Model& model) {
  return model.file.config.form == ModelForm::kTokens &&
         (model.file.kind == "masked" || knows_mask(model));
}

bool knows_mask(const Model& model) { return model.vocabulary->id_of(Special::kMask).has_value(); }

std::string_view mask_name(const Model* model) {
  const auto mask = model ? model->vocabulary->id_of(Special::kMask) : std::optional<int>();
  return mask ? std::string_view(model->vocabulary->token(*mask)) : to_string(Special::kMask);
}

Message not_next_token(const Model& model) {
  const Config& c = model.file.config;
  const char* does = c.numbers                         ? "model.does.numbers"
                     : c.form == ModelForm::kClasses   ? "model.does.classes"
                     : c.form == ModelForm::kTranslate ? "model.does.rows"
                     : lacks_head(model)               ? "model.does.no_head"
                                                       : "model.does.masked";
  Message what{does, {{"mask", std::string(mask_name(&model))}}};
  return Message{"model.not_next_token", {{"name", model.name}}}.with(std::move(what));
}

bool answers_in_place(const Model& model) {
  return fills_masks(model) || model.file.config.numbers;
}

const Vocabulary& sandbox_numbers() {
  static const Vocabulary kNumbers = Vocabulary::of_numbers(kGridNumbers);
  return kNumbers;
}

bool goes_on(const Model& model) {
  return model.file.config.form == ModelForm::kTokens && !answers_in_place(model);
}

void check_pair_ids(const Model& model, std::span<const int> source, std::span<const int> own) {
  check_row_ids(source, model.file.source_vocab ? model.file.source_vocab : model.file.vocab);
  check_ids(model, own);
  check_placed(model, source, *model.vocabulary);
  check_placed(model, own, target_vocabulary(model));
}

bool pads_source(const Config& config) {
  return config.form == ModelForm::kTranslate && !config.mask.source_padding.empty();
}

int begin_of(const Model& model) {
  if (model.file.begin) return *model.file.begin;
  const std::optional<int> begin = target_vocabulary(model).id_of(Special::kBegin);
  if (!begin) throw Error(Message{"model.no_begin", {{"name", model.name}}});
  return *begin;
}

std::optional<int> end_of(const Model& model) {
  if (!model.file.ends.empty()) return model.file.ends.front();
  return target_vocabulary(model).id_of(Special::kEnd);
}

bool ends_row(const Model& model, int id) {
  const std::vector<int>& ends = model.file.ends;
  return ends.empty() ? id == end_of(model) : std::ranges::find(ends, id) != ends.end();
}

std::vector<int> opening_of(const Model& model) {
  std::vector<int> opening = {begin_of(model)};
  const std::vector<int>& forced = model.file.forced;
  opening.insert(opening.end(), forced.begin(), forced.end());
  // BART has learned rows that its tokenizer has put <s> before, forced or not. M2M-100's mark in
  // front of a source is the language of that.
  const auto start = model.vocabulary->id_of(Special::kBegin);
  if (forced.empty() && start && model.before == std::vector{*start}) opening.push_back(*start);
  return opening;
}

int class_of(const Model& model) {
  const std::optional<int> token = model.vocabulary->id_of(Special::kClass);
  if (!token) throw Error(Message{"model.no_class_token", {{"name", model.name}}});
  return *token;
}

RowFrame row_frame(const Model* model, const Document& document) {
  if (!model) return {begins_with_class(document.config) ? std::vector{0} : std::vector<int>{}, {}};
  // Who writes ids writes all of them.
  if (!document.ids.empty() || has_ids_alone(*model)) return {};
  if (!model->before.empty() || !model->behind.empty()) return {model->before, model->behind};
  if (begins_with_class(model->file.config))
    return {{model->vocabulary->id_of(Special::kClass).value_or(-1)}, {}};
  return {};
}

int separator_of(const Model* model, const Config& config, const RunInput& input) {
  if (model) return separator_of(config, model->vocabulary.get());
  if (!config.tells_sentences()) return -1;
  const auto at = std::ranges::find(input.vocab, to_string(Special::kSeparator));
  return at == input.vocab.end() ? -1 : static_cast<int>(at - input.vocab.begin());
}

bool closes_pair(const Config& config, std::size_t separators, bool ends_with_one) {
  return config.tells_sentences() && begins_with_class(config) && separators == 1 && !ends_with_one;
}

bool divide_row(const Config& config, int separator, std::size_t most, RunInput& input) {
  if (!config.segments || input.ids.empty()) return false;
  if (!config.tells_sentences()) {
    input.segment_ids.assign(input.ids.size(), 0);
    return false;
  }
  std::vector<int>& ids = input.ids;
  const auto separators = static_cast<std::size_t>(std::ranges::count(ids, separator));
  const bool ends = ids.back() == separator;
  const std::size_t sentences = separators + (ends ? 0 : 1);
  if (sentences > kSegments)
    throw UsageError(Message{"error.segments_sentences", {{"got", std::to_string(sentences)}}});
  bool shortened = false;
  if (closes_pair(config, separators, ends)) {
    shortened = ids.size() >= most;
    if (shortened) {
      ids.pop_back();
      input.tokens.pop_back();
    }
    ids.push_back(separator);
    input.tokens.emplace_back(to_string(Special::kSeparator));
  }
  input.segment_ids = segments_of(ids, separator);
  return shortened;
}

}  // namespace headlight
