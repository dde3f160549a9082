// The desktop's portal, asked over a bus of the test's own, on which a stand-in for the portal
// answers, refuses, or leaves.
#include <gio/gio.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "app/shell/dialogs/desktop_dialog.h"
#include "core/document/session_file.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

constexpr char kInterface[] =
    "<node><interface name='org.freedesktop.portal.FileChooser'>"
    "<method name='OpenFile'><arg type='s' direction='in'/><arg type='s' direction='in'/>"
    "<arg type='a{sv}' direction='in'/><arg type='o' direction='out'/></method>"
    "<method name='SaveFile'><arg type='s' direction='in'/><arg type='s' direction='in'/>"
    "<arg type='a{sv}' direction='in'/><arg type='o' direction='out'/></method>"
    "</interface></node>";

// What the stand-in does when it is asked.
struct Behaviour {
  guint32 code = 0;  // 0 chosen, 1 cancelled, 2 ended otherwise
  std::string uri = {};
  bool refuses = false, leaves = false, silent = false;
};

class StandIn {
 public:
  explicit StandIn(Behaviour behaviour) : behaviour_(std::move(behaviour)) {
    g_main_context_push_thread_default(context_);
    bus_ = g_dbus_connection_new_for_address_sync(
        std::getenv("DBUS_SESSION_BUS_ADDRESS"),
        static_cast<GDBusConnectionFlags>(G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                          G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION),
        nullptr, nullptr, nullptr);
    REQUIRE(bus_ != nullptr);
    node_ = g_dbus_node_info_new_for_xml(kInterface, nullptr);
    static const GDBusInterfaceVTable kTable = {on_call, nullptr, nullptr, {}};
    g_dbus_connection_register_object(bus_, "/org/freedesktop/portal/desktop", node_->interfaces[0],
                                      &kTable, this, nullptr, nullptr);
    own("RequestName", g_variant_new("(su)", kName, 4u));
    g_main_context_pop_thread_default(context_);
  }
  ~StandIn() {
    g_dbus_connection_close_sync(bus_, nullptr, nullptr);
    g_object_unref(bus_);
    while (g_main_context_iteration(context_, FALSE)) {
    }
    g_dbus_node_info_unref(node_);
    g_main_context_unref(context_);
  }

  void serve() {
    g_main_context_push_thread_default(context_);
    while (g_main_context_iteration(context_, FALSE)) {
    }
    g_main_context_pop_thread_default(context_);
  }

  std::string method, title, options;

 private:
  static constexpr char kName[] = "org.freedesktop.portal.Desktop";

  void own(const char* method_name, GVariant* arguments) {
    g_variant_unref(g_dbus_connection_call_sync(
        bus_, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", method_name,
        arguments, nullptr, G_DBUS_CALL_FLAGS_NONE, 5000, nullptr, nullptr));
  }

  static void on_call(GDBusConnection* bus, const char* sender, const char*, const char*,
                      const char* name, GVariant* arguments, GDBusMethodInvocation* call,
                      gpointer data) {
    StandIn& self = *static_cast<StandIn*>(data);
    const Behaviour& does = self.behaviour_;
    const char* title = nullptr;
    GVariant* options = nullptr;
    g_variant_get(arguments, "(&s&s@a{sv})", nullptr, &title, &options);
    self.method = name;
    self.title = title;
    char* printed = g_variant_print(options, FALSE);
    self.options = printed;
    g_free(printed);
    g_variant_unref(options);
    if (does.refuses)
      return g_dbus_method_invocation_return_error(call, G_DBUS_ERROR, G_DBUS_ERROR_FAILED, "no");
    std::string from = sender + 1;
    for (char& c : from) c = c == '.' ? '_' : c;
    const std::string path = "/org/freedesktop/portal/desktop/request/" + from + "/headlight";
    g_dbus_method_invocation_return_value(call, g_variant_new("(o)", path.c_str()));
    if (does.leaves) return self.own("ReleaseName", g_variant_new("(s)", kName));
    if (does.silent) return;
    GVariantBuilder results;
    g_variant_builder_init(&results, G_VARIANT_TYPE_VARDICT);
    const char* uris[] = {does.uri.c_str(), nullptr};
    g_variant_builder_add(&results, "{sv}", "uris", g_variant_new_strv(uris, 1));
    g_dbus_connection_emit_signal(bus, sender, path.c_str(), "org.freedesktop.portal.Request",
                                  "Response", g_variant_new("(ua{sv})", does.code, &results),
                                  nullptr);
  }

  Behaviour behaviour_;
  GMainContext* context_ = g_main_context_new();
  GDBusConnection* bus_ = nullptr;
  GDBusNodeInfo* node_ = nullptr;
};

// A bus for the length of a test; its address stands in the environment.
struct Bus {
  GTestDBus* bus = g_test_dbus_new(G_TEST_DBUS_NONE);
  Bus() { g_test_dbus_up(bus); }
  ~Bus() {
    g_test_dbus_down(bus);
    g_object_unref(bus);
  }
};

bool has_bus_program() {
  char* program = g_find_program_in_path("dbus-daemon");
  g_free(program);
  if (!program) REQUIRE_FALSE(std::getenv("HEADLIGHT_REQUIRE_WINDOW"));
  return program != nullptr;
}

