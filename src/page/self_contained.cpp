#include "page/self_contained.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.h"
#include "io/base64.h"
#include "io/digest.h"
#include "page/assets.h"
#include "page/carried.h"
#include "page/carried_inside.h"
#include "page/inside.h"
#include "page/join_modules.h"
#include "page/reading_facts.h"

namespace attend::page {
namespace {

constexpr std::string_view kEntry = "carried_page.js";
constexpr std::string_view kServedScript = "<script type=\"module\" src=\"/web/served_page.js\"></script>\n";
constexpr std::string_view kStyle = "<link rel=\"stylesheet\" href=\"/web/";
constexpr std::string_view kStyleEnd = "\">\n";
constexpr std::string_view kHead = "<meta charset=\"utf-8\">\n";

std::string source_hash(std::string_view text) {
  io::Sha256 digest;
  digest.add(text);
  return "'sha256-" + io::to_base64(digest.bytes()) + "'";
}

// Removes every link to a stylesheet from the page and returns the styles, concatenated.
std::string take_styles(std::string& html) {
  std::string styles;
  for (std::size_t at = html.find(kStyle); at != html.npos; at = html.find(kStyle, at)) {
    const std::size_t name = at + kStyle.size(), end = html.find(kStyleEnd, name);
    styles += asset(std::string_view(html).substr(name, end - name));
    html.erase(at, end + kStyleEnd.size() - at);
  }
  return styles;
}

void replace(std::string& html, std::string_view what, const std::string& by) {
  const std::size_t at = html.find(what);
  if (at == html.npos) throw std::logic_error("[page] index.html lacks " + std::string(what));
  html.replace(at, what.size(), by);
}

// JSON for use inside an HTML element: no text can end the element or begin a comment.
std::string escaped_for_html(std::string json) {
  for (std::size_t at = json.find('<'); at != json.npos; at = json.find('<', at))
    json.replace(at, 1, "\\u003c");
  return json;
}

std::string inside_elements(const Reading& reading) {
  const CarriedInside inside = carried_inside(reading);
  std::string data = "<script type=\"application/json\" id=\"inside\">" + escaped_for_html(inside.facts) +
                     "</script>\n<script type=\"application/octet-stream\" id=\"inside-block\">" +
                     inside.block + "</script>\n";
  if (!inside.next.empty()) {
    data += "<script type=\"application/octet-stream\" id=\"inside-next\">" + inside.next + "</script>\n";
  }
  return data;
}

nlohmann::ordered_json view_json(const FirstView& view) {
  nlohmann::ordered_json json = {{"tab", view.tab},
                                 {"scale", view.same_scale ? "same" : "own"},
                                 {"method", std::string(name_of(view.method))},
                                 {"units", view.tokens ? "tokens" : "words"},
                                 {"special", view.special},
                                 {"layer", nullptr},
                                 {"head", nullptr},
                                 {"row", nullptr}};
  if (view.heads.layer) json["layer"] = *view.heads.layer;
  if (view.heads.head) json["head"] = *view.heads.head;
  if (view.focus) json["row"] = *view.focus;
  return json;
}

}  // namespace

std::string self_contained_page(const Reading& reading, const FirstView& view) {
  if (view.method > LensMethod::rollout)
    refuse("page", "a page shows raw, norm and rollout, not ", name_of(view.method));
  std::string html(asset("index.html"));
  const std::string styles = take_styles(html);
  const std::string script = join_modules(kEntry, asset);

  const std::string policy = "default-src 'none'; script-src " + source_hash(script) + "; style-src " +
                             source_hash(styles) +
                             "; img-src data: blob:; base-uri 'none'; form-action 'none'";
  replace(html, kHead,
          std::string(kHead) + "<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy +
              "\">\n<style>" + styles + "</style>\n");
  replace(html, kServedScript, "");

  nlohmann::ordered_json facts = facts_of(reading, false, view.sink);
  facts["distanceBias"] = has_distance_bias(reading);
  facts["inside"] = inside_facts(reading);
  std::string data = "<script type=\"application/json\" id=\"facts\">" + escaped_for_html(json_text(facts)) +
                     "</script>\n<script type=\"application/json\" id=\"first-view\">" +
                     escaped_for_html(json_text(view_json(view))) + "</script>\n";
  for (std::int64_t layer = 1; layer <= reading.layers(); ++layer) {
    data += "<script type=\"application/octet-stream\" id=\"layer-" + std::to_string(layer) + "\">";
    data += carried_layer(reading, layer);
    data += "</script>\n";
  }
  if (reading.has_model()) data += inside_elements(reading);
  data += "<script>" + script + "</script>\n";
  replace(html, "</body>", data + "</body>");
  return html;
}

}  // namespace attend::page
