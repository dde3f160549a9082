// What a run leaves behind: samples of a text, bits per byte, earlier runs that are kept by hand,
// and what a window that was killed has saved.
#include <chrono>
#include <cmath>
#include <filesystem>

#include "app/workers/run_autosave.h"
#include "app/workers/sample_worker.h"
#include "core/base/number_text.h"
#include "core/model/checkpoint.h"
#include "core/train/predictor.h"
#include "tests/gui/train/train_gui.h"

namespace headlight::test {
namespace {

constexpr const char* kOwnConfig = R"({"format": "headlight model", "version": 1})";

// The folders in a folder, and whether there are locks.
std::vector<std::string> kept_folders(const std::string& folder, bool* locked = nullptr) {
  std::vector<std::string> names;
  if (locked) *locked = false;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.is_directory()) names.push_back(entry.path().string());
    if (locked && entry.path().extension() == ".lock") *locked = true;
  }
  return names;
}

}  // namespace

TEST_CASE("train keep: a text is gone on with by the weights of the shown step, by the seed") {
  Gui gui({}, {1440, 1400});
  open_panel(gui, text_plan());
  gui.push(DoEdit{SetSentence{"the cat"}, ""});
  gui.push(PlayRun{true, 20});
  settle(gui);
  const FreeSample newest = gui.state().train.sample;
  CHECK(newest.step == 20);
  CHECK(newest.own);
  CHECK(newest.prompt == "the cat");
  REQUIRE(newest.model);
  SamplingOptions sampling = gui.state().session.train.sampling;
  Generator expected(newest.model, "the cat", sampling, gui.state().session.train.sampling_seed, 1);
  std::string text;
  while (text.size() < newest.text.size()) text += expected.next().value_or("");
  CHECK(text == newest.text);
  CHECK(newest.text.size() == 160);
  CHECK(gui.has("label/train/sample"));
  CHECK(gui.shows("The model goes on"));
  gui.push(MarkStep{0});
  settle(gui);
  CHECK(gui.state().train.sample.step == 0);
  CHECK(gui.state().train.sample.text != newest.text);
  gui.push(MarkStep{});
  settle(gui);
  CHECK(gui.state().train.sample.text == newest.text);
  gui.push(SetSampling{sampling, 99});
  settle(gui);
  CHECK(gui.state().train.sample.text != newest.text);
  gui.push(DoEdit{SetSentence{"ÄÖ are not in it"}, ""});  // then a start of the text
  settle(gui);
  CHECK_FALSE(gui.state().train.sample.own);
  CHECK(some_text().find(gui.state().train.sample.prompt) != std::string::npos);
  gui.push(PlanRun{small_plan()});  // another task says nothing by itself
  gui.push(StartRun{});
  settle(gui);
  CHECK_FALSE(gui.has("label/train/sample"));
}

TEST_CASE("train keep: samples are written in the background, the newest request last") {
  const RunPlan plan = text_plan();
  TrainingRun run(plan, make_plan_task(plan).task, 1);
  SampleWorker worker(true);
  SampleRequest request{run.model(), 0, "the ", "a", {}, 1};
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    request.seed = seed;
    worker.request(request, false);
  }
  worker.wait();
  CHECK_FALSE(worker.busy());
  const auto sample = worker.poll();
  REQUIRE(sample);
  CHECK(sample->text == write_sample(request).text);
  CHECK_FALSE(worker.poll());
  request.sentence = request.start = "";  // nothing to go on with
  CHECK_FALSE(write_sample(request).problem.empty());
}

TEST_CASE("train keep: an encoder-decoder's own row for the sentence is shown") {
  Gui gui({}, {1440, 1400});
  RunPlan plan = small_plan("");
  plan = with_data(plan, OwnData::kPairs);
  plan.config.layers = 1;
  plan.text.text = "one\tuno\ntwo\tdue\nten\tdieci\n";
  open_panel(gui, plan);
  gui.push(PlayRun{true, 20});
  gui.push(DoEdit{SetSentence{"one"}, ""});
  settle(gui);
  CHECK(gui.shows("The model writes"));
  CHECK(gui.has("label/train/sample"));
  gui.push(DoEdit{SetSentence{"one -> un"}, ""});  // given, not written
  settle(gui);
  CHECK_FALSE(gui.has("label/train/sample"));
}

