// Tensors in the device's buffers, and which of the two sides, device or memory, has their numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "app/gl/context/calls.h"

namespace headlight {

/// One buffer for each tensor, by a slot number that the owner chooses: the whole buffer, no
/// offsets. Buffers are kept from run to run and made anew only when a tensor's size changes. Needs
/// the same current context from first to last.
class GlTensors {
 public:
  /// `guard_cells`: behind each tensor lie as many words that no kernel may touch, for tests.
  explicit GlTensors(const GlCalls&, std::int64_t guard_cells = 0);
  ~GlTensors();
  GlTensors(const GlTensors&) = delete;
  GlTensors& operator=(const GlTensors&) = delete;

  /// Begins a run over slots 0 to count − 1. Memory may have changed since the last one. What the
  /// device alone has stays valid while `signature`, which says whose tensors they are, is the
  /// same; with another one, buffers of slots beyond `count` are given back.
  void begin(std::size_t count, std::uint64_t signature);

  // Buffers for a kernel. `cells` is the tensor's size; the buffer has room for `room` at least.

  /// With the numbers that `memory` has, unless the device has newer ones. Nothing is copied where
  /// memory holds what the buffer got before.
  /// Memory that lies in a `constant`, which nobody writes to, is not even looked at where the
  /// buffer got it before.
  unsigned to_read(std::size_t slot, const float* memory, std::int64_t cells, std::int64_t room = 0,
                   const std::shared_ptr<const void>& constant = nullptr);
  /// For a kernel that writes every cell.
  unsigned to_write(std::size_t slot, std::int64_t cells, std::int64_t room = 0);
  /// For a kernel that adds to what is there.
  unsigned to_add(std::size_t slot, const float* memory, std::int64_t cells, std::int64_t room = 0);

  /// From now on this tensor lies in a buffer of somebody else's, who has its newest numbers in it,
  /// with room for just these cells.
  void borrow(std::size_t slot, unsigned buffer, std::int64_t cells);

  /// Copies to memory what a kernel wrote, where that has not been done yet.
  void fetch(std::size_t slot, float* memory);
  bool is_newer(std::size_t slot) const { return slot < slots_.size() && slots_[slot].newer; }
  /// Slots that kernels wrote and memory does not have yet, in the order in which they were last
  /// written. Valid until the next call of this.
  const std::vector<std::size_t>& newer_slots();
  /// Memory got numbers from elsewhere: the buffer's are old.
  void forget(std::size_t slot);
  /// Gives its buffer back.
  void release(std::size_t slot);

  /// From now on what to_write() gives is full of NaN before the kernel writes it. What a kernel
  /// leaves out would else be what lay there before, which may be the right numbers of another run.
  void set_spoiling(bool on) { spoils_ = on; }

  /// Does its buffer hold the tensor's numbers?
  bool has(std::size_t slot) const {
    return slot < slots_.size() && slots_[slot].buffer != 0 &&
           (slots_[slot].newer || slots_[slot].known);
  }
  /// The slot's buffer; 0 where there is none.
  unsigned buffer(std::size_t slot) const;
  /// Of the device's memory that its own buffers take.
  std::size_t bytes() const;
  /// Have all words behind the tensors been left alone?
  bool guards_hold();

 private:
  struct Slot {
    unsigned buffer = 0;
    bool borrowed = false;   // the buffer is somebody else's
    std::int64_t room = 0;   // cells of the buffer, guards left out
    std::int64_t cells = 0;  // of the tensor that was last in it
    std::uint64_t hash = 0;  // of the cells that the buffer shares with memory
    bool known = false;      // `hash` counts
    // What those cells are of, and where: a constant is the same one only as long as its owner is.
    std::weak_ptr<const void> constant;
    const float* from = nullptr;
    bool newer = false;            // a kernel wrote it, and memory does not have it
    bool used = false;             // a kernel may be reading or writing it …
    std::uint64_t waits = 0;       // … unless the thread has waited more often than this since
    std::uint64_t run = 0;         // in which it was looked at
    std::uint64_t written_at = 0;  // counts kernels' writes
  };

  void drop(Slot&);
  void make_room(Slot&, std::int64_t cells, std::int64_t room);
  unsigned mark_written(Slot&);
  /// For a kernel.
  unsigned hand_out(Slot&);
  /// To be called before its buffer is written from here.
  void wait_for_kernels(Slot&);

  const GlCalls& gl_;
  std::int64_t guard_cells_;
  bool spoils_ = false;
  std::vector<Slot> slots_;
  std::vector<std::size_t> newer_;
  std::uint64_t run_ = 0, signature_ = 0, writes_ = 0;
};

/// A fast 64-bit hash of numbers, bit for bit.
std::uint64_t hash_cells(const float* cells, std::int64_t count);

}  // namespace headlight
