#include "app/gl/tuning/tuned.h"

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/gl/context/cache.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/io/atomic_file.h"
#include "core/io/plain_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "headlight kernel table ";
constexpr int kVersion = 2;

// A number of a table, by its name in the file.
struct Field {
  const char* name;
  int* value;
};

std::array<Field, 7> fields_of(KernelTable& t) {
  return {{{"cells_group", &t.cells_group},
           {"few_rows", &t.few_rows},
           {"short_row", &t.short_row},
           {"short_row_group", &t.short_row_group},
           {"row_group", &t.row_group},
           {"column_group", &t.column_group},
           {"row_lanes", &t.row_lanes}}};
}

std::array<Field, 5> fields_of(ProductTiles& t) {
  return {{{"rows", &t.rows},
           {"columns", &t.columns},
           {"inner", &t.inner},
           {"block_rows", &t.block_rows},
           {"block_columns", &t.block_columns}}};
}

std::array<Field, 2> fields_of(AttentionTiles& t) {
  return {{{"side", &t.side}, {"short_width", &t.short_width}}};
}

// The tiles of a table, by their names in the file.
std::array<std::pair<const char*, ProductTiles*>, 2> tiles_of(KernelTable& t) {
  return {{{"few", &t.few}, {"product", &t.product}}};
}

Json as_json(KernelTable table) {
  Json json;
  for (const Field& field : fields_of(table)) json[field.name] = *field.value;
  for (const auto& [name, tiles] : tiles_of(table)) {
    for (const Field& field : fields_of(*tiles)) json[name][field.name] = *field.value;
  }
  for (const Field& field : fields_of(table.attention))
    json["attention"][field.name] = *field.value;
  return json;
}

// Throws for a number that is not there, not whole or too large.
void read_field(const Json& json, const Field& field) {
  const Json& number = json.at(field.name);
  if (!number.is_number_integer()) throw Error("not a whole number");
  const auto value = number.get<std::int64_t>();
  if (value < 0 || value > std::numeric_limits<int>::max()) throw Error("too large");
  *field.value = static_cast<int>(value);
}

// What the file does not say is as where nothing was measured.
KernelTable from_json(const Json& json, const GlDevice& device) {
  KernelTable table = KernelTable::of(device);
  for (const Field& field : fields_of(table)) read_field(json, field);
  for (const auto& [name, tiles] : tiles_of(table)) {
    for (const Field& field : fields_of(*tiles)) read_field(json.at(name), field);
  }
  for (const Field& field : fields_of(table.attention)) read_field(json.at("attention"), field);
  return table;
}

// The number that the format ends with; 0 where it is none of these tables.
int version_of(const Json& json) {
  const std::string format = json.at("format").get<std::string>();
  int version = 0;
  if (format.starts_with(kFormat))
    std::from_chars(format.data() + kFormat.size(), format.data() + format.size(), version);
  return version;
}

TunedTable read_table(const fs::path& path, const GlDevice& device) {
  const Json json = Json::parse(PlainFile(path, 1 << 16).all());
  const int version = version_of(json);
  if (version > kVersion) {
    const Message newer{"gpu.tuned.newer",
                        {{"path", path.string()},
                         {"version", std::to_string(version)},
                         {"ours", std::to_string(kVersion)}}};
    return {{}, newer, true};
  }
  if (version != kVersion) throw Error("none of these tables");
  TunedTable tuned{from_json(json.at("table"), device), {}};
  if (!tuned.table->fits(device.limits)) throw Error("beyond the device's limits");
  return tuned;
}

}  // namespace

fs::path default_tuned_folder() { return cache_folder("tuned"); }

fs::path tuned_file(const fs::path& folder, const GlDevice& device) {
  return folder / cache_name(hash_text(device.vendor + '\n' + device.renderer), ".json");
}

TunedTable read_tuned(const fs::path& folder, const GlDevice& device) {
  if (folder.empty()) return {};
  const fs::path path = tuned_file(folder, device);
  std::error_code none;
  if (!fs::exists(path, none)) return {};
  try {
    return read_table(path, device);
  } catch (const Error&) {
  } catch (const Json::exception&) {
  }
  return {{}, Message{"gpu.tuned", {{"path", path.string()}, {"device", device.renderer}}}};
}

void keep_tuned(const fs::path& folder, const GlDevice& device, const KernelTable& table) {
  std::error_code none;
  fs::create_directories(folder, none);
  const Json json = {{"format", std::string(kFormat) + std::to_string(kVersion)},
                     {"vendor", device.vendor},  // these two for people to read
                     {"renderer", device.renderer},
                     {"table", as_json(table)}};
  write_file_atomic(tuned_file(folder, device),
                    json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

bool forget_tuned(const fs::path& folder, const GlDevice& device) {
  std::error_code none;
  return !folder.empty() && fs::remove(tuned_file(folder, device), none);
}

}  // namespace headlight
