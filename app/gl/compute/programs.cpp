#include "app/gl/compute/programs.h"

#include <array>
#include <cstring>

#include "app/gl/context/cache.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/io/atomic_file.h"
#include "core/io/plain_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr int kVariants = 2;
constexpr std::string_view kEnding = ".bin";
// All kernels of one driver are about a hundred files of some tens of KiB.
constexpr CacheRoom kRoom = {500, std::uint64_t{64} << 20};
constexpr std::uint64_t kMaxBinary = std::uint64_t{1} << 26;

// A kept binary: this header, then the driver's bytes. Two hashes say whose it is and that it is
// whole.
struct Header {
  std::array<char, 8> magic = {'h', 'l', 'p', 'r', 'o', 'g', '1', '\n'};
  std::uint64_t identity = 0, payload = 0;
  std::uint64_t format = 0;
};

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == 0 || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

}  // namespace

fs::path default_program_folder() { return cache_folder("programs"); }

GlPrograms::GlPrograms(const GlCalls& gl, const GlDevice& device, const KernelTable& table,
                       GlTexts texts, fs::path folder)
    : gl_(gl),
      device_(device),
      table_(table),
      texts_(std::move(texts)),
      folder_(device.limits.binary_formats > 0 ? std::move(folder) : fs::path()),
      programs_(static_cast<std::size_t>(kKernels * kVariants)) {}

GlPrograms::~GlPrograms() {
  for (const auto& program : programs_) {
    if (program) gl_.delete_program(program->id);
  }
  if (kept_ > 0) prune_cache(folder_, kEnding, kRoom);
}

const GlProgram& GlPrograms::get(Kernel kernel, int variant) {
  auto& program =
      programs_[static_cast<std::size_t>(static_cast<int>(kernel) * kVariants + variant)];
  if (!program) program = make(kernel, variant);
  return *program;
}

std::unique_ptr<GlProgram> GlPrograms::make(Kernel kernel, int variant) {
  const std::string_view file = kernel_info(kernel).file;
  const GlSource source = gl_source(file, table_.defines(kernel, variant), texts_);
  const std::string identity =
      device_.vendor + '\n' + device_.renderer + '\n' + device_.version + '\n' + source.text;
  const fs::path path =
      folder_.empty() ? folder_ : folder_ / cache_name(hash_text(identity), kEnding);
  auto program = std::make_unique<GlProgram>();
  program->file = file;
  if (!path.empty()) program->id = load(path, identity);
  if (program->id != 0) {
    ++loaded_;
    mark_used(path);
  } else {
    program->id = compile(source);
    ++compiled_;
    if (!path.empty()) keep(path, identity, program->id);
  }
  find_uniforms(*program);
  return program;
}

unsigned GlPrograms::compile(const GlSource& source) {
  const GLuint shader = gl_.create_shader(GL_COMPUTE_SHADER);
  const char* text = source.text.data();
  const auto length = static_cast<GLint>(source.text.size());
  gl_.shader_source(shader, 1, &text, &length);
  gl_.compile_shader(shader);
  GLint good = 0, size = 0;
  gl_.get_shaderiv(shader, GL_COMPILE_STATUS, &good);
  if (good) return link(source, shader);
  gl_.get_shaderiv(shader, GL_INFO_LOG_LENGTH, &size);
  std::string log(static_cast<std::size_t>(size), 0);
  if (size > 0) gl_.get_shader_info_log(shader, size, nullptr, log.data());
  gl_.delete_shader(shader);
  throw Error(Message{
      "gpu.compile",
      {{"place", source.place_in(log)}, {"device", device_.renderer}, {"log", trimmed(log)}}});
}

