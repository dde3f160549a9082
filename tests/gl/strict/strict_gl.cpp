#include "tests/gl/strict/strict_gl.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "app/gl/compute/kernel_table.h"
#include "tests/gl/strict/strict_rules.h"

namespace headlight::test {
namespace {

constexpr std::size_t kMaxProblems = 100;
constexpr GLbitfield kKernelBarrier = GL_SHADER_STORAGE_BARRIER_BIT;
constexpr GLbitfield kCopyBarrier = GL_BUFFER_UPDATE_BARRIER_BIT;

std::string number(std::int64_t value) { return std::to_string(value); }

std::string name_of(GLuint id, const StrictShader::Block& block) {
  return "buffer " + number(id) + " (" + block.name + ")";
}

}  // namespace

GlLimits least_limits() {
  GlLimits limits;
  limits.version = 43;
  limits.group_invocations = 1024;
  limits.group_size = {1024, 1024, 64};
  limits.group_count = {65535, 65535, 65535};
  limits.shared_bytes = 32768;
  limits.block_bytes = std::int64_t{1} << 24;
  limits.blocks = 8;
  limits.tells_resets = true;
  limits.binary_formats = 1;
  return limits;
}

// ---- what is written where ----

void StrictGl::Extents::add(std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  auto part = parts_.upper_bound(end);
  while (part != parts_.begin() && std::prev(part)->second >= begin) {
    --part;
    begin = std::min(begin, part->first);
    end = std::max(end, part->second);
    part = parts_.erase(part);
  }
  parts_[begin] = end;
}

void StrictGl::Extents::remove(std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  add(begin, end);  // one part has all of it
  const auto part = std::prev(parts_.upper_bound(begin));
  const auto [first, last] = *part;
  parts_.erase(part);
  add(first, begin);
  add(end, last);
}

bool StrictGl::Extents::covers(std::size_t begin, std::size_t end) const {
  if (begin >= end) return true;
  const auto after = parts_.upper_bound(begin);
  return after != parts_.begin() && std::prev(after)->second >= end;
}

// ---- what is found ----

void StrictGl::report(const std::string& problem) {
  if (problems_.size() < kMaxProblems) problems_.push_back(problem);
}

std::vector<std::string> StrictGl::take_problems() { return std::exchange(problems_, {}); }

void StrictGl::check_nothing_left() {
  const auto all = [&](const auto& objects, const char* kind) {
    for (const auto& entry : objects) {
      report(std::string(kind) + " " + number(entry.first) + " was never deleted");
    }
  };
  all(buffers_, "buffer");
  all(shaders_, "shader");
  all(programs_, "program");
  all(queries_, "query");
}

// ---- buffers ----

StrictGl::Buffer* StrictGl::bound(GLenum target, const char* call) {
  if (target != GL_SHADER_STORAGE_BUFFER && target != GL_COPY_WRITE_BUFFER) {
    report(std::string(call) + ": unknown target " + number(target));
    return nullptr;
  }
  const auto found = buffers_.find(target == GL_COPY_WRITE_BUFFER ? bound_copy_ : bound_);
  if (found != buffers_.end()) return &found->second;
  report(std::string(call) + ": no buffer is bound");
  return nullptr;
}

bool StrictGl::in_range(const Buffer& buffer, GLintptr offset, GLsizeiptr bytes, const char* call) {
  const bool good =
      offset >= 0 && bytes > 0 && static_cast<std::size_t>(offset) <= buffer.size &&
      static_cast<std::size_t>(bytes) <= buffer.size - static_cast<std::size_t>(offset);
  if (!good) {
    report(std::string(call) + ": " + number(bytes) + " bytes from byte " + number(offset) +
           " on, but buffer " + number(bound_) + " has " +
           number(static_cast<std::int64_t>(buffer.size)));
  }
  return good;
}

void StrictGl::need_copy_barrier(const Buffer& buffer, const char* call) {
  if (buffer.writer.empty() || (buffer.barriers & kCopyBarrier)) return;
  report(std::string(call) + ": " + buffer.writer + " wrote buffer " + number(bound_) +
         ", and no GL_BUFFER_UPDATE_BARRIER_BIT came since");
}

// Drivers do not keep it back from kernels that still read the old bytes.
void StrictGl::need_idle(const Buffer& buffer, const char* call) {
  if (buffer.user.empty()) return;
  report(std::string(call) + ": " + buffer.user + " may still read buffer " + number(bound_) +
         ", for nobody waited since");
}

void StrictGl::finish() {
  for (auto& entry : buffers_) entry.second.user.clear();
}

void StrictGl::bind_base(GLenum target, GLuint index, GLuint id) {
  if (target != GL_SHADER_STORAGE_BUFFER) {
    return report("glBindBufferBase: unknown target " + number(target));
  }
  if (index >= limits_.blocks) report("glBindBufferBase: there is no binding " + number(index));
  bound_ = id;
  bindings_.erase(index);
  if (id != 0 && find(buffers_, id, "buffer", "glBindBufferBase")) bindings_[index] = id;
}

void StrictGl::allocate(GLenum target, GLsizeiptr bytes, const void* data, GLenum usage) {
  Buffer* buffer = bound(target, "glBufferData");
  const bool known = (usage >= GL_STREAM_DRAW && usage <= GL_STREAM_COPY) ||
                     (usage >= GL_STATIC_DRAW && usage <= GL_STATIC_COPY) ||
                     (usage >= GL_DYNAMIC_DRAW && usage <= GL_DYNAMIC_COPY);
  if (!known) report("glBufferData: unknown usage " + number(usage));
  if (bytes <= 0) report("glBufferData: a buffer of " + number(bytes) + " bytes");
  if (!buffer || bytes <= 0) return;
  if (static_cast<std::size_t>(bytes) > memory_) {
    error_ = GL_OUT_OF_MEMORY;
    return;
  }
  *buffer = Buffer();
  buffer->size = static_cast<std::size_t>(bytes);
  if (!has_driver_) buffer->bytes.resize(buffer->size, std::byte{0xFF});
  if (!data) return;
  if (!has_driver_) std::memcpy(buffer->bytes.data(), data, buffer->size);
  buffer->written.add(0, buffer->size);
}

void StrictGl::upload(GLenum target, GLintptr offset, GLsizeiptr bytes, const void* data) {
  Buffer* buffer = bound(target, "glBufferSubData");
  if (!data) report("glBufferSubData: from nowhere");
  if (!buffer || !data || !in_range(*buffer, offset, bytes, "glBufferSubData")) return;
  need_copy_barrier(*buffer, "glBufferSubData");
  need_idle(*buffer, "glBufferSubData");
  ++uploads_;
  const auto begin = static_cast<std::size_t>(offset), count = static_cast<std::size_t>(bytes);
  buffer->written.add(begin, begin + count);
  if (!has_driver_) std::memcpy(buffer->bytes.data() + begin, data, count);
}

void StrictGl::spoil(GLenum target, GLintptr offset, GLsizeiptr bytes) {
  constexpr const char* kCall = "glClearBufferSubData";
  Buffer* buffer = bound(target, kCall);
  if (!buffer || !in_range(*buffer, offset, bytes, kCall)) return;
  need_copy_barrier(*buffer, kCall);
  need_idle(*buffer, kCall);
  const auto begin = static_cast<std::size_t>(offset), count = static_cast<std::size_t>(bytes);
  buffer->written.remove(begin, begin + count);
}

void StrictGl::download(GLenum target, GLintptr offset, GLsizeiptr bytes, void* data) {
  Buffer* buffer = bound(target, "glGetBufferSubData");
  if (!data) report("glGetBufferSubData: to nowhere");
  if (!buffer || !data || !in_range(*buffer, offset, bytes, "glGetBufferSubData")) return;
  need_copy_barrier(*buffer, "glGetBufferSubData");
  const auto begin = static_cast<std::size_t>(offset), count = static_cast<std::size_t>(bytes);
  if (!buffer->written.covers(begin, begin + count)) {
    report("glGetBufferSubData: reads bytes of buffer " + number(bound_) + " that nobody wrote");
  }
  if (!has_driver_) std::memcpy(data, buffer->bytes.data() + begin, count);
  finish();  // behind that barrier it waits for all that was told before
}

void StrictGl::copy(GLenum from, GLenum to, GLintptr from_offset, GLintptr to_offset,
                    GLsizeiptr bytes) {
  constexpr const char* kCall = "glCopyBufferSubData";
  Buffer *source = bound(from, kCall), *target = bound(to, kCall);
  if (!source || !target || !in_range(*source, from_offset, bytes, kCall) ||
      !in_range(*target, to_offset, bytes, kCall))
    return;
  need_copy_barrier(*source, kCall);
  need_copy_barrier(*target, kCall);
  if (source == target) report("glCopyBufferSubData: within one buffer");
  const auto begin = static_cast<std::size_t>(from_offset),
             at = static_cast<std::size_t>(to_offset), count = static_cast<std::size_t>(bytes);
  if (!source->written.covers(begin, begin + count))
    report("glCopyBufferSubData: copies bytes that nobody wrote");
  target->written.add(at, at + count);
  if (!has_driver_) std::memcpy(target->bytes.data() + at, source->bytes.data() + begin, count);
}

void StrictGl::barrier(GLbitfield what) {
  // Pictures that another context draws from the buffers.
  constexpr GLbitfield kPictures = GL_PIXEL_BUFFER_BARRIER_BIT | GL_TEXTURE_FETCH_BARRIER_BIT;
  constexpr GLbitfield kKnown = kKernelBarrier | kCopyBarrier | kPictures;
  if (what == 0 || (what != GL_ALL_BARRIER_BITS && (what & ~kKnown))) {
    report("glMemoryBarrier: unknown bits " + number(what));
  }
  for (auto& entry : buffers_) {
    entry.second.barriers |= what;
    if (what & kKernelBarrier) entry.second.reader.clear();
  }
}

// ---- running ----

void StrictGl::set_uniform(GLint location, GLenum type, std::int64_t value, const char* call) {
  const auto found = programs_.find(in_use_);
  if (found == programs_.end()) return report(std::string(call) + ": no program is in use");
  Program& program = found->second;
  const auto place = program.locations.find(location);
  if (place == program.locations.end()) {
    return report(std::string(call) + ": " + program.text.file + " has no uniform at location " +
                  number(location));
  }
  const StrictShader::Uniform& uniform = program.text.uniforms[place->second];
  if (uniform.type != type) {
    return report(std::string(call) + ": the type of " + uniform.name + " in " + program.text.file +
                  " is another");
  }
  program.values[place->second] = value;
  program.set[place->second] = true;
}

Numbers StrictGl::numbers_of(const Program& program, std::int64_t matrices) const {
  const Numbers uniforms = [&program, matrices](std::string_view name) {
    std::optional<std::int64_t> value;
    if (name == "matrices") value = matrices;
    for (std::size_t i = 0; i < program.text.uniforms.size(); ++i) {
      if (program.text.uniforms[i].name == name) value = program.values[i];
    }
    return value;
  };
  return [&program, uniforms](std::string_view name) -> std::optional<std::int64_t> {
    return program.text.number(name, uniforms);
  };
}

void StrictGl::dispatch(const std::array<std::int64_t, 3>& groups) {
  const auto found = programs_.find(in_use_);
  if (found == programs_.end()) return report("glDispatchCompute: no program is in use");
  Program& program = found->second;
  check_uniforms(program);
  try {
    check_groups(program, groups);
    const std::vector<Use> uses = uses_of(program, groups[2]);
    for (const Use& use : uses) check_use(program, use);
    check_twice(program, uses);
    for (const Use& use : uses) note_use(program, use);
  } catch (const std::invalid_argument& error) {
    report(program.text.file + ": its rule does not fit its text: " + error.what());
  }
  for (const auto& entry : bindings_) {
    report(program.text.file + ": has no binding " + number(entry.first) +
           ", to which a buffer was bound");
  }
  bindings_.clear();
  program.set.assign(program.set.size(), false);
  kernels_.insert(program.text.file);
  ++dispatches_;
}

void StrictGl::check_uniforms(const Program& program) {
  for (std::size_t i = 0; i < program.set.size(); ++i) {
    if (program.set[i] || !program.active[i]) continue;
    report(program.text.file + ": uniform " + program.text.uniforms[i].name +
           " was not set for this dispatch");
  }
}

void StrictGl::check_groups(const Program& program, const std::array<std::int64_t, 3>& groups) {
  const std::string& file = program.text.file;
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    count *= groups[axis];
    if (groups[axis] > 0 && groups[axis] <= limits_.group_count[axis]) continue;
    report(file + ": " + number(groups[axis]) + " groups along axis " +
           number(static_cast<std::int64_t>(axis)) + ", of 1 to " +
           number(limits_.group_count[axis]));
  }
  const StrictRule* rule = strict_rule(file);
  if (!rule) return report(file + ": has no row in tests/gl/strict/strict_rules.cpp");
  const Numbers numbers = numbers_of(program, groups[2]);
  const auto need = [&](std::int64_t work, std::int64_t each, std::int64_t have) {
    if (have * each >= work) return;
    report(file + ": " + number(have) + " groups of " + number(each) + " for " + number(work));
  };
  if (rule->work.empty()) {
    need(evaluate("COLUMNS", numbers), program.text.number("TILE_COLUMNS"), groups[0]);
    need(evaluate("ROWS", numbers), program.text.number("TILE_ROWS"), groups[1]);
    return;
  }
  const std::int64_t work = evaluate(rule->work, numbers);
  for (int k = 0; k < kKernels; ++k) {
    const KernelInfo& info = kernel_info(static_cast<Kernel>(k));
    if (info.file != file) continue;
    const bool cells = info.shape == KernelShape::kCells;
    if (info.shape == KernelShape::kColumns) {
      need(work, program.text.number("COLUMN_GROUP"), groups[0]);
    } else if (info.shape == KernelShape::kAttention) {
      need(work, program.text.number("TILE"), groups[0]);
    } else {
      need(work, cells ? program.text.invocations() : 1, count);
    }
  }
}

