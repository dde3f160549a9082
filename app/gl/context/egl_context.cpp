#include "app/gl/context/egl_context.h"

#define EGL_NO_X11 1  // no display here, so none of X11's macros either
#include <epoxy/egl.h>
#include <epoxy/gl.h>

#include <array>
#include <cstring>
#include <mutex>
#include <vector>

#include "app/gl/context/device.h"
#include "core/base/error.h"

namespace headlight {
namespace {

// Asking twice for the same platform gives the same EGLDisplay, so terminating it while another
// EglContext lives would end that one too: only the last one terminates.
std::mutex g_count_mutex;
int g_live_contexts = 0;

bool has_extension(const char* list, const char* name) {
  const std::size_t length = std::strlen(name);
  for (const char* at = list; at && (at = std::strstr(at, name)); at += length) {
    if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) return true;
  }
  return false;
}

struct Candidate {
  std::string platform;
  EGLDisplay display = EGL_NO_DISPLAY;
};

std::vector<Candidate> find_displays() {
  std::vector<Candidate> found;
  // A null list means that this EGL has no client extensions: only the default display is left.
  const char* extensions = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  // libepoxy aborts on the core name eglGetPlatformDisplay before a display exists; the EXT one
  // works.
  const bool platforms = has_extension(extensions, "EGL_EXT_platform_base");
  if (platforms && has_extension(extensions, "EGL_MESA_platform_surfaceless")) {
    found.push_back({"surfaceless", eglGetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA,
                                                             EGL_DEFAULT_DISPLAY, nullptr)});
  }
  if (platforms && has_extension(extensions, "EGL_EXT_platform_device") &&
      (has_extension(extensions, "EGL_EXT_device_enumeration") ||
       has_extension(extensions, "EGL_EXT_device_base"))) {
    std::array<EGLDeviceEXT, 16> devices{};
    EGLint count = 0;
    if (eglQueryDevicesEXT(static_cast<EGLint>(devices.size()), devices.data(), &count)) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        found.push_back(
            {"device", eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT, devices[i], nullptr)});
      }
    }
  }
  found.push_back({"default display", eglGetDisplay(EGL_DEFAULT_DISPLAY)});
  return found;
}

EGLConfig choose_config(EGLDisplay display) {
  for (const EGLint surface : {EGL_PBUFFER_BIT, 0}) {
    const std::array<EGLint, 5> wanted = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE,
                                          surface, EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    if (eglChooseConfig(display, wanted.data(), &config, 1, &count) && count > 0) return config;
  }
  return nullptr;
}

EGLContext create_core(EGLDisplay display, EGLConfig config, EGLint major, EGLint minor, bool debug,
                       EGLContext share) {
  std::vector<EGLint> attributes = {
      EGL_CONTEXT_MAJOR_VERSION,       major,
      EGL_CONTEXT_MINOR_VERSION,       minor,
      EGL_CONTEXT_OPENGL_PROFILE_MASK, EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT};
  if (debug) attributes.insert(attributes.end(), {EGL_CONTEXT_OPENGL_DEBUG, EGL_TRUE});
  attributes.push_back(EGL_NONE);
  return eglCreateContext(display, config, share, attributes.data());
}

/// Compute shaders need 4.3; everything else does with 3.3.
EGLContext create_newest(EGLDisplay display, EGLConfig config, bool debug,
                         EGLContext share = EGL_NO_CONTEXT) {
  EGLContext context = create_core(display, config, 4, 3, debug, share);
  if (context == EGL_NO_CONTEXT) context = create_core(display, config, 3, 3, debug, share);
  if (context != EGL_NO_CONTEXT || !debug) return context;
  return create_newest(display, config, false, share);
}

/// Makes the context current, with a 1x1 surface where the driver needs one.
bool bind_context(EGLDisplay display, EGLConfig config, EGLContext context, EGLSurface& surface) {
  if (eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) return true;
  const std::array<EGLint, 5> size = {EGL_WIDTH, 1, EGL_HEIGHT, 1, EGL_NONE};
  surface = eglCreatePbufferSurface(display, config, size.data());
  return surface != EGL_NO_SURFACE && eglMakeCurrent(display, surface, surface, context);
}

void release(EGLDisplay display, EGLContext context, EGLSurface surface) {
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  if (surface != EGL_NO_SURFACE) eglDestroySurface(display, surface);
  if (context != EGL_NO_CONTEXT) eglDestroyContext(display, context);
}

/// What a display that has no 3.3 core context offers instead, in words.
std::string describe_older(EGLDisplay display, EGLConfig config) {
  std::string words = "no OpenGL 3.3 core context";
  EGLSurface surface = EGL_NO_SURFACE;
  EGLContext any = eglCreateContext(display, config, EGL_NO_CONTEXT, nullptr);
  if (any != EGL_NO_CONTEXT && bind_context(display, config, any, surface)) {
    words = "only " + gl_description();
  }
  release(display, any, surface);
  return words;
}

