// libcurl's functions for a program that does not link it: they are looked up when they are first called. A
// wheel goes to machines whose libcurl, if there is one, is of another name or version, and must not bring a
// TLS library of its own, which nobody would keep up to date.
#include <curl/curl.h>
#include <dlfcn.h>

#include <cstdarg>
#include <initializer_list>

// The header makes macros of these, which check types.
#undef curl_easy_getinfo
#undef curl_easy_setopt

namespace {

struct LoadedCurl {
  void* library = nullptr;

  LoadedCurl() {
    for (const char* const name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
      library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr && is_new_enough()) return;
    }
    library = nullptr;
  }

  // Before 7.85 it has no CURLOPT_REDIR_PROTOCOLS_STR, which keeps a redirection from leaving https.
  bool is_new_enough() const {
    const auto version = function<curl_version_info_data*(CURLversion)>("curl_version_info");
    return version != nullptr && version(CURLVERSION_FIRST)->version_num >= 0x075500;
  }

  template <class Function>
  Function* function(const char* name) const {
    return library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
  }
};

// For as long as the program runs: nobody calls a library that has been closed.
template <class Function>
Function* loaded(const char* name) {
  static const LoadedCurl curl;
  return curl.function<Function>(name);
}

}  // namespace

extern "C" {

// Without it nothing else is called: Http refuses.
CURL* curl_easy_init() {
  const auto function = loaded<CURL*()>("curl_easy_init");
  return function == nullptr ? nullptr : function();
}

void curl_easy_cleanup(CURL* curl) { loaded<void(CURL*)>("curl_easy_cleanup")(curl); }
void curl_easy_reset(CURL* curl) { loaded<void(CURL*)>("curl_easy_reset")(curl); }
CURLcode curl_easy_perform(CURL* curl) { return loaded<CURLcode(CURL*)>("curl_easy_perform")(curl); }

// What is passed on is a long, a pointer or a function's address, each of which is as wide as a pointer where
// a long is.
static_assert(sizeof(long) == sizeof(void*));

CURLcode curl_easy_setopt(CURL* curl, CURLoption option, ...) {
  std::va_list arguments;
  va_start(arguments, option);
  void* const value = va_arg(arguments, void*);
  va_end(arguments);
  return loaded<CURLcode(CURL*, CURLoption, ...)>("curl_easy_setopt")(curl, option, value);
}

CURLcode curl_easy_getinfo(CURL* curl, CURLINFO info, ...) {
  std::va_list arguments;
  va_start(arguments, info);
  void* const value = va_arg(arguments, void*);
  va_end(arguments);
  return loaded<CURLcode(CURL*, CURLINFO, ...)>("curl_easy_getinfo")(curl, info, value);
}

const char* curl_easy_strerror(CURLcode code) {
  return loaded<const char*(CURLcode)>("curl_easy_strerror")(code);
}

curl_slist* curl_slist_append(curl_slist* list, const char* line) {
  return loaded<curl_slist*(curl_slist*, const char*)>("curl_slist_append")(list, line);
}

void curl_slist_free_all(curl_slist* list) { loaded<void(curl_slist*)>("curl_slist_free_all")(list); }

}  // extern "C"
