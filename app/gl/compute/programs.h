// Compiled kernels: from their texts, or from what an earlier run of the program kept on disk.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/gl/compute/kernel_table.h"
#include "app/gl/compute/source.h"
#include "app/gl/context/calls.h"
#include "app/gl/context/device.h"

namespace headlight {

/// A linked program, and the uniforms that it reads.
struct GlProgram {
  struct Uniform {
    std::string name;
    int location = -1;
  };
  std::string file;
  unsigned id = 0;
  std::vector<Uniform> uniforms;
};

/// $XDG_CACHE_HOME/headlight/programs, or ~/.cache/headlight/programs; empty where neither is set.
std::filesystem::path default_program_folder();

/// The programs of all kernels, each made when it is first asked for. With a folder their binaries
/// are kept there, named by driver and text; one that cannot be read, or that the driver refuses,
/// is made anew, and when there are many, those that were not used for the longest time go. Needs
/// the same current context from first to last.
class GlPrograms {
 public:
  GlPrograms(const GlCalls&, const GlDevice&, const KernelTable&, GlTexts texts,
             std::filesystem::path folder);
  ~GlPrograms();
  GlPrograms(const GlPrograms&) = delete;
  GlPrograms& operator=(const GlPrograms&) = delete;

  /// `variant` is KernelTable::variant(). Throws Error "shaders/softmax.comp, line 12: …" for one
  /// that does not compile.
  const GlProgram& get(Kernel, int variant);

  int compiled() const { return compiled_; }  // from their texts
  int loaded() const { return loaded_; }      // from the folder

  /// Of the texts of all kernels, as the driver would get them.
  std::uint64_t texts_hash() const;

 private:
  std::unique_ptr<GlProgram> make(Kernel, int variant);
  unsigned compile(const GlSource&);
  unsigned link(const GlSource&, unsigned shader);
  unsigned load(const std::filesystem::path&, std::string_view identity);
  void keep(const std::filesystem::path&, std::string_view identity, unsigned program);
  void find_uniforms(GlProgram&);

  const GlCalls& gl_;
  const GlDevice& device_;
  const KernelTable& table_;
  GlTexts texts_;
  std::filesystem::path folder_;
  std::vector<std::unique_ptr<GlProgram>> programs_;  // by kernel and variant
  int compiled_ = 0, loaded_ = 0, kept_ = 0;
};

}  // namespace headlight
