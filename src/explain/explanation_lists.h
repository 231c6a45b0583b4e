// The lists of an explanation: what the model expects, which heads link two words, what each head does, what
// an edit changed. As parts of a figure, for the terminal and for files.
#pragma once

#include <string>
#include <vector>

#include "draw/figure.h"
#include "explain/explanation.h"

namespace attend::explain {

struct ListPart {
  draw::Part part;
  std::string note;  // a sentence below it; may be empty
};

// Those that were asked for, in a fixed order.
std::vector<ListPart> list_parts(const Reading& reading, const ExplainRequest& request,
                                 const Explanation& explanation);

}  // namespace attend::explain
