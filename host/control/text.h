// SPDX-License-Identifier: BSD-3-Clause
// Files in Protobuf text format: reading and parsing. Internal to host/control.
#pragma once

#include <google/protobuf/text_format.h>

#include <string>

#include "host/control/place.h"

namespace txnic::control {

// The whole file. False: `*error` is one line; `examples` says where good files are.
bool read_text_file(const std::string& path, const std::string& examples, std::string* text, std::string* error);

// False: the problems are told. Missing required fields are not: Place::require() knows where their message stands.
bool parse_text(const std::string& text, const std::string& schema, google::protobuf::Message* message,
                google::protobuf::TextFormat::ParseInfoTree* tree, Problems* problems);

}  // namespace txnic::control
