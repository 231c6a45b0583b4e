// fontconfig keeps about 300 bytes until the process ends; the leak sanitizer calls this function and
// ignores what it lists.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig\n"; }
