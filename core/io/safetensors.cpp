#include "core/io/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/half.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/io/json_numbers.h"
#include "core/io/plain_file.h"

namespace headlight {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // bytes; the limit of the format's own library
constexpr std::string_view kMetadata = "__metadata__";

struct Dtype {
  std::string_view name;
  std::size_t size;  // bytes of one number
};
constexpr Dtype kDtypes[] = {{"F64", 8}, {"F32", 4}, {"F16", 2},  {"BF16", 2},    {"I64", 8},
                             {"I32", 4}, {"I16", 2}, {"I8", 1},   {"U64", 8},     {"U32", 4},
                             {"U16", 2}, {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};

[[noreturn]] void bad_file(const Message& what) {
  throw Error(Message{"safetensors.bad_file"}.with(what));
}

[[noreturn]] void bad_tensor(const std::string& name, const Message& what) {
  bad_file(Message{"safetensors.bad_tensor", {{"name", clean_utf8(name).text}}}.with(what));
}

std::string digits(std::uint64_t n) { return std::to_string(n); }

// nlohmann keeps the last of two equal keys without a word, and deep nesting costs memory; the
// format allows neither. The parser calls this while it reads.
class HeaderGuard {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      if (level >= keys_.size()) bad_file(Message{"safetensors.too_deep"});
      keys_[level].clear();
    } else if (event == Json::parse_event_t::key) {
      // A key stands one level below the brace that opened its object.
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.at(level - 1).insert(key).second) {
        bad_file(Message{"safetensors.twice", {{"key", clean_utf8(key).text}}});
      }
    }
    return true;
  }

 private:
  // Keys of the objects that are open: the header, one tensor or the metadata, a list in it.
  std::array<std::set<std::string>, 3> keys_;
};

Json parse_header(std::string_view header) {
  if (header.empty() || header.front() != '{') {
    bad_file(Message{"safetensors.no_object"});
  }
  try {
    HeaderGuard guard;
    return Json::parse(header, std::ref(guard));
  } catch (const Json::exception& e) {
    bad_file(json_problem("safetensors.not_json", e));
  }
}

// A whole number from 0 to 2^63 - 1.
std::int64_t whole_number(const Json& value, const std::string& name, const char* problem) {
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    bad_tensor(name, Message{problem});
  }
  return value.get<std::int64_t>();
}

std::size_t dtype_size(const std::string& dtype, const std::string& name) {
  for (const Dtype& d : kDtypes) {
    if (d.name == dtype) return d.size;
  }
  bad_tensor(name, Message{"safetensors.unknown_type", {{"dtype", clean_utf8(dtype).text}}});
}

// Bytes that a tensor of this shape takes; nothing is multiplied that could overflow.
std::uint64_t bytes_of_shape(const SafetensorsEntry& entry, std::size_t number_size,
                             const std::string& name) {
  const auto is_zero = [](std::int64_t size) { return size == 0; };
  if (std::any_of(entry.shape.begin(), entry.shape.end(), is_zero)) return 0;
  std::uint64_t bytes = number_size;
  for (const std::int64_t size : entry.shape) {
    if (bytes > std::numeric_limits<std::uint64_t>::max() / static_cast<std::uint64_t>(size)) {
      bad_tensor(name, Message{"safetensors.too_many_cells"});
    }
    bytes *= static_cast<std::uint64_t>(size);
  }
  return bytes;
}

const Json& field(const Json& tensor, const char* key, const std::string& name) {
  const auto it = tensor.find(key);
  if (it == tensor.end()) bad_tensor(name, Message{"safetensors.no_key", {{"key", key}}});
  return *it;
}

