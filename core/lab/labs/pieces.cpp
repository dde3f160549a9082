// Pieces of words: merges learned one by one from a short text and the sentence, WordPiece beside
// them, and how many tokens a text then has.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"
#include "core/lab/learned_pieces.h"
#include "core/model/model.h"

namespace headlight {
namespace {

constexpr std::string_view kEnglishStory =
    "The little dog had a red ball. Every day the little dog played with the red ball in the "
    "garden. One day the ball rolled under the old gate, and the dog could not find it. She looked "
    "behind the tree, she looked under the bench, and she looked near the pond. The old man who "
    "lived next door heard the dog barking. He looked over the gate and saw the red ball in his "
    "own garden. He was smiling when he opened the gate and rolled the ball back. The dog was "
    "barking and playing again, and the old man played with her until the evening. The next day "
    "they were playing together in the garden, and so they did every other day. When it was "
    "raining, they were sitting at the window and looking at the rain. The old man told the dog "
    "about the days when he was young: how he had lived near the sea, how he had played with "
    "other children on the beach, and how they had watched the ships in the evening. The dog was "
    "listening, because she liked the old man and the sound of the rain. In the winter there was "
    "snow in the garden. The dog was running and jumping in the snow, and she lost the red ball "
    "again. The old man looked for it everywhere, but nobody could find it. When the snow melted "
    "in the spring, the red ball was lying under the tree, and the little dog was happy.\n";
constexpr std::string_view kChineseStory =
    "小狗有一个红色的球。小狗每天都在花园里玩红色的球。有一天，球滚到旧门下面去了，小狗找不到它。"
    "它在树后面找，在长椅下面找，在池塘旁边找。住在隔壁的老人听见小狗在叫。老人往门外一看，看见红色"
    "的球在自己的花园里。老人笑着打开门，把球滚了回去。小狗又叫又跳，老人陪小狗一直玩到晚上。第二天"
    "，"
    "他们又在花园里一起玩。后来，老人和小狗每天都在一起玩红色的球。下雨的时候，他们坐在窗前看雨。老"
    "人"
    "给小狗讲自己小时候的事：他住在海边，和别的孩子一起在海边玩，晚上一起看海上的船。小狗听着，因为"
    "小狗喜欢老人，也喜欢下雨的声音。冬天，花园里下雪了。小狗在雪里又跑又跳，又找不到红色的球了。老"
    "人"
    "在花园里到处找，可是谁也找不到它。春天，雪化了，红色的球在树下面，小狗很高兴。\n";
constexpr std::string_view kEnglishSample = "The little dog lost its ball in the garden.";
constexpr std::string_view kChineseSample = "小狗在花园里找不到红色的球。";
constexpr std::array<std::string_view, 5> kSamples = {"    ", "2026", "dog", "狗", "👍🏽"};

constexpr int kByteTokens = 256, kMostMerges = 200;
constexpr std::size_t kMostSentence = 400, kShownPlaces = 48;

// A count, as texts have it.
std::string count_of(double n) { return std::to_string(std::llround(n)); }

double points_of(std::string_view text) { return static_cast<double>(to_code_points(text).size()); }

// At most so many code points of it.
std::string first_points(std::string_view text, std::size_t most) {
  std::size_t at = 0;
  for (std::size_t n = 0; n < most && at < text.size(); ++n) at += code_point_at(text, at).size;
  return std::string(text.substr(0, at));
}

bool is_chinese(std::string_view text) {
  const std::u32string points = to_code_points(text);
  const auto n = std::ranges::count_if(points, [](char32_t c) { return c >= 0x2E80; });
  return 2 * n > std::ssize(points);
}

struct PiecesTexts {
  std::string learned, sentence, other;  // other: of the other language
  std::string_view other_name;
};

PiecesTexts pieces_texts(LabRun& run) {
  PiecesTexts t;
  const std::string whole = clean_utf8(run.document().sentence).text;
  if (whole.find_first_not_of(" \t\r\n") == std::string::npos)
    throw UsageError(Message{"error.empty_sentence"});
  t.sentence = first_points(whole, kMostSentence);
  if (t.sentence.size() < whole.size())
    run.result.notes.emplace_back(
        "lab.note.first_characters",
        std::vector<MessageSlot>{{"most", std::to_string(kMostSentence)},
                                 {"all", std::to_string(to_code_points(whole).size())}});
  const std::string& on = run.word("learned");
  if (on != "chinese") t.learned += kEnglishStory;
  if (on != "english") t.learned += kChineseStory;
  t.learned += t.sentence;
  const bool chinese = is_chinese(t.sentence);
  t.other = chinese ? kEnglishSample : kChineseSample;
  t.other_name = chinese ? "english" : "chinese";
  return t;
}

void export_piece_text(LabRun& run, const std::string& name, std::string_view text) {
  std::vector<float> bytes, ends;
  for (const char c : text) bytes.push_back(static_cast<float>(static_cast<unsigned char>(c)));
  for (const std::size_t end : run_ends(text)) ends.push_back(static_cast<float>(end));
  const auto count = [](const std::vector<float>& v) { return std::ssize(v); };
  run.result.tensors.push_back(lab_tensor(name, {{"position", count(bytes)}}, bytes));
  run.result.tensors.push_back(lab_tensor(name + ".ends", {{"position", count(ends)}}, ends));
}

// Where words begin and end, which WordPiece cuts.
void export_piece_words(LabRun& run, const std::string& name, std::string_view text,
                        LearnedPieces& learned) {
  std::vector<float> places;
  for (const Token& word : learned.words().tokenize(text)) {
    places.push_back(static_cast<float>(word.begin));
    places.push_back(static_cast<float>(word.end));
  }
  run.result.tensors.push_back(
      lab_tensor(name + ".words", {{"position", std::ssize(places) / 2}, {"feature", 2}}, places));
}

// Tokens of a text by the number of merges.
std::vector<double> tokens_by_merges(LabRun& run, LearnedPieces& learned, std::string_view text,
                                     bool words) {
  std::vector<double> all;
  for (int m = 0; m <= learned.merges(); ++m) {
    if (m % 16 == 0) run.tell(0.4);
    all.push_back(static_cast<double>(words ? learned.cut(text, m).size()
                                            : learned.after(m).encode(text).size()));
  }
  return all;
}

LabSeries piece_line(std::string name, std::vector<double> tokens, double characters) {
  LabSeries s{std::move(name), {}, std::move(tokens)};
  for (std::size_t m = 0; m < s.y.size(); ++m) {
    s.x.push_back(static_cast<double>(m));
    s.y[m] /= characters;
  }
  return s;
}

// Vocabulary and length of each way to cut the sentence.
void add_piece_ways(LabRun& run, LearnedPieces& learned, const PiecesTexts& t,
                    const std::vector<double>& bpe, const std::vector<double>& word_pieces) {
  const double characters = points_of(t.sentence);
  LabSeries by_bpe{"vocabulary.bpe", {}, {}}, by_pieces{"vocabulary.word_pieces", {}, {}};
  for (std::size_t m = 0; m < bpe.size(); m = m == 0 ? 1 : 2 * m) {
    by_bpe.x.push_back(static_cast<double>(kByteTokens + m));
    by_bpe.y.push_back(bpe[m] / characters);
    by_pieces.x.push_back(static_cast<double>(learned.known(static_cast<int>(m)) + 1));
    by_pieces.y.push_back(word_pieces[m] / characters);
  }
  run.result.series.push_back(std::move(by_bpe));
  run.result.series.push_back(std::move(by_pieces));
  const std::u32string points = to_code_points(t.learned);
  const auto add = [&](const std::string& name, double entries, double tokens) {
    run.result.series.push_back({"vocabulary." + name, {entries}, {tokens / characters}});
  };
  add("characters", static_cast<double>(std::set(points.begin(), points.end()).size()), characters);
  add("words", static_cast<double>(learned.distinct_words()),
      static_cast<double>(learned.words().count(t.sentence)));
  for (const char* name : {"stories", "poems"}) {
    run.tell(0.7);
    const auto model = load_model(std::string(kBundledRef) + name);
    const Bpe& own = *model->vocabulary->bpe();
    add(name, own.size(), static_cast<double>(own.encode(t.sentence).size()));
    std::vector<float> merges;
    for (const BpeMerge& m : own.merges())
      merges.insert(merges.end(), {static_cast<float>(m.left), static_cast<float>(m.right)});
    run.result.tensors.push_back(
        lab_tensor(std::string(name) + ".merges",
                   {{"position", std::ssize(own.merges())}, {"feature", 2}}, merges));
  }
}

// A row for a number of merges, a column for a character: neighbours of one piece have one colour,
// and a character that is itself cut has none.
void add_merging(LabRun& run, const LearnedPieces& learned, const PiecesTexts& t, int chosen) {
  const std::string text = first_points(t.sentence, kShownPlaces);
  LabPicture picture{"merging", {}, {}, {}, LabColours::kSigned};
  std::vector<std::size_t> begins;
  for (std::size_t at = 0; at < text.size(); at += code_point_at(text, at).size) {
    begins.push_back(at);
    picture.columns.push_back(visible_label(text.substr(at, code_point_at(text, at).size)));
  }
  begins.push_back(text.size());
  std::set<int> rows = {0, chosen, learned.merges()};
  for (int m = 8; m < learned.merges(); m *= 2) rows.insert(m);
  for (const int m : rows) {
    picture.rows.push_back(std::to_string(m));
    const Bpe bpe = learned.after(m);
    std::vector<int> piece_of;  // by byte
    int number = 0;
    for (const int id : bpe.encode(t.sentence))
      piece_of.insert(piece_of.end(), bpe.bytes(id).size(), number++);
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
      const int first = piece_of[begins[i]], last = piece_of[begins[i + 1] - 1];
      picture.cells.push_back(first != last ? 0.0f : first % 2 == 0 ? 1.0f : -1.0f);
    }
  }
  run.result.pictures.push_back(std::move(picture));
}

// The pieces after the chosen number of merges; a cell says when the piece was learned, 0 of what
// was there before and 1 of the last.
void add_piece_rows(LabRun& run, LearnedPieces& learned, const PiecesTexts& t, int chosen) {
  LabPicture bpe{"bpe", {""}, {}, {}}, words{"word_pieces", {""}, {}, {}};
  const Bpe cut = learned.after(chosen);
  const auto when = [&](double made) {
    return static_cast<float>(std::max(0.0, made / std::max(chosen, 1)));
  };
  for (const int id : cut.encode(t.sentence)) {
    if (bpe.columns.size() == kShownPlaces) break;
    const std::string& bytes = cut.bytes(id);
    bpe.columns.push_back(bytes.size() == 1 ? byte_text(bytes[0]) : visible_label(bytes));
    if (bpe.columns.back() == " ") bpe.columns.back() = visible_label(" ");
    bpe.cells.push_back(when(id - kByteTokens + 1));
  }
  for (const std::string& piece : learned.cut(t.sentence, chosen)) {
    if (words.columns.size() == kShownPlaces) break;
    words.columns.push_back(visible_label(piece));
    words.cells.push_back(when(learned.learned_as(piece)));
  }
  run.result.pictures.push_back(std::move(bpe));
  run.result.pictures.push_back(std::move(words));
}

// Spaces, digits, emoji: characters, bytes, tokens.
void add_piece_samples(LabRun& run, const LearnedPieces& learned, int chosen) {
  LabSeries characters{"samples.characters", {}, {}}, bytes{"samples.bytes", {}, {}},
      tokens{"samples.tokens", {}, {}};
  const Bpe bpe = learned.after(chosen);
  for (std::size_t i = 0; i < kSamples.size(); ++i) {
    const std::string_view text = kSamples[i];
    characters.y.push_back(points_of(text));
    bytes.y.push_back(static_cast<double>(text.size()));
    tokens.y.push_back(static_cast<double>(bpe.encode(text).size()));
    for (LabSeries* s : {&characters, &bytes, &tokens}) {
      s->x.push_back(static_cast<double>(i));
      s->names.push_back(i == 0 ? "lab.pieces.name.spaces" : std::string(text));
    }
    export_piece_text(run, "sample" + std::to_string(i), text);
  }
  for (LabSeries* s : {&characters, &bytes, &tokens}) run.result.series.push_back(std::move(*s));
}

// The first merge after which a word of the sentence is one token.
void add_whole_word(LabRun& run, const LearnedPieces& learned, const PiecesTexts& t, int chosen) {
  for (int m = 1; m <= chosen; ++m) {
    const std::string& made = learned.bpe().bytes(kByteTokens + m - 1);
    const std::string word = made.substr(made.starts_with(' ') ? 1 : 0);
    std::size_t begin = 0;
    for (const std::size_t end : run_ends(t.sentence)) {
      const std::string_view piece = std::string_view(t.sentence).substr(begin, end - begin);
      begin = end;
      if (piece != made || points_of(word) < 2) continue;
      run.notice("word", {{"word", word}, {"m", std::to_string(m)}});
      return;
    }
  }
}

void add_piece_words(LabRun& run, LearnedPieces& learned, const PiecesTexts& t, int chosen,
                     double unknown, const std::vector<double>& sentence,
                     const std::vector<double>& other) {
  const auto at = static_cast<std::size_t>(chosen);
  const double other_characters = points_of(t.other);
  const auto shown = [&](int id) {
    const std::string& b = learned.bpe().bytes(id);
    return b.size() == 1 && b != " " ? byte_text(b[0]) : visible_label(b);
  };
  if (learned.merges() > 0) {
    const BpeMerge first = learned.bpe().merges()[0];
    run.notice("first", {{"left", shown(first.left)}, {"right", shown(first.right)}});
  }
  add_whole_word(run, learned, t, chosen);
  const double apart = other[at] / other_characters, own = sentence[at] / points_of(t.sentence);
  if (apart > 2 * own && chosen > 0)
    run.notice("apart",
               {{"other", t.other}, {"apart", lab_number(apart)}, {"own", lab_number(own)}});
  if (unknown > 0) run.notice("unknown", {{"other", t.other}, {"n", count_of(unknown)}});
  const std::string_view emoji = kSamples.back();
  if (learned.after(chosen).encode(emoji).size() == emoji.size())
    run.notice("emoji",
               {{"points", count_of(points_of(emoji))}, {"bytes", std::to_string(emoji.size())}});

  const int half = std::min(chosen, learned.merges() / 2);
  if (half > 0) {
    const auto h = static_cast<std::size_t>(half);
    const double before = sentence[0] - sentence[h], after = sentence[h] - sentence[2 * h];
    LabQuestion ask{"more",
                    {{"m", std::to_string(half)}, {"saved", count_of(before)}},
                    {"more", "same", "fewer"},
                    0,
                    {}};
    ask.right = after > before ? 0 : after == before ? 1 : 2;
    ask.because = run.because("more", {{"before", count_of(before)}, {"after", count_of(after)}});
    run.result.questions.push_back(std::move(ask));
  }
  LabQuestion ask{"other",
                  {{"other", t.other},
                   {"characters", count_of(other_characters)},
                   {"m", std::to_string(chosen)}},
                  {"fewer", "same", "more"},
                  0,
                  {}};
  ask.right = other[at] < other_characters ? 0 : other[at] == other_characters ? 1 : 2;
  ask.because = run.because(
      "other", {{"tokens", count_of(other[at])}, {"bytes", std::to_string(t.other.size())}});
  run.result.questions.push_back(std::move(ask));
}

void run_pieces(LabRun& run) {
  const PiecesTexts t = pieces_texts(run);
  LearnedPieces learned(t.learned, kMostMerges, [&](const Progress&) {
    run.tell(0.1);
    return true;
  });
  const int chosen = std::min(static_cast<int>(run.whole("merges")), learned.merges());
  const auto at = static_cast<std::size_t>(chosen);
  if (run.whole("merges") > learned.merges())
    run.result.notes.emplace_back(
        "lab.note.merges", std::vector<MessageSlot>{{"n", std::to_string(learned.merges())}});
  export_piece_text(run, "text", t.learned);
  export_piece_words(run, "text", t.learned, learned);
  export_piece_text(run, "sentence", t.sentence);
  export_piece_words(run, "sentence", t.sentence, learned);
  export_piece_text(run, "other", t.other);
  export_piece_words(run, "other", t.other, learned);
  add_merging(run, learned, t, chosen);
  add_piece_rows(run, learned, t, chosen);
  const std::vector<double> sentence = tokens_by_merges(run, learned, t.sentence, false);
  const std::vector<double> pieces = tokens_by_merges(run, learned, t.sentence, true);
  const std::vector<double> other = tokens_by_merges(run, learned, t.other, false);
  run.result.series.push_back(piece_line("length.sentence", sentence, points_of(t.sentence)));
  run.result.series.push_back(piece_line("length.word_pieces", pieces, points_of(t.sentence)));
  run.result.series.push_back(
      piece_line("length." + std::string(t.other_name), other, points_of(t.other)));
  const std::vector<std::string> cut = learned.cut(t.other, chosen);
  const auto unknown = static_cast<double>(std::ranges::count(cut, "[UNK]"));
  run.value("vocabulary", kByteTokens + chosen);
  run.value("tokens.sentence", sentence[at]);
  run.value("tokens.word_pieces", pieces[at]);
  run.value("tokens.other", other[at]);
  run.value("unknown.other", unknown);
  add_piece_ways(run, learned, t, sentence, pieces);
  add_piece_samples(run, learned, chosen);
  add_piece_words(run, learned, t, chosen, unknown, sentence, other);
}

}  // namespace

Lab pieces_lab() {
  return {"pieces",
          "whole",
          "Sennrich, Haddow & Birch 2016, https://arxiv.org/abs/1508.07909",
          {{"merges", {}, 0, kMostMerges, 64, true}, {"learned", {"english", "chinese", "both"}}},
          run_pieces,
          {{"length", {"sentence", "word_pieces", "english", "chinese"}, false, false, "merges"},
           {"vocabulary",
            {"bpe", "word_pieces", "characters", "words", "stories", "poems"},
            true,
            false,
            "",
            LabChartForm::kPoints},
           {"samples", {"characters", "bytes", "tokens"}, false, false, "", LabChartForm::kBars}},
          "",
          {Role::kTokenIds}};
}

}  // namespace headlight