TEST_CASE(
    "train keep: bits per byte are the loss over the bytes of a token, in the panel and chart") {
  Gui gui({}, {1440, 1400});
  RunPlan plan = text_plan();
  plan.text_options.cut = TextCut::kWords;
  plan.text_options.context = 8;
  open_panel(gui, plan);
  gui.push(PlayRun{true, 10});
  settle(gui);
  const RunView& run = run_of(gui);
  REQUIRE(run.validation.size() == 2);
  const double bytes = run.task->bytes_per_token(Split::kValidation);
  CHECK(bytes > 3);  // a word and its space
  const double bits = run.validation[1].loss / std::log(2.0) / bytes;
  CHECK(gui.shows(number_text(bits, 3)));
  CHECK(gui.shows(number_text(run.validation[1].loss, 3)));
  gui.push(ChooseCurve{Curve::kBits, false});
  gui.frame(2);
  CHECK(gui.shows("of the text"));
  gui.push(PlanRun{small_plan()});
  gui.push(StartRun{});
  settle(gui);
  CHECK(gui.shows("Bits per byte"));  // the earlier run still has them
  gui.push(ForgetRun{gui.state().train.earlier[0]->status.run});
  gui.frame(2);
  CHECK_FALSE(gui.shows("Bits per byte"));
  CHECK(gui.shows("nats per token"));
}

TEST_CASE("train keep: an earlier run is kept by hand as it ended, and goes on from there") {
  const TemporaryFolder folder;
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  gui.push(PlayRun{true, 7});
  settle(gui);
  const std::shared_ptr<const Model> last = run_of(gui).live;
  const std::uint64_t id = run_of(gui).status.run;
  gui.click("train/same");
  settle(gui);
  gui.push(PlayRun{true, 3});
  settle(gui);
  const std::string button = "train/side/keep/" + std::to_string(id);
  REQUIRE(gui.has(button));
  gui.click(button);
  gui.frame(3);
  REQUIRE(gui.has("panel/train_folder"));
  CHECK(gui.shows("Keep run " + std::to_string(id) + ", as it was after step 7"));
  gui.edit_key({ImGuiKey_A, true});
  gui.type(folder.path("first"));
  gui.frame(2);
  gui.click("path/ok");
  settle(gui);
  CHECK(gui.notices_say("after step 7 was saved in " + folder.path("first")));
  const Checkpoint kept = load_checkpoint(folder.path("first"), true);
  CHECK(std::equal(kept.weights[0].data.begin(), kept.weights[0].data.end(),
                   last->weights[0].data.begin()));
  REQUIRE(kept.training);
  CHECK_FALSE(kept.training->optimizer.empty());
  // One that cannot be saved says so; one that is forgotten cannot be kept.
  gui.push(KeepRun{"/proc/nowhere", id});
  settle(gui);
  CHECK(gui.notices_say("The model was not kept"));
  gui.push(ForgetRun{id});
  gui.frame(2);
  CHECK_FALSE(gui.has(button));
  gui.push(KeepRun{folder.path("again"), id});
  settle(gui);
  CHECK_FALSE(std::filesystem::exists(folder.path("again")));
}

TEST_CASE("train keep: what is trained is on the disk while the window runs, until it is kept") {
  const TemporaryFolder folder;
  const UserFolders folders{folder.path("settings.json"), folder.path("autosave"),
                            folder.path("runs")};
  bool locked = false;
  std::vector<std::string> left;
  {
    Gui gui({}, {1440, 900}, 1, {}, folders);
    gui.shell().start_keeping(1'000'000);
    open_panel(gui);
    CHECK(kept_folders(folder.path("runs")).empty());
    gui.push(PlayRun{true, 3});
    settle(gui);
    gui.push(PlayRun{true, 6});
    settle(gui);
    const std::uint64_t first = run_of(gui).status.run;
    gui.click("train/same");
    settle(gui);
    gui.push(PlayRun{true, 4});
    settle(gui);
    // One folder for each run. Kept by hand: it is there, no longer here.
    CHECK(kept_folders(folder.path("runs")).size() == 2);
    gui.push(KeepRun{folder.path("mine"), first});
    settle(gui);
    left = kept_folders(folder.path("runs"), &locked);
    REQUIRE(left.size() == 1);
    CHECK(locked);
    CHECK(load_checkpoint(left[0], true).training->json.find("\"step\": 4") != std::string::npos);
    // Another window leaves alone what this one still has.
    Gui other({}, {1440, 900}, 1, {}, folders);
    other.shell().start_keeping(1'000'050);
    other.frame();
    CHECK_FALSE(other.notices_say(left[0]));
  }  // without an end: as if it had been killed
  Gui next({}, {1440, 900}, 1, {}, folders);
  next.shell().start_keeping(1'000'100);
  next.frame();
  CHECK(next.notices_say(left[0]));
  CHECK(kept_folders(folder.path("runs"), &locked) == left);
  CHECK_FALSE(locked);  // told once
  CHECK(next.has("notice/resume"));
  next.click("notice/open");
  settle(next);
  CHECK(next.document().model == left[0]);
}