unsigned GlPrograms::link(const GlSource& source, unsigned shader) {
  const GLuint program = gl_.create_program();
  gl_.attach_shader(program, shader);
  if (!folder_.empty()) {
    gl_.program_parameteri(program, GL_PROGRAM_BINARY_RETRIEVABLE_HINT, GL_TRUE);
  }
  gl_.link_program(program);
  gl_.delete_shader(shader);  // the program keeps it while it is attached
  GLint good = 0, size = 0;
  gl_.get_programiv(program, GL_LINK_STATUS, &good);
  if (good) return program;
  gl_.get_programiv(program, GL_INFO_LOG_LENGTH, &size);
  std::string log(static_cast<std::size_t>(size), 0);
  if (size > 0) gl_.get_program_info_log(program, size, nullptr, log.data());
  gl_.delete_program(program);
  throw Error(Message{
      "gpu.compile",
      {{"place", source.place_in(log)}, {"device", device_.renderer}, {"log", trimmed(log)}}});
}

// 0 where there is none, where it is damaged, or where the driver does not want it.
unsigned GlPrograms::load(const fs::path& path, std::string_view identity) {
  std::error_code none;
  if (!fs::exists(path, none)) return 0;
  std::string bytes;
  try {
    bytes = PlainFile(path, kMaxBinary).all();
  } catch (const Error&) {
    return 0;
  }
  Header header;
  if (bytes.size() <= sizeof(Header)) return 0;
  std::memcpy(&header, bytes.data(), sizeof(Header));
  const std::string_view payload = std::string_view(bytes).substr(sizeof(Header));
  if (header.magic != Header().magic || header.identity != scatter(hash_text(identity)) ||
      header.payload != hash_text(payload)) {
    return 0;
  }
  const GLuint program = gl_.create_program();
  gl_.program_binary(program, static_cast<GLenum>(header.format), payload.data(),
                     static_cast<GLsizei>(payload.size()));
  GLint good = 0;
  gl_.get_programiv(program, GL_LINK_STATUS, &good);
  while (gl_.get_error() != GL_NO_ERROR) good = 0;  // a format of another driver is an error
  if (good) return program;
  gl_.delete_program(program);
  return 0;
}

// A folder that cannot be written costs the next start some time, nothing else.
void GlPrograms::keep(const fs::path& path, std::string_view identity, unsigned program) {
  GLint size = 0;
  gl_.get_programiv(program, GL_PROGRAM_BINARY_LENGTH, &size);
  if (size <= 0) return;
  std::string bytes(sizeof(Header) + static_cast<std::size_t>(size), 0);
  GLsizei length = 0;
  GLenum format = 0;
  gl_.get_program_binary(program, size, &length, &format, bytes.data() + sizeof(Header));
  bytes.resize(sizeof(Header) + static_cast<std::size_t>(length));
  Header header;
  header.identity = scatter(hash_text(identity));
  header.payload = hash_text(std::string_view(bytes).substr(sizeof(Header)));
  header.format = format;
  std::memcpy(bytes.data(), &header, sizeof(Header));
  std::error_code none;
  fs::create_directories(path.parent_path(), none);
  try {
    write_file_atomic(path, bytes);
    ++kept_;
  } catch (const Error&) {
  }
}

std::uint64_t GlPrograms::texts_hash() const {
  std::uint64_t hash = 0;
  for (int i = 0; i < kKernels * kVariants; ++i) {
    const auto kernel = static_cast<Kernel>(i / kVariants);
    const std::string defines = table_.defines(kernel, i % kVariants);
    try {
      hash = scatter(hash ^ hash_text(gl_source(kernel_info(kernel).file, defines, texts_).text));
    } catch (const Error&) {  // a file that is not there
      hash = scatter(hash);
    }
  }
  return hash;
}

void GlPrograms::find_uniforms(GlProgram& program) {
  GLint count = 0;
  gl_.get_programiv(program.id, GL_ACTIVE_UNIFORMS, &count);
  for (GLint i = 0; i < count; ++i) {
    std::array<GLchar, 64> name{};
    GLsizei length = 0;
    GLint size = 0;
    GLenum type = 0;
    gl_.get_active_uniform(program.id, static_cast<GLuint>(i), static_cast<GLsizei>(name.size()),
                           &length, &size, &type, name.data());
    const GLint location = gl_.get_uniform_location(program.id, name.data());
    if (location >= 0) program.uniforms.push_back({name.data(), location});
  }
}

}  // namespace headlight
