// How much memory may be taken: by what the machine, the process's limit and its control groups
// leave, whichever is least.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/io/atomic_file.h"
#include "core/model/available_memory.h"

namespace headlight::test_available_memory {
namespace {

namespace fs = std::filesystem;
constexpr double kMegabyte = 1e6;

// A machine with 1,024 MB to give, and files as the system would show them.
class Machine {
 public:
  Machine() {
    std::string name = (fs::temp_directory_path() / "headlight_memory_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    write("meminfo", "MemTotal: 9000000 kB\nMemAvailable:    1000000 kB\n");
  }
  ~Machine() { fs::remove_all(folder_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    write_file_atomic(path, text);
  }
  // Megabytes.
  void group(const std::string& path, const std::string& limit, int used, int cache) {
    write("groups/" + path + "/memory.max", limit + "\n");
    write("groups/" + path + "/memory.current", std::to_string(used) + "000000\n");
    write("groups/" + path + "/memory.stat",
          "anon 5\ninactive_anon 7\ninactive_file " + std::to_string(cache) + "000000\n");
  }
  double megabytes() const {
    return available_memory({folder_ / "meminfo", folder_ / "group", folder_ / "groups"}) /
           kMegabyte;
  }

 private:
  fs::path folder_;
};

}  // namespace

TEST_CASE("memory: four fifths of what the machine has") {
  Machine machine;
  CHECK(machine.megabytes() == doctest::Approx(0.8 * 1024));
  machine.write("meminfo", "MemTotal: 9000000 kB\n");
  CHECK(machine.megabytes() > 100);  // a share of what this machine has
}

TEST_CASE("memory: a control group's limit, less what is used and cannot be given back") {
  Machine machine;
  machine.write("group", "0::/app/one\n");
  machine.group("app/one", "300000000", 120, 20);
  CHECK(machine.megabytes() == doctest::Approx(0.8 * 200));
  machine.group("app", "250000000", 150, 30);  // the group around it has less left
  CHECK(machine.megabytes() == doctest::Approx(0.8 * 130));
  machine.group("app", "max", 150, 30);
  machine.group("app/one", "max", 120, 20);
  CHECK(machine.megabytes() == doctest::Approx(0.8 * 1024));
  machine.group("app/one", "100000000", 120, 10);  // nothing is left
  CHECK(machine.megabytes() == 0);
}

TEST_CASE("memory: inside a container the group's path may not be there, only its root") {
  Machine machine;
  machine.write("group", "0::/docker/0123\n");
  machine.group("", "500000000", 100, 0);
  CHECK(machine.megabytes() == doctest::Approx(0.8 * 400));
}

TEST_CASE("memory: control groups of version 1") {
  Machine machine;
  machine.write("group", "5:cpu,cpuacct:/x\n4:blkio,memory:/a/b\n1:name=systemd:/\n0::/\n");
  const std::string at = "groups/memory/a/";
  machine.write(at + "memory.limit_in_bytes", "9223372036854771712\n");
  machine.write(at + "memory.usage_in_bytes", "1000000\n");
  CHECK(machine.megabytes() == doctest::Approx(0.8 * 1024));
  machine.write(at + "b/memory.limit_in_bytes", "300000000\n");
  machine.write(at + "b/memory.usage_in_bytes", "250000000\n");
  machine.write(at + "b/memory.stat", "inactive_file 3\ntotal_inactive_file 50000000\n");
  CHECK(machine.megabytes() == doctest::Approx(0.8 * 100));
}

TEST_CASE("memory: files that say nonsense are no limit") {
  Machine machine;
  machine.write("group", "nonsense\n0:\n::\n0::relative\n0::/app\n");
  machine.group("app", "much", 1, 1);
  CHECK(machine.megabytes() == doctest::Approx(0.8 * 1024));
}

}  // namespace headlight::test_available_memory
