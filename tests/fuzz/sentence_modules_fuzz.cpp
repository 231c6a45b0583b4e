// Any bytes as one of the files that sentence-transformers adds, which the first byte chooses: what it says,
// or FileError.
#include "checkpoint/sentence_modules.h"

#include "fuzz/file_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attend;
  if (size == 0) return 0;
  parse_or_refuse([&] {
    io::FileText text = file_text(data + 1, size - 1);
    ModelFiles files;
    switch (data[0] % 6) {
      case 0:
        for (const checkpoint::Module& module : checkpoint::parse_modules(std::move(text))) {
          require(module.folder.empty() || io::is_plain_name(module.folder));
        }
        break;
      case 1:
        checkpoint::parse_pooling(std::move(text), files);
        require(!files.pooling.empty() && files.pooling.size() <= 6);
        break;
      case 2:
        checkpoint::parse_sentence_config(std::move(text), files);
        break;
      case 3:
        checkpoint::parse_prompts(std::move(text), files);
        require(files.default_prompt.empty() || files.prompts.contains(files.default_prompt));
        break;
      case 4:
        checkpoint::parse_tokenizer_config(std::move(text), files);
        break;
      case 5:
        require(checkpoint::parse_dense(std::move(text)).outputs > 0);
        break;
    }
    require(!files.max_tokens || *files.max_tokens > 0);
  });
  return 0;
}
