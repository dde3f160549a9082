// Requests: what the next frame is to do once. The shell forgets them when it has been drawn,
// whether or not a panel could do them.
#pragma once

#include <string>

namespace headlight {

/// Sheets that open in the middle of the window and are closed by hand.
enum class Sheet {
  kNone,
  kModel,
  kKeys,
  kAbout,
  kCompute,  // both backends side by side
  kCost,     // memory and time
  kRuns,     // on the disk
  kForced,   // an encoder-decoder's row, given and written by itself
  // These ask for a path, which is typed into session.path_typed.
  kOpen,
  kSave,
  kOpenModel,
  kTrainFolder,
  kTrainText,
  kFindModel,
  kSavePicture,
  kSaveNumbers,
  kSaveLab,
  kMaskFile,
};

/// Steps of zoom and of moving. The stage, which knows the sizes, carries it out.
struct ViewRequest {
  int zoom = 0, right = 0, down = 0;
  bool follow = false;  // the picked cell is to be seen
  bool operator==(const ViewRequest&) const = default;
};

/// Of the control in focus. The frame knows the controls and their order.
struct FocusRequest {
  int move = 0;             // so many controls on
  int nudge = 0;            // a slider's steps
  int right = 0, down = 0;  // to the neighbour in a grid
  bool activate = false;
  bool reveal = false;  // just arrived: scroll to it, type in it
};

struct Requests {
  Sheet open = Sheet::kNone;
  std::string open_menu;  // by its name
  bool focus_sentence = false, leave_field = false;
  ViewRequest view;
  FocusRequest focus;
};

}  // namespace headlight
