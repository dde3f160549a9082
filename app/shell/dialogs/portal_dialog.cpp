#include "app/shell/dialogs/portal_dialog.h"

#include <gio/gio.h>

#include <cstdlib>
#include <filesystem>

namespace headlight {
namespace {

constexpr char kPortal[] = "org.freedesktop.portal.Desktop";
constexpr char kRequest[] = "org.freedesktop.portal.Request";
constexpr int kMilliseconds = 10000;  // for the portal to start; the person may take any time

// Without an address GLib would start a bus of its own, which nobody listens to.
bool has_bus() {
  if (std::getenv("DBUS_SESSION_BUS_ADDRESS")) return true;
  const char* folder = std::getenv("XDG_RUNTIME_DIR");
  std::error_code ignored;
  return folder && std::filesystem::exists(std::filesystem::path(folder) / "bus", ignored);
}

// The object by which a request answers is known before it is made, so that no answer is missed.
std::string request_path(GDBusConnection* bus, const char* token) {
  std::string sender = g_dbus_connection_get_unique_name(bus) + 1;  // ":1.42"
  for (char& c : sender) c = c == '.' ? '_' : c;
  return "/org/freedesktop/portal/desktop/request/" + sender + "/" + token;
}

void add(GVariantBuilder& options, const char* name, GVariant* value) {
  g_variant_builder_add(&options, "{sv}", name, value);
}

GVariant* options_of(const DialogWish& wish, const char* token) {
  GVariantBuilder options;
  g_variant_builder_init(&options, G_VARIANT_TYPE_VARDICT);
  add(options, "handle_token", g_variant_new_string(token));
  if (wish.kind == DialogWish::Kind::kOpenFolder)
    add(options, "directory", g_variant_new_boolean(TRUE));
  const std::filesystem::path path(wish.path);
  if (path.has_parent_path())
    add(options, "current_folder", g_variant_new_bytestring(path.parent_path().c_str()));
  const std::string name = path.filename().string();
  if (wish.kind == DialogWish::Kind::kSave && !name.empty() &&
      g_utf8_validate(name.c_str(), -1, nullptr))
    add(options, "current_name", g_variant_new_string(name.c_str()));
  if (!wish.filter.empty() && wish.kind != DialogWish::Kind::kOpenFolder) {
    const char* filter = wish.filter.c_str();
    add(options, "filters", g_variant_new_parsed("[(%s, [(uint32 0, %s)])]", filter, filter));
  }
  return g_variant_builder_end(&options);
}

// "file:///tmp/a%20b" is /tmp/a b. What lies on no disk here cannot be opened.
DialogAnswer answer_of(GVariant* results) {
  const gchar** uris = nullptr;
  g_variant_lookup(results, "uris", "^a&s", &uris);
  char* path = uris && uris[0] ? g_filename_from_uri(uris[0], nullptr, nullptr) : nullptr;
  const DialogAnswer answer = path ? DialogAnswer{path, false} : DialogAnswer{"", true};
  g_free(path);
  g_free(static_cast<gpointer>(uris));
  return answer;
}

}  // namespace

// Everything happens in poll(), in a context of its own: GLib calls back only from there.
struct PortalDialog::Request {
  DialogWish wish;
  GMainContext* context = g_main_context_new();
  GCancellable* cancel = g_cancellable_new();
  GDBusConnection* bus = nullptr;
  int waiting = 0;  // calls that will still call back
  std::optional<DialogAnswer> answer;

  ~Request() {
    g_cancellable_cancel(cancel);
    while (waiting > 0) g_main_context_iteration(context, TRUE);
    if (bus) {  // the portal closes the dialog of one who leaves
      g_dbus_connection_close_sync(bus, nullptr, nullptr);
      g_object_unref(bus);
    }
    while (g_main_context_iteration(context, FALSE)) {
    }
    g_object_unref(cancel);
    g_main_context_unref(context);
  }

  void fail() {
    if (!answer) answer = DialogAnswer{"", true};
  }
  bool failed(GError* error) {
    if (!error) return false;
    g_error_free(error);
    fail();
    return true;
  }

