// Part of each program of the sanitizer build that draws: libraries stay in memory until the end.
// OpenGL drivers leak a little and are unloaded early; what they leaked would then have no name,
// and lsan.supp goes by names.
extern "C" int dlclose(void*) { return 0; }
