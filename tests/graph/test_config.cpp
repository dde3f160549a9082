// Config: the words of each choice, the sizes that follow, what is refused and how, and who may
// look at whom under each mask.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/graph/config.h"

namespace headlight::test_config {
namespace {

// The message, or "" when the config is accepted.
std::string refusal(const Config& c) {
  try {
    validate(c);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

template <class Change>
std::string refusal_after(Change change) {
  Config c;
  change(c);
  return refusal(c);
}

Config narrow(int d_model, int heads) {
  Config c;
  c.d_model = d_model;
  c.heads = heads;
  return c;
}

template <class T>
void check_words(std::size_t count) {
  std::set<std::string_view> words;
  for (const auto& choice : choices(T{})) {
    CHECK(words.insert(choice.word).second);
    CHECK(word(choice.value) == choice.word);
    CHECK(from_word<T>(choice.word) == choice.value);
  }
  CHECK(words.size() == count);
  CHECK(from_word<T>("nonsense") == std::nullopt);
  CHECK(from_word<T>("") == std::nullopt);
}

constexpr int kTokens = 11;

// The rule of the mask against a formula, cell by cell.
template <class Formula>
void check_mask(const MaskSpec& mask, Formula formula) {
  CAPTURE(word(mask.kind));
  for (int i = 0; i < kTokens; ++i) {
    for (int j = 0; j < kTokens; ++j) {
      CHECK_MESSAGE(mask.allows(i, j) == formula(i, j), "query " << i << ", key " << j);
    }
  }
}

MaskSpec mask_of(MaskKind kind, std::optional<bool> causal = std::nullopt) {
  MaskSpec mask;
  mask.kind = kind;
  mask.causal = causal;
  return mask;
}

}  // namespace

TEST_CASE("config: each choice has one word") {
  check_words<ModelForm>(3);
  check_words<AttentionKind>(4);
  check_words<ScoreKind>(2);
  check_words<BlockKind>(5);
  check_words<NormKind>(3);
  check_words<Activation>(6);
  check_words<PositionKind>(8);
  check_words<RotaryPairs>(2);
  check_words<RotaryScaling>(3);
  check_words<MaskKind>(6);
  CHECK(choice_list(MaskKind{}) == "one of none, causal, padding, local, strided, free");
  CHECK(choice_list(Activation::kGelu) == "one of relu, gelu, gelu-tanh, silu, swiglu, geglu");
}

TEST_CASE("config: sizes that follow from others") {
  Config c = narrow(12, 3);
  CHECK(c.head_count() == 3);
  CHECK(c.head_width() == 4);
  CHECK(c.hidden_width() == 48);
  c.d_hidden = 5;
  CHECK(c.hidden_width() == 5);
  c.attention = AttentionKind::kWide;
  CHECK(c.head_count() == 3);
  CHECK(c.head_width() == 12);
  c.attention = AttentionKind::kSingle;
  CHECK(c.head_count() == 1);
  CHECK(c.head_width() == 12);
  c.d_head = 7;
  CHECK(c.head_width() == 7);
  c.attention = AttentionKind::kNarrow;
  CHECK(c.head_width() == 7);
  c.attention = AttentionKind::kBasic;  // the rows themselves: no width of its own
  CHECK(c.head_count() == 1);
  CHECK(c.head_width() == 12);
  CHECK(c.has_feed_forward());
  c.block = BlockKind::kAttention;
  CHECK_FALSE(c.has_feed_forward());
}

TEST_CASE("config: without W_O the heads' results side by side are as wide as a row") {
  Config c = narrow(12, 3);
  c.output_projection = false;
  CHECK(refusal(c).empty());
  c.d_head = 5;
  CHECK(refusal(c) ==
        "without the output projection W_O, the heads' results side by side must be as wide as "
        "d_model, 12; 3 heads of width 5 make 15. Choose another number or width of heads, or "
        "switch the output projection on (--output-projection on)");
  c.attention = AttentionKind::kBasic;  // has no W_O in any case
  CHECK(refusal(c).empty());
  c.attention = AttentionKind::kWide;
  c.d_head = 0;
  CHECK_FALSE(refusal(c).empty());
  c.residual = false;  // the next weights expect rows of d_model too
  CHECK_FALSE(refusal(c).empty());
  c.d_head = 4;
  CHECK(refusal(c).empty());
  c.d_head = 0;
  c.attention = AttentionKind::kSingle;
  CHECK(refusal(c).empty());
}

TEST_CASE("config: heads of keys and values divide the heads, where there are several") {
  const auto with = [](int heads, int kv_heads) {
    Config c;
    c.heads = heads;
    c.kv_heads = kv_heads;
    return c;
  };
  CHECK(with(4, 0).kv_head_count() == 4);
  CHECK(with(4, 2).kv_head_count() == 2);
  for (const int kv_heads : {0, 1, 2, 4}) CHECK(refusal(with(4, kv_heads)).empty());
  CHECK(refusal(with(4, 3)) ==
        "4 heads cannot share 3 heads of keys and values evenly; choose 2 or 4 of them");
  CHECK(refusal(with(8, 5)) ==
        "8 heads cannot share 5 heads of keys and values evenly; choose 4 or 8 of them");
  CHECK(refusal(with(4, 8)) ==
        "4 heads cannot share 8 heads of keys and values evenly; choose 2 or 4 of them");
  CHECK(refusal(with(4, -1)).find("key and value heads must be between 0") != std::string::npos);
  Config single = with(4, 3);
  single.attention = AttentionKind::kSingle;  // one head: nothing is shared
  CHECK(refusal(single).empty());
  CHECK(single.kv_head_count() == 1);
}

TEST_CASE("config: rotary positions need pairs of features, and only they do") {
  Config c = narrow(12, 4);  // heads of 3
  CHECK(refusal(c).empty());
  c.positions = PositionKind::kRotary;
  CHECK(refusal(c).find("a head needs an even width; got 3. Choose an even d_head") !=
        std::string::npos);
  c.rotary_width = 2;
  CHECK(refusal(c).empty());
  for (const int width : {-2, 1, 3, 4}) {
    c.rotary_width = width;
    CHECK(refusal(c) ==
          "the rotary width must be an even number from 0 (the whole head) to the head's width, "
          "3; got " +
              std::to_string(width) + ". Choose another one");
  }
  c.positions = PositionKind::kLearned;
  CHECK(refusal(c).empty());
  c = narrow(12, 3);
  c.positions = PositionKind::kRotary;
  for (const double base : {0.5, 2e12, std::nan("")}) {
    c.rotary_base = base;
    CHECK(refusal(c).find("must be between 1 and 1e12; got ") != std::string::npos);
  }
  c.rotary_base = 500000;
  CHECK(refusal(c).empty());
}

TEST_CASE("config: heads that do not divide the width are answered with those that do") {
  CHECK(refusal({}).empty());
  CHECK(refusal(narrow(12, 3)).empty());
  CHECK(
      refusal(narrow(10, 3)) ==
      "width 10 does not divide into 3 heads; choose 2 or 5 heads, or set the head width (d_head)");
  CHECK(
      refusal(narrow(64, 6)) ==
      "width 64 does not divide into 6 heads; choose 4 or 8 heads, or set the head width (d_head)");
  CHECK(
      refusal(narrow(7, 3)) ==
      "width 7 does not divide into 3 heads; choose 1 or 7 heads, or set the head width (d_head)");
  CHECK(refusal(narrow(4, 9)) ==
        "width 4 does not divide into 9 heads; choose 4 heads, or set the head width (d_head)");
  Config c = narrow(10, 3);
  c.d_head = 4;
  CHECK(refusal(c).empty());
  c.d_head = 0;
  for (AttentionKind kind : {AttentionKind::kBasic, AttentionKind::kSingle, AttentionKind::kWide}) {
    c.attention = kind;
    CHECK(refusal(c).empty());
  }
}

TEST_CASE("config: what is suggested is accepted") {
  for (int width = 1; width <= 40; ++width) {
    for (int heads = 1; heads <= 45; ++heads) {
      const std::string message = refusal(narrow(width, heads));
      CHECK(message.empty() == (width % heads == 0));
      const std::size_t at = message.find("choose ");
      if (message.empty()) continue;
      REQUIRE(at != std::string::npos);
      char* end = nullptr;
      const int first = static_cast<int>(std::strtol(message.c_str() + at + 7, &end, 10));
      CHECK(width % first == 0);
      const std::string rest = end;
      if (!rest.starts_with(" or ")) continue;
      const int second = std::atoi(rest.c_str() + 4);
      CHECK(width % second == 0);
      CHECK(first < heads);
      CHECK(second > heads);
    }
  }
}

TEST_CASE("config: numbers out of range are named") {
  CHECK(refusal_after([](Config& c) { c.layers = 0; }) ==
        "the number of layers must be between 1 and 256; got 0. Choose a larger number");
  CHECK(refusal_after([](Config& c) { c.layers = 257; }) ==
        "the number of layers must be between 1 and 256; got 257. Choose a smaller number");
  CHECK(refusal_after([](Config& c) { c.heads = -1; }).starts_with("the number of heads must be"));
  CHECK(refusal_after([](Config& c) { c.heads = kMaxHeads + 1; }).find("1024") !=
        std::string::npos);
  CHECK(refusal_after([](Config& c) { c.d_model = 0; }).starts_with("d_model must be"));
  CHECK(refusal_after([](Config& c) { c.d_model = kMaxWidth + 1; }).find("65536") !=
        std::string::npos);
  CHECK(refusal_after([](Config& c) { c.d_head = -1; }).starts_with("d_head"));
  CHECK(refusal_after([](Config& c) { c.d_hidden = -1; }).starts_with("d_hidden"));
  CHECK(refusal_after([](Config& c) { c.mask.window = -1; }).starts_with("the mask's window"));
  CHECK(refusal_after([](Config& c) { c.mask.stride = 0; }).starts_with("the mask's stride"));
  CHECK(refusal_after([](Config& c) { c.temperature = 0.04; }) ==
        "the softmax temperature must be between 0.05 and 10; got 0.0400. Choose 1 for plain "
        "softmax");
  CHECK(refusal_after([](Config& c) { c.temperature = std::nan(""); }).find("NaN") !=
        std::string::npos);
  // The bounds themselves are accepted.
  CHECK(refusal_after([](Config& c) { c.temperature = 0.05; }).empty());
  CHECK(refusal_after([](Config& c) { c.temperature = 10; }).empty());
  CHECK(refusal_after([](Config& c) { c.layers = kMaxLayers; }).empty());
  CHECK(refusal_after([](Config& c) { c.d_model = kMaxWidth; }).empty());
  CHECK(refusal_after([](Config& c) { c.layers = c.heads = c.d_model = 1; }).empty());
  CHECK(refusal_after([](Config& c) { c.mask.window = 0; }).empty());
  CHECK(refusal_after([](Config& c) { c.mask.stride = 1; }).empty());
}

TEST_CASE("config: which masks are causal") {
  for (const auto& choice : choices(MaskKind{})) {
    CAPTURE(choice.word);
    const bool by_itself = choice.value == MaskKind::kCausal || choice.value == MaskKind::kLocal ||
                           choice.value == MaskKind::kStrided;
    CHECK(mask_of(choice.value).is_causal() == by_itself);
    CHECK(mask_of(choice.value, true).is_causal() == (choice.value != MaskKind::kNone));
    CHECK(mask_of(choice.value, false).is_causal() == (choice.value == MaskKind::kCausal));
  }
}

TEST_CASE("config: no mask and the causal mask") {
  for (std::optional<bool> causal : {std::optional<bool>(), {true}, {false}}) {
    check_mask(mask_of(MaskKind::kNone, causal), [](int, int) { return true; });
    check_mask(mask_of(MaskKind::kCausal, causal), [](int i, int j) { return j <= i; });
  }
}

TEST_CASE("config: padding forbids its keys to everyone") {
  for (bool causal : {false, true}) {
    MaskSpec mask = mask_of(MaskKind::kPadding, causal);
    check_mask(mask, [causal](int i, int j) { return !causal || j <= i; });
    mask.padding = {0, 3, 10};
    check_mask(mask, [causal](int i, int j) {
      return j != 0 && j != 3 && j != 10 && (!causal || j <= i);
    });
  }
}

TEST_CASE("config: local masks of every width") {
  for (int w = 0; w <= kTokens; ++w) {
    CAPTURE(w);
    MaskSpec mask = mask_of(MaskKind::kLocal);
    mask.window = w;
    check_mask(mask, [w](int i, int j) { return j <= i && i - j <= w; });
    mask.causal = false;
    check_mask(mask, [w](int i, int j) { return -w <= i - j && i - j <= w; });
  }
}

TEST_CASE("config: strided masks of every stride") {
  for (int s = 1; s <= kTokens; ++s) {
    CAPTURE(s);
    MaskSpec mask = mask_of(MaskKind::kStrided);
    mask.stride = s;
    check_mask(mask, [s](int i, int j) { return j <= i && (i - j < s || (i - j) % s == 0); });
    // Both ways: the same distances to either side.
    mask.causal = false;
    check_mask(mask, [s](int i, int j) { return std::abs(i - j) < s || (i - j) % s == 0; });
  }
}

TEST_CASE("config: a free mask forbids just its cells") {
  std::vector<std::vector<bool>> forbidden(kTokens, std::vector<bool>(kTokens, false));
  MaskSpec mask = mask_of(MaskKind::kFree);
  for (int i = 0; i < kTokens; ++i) {
    for (int j = 0; j < kTokens; ++j) {
      if ((i * 7 + j * 5) % 4 != 0 && i != 4) continue;  // row 4 wholly
      forbidden[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = true;
      mask.forbidden.insert(i, j);
    }
  }
  const auto open = [&forbidden](int i, int j) {
    return !forbidden[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  };
  check_mask(mask, open);
  mask.causal = true;
  check_mask(mask, [&open](int i, int j) { return j <= i && open(i, j); });
}

TEST_CASE("config: details of one kind of mask do not leak into another") {
  MaskSpec mask = mask_of(MaskKind::kCausal);
  mask.padding = {1};
  mask.forbidden = {{5, 2}};
  mask.window = mask.stride = 1;
  check_mask(mask, [](int i, int j) { return j <= i; });
  mask.kind = MaskKind::kPadding;
  check_mask(mask, [](int, int j) { return j != 1; });
  mask.kind = MaskKind::kFree;
  check_mask(mask, [](int i, int j) { return i != 5 || j != 2; });
}

}  // namespace headlight::test_config
