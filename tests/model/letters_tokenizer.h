// A tokenizer.json of single characters, for golden models that come without one.
#pragma once

#include <string>

namespace attend {

// 64 letters, ids 0 to 63.
inline std::string letters() {
  std::string vocabulary;
  for (int i = 0; i < 64; ++i) {
    const char letter = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"[i];
    vocabulary += (i == 0 ? "\"" : ",\"") + std::string(1, letter) + "\":" + std::to_string(i);
  }
  return R"({"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,)"
         R"("model":{"type":"BPE","vocab":{)" +
         vocabulary + R"(},"merges":[]}})";
}

}  // namespace attend
