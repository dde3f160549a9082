#include "app/cli/man_page.h"

#include <vector>

namespace headlight {
namespace {

// Text that roff prints as it is.
std::string escaped(const std::string& text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

// The same, and lines may end behind its commas: lists of names are longer than a line.
std::string breakable(const std::string& list) {
  std::string out;
  for (const char c : escaped(list)) out += c == ',' ? ",\\:" : std::string(1, c);
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + escaped(text) + "\\fR"; }

void put_option(const CLI::Option& option, std::string& page) {
  if (option.get_group().empty()) return;  // not shown by --help either
  page += ".TP\n" + bold(option.get_name(option.get_positional(), true));
  if (option.get_type_size() != 0 && !option.get_type_name().empty())
    page += " \\fI" + breakable(option.get_type_name()) + "\\fR";
  page += "\n" + escaped(option.get_description());
  if (!option.get_default_str().empty())
    page += " (default: " + escaped(option.get_default_str()) + ")";
  page += "\n";
}

void put_options(const CLI::App& app, std::string& page) {
  for (const CLI::Option* option : app.get_options()) put_option(*option, page);
}

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  return app.get_subcommands(
      [](const CLI::App* sub) { return !sub->get_name().empty() && !sub->get_group().empty(); });
}

void put_command(const CLI::App& command, const std::string& name, std::string& page) {
  page += ".SS " + escaped(name) + "\n" + escaped(command.get_description()) + "\n";
  put_options(command, page);
  for (const CLI::App* sub : shown_commands(command))
    put_command(*sub, name + " " + sub->get_name(), page);
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& version) {
  const std::string name = app.get_name();
  std::string page = ".TH HEADLIGHT 1 \"\" \"" + escaped(name + " " + version) + "\"\n";
  page += ".ad l\n";  // a line of one long word cannot be stretched
  page += ".SH NAME\n" + escaped(name) + " \\- shows every number of a transformer\n";
  page += ".SH SYNOPSIS\n" + bold(name) + " [options] [session]\n.br\n" + bold(name) +
          " \\fIcommand\\fR [options]\n";
  page += ".SH DESCRIPTION\n" + escaped(app.get_description()) +
          "\nWithout a command the window is opened.\n";
  page += ".SH OPTIONS\n";
  put_options(app, page);
  page += ".SH COMMANDS\n";
  for (const CLI::App* command : shown_commands(app))
    put_command(*command, command->get_name(), page);
  return page;
}

}  // namespace headlight
