// The files that tests/reference/*.py write: a configuration, and its numbers by PyTorch.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/graph/program.h"
#include "core/io/safetensors.h"

namespace headlight {

struct Reference {
  std::string name;
  SafetensorsFile file;

  const std::string& word(const std::string& key) const {
    const auto found = file.metadata.find(key);
    REQUIRE_MESSAGE(found != file.metadata.end(), name << " does not say " << key);
    return found->second;
  }
  int number(const std::string& key) const { return std::stoi(word(key)); }
  bool is_on(const std::string& key) const { return word(key) == "on"; }
  template <class T>
  T choice(const std::string& key) const {
    const auto value = from_word<T>(word(key));
    REQUIRE_MESSAGE(value, name << ": " << key << " is " << word(key));
    return *value;
  }
  bool has(const std::string& tensor) const { return file.entries.contains(tensor); }
};

/// Every file of a folder below the tests' own, in order of their names.
std::vector<Reference> read_references(const std::string& folder);

Config config_of(const Reference&);
RunShape shape_of(const Reference&);

/// What the file calls a tensor of the program. The vector of additive scores is `attn.v` in a
/// weights file; in a program that name belongs to the values.
std::string name_in_file(const TensorSpec&);

}  // namespace headlight