DialogAnswer answer_to(DesktopDialog& dialog, StandIn* portal) {
  for (int i = 0; i < 2000; ++i) {
    if (portal) portal->serve();
    if (const auto answer = dialog.poll()) return *answer;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  FAIL("no answer");
  return {};
}

const DialogWish kOpen{DialogWish::Kind::kOpenFile, "Open which?", "/tmp/", "*.json"};

}  // namespace

TEST_CASE("portal: what is asked, and the path that is answered") {
  if (!has_bus_program()) return;
  const Bus bus;
  StandIn portal({0, "file:///tmp/a%20b%E4%BD%A0.json"});
  DesktopDialog dialog;
  REQUIRE(dialog.start({"portal"}, kOpen));
  CHECK(dialog.running());
  DialogAnswer answer = answer_to(dialog, &portal);
  CHECK(answer.path == "/tmp/a b你.json");
  CHECK_FALSE(answer.failed);
  CHECK_FALSE(dialog.running());
  CHECK(portal.method == "OpenFile");
  CHECK(portal.title == "Open which?");
  CHECK(portal.options.find("'current_folder': <b'/tmp'>") != std::string::npos);
  CHECK(portal.options.find("[('*.json', [(uint32 0, '*.json')])]") != std::string::npos);
  CHECK(portal.options.find("current_name") == std::string::npos);

  REQUIRE(dialog.start({"portal"}, {DialogWish::Kind::kSave, "Save", "/tmp/x.json", "*.json"}));
  answer_to(dialog, &portal);
  CHECK(portal.method == "SaveFile");
  CHECK(portal.options.find("'current_name': <'x.json'>") != std::string::npos);

  REQUIRE(dialog.start({"portal"}, {DialogWish::Kind::kOpenFolder, "Folder", "/tmp/", ""}));
  answer_to(dialog, &portal);
  CHECK(portal.method == "OpenFile");
  CHECK(portal.options.find("'directory': <true>") != std::string::npos);
}

TEST_CASE("portal: cancelled, ended otherwise, refused, gone, on no disk") {
  if (!has_bus_program()) return;
  const Bus bus;
  struct Case {
    Behaviour behaviour;
    bool failed;
  };
  for (const Case& c :
       {Case{{1, ""}, false}, Case{{2, ""}, true}, Case{{.refuses = true}, true},
        Case{{.leaves = true}, true}, Case{{0, "http://a/b"}, true}, Case{{0, "?"}, true}}) {
    CAPTURE(c.behaviour.uri);
    CAPTURE(c.behaviour.code);
    StandIn portal(c.behaviour);
    DesktopDialog dialog;
    REQUIRE(dialog.start({"portal"}, kOpen));
    const DialogAnswer answer = answer_to(dialog, &portal);
    CHECK(answer.path == "");
    CHECK(answer.failed == c.failed);
  }
}

TEST_CASE("portal: where it cannot ask, the next one of the list is asked") {
  if (!has_bus_program()) return;
  const TemporaryFolder folder;
  const std::string zenity = folder.path("zenity");
  write_text(zenity, "#!/bin/sh\necho /tmp/of-zenity\n");
  std::filesystem::permissions(zenity, std::filesystem::perms::owner_all);
  {  // a bus without a portal
    const Bus bus;
    DesktopDialog dialog;
    REQUIRE(dialog.start({"portal", "no such program", zenity}, kOpen));
    CHECK(answer_to(dialog, nullptr).path == "/tmp/of-zenity");
    REQUIRE(dialog.start({"portal"}, kOpen));
    CHECK(answer_to(dialog, nullptr).failed);
  }
  DesktopDialog dialog;  // an address where nobody is
  setenv("DBUS_SESSION_BUS_ADDRESS", ("unix:path=" + folder.path("nobody")).c_str(), 1);
  REQUIRE(dialog.start({"portal", zenity}, kOpen));
  CHECK(answer_to(dialog, nullptr).path == "/tmp/of-zenity");
  unsetenv("DBUS_SESSION_BUS_ADDRESS");
}

TEST_CASE("portal: closed unanswered, at every moment") {
  if (!has_bus_program()) return;
  const Bus bus;
  StandIn portal({.silent = true});
  for (int rounds = 0; rounds < 12; ++rounds) {
    DesktopDialog dialog;
    REQUIRE(dialog.start({"portal"}, kOpen));
    for (int i = 0; i < rounds; ++i) {
      portal.serve();
      CHECK_FALSE(dialog.poll());
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    dialog.stop();
    CHECK_FALSE(dialog.running());
  }
}

TEST_CASE("portal: the shell opens what was chosen there") {
  if (!has_bus_program()) return;
  const TemporaryFolder folder;
  Document other = small_document();
  other.sentence = "chosen in the portal";
  write_session(folder.path("one.headlight.json"), other);
  const Bus bus;
  StandIn portal({0, "file://" + folder.path("one.headlight.json")});
  ShellOptions options = still_options(1);
  options.dialogs = {"portal"};
  Shell shell(small_document(), options);
  shell.push(AskPath{Sheet::kOpen, ""});
  shell.apply();
  REQUIRE(shell.state().session.desktop_dialog);
  for (int i = 0; i < 2000 && shell.state().session.desktop_dialog; ++i) {
    portal.serve();
    shell.poll();
    shell.apply();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(shell.state().document() == other);
}

}  // namespace headlight::test
