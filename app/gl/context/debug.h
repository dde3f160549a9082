// What the driver has to say about our calls (KHR_debug).
#pragma once

#include <string>
#include <vector>

namespace headlight {

/// Collects the driver's messages about the current context, mere notifications left out, from when
/// it is made until it goes. Only a debug context (EglOptions::debug) has much to say. At most one
/// for a context; it must not move.
class GlDebugLog {
 public:
  GlDebugLog();
  ~GlDebugLog();
  GlDebugLog(const GlDebugLog&) = delete;
  GlDebugLog& operator=(const GlDebugLog&) = delete;

  /// Can this context tell?
  bool works() const { return works_; }
  const std::vector<std::string>& messages() const { return messages_; }
  void clear() { messages_.clear(); }

 private:
  bool works_ = false;
  std::vector<std::string> messages_;
};

}  // namespace headlight
