// The program's entry, apart from main() itself so that nothing heavy is compiled with it.
#pragma once

namespace headlight {

/// Runs the program; returns its exit status: 0, 1 (failed) or 2 (bad use). Messages go to stderr.
int run_command_line(int argc, char** argv);

}  // namespace headlight
