// An explanation as text for the terminal.
#pragma once

#include <string>

#include "draw/terminal.h"
#include "explain/explanation_figure.h"

namespace attend::explain {

std::string explanation_text(const Reading& reading, const ExplainRequest& request,
                             const Explanation& explanation, View view, const draw::Terminal& terminal);

}  // namespace attend::explain