std::vector<StrictGl::Use> StrictGl::uses_of(const Program& program, std::int64_t matrices) {
  const std::string& file = program.text.file;
  const StrictRule* rule = strict_rule(file);
  const Numbers numbers = numbers_of(program, matrices);
  std::int64_t adds = 1;  // what a gradient is written over is not read
  for (std::size_t i = 0; i < program.text.uniforms.size(); ++i) {
    if (program.text.uniforms[i].name == "adds") adds = program.values[i];
  }
  std::vector<Use> uses;
  for (const StrictShader::Block& block : program.text.blocks) {
    const std::string binding = "binding " + number(block.binding) + " (" + block.name + ")";
    const auto given = bindings_.find(block.binding);
    if (given == bindings_.end()) {
      report(file + ": " + binding + " got no buffer for this dispatch");
      continue;
    }
    Use use{&block,      given->second, nullptr, 0, block.reads && (!block.writes || adds != 0),
            block.writes};
    bindings_.erase(given);
    const auto buffer = buffers_.find(use.id);
    if (buffer == buffers_.end()) {
      report(file + ": " + binding + " has a buffer that was deleted");
      continue;
    }
    use.buffer = &buffer->second;
    use.bytes = use.buffer->size;
    if (rule && block.binding < rule->cells.size()) {
      use.bytes = 4 * static_cast<std::size_t>(evaluate(rule->cells[block.binding], numbers));
    } else if (rule) {
      report(file + ": the row in tests/gl/strict/strict_rules.cpp does not have " + binding);
    }
    uses.push_back(use);
  }
  return uses;
}

