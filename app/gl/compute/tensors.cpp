#include "app/gl/compute/tensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "app/gl/compute/queue.h"
#include "core/base/random.h"

namespace headlight {
namespace {

constexpr float kGuardWord = 12345.678f;

// How often this thread, which has one context, has waited for all that its device was told: it did
// where it copied to memory what a kernel wrote last.
thread_local std::uint64_t g_waits = 0;

GLsizeiptr bytes_of(std::int64_t cells) {
  return static_cast<GLsizeiptr>(cells) * static_cast<GLsizeiptr>(sizeof(float));
}

}  // namespace

// Four lanes side by side, because one multiplication waits for the one before it.
std::uint64_t hash_cells(const float* cells, std::int64_t count) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15ull;
  std::uint64_t lanes[4] = {1, 2, 3, 4};
  const auto mix = [&](std::uint64_t lane, std::uint64_t word) {
    return std::rotl((lane ^ word) * kFactor, 29);
  };
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t words[4];
    std::memcpy(words, cells + i, sizeof(words));
    for (int lane = 0; lane < 4; ++lane) lanes[lane] = mix(lanes[lane], words[lane]);
  }
  for (; i < count; ++i) lanes[0] = mix(lanes[0], std::bit_cast<std::uint32_t>(cells[i]));
  std::uint64_t hash = static_cast<std::uint64_t>(count);
  for (const std::uint64_t lane : lanes) hash = scatter(hash ^ lane);
  return hash;
}

GlTensors::GlTensors(const GlCalls& gl, std::int64_t guard_cells)
    : gl_(gl), guard_cells_(guard_cells) {}

GlTensors::~GlTensors() {
  for (Slot& slot : slots_) drop(slot);
}

void GlTensors::drop(Slot& slot) {
  if (slot.buffer != 0 && !slot.borrowed) gl_.delete_buffers(1, &slot.buffer);
  slot = Slot();
}

void GlTensors::release(std::size_t slot) {
  if (slot < slots_.size()) drop(slots_[slot]);
}

void GlTensors::begin(std::size_t count, std::uint64_t signature) {
  ++run_;
  if (slots_.size() < count) slots_.resize(count);
  newer_.reserve(slots_.size());
  if (signature == signature_) return;
  signature_ = signature;
  for (Slot& slot : slots_) slot.newer = slot.newer && slot.borrowed;
  for (std::size_t i = count; i < slots_.size(); ++i) drop(slots_[i]);
}

void GlTensors::make_room(Slot& slot, std::int64_t cells, std::int64_t room) {
  slot.cells = cells;
  room = std::max(cells, room);
  const bool fits = slot.buffer != 0 && slot.room == room;
  if (slot.borrowed && !fits) throw std::logic_error("a borrowed buffer has another size");
  if (slot.buffer == 0) gl_.gen_buffers(1, &slot.buffer);
  gl_.bind_buffer(GL_SHADER_STORAGE_BUFFER, slot.buffer);
  if (fits) return;
  slot.known = slot.used = false;  // what kernels still read is given up, not written over
  slot.room = 0;                   // should the driver refuse
  gl_.buffer_data(GL_SHADER_STORAGE_BUFFER, bytes_of(room + guard_cells_), nullptr,
                  GL_DYNAMIC_COPY);
  check_gl(gl_, "glBufferData");
  slot.room = room;
  if (guard_cells_ == 0) return;
  const std::vector<float> guards(static_cast<std::size_t>(guard_cells_), kGuardWord);
  gl_.buffer_sub_data(GL_SHADER_STORAGE_BUFFER, bytes_of(room), bytes_of(guard_cells_),
                      guards.data());
}

unsigned GlTensors::to_read(std::size_t at, const float* memory, std::int64_t cells,
                            std::int64_t room, const std::shared_ptr<const void>& constant) {
  Slot& slot = slots_[at];
  if (slot.newer || (slot.run == run_ && slot.known)) return hand_out(slot);
  slot.run = run_;
  const bool kept = slot.known && constant && !constant.owner_before(slot.constant) &&
                    !slot.constant.owner_before(constant) && slot.from == memory &&
                    slot.cells == cells;
  const std::uint64_t hash = kept ? slot.hash : hash_cells(memory, cells);
  slot.constant = constant;
  slot.from = memory;
  const bool same = slot.known && slot.hash == hash && slot.cells == cells;
  make_room(slot, cells, room);
  if (same && slot.known) return hand_out(slot);
  wait_for_kernels(slot);
  gl_.buffer_sub_data(GL_SHADER_STORAGE_BUFFER, 0, bytes_of(cells), memory);
  slot.hash = hash;
  slot.known = true;
  return hand_out(slot);
}