TEST_CASE("train keep: a playing run is written again and again, in the place of what was there") {
  const TemporaryFolder folder;
  const RunPlan plan = small_plan();
  {
    RunAutosave autosave(folder.path("runs"), 0);
    TrainWorker worker(1, &autosave);
    worker.start(plan);
    worker.play(5);
    worker.wait();
    autosave.wait();
    const std::vector<std::string> first = kept_folders(folder.path("runs"));
    REQUIRE(first.size() == 1);
    CHECK(load_checkpoint(first[0], true).training->json.find("\"step\": 5") != std::string::npos);
    worker.play(9);
    worker.wait();
    autosave.wait();
    CHECK(kept_folders(folder.path("runs")) == first);
    CHECK(load_checkpoint(first[0], true).training->json.find("\"step\": 9") != std::string::npos);
    CHECK(autosave.take_problem().empty());
    autosave.discard(1, 8);  // older than what is there
    autosave.wait();
    CHECK(kept_folders(folder.path("runs")) == first);
    CHECK(autosave.leave() == first);
    CHECK(find_left_runs(folder.path("runs")).empty());
    write_text(folder.path("file"), "in the way");
  }
  RunAutosave nowhere(folder.path("file"), 0);
  TrainWorker worker(1, &nowhere);
  worker.start(plan);
  worker.play(2);
  worker.wait();
  nowhere.wait();
  CHECK_FALSE(nowhere.take_problem().empty());
  CHECK(nowhere.leave().empty());
}

TEST_CASE("train keep: of the runs that nobody kept only the newest stay") {
  const TemporaryFolder folder;
  const std::string runs = folder.path("runs");
  const auto now = std::filesystem::file_time_type::clock::now();
  const auto make = [&](const std::string& name, int age, std::size_t bytes = 1000) {
    const std::filesystem::path run = std::filesystem::path(runs) / name;
    std::filesystem::create_directories(run);
    write_text((run / "config.json").string(), kOwnConfig);
    write_text((run / "model.safetensors").string(), std::string(bytes, 'x'));
    std::filesystem::last_write_time(run / "config.json", now - std::chrono::hours(age));
    return run.string();
  };
  std::vector<std::string> all;  // the newest first
  for (int i = 0; i < 8; ++i)
    all.push_back(
        make("sort-2026-11-2" + std::to_string(9 - i) + "-120000" + (i % 2 ? "-2" : ""), i));
  const std::string own = make("my best model", 100), other = make("sort-2026-11-1-12", 100);
  // Old, and not to be judged by what this program would write: with a person's file or folder in
  // it, of a newer version, of another program, of none that can be told.
  std::vector<std::string> left;
  for (int i = 0; i < 5; ++i)
    left.push_back(make("sort-2025-11-2" + std::to_string(i) + "-120000", 90));
  write_text(left[0] + "/notes.txt", "mine");
  std::filesystem::create_directories(left[1] + "/more");
  write_text(left[2] + "/train.json", R"({"format": "headlight training", "version": 2})");
  write_text(left[3] + "/config.json", R"({"model_type": "gpt2"})");
  write_text(left[4] + "/config.json", "{\"format");
  {
    // A window that runs, one that tells of its run only now: both stay, and count.
    const FileLock lock(all[7] + ".lock", true);
    REQUIRE(lock.held());
    CHECK(remove_old_runs(runs, {all[6]}) == std::vector<std::string>{all[5]});
  }
  CHECK(remove_old_runs(runs, {}) == std::vector<std::string>{all[6], all[7]});
  // Five runs, of which three are too much.
  CHECK(remove_old_runs(runs, {}, 5, 2500) == std::vector<std::string>{all[2], all[3], all[4]});
  CHECK(remove_old_runs(runs, {}, 5, 10) == std::vector<std::string>{all[1]});
  CHECK(std::filesystem::exists(all[0]));  // the newest stays, however large
  CHECK(std::filesystem::exists(own));
  CHECK(std::filesystem::exists(other));
  for (const std::string& run : left) CHECK(std::filesystem::exists(run));
  CHECK(remove_old_runs(folder.path("nowhere"), {}).empty());
}

TEST_CASE("train keep: a window that starts tells of the runs that were left, and how many stay") {
  const TemporaryFolder folder;
  UserFolders folders;
  folders.runs = folder.path("runs");
  const auto now = std::filesystem::file_time_type::clock::now();
  for (int i = 0; i < 8; ++i) {
    const auto run =
        std::filesystem::path(folders.runs) / ("sort-2026-11-2" + std::to_string(i) + "-120000");
    std::filesystem::create_directories(run);
    write_text((run / "config.json").string(), kOwnConfig);
    std::filesystem::last_write_time(run / "config.json", now - std::chrono::hours(8 - i));
  }
  // The two last ones were left by windows that were killed.
  for (const char* name : {"sort-2026-11-26-120000", "sort-2026-11-27-120000"})
    write_text((std::filesystem::path(folders.runs) / name).string() + ".lock", "");
  Gui gui({}, {1440, 900}, 1, {}, folders);
  gui.shell().start_keeping(0);
  CHECK(gui.notices_say("2 runs that were trained"));
  CHECK(gui.notices_say("only the newest 5 stay, 200 MB at most"));
  CHECK(kept_folders(folders.runs).size() == 5);
  CHECK_FALSE(
      std::filesystem::exists(std::filesystem::path(folders.runs) / "sort-2026-11-22-120000"));
}

}  // namespace headlight::test
