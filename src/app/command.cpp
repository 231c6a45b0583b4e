#include "app/command.h"

namespace attend::app {

void add_color_option(CLI::App& app, Globals& globals) {
  const auto choose = [&globals](const std::string& when) {
    globals.color = when == "always"  ? draw::ColorChoice::always
                    : when == "never" ? draw::ColorChoice::never
                                      : draw::ColorChoice::automatic;
  };
  const auto known = [](const std::string& when) {
    const bool fine = when == "auto" || when == "always" || when == "never";
    return fine ? std::string() : "\"" + when + "\" is not one of auto, always and never";
  };
  app.add_option_function<std::string>("--color", choose,
                                       "auto, always or never (default: auto, which respects NO_COLOR)")
      ->check(known, "{auto,always,never}")  // as IsMember describes itself: completions offer them
      ->take_last()
      ->type_name("WHEN");
}

}  // namespace attend::app
