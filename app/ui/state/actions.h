// Actions: what panels ask for and the shell carries out.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/ui/state/command_ids.h"
#include "app/ui/state/state.h"
#include "app/ui/state/train_actions.h"

namespace headlight {

struct DoEdit {
  Edit edit;
  std::string group;
};
struct EndEdit {};
struct DoCommand {
  Command command{};
};
struct GoToStep {
  std::string tensor;
};
struct ChooseLayer {
  int layer = 0;
};
struct ChooseHead {
  int head = 0;
};
struct CompareHead {
  int head = -1;
};
struct PickCell {
  CellPick cell;
  bool follow = false;  // also go to the step that makes it
};
/// The rail forwards or in reverse; the step that goes the other way is shown.
struct ShowBackward {
  bool backward = false;
};
struct HoverCell {
  std::optional<CellPick> cell;
};
struct DismissNotice {
  std::size_t index = 0;
};
/// Does what a button of the shown notice says.
struct PressNotice {
  std::size_t button = 0;
};
/// While the mouse is over the shown notice it does not go.
struct HoldNotice {
  bool hold = false;
};
struct OpenFile {
  std::string path;
};
struct SaveFile {
  std::string path;
};
/// Asks for a path, in the desktop's own dialog or in a sheet; `path` stands there already.
struct AskPath {
  Sheet sheet{};
  std::string path;
};
struct TypePath {
  std::string text;
};
/// The folder of the weights that the session is to be shown with.
struct FindModel {
  std::string folder;
};
/// Numbers that are added to the scores, from a file.
struct UseMaskFile {
  std::string path;
};
/// Takes what is typed, or says in the sheet why not; a folder is listed.
struct TakePath {
  std::string path;  // empty: what is typed
};
struct ClosePath {};
/// Lists a folder in the sheet that is open; relative to the listed one.
struct ListFolder {
  std::string folder;
};
/// Asks where a matrix of the shown page goes: as a picture, or as numbers.
struct AskExport {
  bool picture = false;
  std::string tensor;  // empty: the page's result
};
/// Writes what was asked for; the path's ending says in which format.
struct WriteExport {
  std::string path;
};
struct ShowMode {
  Mode mode{};
};
/// A lab by its id, in the mode that has them.
struct ShowLab {
  std::string lab;
};
/// What a control is to say; changes of one group are one step of undo.
struct SetLabControl {
  std::string control, value, group = {};
};
/// As the shown lab begins.
struct ResetLab {};
/// What a person thinks will happen.
struct AnswerLab {
  std::string question;
  int answer = 0;
};
/// What did happen.
struct SeeLab {
  std::string question;
};
struct ShowLabCode {
  bool on = false;
};
/// What is being computed is not wanted any more; again: it is.
struct StopLab {
  bool again = false;
};
/// The shown lab's model and sentence, in Steps.
struct OpenLabInSteps {};
/// A trained model by its ref (core/model/model.h), or the sandbox (empty), with all that goes with
/// it. The document stays as it is when the model cannot be loaded.
struct ChooseModel {
  std::string ref;
  std::string sentence = {};  // to go with it; empty: the one that is there, where it knows it
};
/// The run or the model that is waited for is not wanted any more; again: the run is.
struct StopWaiting {
  bool again = false;
};
struct ClosePalette {};
/// What the window's size folds by itself.
struct Folded {
  bool rail_shown = true, heads_shown = true, inspector_shown = true;
};
// keyboard
/// The keyboard is with this control from now on.
struct FocusOn {
  std::string id;
  FocusKind kind{};
  bool visible = false, reveal = false;
  std::string opener;
};
struct UseFocus {
  int move = 0, nudge = 0;
  bool activate = false;
  int right = 0, down = 0;
};
/// The menu that is open; empty: none.
struct MenuShown {
  std::string menu;
};
/// Opens another menu.
struct OpenMenu {
  std::string menu;
};
/// The chosen cell, by rows and columns of the matrix it stands in.
struct MoveCell {
  int rows = 0, columns = 0;
};

// motion
/// `seconds` have gone by since the last frame.
struct Tick {
  double seconds = 0;
};
struct ScrubTo {
  double fraction = 0;  // of the step's whole time
};
struct SetSpeed {
  float speed = 1;
};
// inspector
struct ChooseTab {
  InspectorTab tab{};
};
/// Back to the cell at this place of the trail.
struct GoBackTo {
  std::size_t crumb = 0;
};
struct CopyText {
  std::string text;
  std::string button;  // which one says that it was copied
};
struct ShowAllTerms {
  bool all = false;
};
struct ChooseLibrary {
  CodeLibrary library{};
};
/// The shader that makes the cell, instead of the code of a library.
struct ShowKernel {
  bool kernel = false;
};
/// Checks the picked gradient by moving what it is the gradient of by `step` either way; 0: by what
/// suits it.
struct NudgeCell {
  double step = 0;
};
/// Narrows the list of targets of the loss.
struct TypeTarget {
  std::string text;
};
struct LightTensor {
  std::string tensor;  // empty: none
};
// processor and graphics card
struct ChooseCompute {
  ComputeMode mode{};
};
/// From now on Headlight chooses, or what it has chosen stays.
struct ComputeAutomatically {
  bool automatic = false;
};
/// Of the sheet: time against size, or the table.
struct ShowSizes {
  bool sizes = false;
};
/// Begins to measure time against size, or stops.
struct MeasureSizes {
  bool measure = false;
};
// memory and time
/// Counts what the shown model, or the sizes that are tried out, would take.
struct CountCost {};
/// Tries out other sizes; unset: those of what is shown again.
struct TryCostSizes {
  std::optional<CostSizes> sizes;
};
/// Gives the random model the sizes that are tried out.
struct UseCostSizes {};
/// Of the sheet: models from papers, or the shown one.
struct ShowPresets {
  bool presets = false;
};
/// Opens a model from a paper with random weights: small, or in its own sizes.
struct ChoosePreset {
  std::string name;
  bool full_size = false;
};
// heads
struct ChooseHeadsView {
  HeadsView view{};
};
/// The word from which the way to the chosen cell is told; −1: whichever is pointed at.
struct ChooseReachWord {
  std::int64_t word = -1;
};
struct ToggleLineHead {
  int head = 0;
};
// mask painter
struct ChooseBrush {
  Brush brush{};
};
/// Whether it paints for the chosen head alone.
struct BrushOneHead {
  bool on = false;
};
/// Off where it is on, and back.
struct SwitchHead {
  MaskedHead head;
};
// look
struct SetView {
  StageView view;
};
struct ChooseRange {
  RangeMode range{};
};
struct ChooseVision {
  Vision vision{};
};
struct SizePanels {
  PanelSizes sizes;
};
struct Maximize {
  PanelId panel{};
};
struct OpenInspector {};
struct ShowHint {
  int hint = -1;
};
struct ChooseLanguage {
  Language language{};
};
// habits
/// The three buttons of a question, in their order.
enum class Answer { kFirst, kSecond, kCancel };
struct AnswerQuestion {
  Answer answer{};
};
/// Asks before anything else goes on.
struct Ask {
  Question question;
};
/// Of the question about unsaved work of a window that has gone.
struct AnswerRecovery {
  Answer answer{};
};
/// Unsaved work that cannot be read is told of no more. It stays for some days.
struct PutAsideWork {
  std::string path;
};
/// Of the question about a run that could not be saved before the window ends.
struct AnswerNotKept {
  Answer answer{};
};
/// A saved run, by its folder: its name is to be typed; it gets that name.
struct AskRename {
  std::string folder;
};
struct TypeRunName {
  std::string text;
};
struct RenameRun {
  std::string folder, name;
};
/// Asks whether to; moves it to where it stays for some days.
struct AskRemove {
  std::string folder;
};
struct RemoveRun {
  std::string folder;
};
/// Gets back what was removed, or a session that was discarded.
struct RestoreRun {
  std::string path;
};
/// Goes on with a saved run.
struct ResumeRun {
  std::string folder;
};
/// This model's folder is one to come back to.
struct RememberModel {
  std::string folder;
};
/// The window is to end: what is trained is saved first.
struct LeaveWindow {};
/// Nothing is in the way any more.
struct EndWindow {};
struct DropFiles {
  std::vector<std::string> paths;
};
struct TypeQuery {
  std::string text;
};
struct ChooseInPalette {
  int line = 0;
};
/// Brings a control of the model settings or of the Train panel into view, with the keyboard on it.
struct ShowSetting {
  std::string control;
  int frames = 3;  // that it takes to be there
};
/// Does what the chosen line of the palette says, and closes it.
struct RunInPalette {};

using AnyAction = std::variant<
    FocusOn, UseFocus, MenuShown, OpenMenu, MoveCell, Tick, ScrubTo, SetSpeed, ChooseTab, GoBackTo,
    CopyText, ShowAllTerms, ChooseLibrary, LightTensor, TypeTarget, NudgeCell, ChooseHeadsView,
    ChooseReachWord, ToggleLineHead, ChooseBrush, BrushOneHead, SwitchHead, UseMaskFile, SetView,
    ChooseRange, ChooseVision, SizePanels, Maximize, OpenInspector, ShowHint, ChooseLanguage,
    AnswerQuestion, AnswerRecovery, PutAsideWork, DropFiles, TypeQuery, ChooseInPalette,
    RunInPalette, ShowSetting, DoEdit, EndEdit, DoCommand, GoToStep, ChooseLayer, ChooseHead,
    CompareHead, ShowBackward, PickCell, HoverCell, DismissNotice, PressNotice, HoldNotice,
    OpenFile, SaveFile, AskPath, TypePath, TakePath, ClosePath, ListFolder, AskExport, WriteExport,
    ChooseModel, ClosePalette, Folded, PlanRun, StartRun, PlayRun, StepRun, MarkStep, MoveMark,
    PlayFilm, PinStep, ChooseCurve, KeepRun, ForgetRun, SetSampling, AskText, StartFrom, UseText,
    DropText, GenerateToken, AddToken, Write, CancelRun, AskKeep, ShowKernel, ChooseCompute,
    ComputeAutomatically, ShowSizes, MeasureSizes, FindModel, LeaveWindow, EndWindow, AnswerNotKept,
    RemoveRun, Ask, AskRename, TypeRunName, RenameRun, AskRemove, RestoreRun, ResumeRun,
    RememberModel, CountCost, TryCostSizes, UseCostSizes, ShowPresets, ChoosePreset, ShowMode,
    ShowLab, SetLabControl, ResetLab, AnswerLab, SeeLab, ShowLabCode, StopLab, OpenLabInSteps,
    StopWaiting>;

/// One of them. How all of these kinds are copied and let go is compiled once (actions.cpp), not in
/// every file that holds an action.
struct Action : AnyAction {
  using AnyAction::AnyAction;
  Action(const Action&);
  Action(Action&&) noexcept;
  Action& operator=(const Action&);
  Action& operator=(Action&&) noexcept;
  ~Action();
};

}  // namespace headlight
