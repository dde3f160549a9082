#include "app/main.h"

#include <csignal>

int main(int argc, char** argv) {
  // Where files may not grow further (ulimit -f), a write says so, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  return headlight::run_command_line(argc, argv);
}