SafetensorsEntry parse_entry(const std::string& name, const Json& tensor, std::size_t data_size) {
  if (!tensor.is_object()) bad_tensor(name, Message{"safetensors.tensor_no_object"});
  const Json& dtype = field(tensor, "dtype", name);
  const Json& shape = field(tensor, "shape", name);
  const Json& offsets = field(tensor, "data_offsets", name);
  if (tensor.size() != 3) bad_tensor(name, Message{"safetensors.more_keys"});
  if (!dtype.is_string()) bad_tensor(name, Message{"safetensors.dtype_no_text"});
  if (!shape.is_array()) bad_tensor(name, Message{"safetensors.shape_no_list"});
  if (!offsets.is_array() || offsets.size() != 2) {
    bad_tensor(name, Message{"safetensors.two_offsets"});
  }
  SafetensorsEntry entry;
  entry.dtype = dtype.get<std::string>();
  for (const Json& size : shape)
    entry.shape.push_back(whole_number(size, name, "safetensors.bad_sizes"));
  const auto begin =
      static_cast<std::uint64_t>(whole_number(offsets[0], name, "safetensors.bad_offsets"));
  const auto end =
      static_cast<std::uint64_t>(whole_number(offsets[1], name, "safetensors.bad_offsets"));
  if (begin > end || end > data_size) {
    bad_tensor(
        name,
        Message{"safetensors.outside",
                {{"size", digits(data_size)}, {"begin", digits(begin)}, {"end", digits(end)}}});
  }
  const std::uint64_t needed = bytes_of_shape(entry, dtype_size(entry.dtype, name), name);
  if (needed != end - begin) {
    bad_tensor(name, Message{"safetensors.wrong_size",
                             {{"needed", digits(needed)}, {"size", digits(end - begin)}}});
  }
  entry.begin = static_cast<std::size_t>(begin);
  entry.end = static_cast<std::size_t>(end);
  return entry;
}

std::map<std::string, std::string> parse_metadata(const Json& json) {
  if (!json.is_object()) bad_file(Message{"safetensors.metadata_no_object"});
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      bad_file(Message{"safetensors.metadata_no_text", {{"key", clean_utf8(key).text}}});
    }
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

