#include "embed/sink.h"

#include <attend/save.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "save/json_array.h"
#include "save/output_file.h"

namespace attend::embed {
namespace {

// embeddings (rows, size); where a text has several rows: ends (texts + 1), offsets (rows, 2), and for tokens
// ids (rows).
class ArraySink : public Sink {
 public:
  ArraySink(const std::string& file, Grain grain, std::int64_t size)
      : writer_(file, "embeddings", DType::f32, {size}), grain_(grain) {}

  void add(const EmbeddedText& text) override {
    writer_.append(text.vectors);
    ends_.push_back(writer_.rows());
    for (const Unit& unit : text.units) {
      offsets_.push_back(unit.place.begin);
      offsets_.push_back(unit.place.end);
      ids_.push_back(unit.id);
    }
  }

  void finish() override {
    if (grain_ != Grain::text) {
      add("ends", ends_, 1);
      add("offsets", offsets_, 2);
      if (grain_ == Grain::token) add("ids", ids_, 1);
    }
    writer_.finish();
  }

 private:
  void add(const char* name, const std::vector<std::int64_t>& values, std::int64_t columns) {
    const auto count = static_cast<std::int64_t>(values.size());
    const Dims shape = columns == 1 ? Dims{count} : Dims{count / columns, columns};
    writer_.add(name, ConstTensorView(values.data(), shape));
  }

  RowsWriter writer_;
  Grain grain_;
  std::vector<std::int64_t> ends_{0}, offsets_, ids_;
};

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class JsonSink : public Sink {
 public:
  JsonSink(const std::string& file, Grain grain, Write write) : grain_(grain), write_(std::move(write)) {
    if (!file.empty()) file_ = std::make_unique<save::OutputFile>(file);
  }

  void add(const EmbeddedText& text) override {
    line_.assign("{\"index\":")
        .append(std::to_string(text.index))
        .append(",\"text\":")
        .append(json_string(text.text));
    if (grain_ == Grain::text) {
      line_ += ",\"embedding\":";
      save::append_json_array(line_, text.vectors.select(0, 0));
    } else {
      line_.append(grain_ == Grain::token ? ",\"tokens\":[" : ",\"words\":[");
      for (std::size_t i = 0; i < text.units.size(); ++i)
        add_unit(text.units[i], text.vectors.select(0, static_cast<std::int64_t>(i)), i);
      line_ += ']';
    }
    line_ += "}\n";
    file_ ? file_->write(line_) : write_(line_);
  }

  void finish() override {
    if (file_) file_->commit();
  }

 private:
  void add_unit(const Unit& unit, ConstTensorView row, std::size_t number) {
    line_.append(number == 0 ? "{" : ",{")
        .append(grain_ == Grain::token ? "\"token\":" : "\"word\":")
        .append(json_string(unit.text));
    if (grain_ == Grain::token) line_.append(",\"id\":").append(std::to_string(unit.id));
    line_.append(",\"begin\":")
        .append(std::to_string(unit.place.begin))
        .append(",\"end\":")
        .append(std::to_string(unit.place.end));
    line_ += ",\"embedding\":";
    save::append_json_array(line_, row);
    line_ += '}';
  }

  Grain grain_;
  Write write_;
  std::unique_ptr<save::OutputFile> file_;
  std::string line_;
};

}  // namespace

std::unique_ptr<Sink> make_sink(const std::string& file, Grain grain, std::int64_t size, const Write& write) {
  const std::string extension = std::filesystem::path(file).extension().string();
  if (file.empty() || extension == ".jsonl") return std::make_unique<JsonSink>(file, grain, write);
  if (extension != ".npy" && extension != ".npz" && extension != ".safetensors") {
    throw std::invalid_argument("the output file must end in .npy, .npz, .safetensors or .jsonl");
  }
  if (extension == ".npy" && grain != Grain::text) {
    throw std::invalid_argument(
        "a .npy file holds one array; for tokens or words take .npz, .safetensors or .jsonl");
  }
  return std::make_unique<ArraySink>(file, grain, size);
}

}  // namespace attend::embed