  static void on_bus(GObject*, GAsyncResult* result, gpointer data) {
    Request& request = *static_cast<Request*>(data);
    --request.waiting;
    GError* error = nullptr;
    request.bus = g_dbus_connection_new_for_address_finish(result, &error);
    if (!request.failed(error) && !g_cancellable_is_cancelled(request.cancel)) request.ask();
  }

  void subscribe(const char* sender, const char* interface, const char* signal, const char* object,
                 const char* first, GDBusSignalCallback callback) {
    g_dbus_connection_signal_subscribe(bus, sender, interface, signal, object, first,
                                       G_DBUS_SIGNAL_FLAGS_NONE, callback, this, nullptr);
  }

  void ask() {
    const char* token = "headlight";  // one request per connection
    subscribe(kPortal, kRequest, "Response", request_path(bus, token).c_str(), nullptr,
              on_response);
    subscribe("org.freedesktop.DBus", "org.freedesktop.DBus", "NameOwnerChanged", nullptr, kPortal,
              on_owner);
    ++waiting;
    g_dbus_connection_call(
        bus, kPortal, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.FileChooser",
        wish.kind == DialogWish::Kind::kSave ? "SaveFile" : "OpenFile",
        g_variant_new("(ss@a{sv})", "", wish.title.c_str(), options_of(wish, token)),
        G_VARIANT_TYPE("(o)"), G_DBUS_CALL_FLAGS_NONE, kMilliseconds, cancel, on_asked, this);
  }

  static void on_asked(GObject* bus, GAsyncResult* result, gpointer data) {
    Request& request = *static_cast<Request*>(data);
    --request.waiting;
    GError* error = nullptr;
    GVariant* reply = g_dbus_connection_call_finish(G_DBUS_CONNECTION(bus), result, &error);
    if (reply) g_variant_unref(reply);
    request.failed(error);
  }

  static void on_response(GDBusConnection*, const char*, const char*, const char*, const char*,
                          GVariant* parameters, gpointer data) {
    Request& request = *static_cast<Request*>(data);
    guint32 code = 2;
    GVariant* results = nullptr;
    if (g_variant_is_of_type(parameters, G_VARIANT_TYPE("(ua{sv})")))
      g_variant_get(parameters, "(u@a{sv})", &code, &results);
    if (request.answer) {
    } else if (code == 0) {
      request.answer = answer_of(results);
    } else {
      request.answer = DialogAnswer{"", code != 1};  // 1: cancelled
    }
    if (results) g_variant_unref(results);
  }

  // The portal has ended: nothing will answer any more.
  static void on_owner(GDBusConnection*, const char*, const char*, const char*, const char*,
                       GVariant* parameters, gpointer data) {
    const char* owner = "";
    if (g_variant_is_of_type(parameters, G_VARIANT_TYPE("(sss)")))
      g_variant_get_child(parameters, 2, "&s", &owner);
    if (*owner == '\0') static_cast<Request*>(data)->fail();
  }
};

PortalDialog::PortalDialog() = default;
PortalDialog::~PortalDialog() = default;

bool PortalDialog::start(const DialogWish& wish) {
  stop();
  if (!has_bus()) return false;
  char* address = g_dbus_address_get_for_bus_sync(G_BUS_TYPE_SESSION, nullptr, nullptr);
  if (!address) return false;
  request_ = std::make_unique<Request>();
  request_->wish = wish;
  ++request_->waiting;
  g_main_context_push_thread_default(request_->context);
  g_dbus_connection_new_for_address(
      address,
      static_cast<GDBusConnectionFlags>(G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                        G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION),
      nullptr, request_->cancel, Request::on_bus, request_.get());
  g_main_context_pop_thread_default(request_->context);
  g_free(address);
  return true;
}

std::optional<DialogAnswer> PortalDialog::poll() {
  if (!request_) return std::nullopt;
  g_main_context_push_thread_default(request_->context);
  while (!request_->answer && g_main_context_iteration(request_->context, FALSE)) {
  }
  g_main_context_pop_thread_default(request_->context);
  if (!request_->answer) return std::nullopt;
  std::optional<DialogAnswer> answer = std::move(request_->answer);
  stop();
  return answer;
}

void PortalDialog::stop() { request_.reset(); }

}  // namespace headlight
