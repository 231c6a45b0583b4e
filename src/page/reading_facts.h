// What the page needs to know of a reading before any number of its maps: model, text, tokens, words.
#pragma once

#include <attend/lens.h>

#include <nlohmann/json_fwd.hpp>

namespace attend::page {

// The object `facts` of web/data/source.js.
nlohmann::ordered_json facts_of(const Reading& reading, bool served);

// As text; what is no UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace attend::page
