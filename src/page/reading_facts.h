// What the page needs to know about a reading before any numbers: model, text, tokens, words.
#pragma once

#include <attend/lens_sink.h>

#include <nlohmann/json_fwd.hpp>

namespace attend::page {

// The object `facts` of web/data/source.js.
nlohmann::ordered_json facts_of(const Reading& reading, bool served, SinkChoice sink);

// As text; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace attend::page