// The ranges, put in order, must follow one another from the first byte of the data to the last.
void check_cover(const SafetensorsFile& file, std::size_t data_size) {
  using Item = std::pair<const std::string, SafetensorsEntry>;
  std::vector<const Item*> items;
  for (const Item& item : file.entries) items.push_back(&item);
  std::sort(items.begin(), items.end(), [](const Item* a, const Item* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::size_t at = 0;
  for (const Item* item : items) {
    if (item->second.begin != at) {
      bad_tensor(item->first, Message{"safetensors.overlap",
                                      {{"at", digits(at)}, {"begin", digits(item->second.begin)}}});
    }
    at = item->second.end;
  }
  if (at != data_size) {
    bad_file(Message{"safetensors.rest", {{"at", digits(at)}, {"size", digits(data_size)}}});
  }
}

// Reads values of type Raw (the file's bytes may not be aligned) and converts each.
template <class Out, class Raw, class Convert>
std::vector<Out> convert_all(std::string_view bytes, Convert convert) {
  std::vector<Out> out(bytes.size() / sizeof(Raw));
  for (std::size_t i = 0; i < out.size(); ++i) {
    Raw raw;
    std::memcpy(&raw, bytes.data() + i * sizeof(Raw), sizeof(Raw));
    out[i] = convert(raw);
  }
  return out;
}

const SafetensorsEntry& find_entry(const SafetensorsFile& file, std::string_view name) {
  const auto it = file.entries.find(std::string(name));
  if (it == file.entries.end()) {
    throw Error(Message{"safetensors.no_tensor",
                        {{"name", std::string(name)}, {"others", digits(file.entries.size())}}});
  }
  return it->second;
}

// The integer dtypes, for both readers. Nothing when `dtype` is not one of them.
template <class Out>
bool convert_integers(std::string_view bytes, std::string_view dtype, std::vector<Out>& out) {
  const auto plain = [](auto v) { return static_cast<Out>(v); };
  if (dtype == "I64")
    out = convert_all<Out, std::int64_t>(bytes, plain);
  else if (dtype == "I32")
    out = convert_all<Out, std::int32_t>(bytes, plain);
  else if (dtype == "I16")
    out = convert_all<Out, std::int16_t>(bytes, plain);
  else if (dtype == "I8")
    out = convert_all<Out, std::int8_t>(bytes, plain);
  else if (dtype == "U64")
    out = convert_all<Out, std::uint64_t>(bytes, plain);
  else if (dtype == "U32")
    out = convert_all<Out, std::uint32_t>(bytes, plain);
  else if (dtype == "U16")
    out = convert_all<Out, std::uint16_t>(bytes, plain);
  else if (dtype == "U8")
    out = convert_all<Out, std::uint8_t>(bytes, plain);
  else if (dtype == "BOOL") {
    out = convert_all<Out, std::uint8_t>(bytes, [](auto v) { return static_cast<Out>(v != 0); });
  } else
    return false;
  return true;
}

// Put together piece by piece: looking up each key in one JSON object that keeps its order would
// take quadratic time.
class HeaderText {
 public:
  explicit HeaderText(const std::map<std::string, std::string>& metadata) {
    if (!metadata.empty()) text_ += dump(Json(kMetadata)) + ":" + dump(Json(metadata));
  }
  void add(const std::string& name, std::string_view dtype, const std::vector<std::int64_t>& shape,
           std::uint64_t begin, std::uint64_t end) {
    const nlohmann::ordered_json entry = {
        {"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, end}}};
    if (text_.size() > 1) text_ += ',';
    text_ += dump(Json(name)) + ":" + dump(entry);
  }
  std::size_t size() const { return text_.size(); }
  void append_to(std::string& out) {
    text_ += '}';
    text_.append((8 - text_.size() % 8) % 8, ' ');
    if (text_.size() > kMaxHeader) {
      throw Error(
          "The header of a .safetensors file may have up to 100 MB, but the names and notes of "
          "this one take " +
          std::to_string(text_.size()) + " bytes. Shorten them.");
    }
    const std::uint64_t length = text_.size();
    out.append(reinterpret_cast<const char*>(&length), sizeof length);
    out += text_;
  }

 private:
  template <class T>
  static std::string dump(const T& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  std::string text_ = "{";
};

}  // namespace

std::string to_safetensors(std::span<const NamedArray> arrays,
                           const std::map<std::string, std::string>& metadata,
                           FloatStorage storage) {
  check_arrays(arrays, {});
  std::vector<const NamedArray*> order;
  for (const NamedArray& array : arrays) {
    if (array.name == kMetadata) {
      throw Error("A tensor cannot be called '__metadata__' in a .safetensors file. Rename it.");
    }
    order.push_back(&array);
  }
  std::sort(order.begin(), order.end(), [&](const NamedArray* a, const NamedArray* b) {
    const std::size_t size_a = element_size(*a, storage), size_b = element_size(*b, storage);
    return size_a != size_b ? size_a > size_b : a->name < b->name;
  });
  HeaderText header(metadata);
  std::uint64_t at = 0;
  for (const NamedArray* array : order) {
    const std::size_t size = element_size(*array, storage);
    const std::uint64_t end = at + element_count(*array) * size;
    const char* dtype = size == 2 ? "F16" : size == 4 ? "F32" : "I64";
    header.add(array->name, dtype, array->shape, at, end);
    at = end;
  }
  std::string out;
  out.reserve(header.size() + kLengthBytes + at);
  header.append_to(out);
  for (const NamedArray* array : order) append_data(out, *array, storage);
  return out;
}

SafetensorsFile blank_safetensors(std::map<std::string, SafetensorsEntry> entries,
                                  const std::map<std::string, std::string>& metadata) {
  SafetensorsFile file;
  file.entries = std::move(entries);
  file.metadata = metadata;
  HeaderText header(metadata);
  std::size_t at = 0;
  for (auto& [name, entry] : file.entries) {
    entry.begin = at;
    at += static_cast<std::size_t>(bytes_of_shape(entry, dtype_size(entry.dtype, name), name));
    entry.end = at;
    header.add(name, entry.dtype, entry.shape, entry.begin, entry.end);
  }
  header.append_to(file.bytes);
  file.data_start = file.bytes.size();
  file.bytes.resize(file.data_start + at, '\0');
  return file;
}

namespace {

// Of a file of `size` bytes that begins so: where its numbers begin.
std::size_t data_start_of(std::string_view begin, std::uint64_t size) {
  if (size < kLengthBytes) bad_file(Message{"safetensors.too_short", {{"size", digits(size)}}});
  std::uint64_t length = 0;
  std::memcpy(&length, begin.data(), sizeof length);
  if (length > kMaxHeader || length > size - kLengthBytes) {
    bad_file(Message{"safetensors.header_length",
                     {{"length", digits(length)}, {"size", digits(size - kLengthBytes)}}});
  }
  return kLengthBytes + static_cast<std::size_t>(length);
}

// `begin` has the header at least.
SafetensorsFile checked_header(std::string_view begin, std::uint64_t size) {
  SafetensorsFile file;
  file.data_start = data_start_of(begin, size);
  const auto data_size = static_cast<std::size_t>(size) - file.data_start;
  const Json header = parse_header(begin.substr(kLengthBytes, file.data_start - kLengthBytes));
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadata) {
      file.metadata = parse_metadata(value);
    } else {
      file.entries[name] = parse_entry(name, value, data_size);
    }
  }
  check_cover(file, data_size);
  return file;
}

}  // namespace

SafetensorsFile safetensors_header(const PlainFile& file) {
  const std::size_t start = data_start_of(file.head(kLengthBytes), file.size());
  return checked_header(file.head(start), file.size());
}

SafetensorsFile parse_safetensors(std::string bytes) {
  SafetensorsFile file = checked_header(bytes, bytes.size());
  file.bytes = std::move(bytes);
  return file;
}

SafetensorsFile read_safetensors_header(const std::filesystem::path& path,
                                        std::uint64_t max_bytes) {
  return safetensors_header(PlainFile(path, max_bytes));
}

// Between the two readings the file may change, so the whole is checked once more.
SafetensorsFile read_safetensors(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const PlainFile file(path, max_bytes);
  (void)safetensors_header(file);
  return parse_safetensors(file.all());
}

std::vector<float> tensor_as_float(const SafetensorsFile& file, std::string_view name) {
  const SafetensorsEntry& entry = find_entry(file, name);
  const std::string_view bytes = file.data_of(entry);
  const auto plain = [](auto v) { return static_cast<float>(v); };
  std::vector<float> out;
  if (entry.dtype == "F32") return convert_all<float, float>(bytes, plain);
  if (entry.dtype == "F64") {
    return convert_all<float, double>(bytes, [&](double v) {
      const auto number = static_cast<float>(v);
      if (std::isinf(number) && !std::isinf(v)) {
        throw Error(Message{"safetensors.beyond_float",
                            {{"name", clean_utf8(name).text}, {"value", number_text(v, 3)}}});
      }
      return number;
    });
  }
  if (entry.dtype == "F16") return convert_all<float, std::uint16_t>(bytes, half_to_float);
  if (entry.dtype == "BF16") {  // the upper half of a float
    return convert_all<float, std::uint16_t>(
        bytes, [](std::uint16_t v) { return std::bit_cast<float>(std::uint32_t{v} << 16); });
  }
  if (convert_integers(bytes, entry.dtype, out)) return out;
  throw Error(
      Message{"safetensors.unread_type", {{"name", std::string(name)}, {"dtype", entry.dtype}}});
}

std::vector<std::int64_t> tensor_as_int64(const SafetensorsFile& file, std::string_view name) {
  const SafetensorsEntry& entry = find_entry(file, name);
  std::vector<std::int64_t> out;
  if (!convert_integers(file.data_of(entry), entry.dtype, out)) {
    throw Error("The tensor '" + std::string(name) + "' should hold whole numbers, but it holds " +
                entry.dtype + ". Save it as I64.");
  }
  const auto negative = [](std::int64_t v) { return v < 0; };
  if (entry.dtype == "U64" && std::any_of(out.begin(), out.end(), negative)) {
    throw Error("The tensor '" + std::string(name) +
                "' holds a number over 2^63 - 1, which does not fit. Save it as I64.");
  }
  return out;
}

}  // namespace headlight