void StrictGl::check_use(const Program& program, const Use& use) {
  const std::string& file = program.text.file;
  const std::string name = name_of(use.id, *use.block);
  const Buffer& buffer = *use.buffer;
  if (buffer.size < std::max<std::size_t>(use.bytes, 4)) {
    return report(file + ": " + name + " has room for " +
                  number(static_cast<std::int64_t>(buffer.size / 4)) + " cells of " +
                  number(static_cast<std::int64_t>(use.bytes / 4)));
  }
  if (static_cast<std::int64_t>(use.bytes) > limits_.block_bytes) {
    report(file + ": " + name + " is larger than a storage block may be");
  }
  if (use.bytes == 0) return;
  use.buffer->user = program.text.file;
  if (use.reads && !buffer.written.covers(0, use.bytes)) {
    report(file + ": reads cells of " + name + " that nobody wrote");
  }
  const bool kernel_done = buffer.writer.empty() || (buffer.barriers & kKernelBarrier);
  if (!kernel_done) {
    report(file + ": " + (use.reads ? "reads " : "writes ") + name + ", which " + buffer.writer +
           " wrote, without GL_SHADER_STORAGE_BARRIER_BIT between them");
  } else if (use.writes && !buffer.reader.empty()) {
    report(file + ": writes " + name + ", which " + buffer.reader +
           " reads, without GL_SHADER_STORAGE_BARRIER_BIT between them");
  }
}

void StrictGl::check_twice(const Program& program, const std::vector<Use>& uses) {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const bool harmless = (!uses[i].writes && !uses[k].writes) || uses[i].id != uses[k].id;
      if (harmless || uses[i].bytes == 0 || uses[k].bytes == 0) continue;
      report(program.text.file + ": " + name_of(uses[k].id, *uses[k].block) + " is also " +
             uses[i].block->name + ", and one of them is written");
    }
  }
}

void StrictGl::note_use(const Program& program, const Use& use) {
  if (use.bytes == 0) return;
  if (use.reads) use.buffer->reader = program.text.file;
  if (!use.writes) return;
  const std::size_t bytes = std::min(use.bytes, use.buffer->size);
  use.buffer->written.add(0, bytes);
  use.buffer->writer = program.text.file;
  use.buffer->barriers = 0;
  if (!has_driver_) std::fill_n(use.buffer->bytes.begin(), bytes, std::byte{0});
}

}  // namespace headlight::test
