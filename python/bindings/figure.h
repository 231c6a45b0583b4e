// A figure as Python holds it.
#pragma once

#include "draw/figure.h"

namespace attend_python {

struct FigureCore {
  attend::draw::Figure figure;
};

}  // namespace attend_python
