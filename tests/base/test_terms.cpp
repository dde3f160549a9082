// The texts speak the field's language: words that were replaced by its standard terms do not come
// back, and a term is called the same everywhere.
#include <doctest/doctest.h>

#include <span>
#include <string>
#include <string_view>

#include "core/base/texts.h"

namespace headlight::test_terms {
namespace {

struct Replaced {
  std::string_view old, now;
};

// In lower case.
constexpr Replaced kEnglish[] = {
    {"meets each row", "is multiplied with"},
    {"meets each column", "times"},
    {"answers loudest, with", "scores highest"},
    {"bend", "nonlinearity"},
    {"learned by heart", "memorized"},
    {"walk backward", "backpropagation"},
    {"backward walk", "backpropagation"},
    {"less 1", "minus 1"},
    {"nudg", "gradient check"},
    {"at place", "position"},
    {"so each place", "position"},
    {"places away", "positions away"},
    {"crossing", "cross-attention"},
    {"masked words", "masked language modelling"},
    {"swell", "all rows are of the same size"},
    {"sandbox", "random model"},
    {"a film", "replay"},
    {"clip norm", "gradient clipping"},
    {"costs {loss}", "the loss is"},
};
constexpr Replaced kChinese[] = {
    {"弯折", "非线性"},
    {"相遇", "做点积"},
    {"变号", "负对数"},
    {"动一动", "梯度检验"},
    {"反向走", "反向传播"},
    {"词元平均", "平均池化"},
    {"随机丢弃", "Dropout（随机失活）"},
    {"词嵌入", "词元嵌入"},
    {"掩词", "掩码语言建模"},
    {"正确率", "准确率"},
    {"批次大小", "批大小"},
    {"电影", "回放"},
    {"步距", "步长"},
    {"舞台", "主视图"},
    {"正好抵消", "大致抵消"},
    {"回应最强：", "得分最高"},
    {"前馈输入层", "前馈第一层"},
    {"前馈输出层", "前馈第二层"},
    {"模块", "Transformer 块"},
    {"「", "“"},
    {"」", "”"},
};

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

// The old words that stand in this text.
std::string replaced_words(std::string_view text, std::span<const Replaced> words) {
  std::string found;
  for (const auto& [old, now] : words) {
    if (text.find(old) != text.npos)
      found += std::string(old) + " (now: " + std::string(now) + ") ";
  }
  return found;
}

}  // namespace

TEST_CASE("texts: words that were replaced by standard terms do not come back") {
  CHECK(replaced_words(lower("Nudge it"), kEnglish) == "nudg (now: gradient check) ");
  for (const TextEntry& entry : all_texts()) {
    CAPTURE(entry.id);
    CHECK(replaced_words(lower(entry.english), kEnglish) == "");
    CHECK(replaced_words(entry.chinese, kChinese) == "");
  }
}

TEST_CASE("texts: the field's terms are said, in both languages") {
  struct Term {
    std::string_view english, chinese;
  };
  constexpr Term kTerms[] = {
      {"self-attention", "自注意力"},
      {"cross-attention", "交叉注意力"},
      {"dot product", "点积"},
      {"cross-entropy", "交叉熵"},
      {"average pooling", "平均池化"},
      {"autoregressive", "自回归"},
      {"backpropagation", "反向传播"},
      {"perplexity", "困惑度"},
      {"nonlinearity", "非线性"},
      {"position encoding", "位置编码"},
      {"position embedding", "位置嵌入"},
      {"masked language modelling", "掩码语言建模"},
      {"gradient clipping", "梯度裁剪"},
      {"weight decay", "权重衰减"},
  };
  for (const Term& term : kTerms) {
    CAPTURE(term.english);
    bool english = false, chinese = false;
    for (const TextEntry& entry : all_texts()) {
      const bool here = lower(entry.english).find(term.english) != std::string::npos;
      english |= here;
      chinese |= here && entry.chinese.find(term.chinese) != std::string::npos;
    }
    CHECK(english);
    CHECK(chinese);
  }
}

}  // namespace headlight::test_terms
