// What a training looks like: its losses.
#pragma once

#include "draw/figure.h"
#include "learn/trainer.h"

namespace attend::learn {

draw::Plot loss_plot(const Trainer& trainer);

}  // namespace attend::learn