/// Makes a current core context on this display, or says in `why` why it cannot.
EGLContext try_display(EGLDisplay display, bool debug, EGLSurface& surface, std::string& why) {
  if (display == EGL_NO_DISPLAY || !eglInitialize(display, nullptr, nullptr)) {
    why = "not available";
    return EGL_NO_CONTEXT;
  }
  EGLConfig config = nullptr;
  if (!eglBindAPI(EGL_OPENGL_API) || !(config = choose_config(display))) {
    why = "has no desktop OpenGL";
    return EGL_NO_CONTEXT;
  }
  EGLContext context = create_newest(display, config, debug);
  if (context == EGL_NO_CONTEXT) {
    why = "offers " + describe_older(display, config);
    return EGL_NO_CONTEXT;
  }
  if (!bind_context(display, config, context, surface)) {
    release(display, context, surface);
    surface = EGL_NO_SURFACE;
    why = "cannot draw without a window";
    return EGL_NO_CONTEXT;
  }
  return context;
}

bool draws_on_processor() {
  const auto* renderer = reinterpret_cast<const char*>(glGetString(GL_RENDERER));
  return renderer && is_software_renderer(renderer);
}

}  // namespace

EglContext::EglContext(EglOptions options) {
  const std::lock_guard lock(g_count_mutex);
  if (options.share) {
    join(*options.share, options.debug);
    return;
  }
  std::string answers;
  if (options.prefer_hardware && take_first(options, true, answers)) return;
  answers.clear();
  if (take_first(options, false, answers)) return;
  throw Error(
      "Drawing without a window needs OpenGL 3.3 through EGL; this machine answers: " + answers +
      ". Install Mesa's EGL (Debian: libegl1 and libgl1-mesa-dri), or update the "
      "graphics driver. A limit of the program's memory can be the reason, too.");
}

bool EglContext::take_first(const EglOptions& options, bool hardware_only, std::string& answers) {
  for (const Candidate& candidate : find_displays()) {
    std::string why;
    context_ = try_display(candidate.display, options.debug, surface_, why);
    if (context_ != EGL_NO_CONTEXT && hardware_only && draws_on_processor()) {
      release(candidate.display, context_, surface_);
      context_ = nullptr;
      surface_ = nullptr;
      why = "draws on the processor";
    }
    if (context_ != EGL_NO_CONTEXT) {
      display_ = candidate.display;
      platform_ = candidate.platform;
      ++g_live_contexts;
      return true;
    }
    if (candidate.display != EGL_NO_DISPLAY && g_live_contexts == 0) {
      eglTerminate(candidate.display);
    }
    answers += (answers.empty() ? "" : "; ") + candidate.platform + ": " + why;
  }
  return false;
}

void EglContext::join(const EglContext& other, bool debug) {
  EGLConfig config = nullptr;
  // What is bound is each thread's own.
  if (eglBindAPI(EGL_OPENGL_API)) config = choose_config(other.display_);
  context_ = create_newest(other.display_, config, debug, other.context_);
  if (context_ == EGL_NO_CONTEXT || !bind_context(other.display_, config, context_, surface_)) {
    release(other.display_, context_, surface_);
    throw Error("a second OpenGL context beside the one that draws could not be made");
  }
  display_ = other.display_;
  platform_ = other.platform_;
  ++g_live_contexts;
}

EglContext::~EglContext() {
  const std::lock_guard lock(g_count_mutex);
  release(display_, context_, surface_);
  if (--g_live_contexts == 0) eglTerminate(display_);
}

void EglContext::make_current() {
  if (!eglMakeCurrent(display_, surface_, surface_, context_)) {
    throw Error(
        "The OpenGL context could not be made current: it is in use on another thread. Release it "
        "there first.");
  }
}

std::string gl_description() {
  const auto text = [](GLenum name) -> std::string {
    const auto* value = reinterpret_cast<const char*>(glGetString(name));
    return value ? value : "unknown";
  };
  const int version = epoxy_gl_version();
  return text(GL_RENDERER) + (epoxy_is_desktop_gl() ? ", OpenGL " : ", OpenGL ES ") +
         std::to_string(version / 10) + "." + std::to_string(version % 10);
}

void require_gl33() {
  if (epoxy_is_desktop_gl() && epoxy_gl_version() >= 33) return;
  const std::string found = gl_description();
  const std::size_t comma = found.rfind(", OpenGL");
  throw Error("Headlight needs OpenGL 3.3; this machine's driver " + found.substr(0, comma) +
              " offers " + found.substr(comma + 2) +
              ". Update the graphics driver, or start with LIBGL_ALWAYS_SOFTWARE=1 in the "
              "environment to draw on the processor.");
}

}  // namespace headlight
