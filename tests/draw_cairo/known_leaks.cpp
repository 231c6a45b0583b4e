// fontconfig keeps some 300 bytes of its own until the end of a process, once; the leak sanitizer asks for
// this function and forgives what it names.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig\n"; }
