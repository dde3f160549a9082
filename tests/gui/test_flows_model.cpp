// The model's settings, and undo after each kind of edit.
#include <cmath>

#include "app/ui/kit/whole_field.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

void open_settings(Gui& gui) {
  if (!gui.has("panel/model_settings")) gui.click("model");
  REQUIRE(gui.has("panel/model_settings"));
}

// Opens the settings, brings the control into view and presses it.
void set(Gui& gui, const std::string& id) {
  open_settings(gui);
  gui.reveal(id, "panel/model_settings");
  gui.click(id);
}

std::vector<float> numbers(const Gui& gui, std::string_view name) {
  const TensorView t = gui.tensor(name);
  return {t.cells().begin(), t.cells().end()};
}

}  // namespace

TEST_CASE("flow: each number of the model's shape steps, and the trace has that shape") {
  Gui gui(small_document(1, 2, 8));
  set(gui, "model/layers/more");
  CHECK(gui.config().layers == 2);
  CHECK(gui.trace().find("blocks.1.attn.pattern").data);
  set(gui, "model/d_model/more");
  CHECK(gui.config().d_model == 10);  // 9 does not divide by 2
  CHECK(gui.tensor("blocks.0.resid_pre").axes.back().size == 10);
  CHECK(gui.tensor("blocks.0.attn.q").axes.back().size == 5);
  set(gui, "model/d_head/more");
  CHECK(gui.config().d_head == 1);
  CHECK(gui.tensor("blocks.0.attn.q").axes.back().size == 1);
  set(gui, "model/d_hidden/more");
  CHECK(gui.config().d_hidden == 1);
  CHECK(gui.tensor("blocks.0.mlp.pre").axes.back().size == 1);
  set(gui, "model/layers/less");
  CHECK(gui.config().layers == 1);
  CHECK_FALSE(gui.trace().find("blocks.1.attn.pattern").data);
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("flow: the kinds of today's language models are chosen") {
  Gui gui(small_document(1, 4, 16));
  set(gui, "model/norm/rms");
  CHECK(gui.config().norm == NormKind::kRms);
  CHECK_FALSE(gui.trace().find("blocks.0.ln1.b").data);
  set(gui, "model/activation/swiglu");
  CHECK(gui.tensor("blocks.0.mlp.pre_linear").size() > 0);
  CHECK_FALSE(gui.has("model/rotary/half"));
  set(gui, "model/positions/rotary");
  CHECK(gui.tensor("blocks.0.attn.rot_q").axes.back().size == 4);
  set(gui, "model/rotary/interleaved");
  CHECK(gui.config().rotary == RotaryPairs::kInterleaved);
  set(gui, "model/kv_heads/more");
  CHECK(gui.config().kv_heads == 1);
  CHECK(gui.tensor("blocks.0.attn.k").axes[1].size == 1);
  CHECK(gui.tensor("blocks.0.attn.q").axes[1].size == 4);
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("flow: what is no whole number changes nothing, commas between thousands are read") {
  Gui gui(small_document(2, 2, 8));
  open_settings(gui);
  const auto type = [&](const std::string& field, std::string_view text) {
    set(gui, field);
    gui.edit_key({ImGuiKey_A, true});
    gui.type(text);
    gui.edit_key({ImGuiKey_Enter});
    gui.frame(2);
  };
  for (const char* text : {"1,5", "3.5", "1 5", "1,50", "1,0000"}) {
    CAPTURE(text);
    type("model/layers", text);
    CHECK(gui.config().layers == 2);
  }
  const std::uint64_t seed = gui.config().seed;
  type("model/seed", "7,5");
  CHECK(gui.config().seed == seed);
  type("model/max_tokens", "1,500");
  CHECK(gui.document().max_tokens == 1500);
  CHECK(typed_whole("1,024") == 1024u);
  CHECK(typed_whole("12,345,678") == 12345678u);
  for (const char* text : {"", "1,02", "1024,000", ",123", "1.024", "-1", "1,0x4"}) {
    CAPTURE(text);
    CHECK_FALSE(typed_whole(text));
  }
}

TEST_CASE("flow: a number that is typed") {
  Gui gui(small_document(1, 2, 8));
  open_settings(gui);
  gui.click("model/d_model");
  gui.edit_key({ImGuiKey_A, true});
  gui.type("24");
  gui.edit_key({ImGuiKey_Enter});
  CHECK(gui.config().d_model == 24);
  CHECK(gui.tensor("embed").axes.back().size == 24);
  set(gui, "model/seed");
  gui.edit_key({ImGuiKey_A, true});
  gui.type("77");
  gui.edit_key({ImGuiKey_Enter});
  CHECK(gui.config().seed == 77);
  set(gui, "model/d_model");
  gui.edit_key({ImGuiKey_A, true});
  gui.type("999999999999");  // out of range: kept within it, no overflow
  gui.edit_key({ImGuiKey_Enter});
  CHECK(gui.config().d_model >= 1);
  CHECK(gui.config().d_model <= kMaxWidth);
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("flow: a fraction that is typed, with a point or a comma, counts with Enter") {
  Gui gui(small_document(1, 2, 8));
  open_settings(gui);
  const auto typed = [&](const char* text, ImGuiKey end) {
    set(gui, "model/softcap");
    gui.edit_key({ImGuiKey_A, true});
    gui.type(text);
    gui.edit_key({end});
    return gui.config().softcap;
  };
  CHECK(typed("2.5", ImGuiKey_Enter) == 2.5);
  CHECK(typed("3,25", ImGuiKey_Enter) == 3.25);
  CHECK(typed("7", ImGuiKey_Escape) == 3.25);
  CHECK(typed("1e", ImGuiKey_Enter) == 3.25);  // no number
  CHECK(typed("", ImGuiKey_Enter) == 3.25);
  CHECK(typed("1e30", ImGuiKey_Enter) == kHighestSoftcap);
  CHECK(typed("-5", ImGuiKey_Enter) == kLowestSoftcap);
  CHECK(typed("0", ImGuiKey_Enter) == 0);  // off
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("flow: a base of rotary positions is a whole number, with commas or an exponent") {
  Document document = small_document(1, 2, 8);
  document.config.positions = PositionKind::kRotary;
  document.config.rotary_base = 500000;
  Gui gui(document);
  open_settings(gui);
  const auto typed = [&](const char* text) {
    set(gui, "model/rotary_base");
    gui.edit_key({ImGuiKey_A, true});
    gui.type(text);
    gui.edit_key({ImGuiKey_Enter});
    return gui.config().rotary_base;
  };
  set(gui, "model/rotary_base");  // scrolls there
  CHECK(gui.shows("500000"));
  CHECK(typed("3580165449") == 3580165449.0);  // more than 32 bits hold
  CHECK(gui.shows("3580165449"));
  CHECK(typed("1,000,000") == 1e6);
  CHECK(typed("2e6") == 2e6);
  CHECK(typed("1.5") == 2e6);
  CHECK(typed("") == 2e6);
  CHECK(typed("0") == kLowestRotaryBase);
  CHECK(typed("1e30") == kHighestRotaryBase);
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("flow: heads that do not divide the width: said in words, the last run stays") {
  Gui gui(small_document(1, 2, 8));
  const std::vector<float> before = numbers(gui, "blocks.0.attn.pattern");
  const std::uint64_t serial = gui.trace().serial();
  set(gui, "model/heads/more");
  CHECK(gui.config().heads == 3);  // the document keeps what was asked for
  CHECK(gui.notices_say("Width 8 does not divide into 3 heads; choose 2 or 4 heads"));
  CHECK(gui.state().derived.problem != "");
  CHECK(gui.trace().serial() == serial);
  CHECK(gui.trace().config().heads == 2);
  CHECK(numbers(gui, "blocks.0.attn.pattern") == before);
  gui.key({kKeyEscape});
  CHECK_FALSE(gui.has("panel/model_settings"));
  CHECK(gui.shows("Width 8 does not divide into 3 heads"));
  gui.ctrl('Z');
  CHECK(gui.config().heads == 2);
  CHECK(gui.state().derived.problem == "");
  CHECK_FALSE(gui.notices_say("does not divide"));
  CHECK(numbers(gui, "blocks.0.attn.pattern") == before);
  CHECK(inconsistency(gui.state()) == "");
  // Either number that the message names is one click away.
  for (const int heads : {2, 4}) {
    Config three = gui.config();
    three.heads = 3;
    gui.push(DoEdit{SetConfig{three}, ""});
    gui.frame(2);
    gui.click("notice/heads_" + std::to_string(heads));
    gui.frame(2);
    CHECK(gui.config().heads == heads);
    CHECK(gui.state().derived.problem == "");
  }
}

TEST_CASE("flow: while the heads do not divide the width, the window still works") {
  Gui gui(small_document(2, 2, 8));
  set(gui, "model/heads/more");
  gui.key({kKeyEscape});
  for (const int k : {int{']'}, int{'['}, int{kKeyPageDown}, int{kKeyPageUp}, int{kKeyRight},
                      int{kKeyLeft}, int{'C'}, int{'C'}, int{']'}, int{']'}, int{'M'}}) {
    gui.key({k});
    CHECK(gui.state().session.head < gui.trace().config().head_count());
    CHECK(gui.state().session.layer < gui.trace().config().layers);
  }
  for (int head = 0; head < 3; ++head) {
    const std::string id = "head/" + std::to_string(head);
    if (gui.has(id)) gui.click(id);
    CHECK(gui.state().session.head < gui.trace().config().head_count());
    gui.click("heads/1");
    gui.click("view/theme");
  }
  CHECK(gui.notices_say("does not divide"));
}

TEST_CASE("flow: every choice of the settings changes the program that is run") {
  const auto steps_with = [](const char* id) {
    Gui gui(small_document(1, 2, 8));
    set(gui, id);
    CHECK(inconsistency(gui.state()) == "");
    CHECK(gui.state().derived.problem == "");
    return step_names(gui.trace().program());
  };
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& choice : choices(AttentionKind{})) {
    CHECK(has(steps_with(("model/attention/" + std::string(choice.word)).c_str()),
              "blocks.0.attn.pattern"));
  }
  CHECK_FALSE(has(steps_with("model/attention/basic"), "blocks.0.attn.q_proj"));
  CHECK_FALSE(has(steps_with("model/scores/additive"), "blocks.0.attn.scores_scaled"));
  CHECK_FALSE(has(steps_with("model/block/attention"), "blocks.0.mlp.pre"));
  CHECK_FALSE(has(steps_with("model/block/post-norm"), "ln_final.normalized"));
  CHECK(has(steps_with("model/block/pre-norm"), "ln_final.normalized"));
  CHECK_FALSE(has(steps_with("model/scale/off"), "blocks.0.attn.scores_scaled"));
  CHECK_FALSE(has(steps_with("model/positions/none"), "pos_embed"));

  Gui gui(small_document(1, 2, 8));
  const std::vector<float> gelu = numbers(gui, "logits");
  set(gui, "model/activation/relu");
  const std::vector<float> relu = numbers(gui, "logits");
  CHECK(relu != gelu);
  set(gui, "model/bias/off");
  CHECK_FALSE(gui.trace().find("blocks.0.attn.b_Q").data);
  set(gui, "model/output_projection/off");
  CHECK_FALSE(gui.trace().find("blocks.0.attn.W_O").data);
  CHECK(numbers(gui, "blocks.0.attn_out") == numbers(gui, "blocks.0.attn.concat"));
  set(gui, "model/bias_kv/on");
  set(gui, "model/zero_attention/on");
  CHECK(gui.tensor("blocks.0.attn.pattern").axes[3].size == gui.trace().length() + 2);
  set(gui, "model/average_weights/on");
  CHECK(gui.trace().find("blocks.0.attn.pattern_mean").data);
  set(gui, "model/residual/off");
  CHECK_FALSE(gui.config().residual);
  const std::vector<float> seed_one = numbers(gui, "logits");
  set(gui, "model/seed/next");
  CHECK(gui.config().seed == 2);
  CHECK(numbers(gui, "logits") != seed_one);
  set(gui, "model/attention/single");
  CHECK(gui.config().head_count() == 1);
  CHECK(gui.tensor("blocks.0.attn.pattern").axes[1].size == 1);
}

TEST_CASE("flow: basic attention has no scale unless asked, and going back brings it back") {
  Gui gui(small_document(1, 2, 8));
  set(gui, "model/attention/basic");
  CHECK_FALSE(gui.config().scale);
  set(gui, "model/scale/on");
  CHECK(gui.trace().find("blocks.0.attn.scores_scaled").data);
  set(gui, "model/attention/narrow");
  CHECK(gui.config().scale);
  set(gui, "model/scores/additive");
  CHECK_FALSE(gui.config().scale);
  set(gui, "model/scores/dot");
  CHECK(gui.config().scale);
}

TEST_CASE("flow: undo and redo after each kind of edit bring back the document and the numbers") {
  Gui gui(small_document(1, 2, 8), {1920, 1080});
  struct Kind {
    const char* id;
    bool in_settings;
  };
  for (const Kind kind :
       {Kind{"mask/none", false}, Kind{"mask/local", false}, Kind{"mask/window/more", false},
        Kind{"mask/also_causal", false}, Kind{"scale/off", false}, Kind{"positions/learned", false},
        Kind{"model/layers/more", true}, Kind{"model/heads/more", true},
        Kind{"model/attention/wide", true}, Kind{"model/scores/additive", true},
        Kind{"model/block/post-norm", true}, Kind{"model/bias/off", true},
        Kind{"model/tokenizer/characters", true}, Kind{"model/max_tokens/less", true}}) {
    CAPTURE(kind.id);
    const Document before = gui.document();
    const std::vector<float> pattern = numbers(gui, "blocks.0.attn.pattern");
    if (kind.in_settings) {
      set(gui, kind.id);
      gui.key({kKeyEscape});
    } else {
      gui.click(kind.id);
    }
    const Document after = gui.document();
    CHECK_FALSE(after == before);
    gui.ctrl('Z');
    CHECK(gui.document() == before);
    CHECK(numbers(gui, "blocks.0.attn.pattern") == pattern);
    CHECK(inconsistency(gui.state()) == "");
    gui.ctrl('Z', true);
    CHECK(gui.document() == after);
    CHECK(inconsistency(gui.state()) == "");
    if (gui.config().heads == 3) gui.ctrl('Z');  // would not divide; go on from a model that runs
  }
}

TEST_CASE("flow: the menus do what they say") {
  Gui gui(small_document());
  const auto choose = [&](const char* menu, const char* item) {
    gui.click("menu/" + std::string(menu));
    gui.click("menu/" + std::string(item));
  };
  choose("Go", "step/next");
  CHECK(gui.state().session.step != "blocks.0.attn.pattern");
  choose("Edit", "attn/causal_mask");
  CHECK(gui.config().mask.kind == MaskKind::kNone);
  choose("Edit", "edit/undo");
  CHECK(gui.config().mask.kind == MaskKind::kCausal);
  choose("View", "view/theme");
  CHECK(gui.state().session.dark);
  choose("View", "view/inspector");
  CHECK_FALSE(gui.shows("Where it goes"));
  choose("View", "view/heads");
  CHECK_FALSE(gui.has("heads/1"));
  choose("Help", "help/keys");
  CHECK(gui.has("panel/keys"));
  gui.key({kKeyEscape});
  CHECK_FALSE(gui.has("panel/keys"));
  choose("Help", "help/about");
  CHECK(gui.has("panel/about"));
  gui.key({kKeyEscape});
  choose("Edit", "model/settings");
  CHECK(gui.has("panel/model_settings"));
  gui.key({kKeyEscape});
  choose("File", "file/quit");
  CHECK(gui.state().session.quit);
}

TEST_CASE("flow: larger, smaller and back") {
  Gui gui(small_document());
  gui.ctrl('=');
  CHECK(gui.state().session.scale == doctest::Approx(1.1));
  gui.ctrl('-');
  gui.ctrl('-');
  CHECK(gui.state().session.scale == doctest::Approx(1 / 1.1));
  for (int i = 0; i < 30; ++i) gui.ctrl('=');
  CHECK(gui.state().session.scale <= 4);
  gui.ctrl('0');
  CHECK(gui.state().session.scale == 1);
}

}  // namespace headlight::test
