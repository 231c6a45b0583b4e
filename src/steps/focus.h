// One row written out as on paper: each product, the sum, the scaling, the exponentials, the quotients, the
// weighted sum.
#pragma once

#include <string>
#include <string_view>

#include "draw/terminal.h"
#include "steps/walk.h"

namespace attend::steps {

// The row of a token: "it", or "the#2" for the second "the". Throws LessonError, which lists the tokens, when
// there is no such token.
std::int64_t find_token(std::string_view name, const Lesson& lesson, std::string_view token);

std::string narrate_focus(const Lesson& lesson, const Walk& walk, std::int64_t row,
                          const draw::Terminal& terminal);

}  // namespace attend::steps
