// The models of this machine, and the families that attend reads, as text and as JSON.
#pragma once

#include <string>

#include "draw/terminal.h"
#include "inventory/find_models.h"

namespace attend::inventory {

std::string models_text(const Inventory& inventory, const draw::Terminal& terminal);
std::string models_json(const Inventory& inventory);

std::string families_text(const draw::Terminal& terminal);
std::string families_json();

}  // namespace attend::inventory
