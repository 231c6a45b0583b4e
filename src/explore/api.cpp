#include "explore/api.h"

#include <attend/lens_change.h>
#include <attend/lens_recording.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <new>

#include "base/error.h"
#include "explore/bodies.h"
#include "explore/reading_json.h"
#include "http/callers.h"
#include "http/memory.h"
#include "http/target.h"
#include "page/inside.h"

namespace attend::explore {
namespace {

using Json = nlohmann::ordered_json;

http::Response json_response(const Json& json) {
  return {.body = json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

http::Response numbers_response(std::span<const double> values) {
  static_assert(std::endian::native == std::endian::little, "the page reads little-endian numbers");
  http::Response response{.type = "application/octet-stream"};
  response.body.resize(values.size_bytes());
  if (!values.empty()) std::memcpy(response.body.data(), values.data(), values.size_bytes());
  return response;
}

// The shortest digits that read back as the same number.
std::string digits(float value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : "0";
}

MapName map_name(http::Target& target) {
  MapName map;
  const std::string method = target.text("method").value_or("raw");
  const std::optional<LensMethod> known = lens_method_named(method);
  if (!known || (*known != LensMethod::raw && *known != LensMethod::norm && *known != LensMethod::rollout))
    throw http::RequestError(400, "parameter method is not one of raw, norm and rollout");
  map.method = *known;
  map.heads = {.layer = target.number("layer"), .head = target.number("head")};
  const std::string units = target.text("units").value_or("words");
  if (units != "words" && units != "tokens")
    throw http::RequestError(400, "parameter units is not one of words and tokens");
  map.tokens = units == "tokens";
  const std::int64_t special = target.number("special").value_or(1);
  if (special > 1) throw http::RequestError(400, "parameter special is neither 0 nor 1");
  map.special = special == 1;
  const std::int64_t first = target.number("first").value_or(1);
  if (first > 1) throw http::RequestError(400, "parameter first is neither 0 nor 1");
  map.first = first == 1;
  return map;
}

}  // namespace

Api::Api(std::string model, std::string text, SinkChoice sink, const ModelOptions& options)
    : models_(std::in_place, std::move(model), options), text_(std::move(text)), sink_(sink) {}

Api::Api(std::filesystem::path recording, SinkChoice sink) : recording_(std::move(recording)), sink_(sink) {
  text_ = Reading(load_recording(*recording_)).text();
}

Models& Api::models_to_read_with() {
  if (!models_)
    throw http::RequestError(
        400, "this is the recording of one pass: other texts need its model, which is not here");
  return *models_;
}

http::Response Api::answer(const http::Request& request) {
  try {
    http::require_own(request);
    return route(request);
  } catch (const http::RequestError& error) {
    return http::error_response(error);
  } catch (const std::invalid_argument& error) {
    return http::error_response(400, plain_sentence(error));
  } catch (const FileError& error) {
    return http::error_response(400, error.what());
  } catch (const std::bad_alloc&) {
    return http::error_response(507, "there is not enough memory");
  } catch (const std::exception& error) {
    return http::error_response(500, error.what());
  }
}

http::Response Api::route(const http::Request& request) {
  http::Target target(request.target);
  const std::vector<std::string>& path = target.path();
  if (path.size() == 2 && (path[1] == "models" || path[1] == "read" || path[1] == "compare")) {
    http::require_method(request, path[1] == "models" ? "GET" : "POST");
    target.require_all_used();
    return path[1] == "models" ? models() : path[1] == "read" ? read(request.body) : compare(request.body);
  }
  if (path.size() != 3) throw http::RequestError(404, "there is nothing at this address");
  const std::string &id = path[1], &what = path[2];
  if (what == "change") {
    http::require_method(request, "POST");
    target.require_all_used();
    return change(id, request.body);
  }
  using Question = http::Response (Api::*)(const std::string&, http::Target&);
  const Question question = what == "tile"      ? &Api::tile
                            : what == "row"     ? &Api::row
                            : what == "cell"    ? &Api::cell
                            : what == "scores"  ? &Api::scores
                            : what == "next"    ? &Api::next
                            : what == "guesses" ? &Api::guesses
                            : what == "block"   ? &Api::block
                                                : nullptr;
  if (question == nullptr) throw http::RequestError(404, "there is nothing at this address");
  http::require_method(request, "GET");
  readings_.reading(id);  // an id that is no longer kept is reported before its parameters are read
  return (this->*question)(id, target);
}

http::Response Api::models() {
  const std::vector<std::string> names = models_ ? models_->names() : std::vector{recording_->string()};
  Json list = Json::array();
  for (const std::string& name : names) list.push_back({{"name", name}});
  return json_response({{"models", std::move(list)}, {"default", names.front()}, {"text", text_}});
}

http::Response Api::read(const std::string& body) {
  const ReadBody wanted = parse_read(body);
  // Of a recording, its own text is the only one that can be read.
  const bool recorded = recording_ && wanted.text == text_ && wanted.second.empty();
  const std::string id =
      recorded ? readings_.keep(Reading(load_recording(*recording_)))
               : readings_.read(models_to_read_with().load(wanted.model), wanted.text, wanted.second);
  const std::string name = recorded ? recording_->string() : models_->first();
  http::Response response = json_response(
      {{"id", id}, {"facts", facts_json(readings_.reading(id), wanted.model.value_or(name), sink_)}});
  http::return_free_memory_now();
  return response;
}

http::Response Api::tile(const std::string& id, http::Target& target) {
  const MapName map = map_name(target);
  const std::int64_t level = target.required_number("level"), y = target.required_number("y"),
                     x = target.required_number("x");
  target.require_all_used();
  const LensTile tile = readings_.tile(id, map, level, y, x);
  return {.type = "application/octet-stream",
          .body = std::string(tile.cells.begin(), tile.cells.end()),
          .headers = {{"X-Rows", std::to_string(tile.rows)},
                      {"X-Cols", std::to_string(tile.columns)},
                      {"X-Low", digits(tile.low)},
                      {"X-High", digits(tile.high)},
                      {"X-Top", std::to_string(tile.top())}}};
}

http::Response Api::row(const std::string& id, http::Target& target) {
  const MapName map = map_name(target);
  const std::int64_t row = target.required_number("row");
  target.require_all_used();
  return numbers_response(readings_.row(id, map, static_cast<std::size_t>(row)));
}

http::Response Api::cell(const std::string& id, http::Target& target) {
  const std::int64_t layer = target.required_number("layer"), head = target.required_number("head");
  const std::int64_t query = target.required_number("query"), key = target.required_number("key");
  target.require_all_used();
  const Reading& reading = readings_.reading(id);
  const MapName norms{.method = LensMethod::norm, .heads = {.layer = layer, .head = head}, .tokens = true};
  if (!reading.has_model()) {  // what a value contributes depends on its output projection
    Json cell = cell_json(reading, layer, head, query, key, 0);
    cell["contribution"] = nullptr;
    cell["projected"] = false;
    return json_response(cell);
  }
  const std::vector<double> taken = readings_.row(id, norms, static_cast<std::size_t>(query));
  const double contribution = key < reading.size() ? taken[static_cast<std::size_t>(key)] : 0;
  return json_response(cell_json(reading, layer, head, query, key, contribution));
}

http::Response Api::scores(const std::string& id, http::Target& target) {
  const std::int64_t layer = target.required_number("layer"), head = target.required_number("head");
  const std::int64_t query = target.required_number("query");
  target.require_all_used();
  return numbers_response(softmax_row(readings_.reading(id), layer, head, query));
}

http::Response Api::next(const std::string& id, http::Target& target) {
  const std::int64_t place = target.required_number("place");
  target.require_all_used();
  return json_response(page::next_json(readings_.reading(id), place));
}

http::Response Api::guesses(const std::string& id, http::Target& target) {
  const std::int64_t first = target.required_number("first"), last = target.required_number("last");
  target.require_all_used();
  if (first >= last || last - first > kMostGuessPlaces)
    throw http::RequestError(400, joined("first and last are ", first, " and ", last, ", expected 1 to ",
                                         kMostGuessPlaces, " places between them"));
  return json_response(page::guess_table_json(readings_.reading(id), first, last));
}

http::Response Api::block(const std::string& id, http::Target& target) {
  const std::int64_t place = target.required_number("place");
  const std::optional<std::int64_t> token = target.number("token");
  target.require_all_used();
  if (token && *token > kLargestModelSize)
    throw http::RequestError(400, "parameter token is not one of the vocabulary");
  return json_response(page::block_json(
      readings_.reading(id), place, token ? std::optional(static_cast<std::int32_t>(*token)) : std::nullopt));
}

http::Response Api::change(const std::string& id, const std::string& body) {
  const Reading& reading = readings_.reading(id);
  PassEdits edits;
  for (const std::string& text : parse_change(body).edits) {
    const PassEdits one = parse_edit(reading, text);
    edits.heads.insert(edits.heads.end(), one.heads.begin(), one.heads.end());
    edits.edges.insert(edits.edges.end(), one.edges.begin(), one.edges.end());
  }
  const OutputChange change = change_by(reading, edits);
  Json json = {{"textCosine", change.text_cosine},
               {"textDistance", change.text_distance},
               {"wordCosines", change.word_cosines}};
  if (change.not_finite) json["notFinite"] = sentence_of(reading, *change.not_finite);
  return json_response(json);
}

http::Response Api::compare(const std::string& body) {
  const CompareBody wanted = parse_compare(body);
  const TextModel model = models_to_read_with().load(wanted.model);
  const auto read = [&](const std::string& text) {
    if (static_cast<std::int64_t>(model.encode(text).size()) > kMostComparedTokens)
      throw http::RequestError(
          400, joined("texts of more than ", kMostComparedTokens, " tokens are not compared"));
    return Reading(model, text);
  };
  const Reading first = read(wanted.first), second = read(wanted.second);
  const WordComparison result = compare_word(first, find_word(first.words(), wanted.word), second,
                                             find_word(second.words(), wanted.word));
  Json json = {{"staticCosine", result.static_cosine}, {"cosines", result.cosines}};
  for (const Reading* const reading : {&first, &second}) {
    if (reading->not_finite() && !json.contains("notFinite"))
      json["notFinite"] = sentence_of(*reading, *reading->not_finite());
  }
  return json_response(json);
}

}  // namespace attend::explore
