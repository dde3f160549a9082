// The manual page, made of the commands themselves.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace headlight {

/// headlight(1) in roff: every subcommand and option, as `--help` lists them.
std::string man_page(const CLI::App&, const std::string& version);

}  // namespace headlight