unsigned GlTensors::hand_out(Slot& slot) {
  slot.used = true;
  slot.waits = g_waits;
  return slot.buffer;
}

// A barrier does not do it: it orders what comes behind kernels' writes, not behind their reads.
// Other slots may have been handed out for a kernel that is yet to run, so they stay as they are.
void GlTensors::wait_for_kernels(Slot& slot) {
  if (slot.used && slot.waits >= g_waits) gl_.finish();  // more: stamped by another thread
  slot.used = false;
}

unsigned GlTensors::to_write(std::size_t at, std::int64_t cells, std::int64_t room) {
  Slot& slot = slots_[at];
  make_room(slot, cells, room);
  if (spoils_) {
    wait_for_kernels(slot);
    constexpr std::uint32_t kNaN = 0x7fc0dead;
    gl_.clear_buffer_sub_data(GL_SHADER_STORAGE_BUFFER, GL_R32UI, 0, bytes_of(cells),
                              GL_RED_INTEGER, GL_UNSIGNED_INT, &kNaN);
  }
  return mark_written(slot);
}

unsigned GlTensors::mark_written(Slot& slot) {
  slot.constant.reset();
  slot.known = false;
  slot.newer = true;
  slot.written_at = ++writes_;
  return hand_out(slot);
}

unsigned GlTensors::to_add(std::size_t at, const float* memory, std::int64_t cells,
                           std::int64_t room) {
  to_read(at, memory, cells, room);
  make_room(slots_[at], cells, room);
  return mark_written(slots_[at]);
}

void GlTensors::borrow(std::size_t at, unsigned buffer, std::int64_t cells) {
  if (slots_.size() <= at) slots_.resize(at + 1);
  Slot& slot = slots_[at];
  if (!slot.borrowed) drop(slot);
  slot.buffer = buffer;
  slot.borrowed = slot.newer = true;
  hand_out(slot);
  slot.known = false;
  slot.room = slot.cells = cells;
  slot.written_at = ++writes_;
}

void GlTensors::fetch(std::size_t at, float* memory) {
  Slot& slot = slots_[at];
  if (!slot.newer) return;
  gl_.bind_buffer(GL_SHADER_STORAGE_BUFFER, slot.buffer);
  gl_.get_buffer_sub_data(GL_SHADER_STORAGE_BUFFER, 0, bytes_of(slot.cells), memory);
  g_waits += slot.written_at == writes_;
  slot.newer = false;
  slot.known = true;
  slot.run = run_;
  slot.hash = hash_cells(memory, slot.cells);
}

const std::vector<std::size_t>& GlTensors::newer_slots() {
  newer_.clear();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].newer) newer_.push_back(i);
  }
  std::sort(newer_.begin(), newer_.end(), [&](std::size_t a, std::size_t b) {
    return slots_[a].written_at < slots_[b].written_at;
  });
  return newer_;
}

void GlTensors::forget(std::size_t at) { slots_[at].newer = slots_[at].known = false; }

unsigned GlTensors::buffer(std::size_t slot) const {
  return slot < slots_.size() ? slots_[slot].buffer : 0;
}

std::size_t GlTensors::bytes() const {
  std::int64_t cells = 0;
  for (const Slot& slot : slots_) cells += slot.borrowed ? 0 : slot.room;
  return static_cast<std::size_t>(bytes_of(cells));
}

bool GlTensors::guards_hold() {
  std::vector<float> guards(static_cast<std::size_t>(guard_cells_));
  for (const Slot& slot : slots_) {
    if (slot.buffer == 0 || slot.room == 0 || slot.borrowed) continue;
    gl_.bind_buffer(GL_SHADER_STORAGE_BUFFER, slot.buffer);
    gl_.get_buffer_sub_data(GL_SHADER_STORAGE_BUFFER, bytes_of(slot.room), bytes_of(guard_cells_),
                            guards.data());
    for (const float word : guards) {
      if (word != kGuardWord) return false;
    }
  }
  return true;
}

}  // namespace headlight
