// Labs: what was answered, what came out. Plain data; the shell fills it in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/base/message.h"

namespace headlight {

struct LabResult;

/// What a person thinks will happen, and whether they have looked.
struct LabAnswer {
  int chosen = -1;
  bool seen = false;
};

struct LabsSession {
  // By lab, by question; of what is shown. Another run asks anew.
  std::map<std::string, std::map<std::string, LabAnswer, std::less<>>, std::less<>> answers;
  std::map<std::string, bool, std::less<>> answered;  // labs of which a question was
  bool code = false;                                  // the page is its calculation in NumPy
};

struct LabsData {
  std::shared_ptr<const LabResult> result;  // null: there is none yet
  std::string lab;                          // whose it is
  std::uint64_t serial = 0;                 // of the result: another one, another number
  bool computing = false;                   // what is there is of other settings, or not whole
  double share = 0;                         // of what is being computed
  Message problem;                          // why what is asked for cannot be had
  std::string code;                         // of the lab, where it is shown
};

}  // namespace headlight
