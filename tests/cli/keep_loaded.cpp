// Loaded before the program under LeakSanitizer: libraries stay in memory until the end. OpenGL
// drivers leak a little and are unloaded early; what they leaked would then have no name, and
// tests/lsan.supp goes by names.
extern "C" int dlclose(void*) { return 0; }
